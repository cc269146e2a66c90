/* http_post.h - one POST over a connection that is kept for the next. Each is used by one
 * thread of the library only: an exporter's or the control client's. */
#pragma once
#include "base/buf.h"
#include "collect/send/answer.h"
#include "collect/send/endpoint.h"
#include "collect/sys/peer.h"

struct sf_http_post {
    struct sf_endpoint to;
    sf_str headers; /* additional header lines that end in CRLF; borrowed */
    struct sf_peer peer;
    struct sf_buf head;
};

void sf_http_post_init(struct sf_http_post *h, const struct sf_endpoint *to, sf_str headers);
void sf_http_post_done(struct sf_http_post *h);
/* Sends and waits for the answer. A kept connection that turns out closed is opened again once. IO,
 * DEADLINE or NOMEM: no answer came; otherwise `out` is the answer, with any status. */
enum sf_err sf_http_post_send(struct sf_http_post *h, sf_bytes body, bool is_gzip,
                              int64_t deadline_ns, struct sf_answer *out, struct sf_why *why);
/* GETs `path` instead; `version` is sent as If-None-Match, empty: without. */
enum sf_err sf_http_post_get(struct sf_http_post *h, const char *path, const char *version,
                             int64_t deadline_ns, struct sf_answer *out, struct sf_why *why);
