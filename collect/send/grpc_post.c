#include "collect/send/grpc_post.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

void sf_grpc_post_init(struct sf_grpc_post *g, const struct sf_endpoint *to, sf_str headers)
{
    *g = (struct sf_grpc_post){
        .to = *to, .headers = headers, .peer = SF_PEER_NONE, .call.is_tls = to->is_tls};
}

void sf_grpc_post_done(struct sf_grpc_post *g)
{
    sf_peer_close(&g->peer);
    sf_h2_call_done(&g->call);
    sf_buf_done(&g->message);
}

static enum sf_err send_out(struct sf_grpc_post *g, int64_t deadline_ns, struct sf_why *why)
{
    enum sf_err err = g->call.out.err;
    if (!err)
        err = sf_peer_write(&g->peer, sf_buf_bytes(&g->call.out), deadline_ns, why);
    sf_buf_reset(&g->call.out);
    return err;
}

static enum sf_err grpc_post_take_in(struct sf_grpc_post *g, int64_t deadline_ns,
                                     struct sf_why *why)
{
    uint8_t piece[2048];
    size_t len;
    enum sf_err err = sf_peer_read(&g->peer, piece, sizeof(piece), deadline_ns, &len, why);
    if (err)
        return err;
    if (!len)
        return sf_fail(why, SF_ERR_IO, "the connection ended inside the call");
    sf_h2_call_take(&g->call, (sf_bytes){piece, len});
    if (g->call.fault)
        return sf_fail(why, SF_ERR_IO, "%s", g->call.fault);
    return SF_OK;
}

/* Sends as much of the message as the flow-control windows allow, and reads when they are full. */
static enum sf_err exchange(struct sf_grpc_post *g, int64_t deadline_ns, struct sf_why *why)
{
    struct sf_h2_call *c = &g->call;
    size_t at = 0;
    enum sf_err err = send_out(g, deadline_ns, why);
    while (!err && at < g->message.len && !c->is_done) {
        size_t room = sf_h2_call_room(c), left = g->message.len - at;
        if (room) {
            room = room < left ? room : left;
            sf_h2_call_data(c, (sf_bytes){g->message.p + at, room}, room == left);
            at += room;
        } else {
            err = grpc_post_take_in(g, deadline_ns, why);
        }
        if (!err)
            err = send_out(g, deadline_ns, why);
    }
    while (!err && !c->is_done) {
        err = grpc_post_take_in(g, deadline_ns, why);
        if (!err && c->out.len)
            err = send_out(g, deadline_ns, why);
    }
    if (!err && at < g->message.len)
        c->is_leaving = true; /* the server answered before it had the whole message: the stream
                               * stays half open */
    return err;
}

static bool grpc_post_write_message(struct sf_grpc_post *g, sf_bytes body, bool is_gzip)
{
    uint8_t prefix[5] = {is_gzip};
    sf_store_u32be(prefix + 1, (uint32_t)body.len);
    sf_buf_reset(&g->message);
    sf_buf_add(&g->message, prefix, sizeof(prefix));
    sf_buf_add(&g->message, body.p, body.len);
    return sf_buf_ok(&g->message);
}

static int as_http(const struct sf_h2_call *c)
{
    switch (c->grpc_status) {
    case 0: return 200;
    case 1:
    case 4:
    case 8:
    case 10:
    case 11:
    case 14:
    case 15: return 503;
    case -1: return c->http_status == 200 || !c->http_status ? 503 : c->http_status;
    default: return 400;
    }
}

static void grpc_post_fill(const struct sf_h2_call *c, struct sf_answer *out)
{
    memset(out, 0, sizeof(*out));
    out->status = as_http(c);
    out->is_done = true;
    if (c->grpc_status > 0) {
        out->body_len = (uint32_t)snprintf((char *)out->body, sizeof(out->body), "grpc-status %d",
                                           c->grpc_status);
        return;
    }
    memcpy(out->body, c->body, c->body_len);
    out->body_len = c->body_len;
}

enum sf_err sf_grpc_post_send(struct sf_grpc_post *g, sf_bytes body, bool is_gzip,
                              int64_t deadline_ns, struct sf_answer *out, struct sf_why *why)
{
    char authority[SF_ENDPOINT_HOST_CAP + 16];
    snprintf(authority, sizeof(authority), "%s%s%s:%u", g->to.is_v6 ? "[" : "", g->to.host,
             g->to.is_v6 ? "]" : "", g->to.port);
    if (!grpc_post_write_message(g, body, is_gzip))
        return sf_fail(why, SF_ERR_NOMEM, "no memory for a request");
    for (;;) {
        bool is_fresh = g->peer.fd < 0;
        enum sf_err err = SF_OK;
        if (!is_fresh && (g->call.is_leaving || !sf_peer_is_ours(&g->peer))) {
            sf_peer_close(&g->peer);
            is_fresh = true;
        }
        if (is_fresh) {
            sf_h2_call_forget(&g->call);
            err = sf_endpoint_connect(&g->to, "h2", &g->peer, deadline_ns, why);
        }
        if (!err) {
            sf_h2_call_begin(&g->call, sf_str_from(authority), sf_str_from(g->to.path), g->headers,
                             is_gzip);
            err = exchange(g, deadline_ns, why);
        }
        if (!err) {
            grpc_post_fill(&g->call, out);
            return SF_OK;
        }
        sf_why_prefix(why, "%s", authority);
        sf_peer_close(&g->peer);
        /* A kept connection may have been closed before the call reached the server. */
        if (err != SF_ERR_IO || is_fresh)
            return err;
    }
}
