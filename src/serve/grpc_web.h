/* grpc_web.h - gRPC for clients that cannot read trailers: they are the last frame of the body.
 *
 * Any version of HTTP carries it, so it arrives as a plain request. A frame is gRPC's: a flag byte,
 * a length, bytes; the flag 0x80 says that the bytes are the trailers. */
#pragma once
#include "base/err.h"
#include "http/request.h"

#define SF_GRPC_WEB_TYPE "application/grpc-web+proto"

bool sf_grpc_web_is(const struct sf_request *r);
/* From the body to the one message in it, and how that is compressed. INPUT, UNSUPPORTED. */
enum sf_err sf_grpc_web_message(const struct sf_request *r, sf_str *io_body, enum sf_coding *out,
                                struct sf_why *why);
/* The answer's body, a bare message, becomes frames: the message (when it went well) and the
 * trailers of what grpc_status and grpc_message say. */
void sf_grpc_web_frame(struct sf_response *r);
