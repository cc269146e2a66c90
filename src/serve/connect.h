/* connect.h - unary calls of the Connect protocol, which share their paths with gRPC.
 *
 * A body is a bare message in protobuf or JSON and the answer has the same form; errors are always
 * JSON (SF_FORM_CONNECT). Over gRPC and gRPC-Web the same handlers get and give protobuf. */
#pragma once
#include "serve/call.h"

/* Whether the content type is supported. If not, the answer is filled: 415. */
bool sf_connect_admit(struct sf_call *call);
bool sf_connect_is_json(const struct sf_call *call);
/* The decompressed request body, at most `max_len` bytes, in `req`. */
enum sf_err sf_connect_body(struct sf_call *call, size_t max_len, struct sf_arena *req, sf_str *out,
                            struct sf_why *why);
/* Sets 200 and the content type of the request; the body already contains the whole message. */
void sf_connect_ok(struct sf_call *call);
