#include <stdio.h>
#include <string.h>

#include "peer.h"

static enum sf_err begin(struct peer *p, struct sf_why *why)
{
    (void)p;
    (void)why;
    return SF_OK;
}

static void end(struct peer *p)
{
    (void)p;
}

/* The value of "name:" in the head. */
static bool header(sf_str head, sf_str name, sf_str *out)
{
    sf_str line;
    while (sf_str_split_next(&head, '\n', &line)) {
        if (line.len <= name.len || !sf_str_ieq(sf_str_part(line, 0, name.len), name))
            continue;
        *out = sf_str_trim(sf_str_from_at(line, name.len));
        return true;
    }
    return false;
}

static enum sf_err read_answer(struct peer *p, struct peer_answer *out, struct sf_why *why)
{
    size_t head_len = 0;
    uint64_t body_len = 0, status = 0;
    sf_bytes body;
    sf_str head, text = {0};
    p->in.len = 0;
    while (!sf_str_find(sf_buf_str(&p->in), SF_STR("\r\n\r\n"), &head_len)) {
        enum sf_err err = peer_read(p, why);
        if (err)
            return err;
    }
    if (p->in.len < 12 || !sf_str_to_u64(sf_str_part(sf_buf_str(&p->in), 9, 3), &status))
        return sf_fail(why, SF_ERR_INPUT, "the answer is not HTTP");
    out->status = (int)status;
    head = sf_str_part(sf_buf_str(&p->in), 0, head_len + 2);
    out->is_last = header(head, SF_STR("connection:"), &text) && sf_str_ieq(text, SF_STR("close"));
    /* Servers answer small bodies, so no other form is read. */
    if (!header(head, SF_STR("content-length:"), &text) || !sf_str_to_u64(text, &body_len) ||
        body_len > 1 << 20)
        return sf_fail(why, SF_ERR_INPUT, "an answer without content-length");
    head_len += 4;
    while (p->in.len < head_len + body_len) {
        enum sf_err err = peer_read(p, why);
        if (err)
            return err;
    }
    body = (sf_bytes){p->in.p + head_len, body_len};
    if (status == 200)
        peer_read_partial(body, out);
    else
        snprintf(out->message, sizeof(out->message), "%.*s", SF_STR_ARG(sf_bytes_str(body)));
    return SF_OK;
}

static enum sf_err send_one(struct peer *p, sf_bytes body, struct peer_answer *out,
                            struct sf_why *why)
{
    const struct peer_config *c = &p->config;
    enum sf_err err;
    sf_buf_reset(&p->out);
    sf_buf_print(&p->out, "POST %s HTTP/1.1\r\nHost: %s:%u\r\nContent-Type: application/%s\r\n%s",
                 c->path, c->host, c->port, c->is_json ? "json" : "x-protobuf",
                 c->is_zstd   ? "Content-Encoding: zstd\r\n"
                 : c->is_gzip ? "Content-Encoding: gzip\r\n"
                              : "");
    if (c->token)
        sf_buf_print(&p->out, "Authorization: Bearer %s\r\n", c->token);
    sf_buf_print(&p->out, "Content-Length: %zu\r\n\r\n", body.len);
    sf_buf_add(&p->out, body.p, body.len);
    err = sf_buf_ok(&p->out) ? peer_write(p, p->out.p, p->out.len, why)
                             : sf_fail(why, SF_ERR_NOMEM, "no memory");
    return err ? err : read_answer(p, out, why);
}

const struct peer_ops peer_http = {begin, send_one, end};
