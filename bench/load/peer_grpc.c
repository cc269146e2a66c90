#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/num.h"
#include "peer.h"

struct grpc {
    nghttp2_session *session;
    sf_bytes body;       /* what is left to send of the message in hand, prefix included */
    struct sf_buf reply; /* DATA received */
    int32_t stream;
    int status, http_status; /* grpc-status, -1: not seen yet */
    bool is_closed;
    char message[160];
};

static ssize_t give_body(nghttp2_session *session, int32_t stream, uint8_t *to, size_t cap,
                         uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct peer *p = user;
    struct grpc *g = p->state;
    size_t len = g->body.len < cap ? g->body.len : cap;
    (void)session;
    (void)stream;
    (void)source;
    memcpy(to, g->body.p, len);
    g->body.p += len;
    g->body.len -= len;
    if (g->body.len == 0)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)len;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *val, size_t val_len, uint8_t flags, void *user)
{
    struct peer *p = user;
    struct grpc *g = p->state;
    sf_str n = {(const char *)name, name_len}, v = {(const char *)val, val_len};
    uint64_t number;
    (void)session;
    (void)frame;
    (void)flags;
    if (sf_str_eq(n, SF_STR("grpc-status")) && sf_str_to_u64(v, &number))
        g->status = (int)number;
    if (sf_str_eq(n, SF_STR(":status")) && sf_str_to_u64(v, &number))
        g->http_status = (int)number;
    if (sf_str_eq(n, SF_STR("grpc-message")))
        snprintf(g->message, sizeof(g->message), "%.*s", SF_STR_ARG(v));
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data,
                   size_t len, void *user)
{
    struct peer *p = user;
    struct grpc *g = p->state;
    (void)session;
    (void)flags;
    (void)stream;
    sf_buf_add(&g->reply, data, len);
    return 0;
}

static int on_close(nghttp2_session *session, int32_t stream, uint32_t code, void *user)
{
    struct peer *p = user;
    struct grpc *g = p->state;
    (void)session;
    (void)code;
    if (stream == g->stream)
        g->is_closed = true;
    return 0;
}

static enum sf_err flush(struct peer *p, struct sf_why *why)
{
    struct grpc *g = p->state;
    const uint8_t *data;
    ssize_t len;
    sf_buf_reset(&p->out);
    while ((len = nghttp2_session_mem_send(g->session, &data)) > 0)
        sf_buf_add(&p->out, data, (size_t)len);
    if (len < 0)
        return sf_fail(why, SF_ERR_IO, "HTTP/2: %s", nghttp2_strerror((int)len));
    return peer_write(p, p->out.p, p->out.len, why);
}

static enum sf_err begin(struct peer *p, struct sf_why *why)
{
    nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
    nghttp2_session_callbacks *calls = NULL;
    struct grpc *g = sf_heap_new(sizeof(*g));
    p->state = g;
    if (!g || nghttp2_session_callbacks_new(&calls) != 0)
        return sf_fail(why, SF_ERR_NOMEM, "no memory");
    nghttp2_session_callbacks_set_on_header_callback(calls, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(calls, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(calls, on_close);
    if (nghttp2_session_client_new(&g->session, calls, p) != 0)
        g->session = NULL;
    nghttp2_session_callbacks_del(calls);
    if (!g->session)
        return sf_fail(why, SF_ERR_NOMEM, "no memory");
    nghttp2_submit_settings(g->session, NGHTTP2_FLAG_NONE, settings, 1);
    return flush(p, why);
}

static void end(struct peer *p)
{
    struct grpc *g = p->state;
    if (!g)
        return;
    nghttp2_session_del(g->session);
    sf_buf_done(&g->reply);
    sf_heap_free(g);
}

static nghttp2_nv header(const char *name, const char *val)
{
    return (nghttp2_nv){(uint8_t *)(uintptr_t)name, (uint8_t *)(uintptr_t)val, strlen(name),
                        strlen(val), NGHTTP2_NV_FLAG_NONE};
}

static enum sf_err exchange(struct peer *p, struct sf_why *why)
{
    struct grpc *g = p->state;
    enum sf_err err = flush(p, why);
    while (!err && !g->is_closed) {
        ssize_t used;
        p->in.len = 0;
        err = peer_read(p, why);
        if (err)
            break;
        used = nghttp2_session_mem_recv(g->session, p->in.p, p->in.len);
        if (used < 0)
            return sf_fail(why, SF_ERR_IO, "HTTP/2: %s", nghttp2_strerror((int)used));
        err = flush(p, why);
    }
    return err;
}

static enum sf_err send_one(struct peer *p, sf_bytes body, struct peer_answer *out,
                            struct sf_why *why)
{
    struct grpc *g = p->state;
    char authority[128], bearer[512];
    nghttp2_data_provider source = {.read_callback = give_body};
    nghttp2_nv headers[10];
    size_t n = 0;
    uint8_t prefix[5] = {p->config.is_gzip || p->config.is_zstd};
    struct sf_buf framed = {0};
    enum sf_err err;

    snprintf(authority, sizeof(authority), "%s:%u", p->config.host, p->config.port);
    headers[n++] = header(":method", "POST");
    headers[n++] = header(":scheme", "http");
    headers[n++] = header(":path", p->config.path);
    headers[n++] = header(":authority", authority);
    headers[n++] = header("content-type", "application/grpc");
    headers[n++] = header("te", "trailers");
    if (p->config.is_gzip || p->config.is_zstd)
        headers[n++] = header("grpc-encoding", p->config.is_zstd ? "zstd" : "gzip");
    if (p->config.token) {
        snprintf(bearer, sizeof(bearer), "Bearer %s", p->config.token);
        headers[n++] = header("authorization", bearer);
    }
    sf_store_u32be(prefix + 1, sf_u32(body.len));
    sf_buf_add(&framed, prefix, sizeof(prefix));
    sf_buf_add(&framed, body.p, body.len);
    g->body = sf_buf_bytes(&framed);
    g->status = -1;
    g->http_status = 0;
    g->is_closed = false;
    g->message[0] = 0;
    sf_buf_reset(&g->reply);
    g->stream = nghttp2_submit_request(g->session, NULL, headers, n, &source, NULL);
    err = g->stream < 0 ? sf_fail(why, SF_ERR_IO, "HTTP/2: %s", nghttp2_strerror(g->stream))
                        : exchange(p, why);
    sf_buf_done(&framed);
    if (err)
        return err;
    if (g->http_status != 200 || g->status < 0)
        return sf_fail(why, SF_ERR_INPUT, "not a gRPC answer (HTTP status %d)", g->http_status);
    out->status = g->status == 0 ? 200 : 1000 + g->status;
    snprintf(out->message, sizeof(out->message), "%s", g->message);
    if (g->status == 0 && g->reply.len > 5)
        peer_read_partial((sf_bytes){g->reply.p + 5, g->reply.len - 5}, out);
    return SF_OK;
}

const struct peer_ops peer_grpc = {begin, send_one, end};
