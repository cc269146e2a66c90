/* grpc_web.h - gRPC for clients that cannot read trailers: they are the last frame of the body.
 *
 * Any version of HTTP carries it, so it arrives as a plain request. A frame is gRPC's: a flag byte,
 * a length, bytes; the flag 0x80 says that the bytes are the trailers. */
#pragma once
#include "base/err.h"
#include "http/request.h"

#define SF_GRPC_WEB_TYPE "application/grpc-web+proto"

bool sf_grpc_web_is(const struct sf_request *r);
/* Finds the single message in the body and its compression. INPUT, UNSUPPORTED. */
enum sf_err sf_grpc_web_message(const struct sf_request *r, sf_str *io_body, enum sf_coding *out,
                                struct sf_why *why);
/* Turns the answer's body, a bare message, into frames: the message (on success) and the trailers
 * with grpc_status and grpc_message. */
void sf_grpc_web_frame(struct sf_response *r);
