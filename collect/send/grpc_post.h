/* grpc_post.h - the same as http_post.h over gRPC (h2c with prior knowledge, or h2 over TLS). For
 * the exporter thread. */
#pragma once
#include "collect/send/answer.h"
#include "collect/send/endpoint.h"
#include "collect/send/h2_call.h"
#include "collect/sys/peer.h"

struct sf_grpc_post {
    struct sf_endpoint to; /* its path is the gRPC method */
    sf_str headers;
    struct sf_peer peer;
    struct sf_h2_call call;
    struct sf_buf message;
};

void sf_grpc_post_init(struct sf_grpc_post *g, const struct sf_endpoint *to, sf_str headers);
void sf_grpc_post_done(struct sf_grpc_post *g);
/* Returns the gRPC status as an HTTP status, so that retries are decided in one place: OK is 200, a
 * status that OTLP defines as retryable is 503, others are 400; `out->body` is the response
 * message, or the grpc-status as text. */
enum sf_err sf_grpc_post_send(struct sf_grpc_post *g, sf_bytes body, bool is_gzip,
                              int64_t deadline_ns, struct sf_answer *out, struct sf_why *why);
