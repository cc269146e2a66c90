#include "collect/send/http_post.h"

#include <string.h>

#include "base/heap.h"

void sf_http_post_init(struct sf_http_post *h, const struct sf_endpoint *to, sf_str headers)
{
    *h = (struct sf_http_post){.to = *to, .headers = headers, .peer = SF_PEER_NONE};
}

void sf_http_post_done(struct sf_http_post *h)
{
    sf_peer_close(&h->peer);
    sf_buf_done(&h->head);
}

static void begin_head(struct sf_http_post *h, const char *method, const char *path)
{
    struct sf_buf *b = &h->head;
    sf_buf_reset(b);
    sf_buf_print(b, "%s %s HTTP/1.1\r\nHost: %s%s%s:%u\r\n", method, path, h->to.is_v6 ? "[" : "",
                 h->to.host, h->to.is_v6 ? "]" : "", h->to.port);
}

static bool http_post_write_head(struct sf_http_post *h, size_t body_len, bool is_gzip)
{
    struct sf_buf *b = &h->head;
    begin_head(h, "POST", h->to.path);
    sf_buf_print(b, "Content-Type: application/x-protobuf\r\nContent-Length: %zu\r\n", body_len);
    if (is_gzip)
        sf_buf_add_str(b, SF_STR("Content-Encoding: gzip\r\n"));
    sf_buf_add_str(b, SF_STR("User-Agent: spanflame-c/1.0\r\n"));
    sf_buf_add_str(b, h->headers);
    sf_buf_add_str(b, SF_STR("\r\n"));
    return sf_buf_ok(b);
}

static enum sf_err http_post_read_answer(struct sf_http_post *h, int64_t deadline_ns,
                                         struct sf_answer *out, bool *has_begun, struct sf_why *why)
{
    uint8_t piece[2048];
    size_t len;
    enum sf_err err;

    memset(out, 0, sizeof(*out));
    *has_begun = false;
    do {
        err = sf_peer_read(&h->peer, piece, sizeof(piece), deadline_ns, &len, why);
        if (err)
            return err;
        if (!len) {
            sf_answer_end_of_body(out);
            break;
        }
        *has_begun = true;
    } while (sf_answer_take(out, (sf_bytes){piece, len}));
    if (out->fault)
        return sf_fail(why, SF_ERR_IO, "%s:%u: %s", h->to.host, h->to.port, out->fault);
    return SF_OK;
}

/* Sends the head that was written before, and the body. */
static enum sf_err call(struct sf_http_post *h, sf_bytes body, int64_t deadline_ns,
                        struct sf_answer *out, struct sf_why *why)
{
    for (;;) {
        bool is_fresh = h->peer.fd < 0, has_begun = false;
        enum sf_err err;
        if (!is_fresh && sf_peer_is_stale(&h->peer)) {
            sf_peer_close(&h->peer);
            is_fresh = true;
        }
        if (is_fresh) {
            err = sf_endpoint_connect(&h->to, "http/1.1", &h->peer, deadline_ns, why);
            if (err) {
                sf_why_prefix(why, "%s:%u", h->to.host, h->to.port);
                return err;
            }
        }
        err = sf_peer_write(&h->peer, sf_buf_bytes(&h->head), deadline_ns, why);
        if (!err)
            err = sf_peer_write(&h->peer, body, deadline_ns, why);
        if (!err)
            err = http_post_read_answer(h, deadline_ns, out, &has_begun, why);
        if (err || !out->is_kept_alive)
            sf_peer_close(&h->peer);
        /* A kept connection may have been closed before the request reached the server. */
        if (err != SF_ERR_IO || is_fresh || has_begun)
            return err;
    }
}

enum sf_err sf_http_post_send(struct sf_http_post *h, sf_bytes body, bool is_gzip,
                              int64_t deadline_ns, struct sf_answer *out, struct sf_why *why)
{
    if (!http_post_write_head(h, body.len, is_gzip))
        return sf_fail(why, SF_ERR_NOMEM, "no memory for a request");
    return call(h, body, deadline_ns, out, why);
}

enum sf_err sf_http_post_get(struct sf_http_post *h, const char *path, const char *version,
                             int64_t deadline_ns, struct sf_answer *out, struct sf_why *why)
{
    struct sf_buf *b = &h->head;
    begin_head(h, "GET", path);
    if (version[0])
        sf_buf_print(b, "If-None-Match: \"%s\"\r\n", version);
    sf_buf_add_str(b, SF_STR("User-Agent: spanflame-c/1.0\r\n"));
    sf_buf_add_str(b, h->headers);
    sf_buf_add_str(b, SF_STR("\r\n"));
    if (!sf_buf_ok(b))
        return sf_fail(why, SF_ERR_NOMEM, "no memory for a request");
    return call(h, (sf_bytes){0}, deadline_ns, out, why);
}
