/* h2_session.c - wraps nghttp2. Its callbacks build heads, count floods and pass events to our
 * hooks; answers queue on streams as buffers that nghttp2 reads when the windows allow. Nothing
 * here blocks or reads a clock. */
#include "http/h2_session.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "http/grpc.h"
#include "http/h1_writer.h"

enum {
    STREAM_WINDOW_LEN = 256 * 1024,
    CONNECTION_WINDOW_LEN = 1024 * 1024,
    /* Fields that a peer may send after its head was refused, as a multiple of the limit: with
     * HPACK one byte may expand to four thousand. */
    HEAD_IGNORED_FACTOR = 4,
    WINDOW_UPDATES_FREE = 2000, /* per ten seconds, in addition to those that our own data
                                 * explains */
    DATA_PER_WINDOW_UPDATE = 512,
    IGNORED_LEN_MAX = 256 * 1024, /* length of a refused body that is read before its stream is
                                   * reset */
    HEADERS_MAX = SF_RESPONSE_HEADERS_MAX + 12
};
static const int64_t FLOOD_WINDOW_NS = 10 * SF_NS_PER_S;

/* Activity of the peer in the current ten seconds. */
struct flood {
    int64_t since_ns;
    uint32_t n_resets;         /* streams it cancelled or caused us to cancel */
    uint32_t n_control;        /* SETTINGS, PING, PRIORITY, empty frames */
    uint64_t n_window_updates; /* compared with the amount of data sent */
    uint64_t sent_len;
};

struct sf_h2_session {
    nghttp2_session *ng;
    struct sf_h2_hooks hooks;
    struct sf_h2_stream *streams;
    size_t n_streams;
    size_t out_len; /* unsent bytes of all streams */
    size_t header_len_max, ignored_len;
    int32_t last_id; /* highest stream number of the peer; `n_begun` streams were begun up to it */
    int32_t n_begun;
    struct flood flood;
    int64_t now_ns;
    bool has_begun, is_flooded, is_broken, is_no_memory, is_dead;
    const char *reason;
};

/* --- memory: nghttp2's comes from our heap, so that tests can fail it --- */

static void *ng_new(size_t size, void *arg)
{
    (void)arg;
    return sf_heap_new(size ? size : 1);
}
static void *ng_new_n(size_t n, size_t size, void *arg)
{
    (void)arg;
    return sf_heap_new_n(n ? n : 1, size ? size : 1);
}
static void *ng_grow(void *p, size_t size, void *arg)
{
    (void)arg;
    return sf_heap_grow(p, size ? size : 1, 1);
}
static void ng_free(void *p, void *arg)
{
    (void)arg;
    sf_heap_free(p);
}

/* --- floods --- */

static int flooded(struct sf_h2_session *s, const char *reason)
{
    s->is_flooded = true;
    s->reason = reason;
    return NGHTTP2_ERR_CALLBACK_FAILURE;
}

static void count_reset(struct sf_h2_session *s)
{
    s->flood.n_resets++;
}

static bool is_cheap_frame(const nghttp2_frame_hd *hd)
{
    switch (hd->type) {
    case NGHTTP2_DATA: return hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM);
    case NGHTTP2_CONTINUATION: return hd->length == 0;
    case NGHTTP2_HEADERS:
    case NGHTTP2_RST_STREAM:
    case NGHTTP2_WINDOW_UPDATE: return false;
    case NGHTTP2_SETTINGS:
    case NGHTTP2_PING: return !(hd->flags & NGHTTP2_FLAG_ACK);
    default: return true; /* PRIORITY; nghttp2 skips frames of unknown type */
    }
}

/* RFC 9113, 5.1.1: stream numbers increase, and skipped ones are closed permanently. nghttp2
 * silently ignores a request on a skipped number, because it looks like trailers of a forgotten
 * stream; that is possible only if no number was skipped. */
static void see_number(struct sf_h2_session *s, int32_t id)
{
    if (id > s->last_id) {
        s->last_id = id;
        s->n_begun++;
    } else if (id % 2 && s->n_begun <= s->last_id / 2 && !nghttp2_session_find_stream(s->ng, id)) {
        nghttp2_session_terminate_session(s->ng, NGHTTP2_PROTOCOL_ERROR);
    }
}

static int on_begin_frame(nghttp2_session *ng, const nghttp2_frame_hd *hd, void *arg)
{
    struct sf_h2_session *s = arg;
    struct flood *f = &s->flood;

    (void)ng;
    s->has_begun = true;
    if (hd->type == NGHTTP2_HEADERS)
        see_number(s, hd->stream_id);
    if (s->now_ns - f->since_ns > FLOOD_WINDOW_NS)
        *f = (struct flood){.since_ns = s->now_ns};
    if (hd->type == NGHTTP2_RST_STREAM)
        count_reset(s);
    if (hd->type == NGHTTP2_WINDOW_UPDATE)
        f->n_window_updates++;
    if (is_cheap_frame(hd))
        f->n_control++;
    if (f->n_resets > SF_LIMIT_H2_RESETS)
        return flooded(s, "too many stream resets");
    if (f->n_control > SF_LIMIT_H2_CONTROL)
        return flooded(s, "too many control or empty frames");
    if (f->n_window_updates > WINDOW_UPDATES_FREE + f->sent_len / DATA_PER_WINDOW_UPDATE)
        return flooded(s, "too many window updates");
    return 0;
}

/* --- streams --- */

static void drop_stream(struct sf_h2_session *s, struct sf_h2_stream *st, bool is_clean)
{
    if (st->prev)
        st->prev->next = st->next;
    else
        s->streams = st->next;
    if (st->next)
        st->next->prev = st->prev;
    s->n_streams--;
    s->out_len -= st->out.len - st->out_at;
    s->hooks.on_close(s->hooks.arg, st, is_clean);
    sf_buf_done(&st->out);
    sf_buf_done(&st->text);
    sf_heap_free(st);
}

static int on_begin_headers(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    struct sf_h2_session *s = arg;
    struct sf_h2_stream *st;

    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
        return 0;
    st = sf_heap_new(sizeof(*st));
    if (!st)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    st->session = s;
    st->id = frame->hd.stream_id;
    st->head = s->hooks.on_begin(s->hooks.arg, st);
    if (!st->head) { /* clients repeat it by themselves, because it was not processed */
        int32_t id = st->id;
        sf_heap_free(st);
        return nghttp2_submit_rst_stream(ng, NGHTTP2_FLAG_NONE, id, NGHTTP2_REFUSED_STREAM)
                   ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE
                   : 0;
    }
    if (nghttp2_session_set_stream_user_data(ng, st->id, st)) {
        s->hooks.on_close(s->hooks.arg, st, false);
        sf_heap_free(st);
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    st->next = s->streams;
    if (st->next)
        st->next->prev = st;
    s->streams = st;
    s->n_streams++;
    s->ignored_len = 0;
    st->head->len_max = s->header_len_max;
    return 0;
}

static void h2_session_add_field(struct sf_head *h, sf_str name, sf_str val)
{
    if (!sf_str_starts(name, SF_STR(":")))
        (void)sf_head_field(h, name, val);
    else if (sf_str_eq(name, SF_STR(":method")))
        (void)sf_head_method(h, val);
    else if (sf_str_eq(name, SF_STR(":path")))
        (void)sf_head_target(h, val);
    else if (sf_str_eq(name, SF_STR(":authority")))
        (void)sf_head_authority(h, val);
}

static int on_header(nghttp2_session *ng, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *val, size_t val_len, uint8_t flags, void *arg)
{
    struct sf_h2_session *s = arg;
    struct sf_h2_stream *st = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);
    bool is_request = frame->hd.type == NGHTTP2_HEADERS &&
                      frame->headers.cat == NGHTTP2_HCAT_REQUEST;

    (void)flags;
    if (!st)
        return 0;
    if (is_request && !st->head->status) {
        h2_session_add_field(st->head, (sf_str){(const char *)name, name_len},
                             (sf_str){(const char *)val, val_len});
        return 0;
    }
    /* Trailers, and fields after an error: read only for HPACK's state, and limited. */
    s->ignored_len += name_len + val_len + 32;
    if (s->ignored_len > s->header_len_max * HEAD_IGNORED_FACTOR)
        return flooded(s, "a header flood");
    return 0;
}

static void request_is_over(struct sf_h2_session *s, struct sf_h2_stream *st)
{
    st->is_request_over = true;
    if (!st->is_body_ignored)
        s->hooks.on_end(s->hooks.arg, st);
}

static int on_frame_recv(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    struct sf_h2_session *s = arg;
    struct sf_h2_stream *st = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);

    if (!st)
        return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
        s->hooks.on_head(s->hooks.arg, st);
    if ((frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        request_is_over(s, st);
    return s->is_no_memory ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int h2_session_on_data(nghttp2_session *ng, uint8_t flags, int32_t id, const uint8_t *p,
                              size_t len, void *arg)
{
    struct sf_h2_session *s = arg;
    struct sf_h2_stream *st = nghttp2_session_get_stream_user_data(ng, id);

    (void)flags;
    if (!st)
        return nghttp2_session_consume_connection(ng, len) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
    if (st->is_body_ignored) {
        /* Many clients treat a reset as a failure even after an answer, so a body of ordinary
         * length is read to its end. */
        st->ignored_len += len;
        if (st->is_answer_out && st->ignored_len > IGNORED_LEN_MAX)
            sf_h2_stream_let_go(st);
        return nghttp2_session_consume(ng, id, len) ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
    }
    s->hooks.on_body(s->hooks.arg, st, (sf_bytes){p, len});
    return s->is_no_memory ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static int on_stream_close(nghttp2_session *ng, int32_t id, uint32_t code, void *arg)
{
    struct sf_h2_session *s = arg;
    struct sf_h2_stream *st = nghttp2_session_get_stream_user_data(ng, id);

    if (st) {
        (void)nghttp2_session_set_stream_user_data(ng, id, NULL);
        drop_stream(s, st, code == NGHTTP2_NO_ERROR);
    }
    return 0;
}

static int on_frame_send(nghttp2_session *ng, const nghttp2_frame *frame, void *arg)
{
    struct sf_h2_session *s = arg;
    struct sf_h2_stream *st;

    if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR)
        s->is_broken = true;
    /* A peer can cause us to reset streams, by frames that are invalid for their stream; these
     * count. A stream that we refused (REFUSED_STREAM) does not. */
    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR &&
        frame->rst_stream.error_code != NGHTTP2_REFUSED_STREAM)
        count_reset(s);
    if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
        !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    st = nghttp2_session_get_stream_user_data(ng, frame->hd.stream_id);
    if (st)
        st->is_answer_out = true;
    if (st && !st->is_request_over && st->ignored_len > IGNORED_LEN_MAX)
        sf_h2_stream_let_go(st);
    return 0;
}

/* --- sending --- */

struct fields { /* header fields for nghttp2; their text must not move once fields are added */
    nghttp2_nv nv[HEADERS_MAX];
    size_t n;
    struct sf_buf text;
};

static uint8_t *h2_session_put(struct sf_buf *text, sf_str s)
{
    uint8_t *p = sf_buf_take(text, s.len); /* reserved before, so it does not grow */
    if (p && s.len)
        memcpy(p, s.p, s.len);
    return p;
}

static void put_field(struct fields *f, sf_str name, sf_str val)
{
    uint8_t *n, *v;

    if (f->n == HEADERS_MAX)
        return;
    n = h2_session_put(&f->text, name);
    v = h2_session_put(&f->text, val);
    if (!n || !v)
        return;
    for (size_t i = 0; i < name.len; i++) {
        if (n[i] >= 'A' && n[i] <= 'Z')
            n[i] = (uint8_t)(n[i] | 0x20);
    }
    for (size_t i = 0; i < val.len; i++) {
        if ((v[i] < 0x20 && v[i] != '\t') || v[i] == 0x7f)
            v[i] = '?';
    }
    f->nv[f->n++] = (nghttp2_nv){n, v, name.len, val.len, NGHTTP2_NV_FLAG_NONE};
}

static void h2_session_put_number(struct fields *f, sf_str name, uint64_t v)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
    put_field(f, name, (sf_str){text, (size_t)n});
}

static void put_answer(struct fields *f, const struct sf_h2_answer *a)
{
    const struct sf_response *r = a->response;
    char date[SF_HTTP_DATE_LEN + 1];

    h2_session_put_number(f, SF_STR(":status"), (uint64_t)(a->is_grpc ? 200 : r->status));
    if (a->is_grpc)
        put_field(f, SF_STR("content-type"), SF_STR("application/grpc"));
    else if (r->content_type)
        put_field(f, SF_STR("content-type"), sf_str_from(r->content_type));
    sf_h1_writer_date(a->now_s, date);
    if (!a->is_grpc) {
        put_field(f, SF_STR("date"), (sf_str){date, SF_HTTP_DATE_LEN});
        if (r->content_type)
            put_field(f, SF_STR("x-content-type-options"), SF_STR("nosniff"));
        if (a->has_len && sf_h1_writer_has_body(r->status))
            h2_session_put_number(f, SF_STR("content-length"), a->body_len);
        if (a->is_gzip) {
            put_field(f, SF_STR("content-encoding"), SF_STR("gzip"));
            put_field(f, SF_STR("vary"), SF_STR("accept-encoding"));
        }
        if (r->retry_after_s)
            h2_session_put_number(f, SF_STR("retry-after"), r->retry_after_s);
    }
    for (uint32_t i = 0; i < r->n_headers; i++)
        put_field(f, r->headers[i].name, r->headers[i].val);
}

static ssize_t read_out(nghttp2_session *ng, int32_t id, uint8_t *buf, size_t len, uint32_t *flags,
                        nghttp2_data_source *source, void *arg)
{
    struct sf_h2_stream *st = source->ptr;
    struct sf_h2_session *s = arg;
    size_t n = st->out.len - st->out_at;

    if (n > len)
        n = len;
    if (n)
        memcpy(buf, st->out.p + st->out_at, n);
    st->out_at += n;
    s->out_len -= n;
    s->flood.sent_len += n;
    if (st->out_at == st->out.len) {
        sf_buf_done(&st->out);
        st->out_at = 0;
        if (st->is_out_over) {
            nghttp2_nv nv[3];
            *flags |= NGHTTP2_DATA_FLAG_EOF;
            for (size_t i = 0; i < st->n_trailers; i++) {
                const struct sf_header *t = &st->trailers[i];
                nv[i] = (nghttp2_nv){(uint8_t *)(uintptr_t)t->name.p,
                                     (uint8_t *)(uintptr_t)t->val.p, t->name.len, t->val.len,
                                     NGHTTP2_NV_FLAG_NONE};
            }
            if (st->n_trailers) {
                *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
                if (nghttp2_submit_trailer(ng, id, nv, st->n_trailers))
                    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
            }
        } else if (!n) {
            st->is_out_waiting = true;
            return NGHTTP2_ERR_DEFERRED;
        }
    }
    if (n)
        s->hooks.on_sent(s->hooks.arg, st, n);
    return (ssize_t)n;
}

bool sf_h2_stream_answer(struct sf_h2_stream *st, const struct sf_h2_answer *a)
{
    const struct sf_response *r = a->response;
    struct fields f = {.n = 0};
    struct sf_header trailers[SF_GRPC_TRAILERS_MAX];
    size_t need = 1024, n_trailers = 0;
    nghttp2_data_provider provider = {.source = {.ptr = st}, .read_callback = read_out};
    bool is_ok = false;

    if (a->is_grpc && !a->has_body) {
        n_trailers = sf_grpc_trailers(r, &st->text, trailers);
        if (!n_trailers)
            goto done;
        need += st->text.len;
    }
    if (r->content_type)
        need += strlen(r->content_type);
    for (uint32_t i = 0; i < r->n_headers; i++)
        need += r->headers[i].name.len + r->headers[i].val.len;
    if (!sf_buf_reserve(&f.text, need))
        goto done;
    put_answer(&f, a);
    for (size_t i = 0; i < n_trailers; i++)
        put_field(&f, trailers[i].name, trailers[i].val);
    is_ok = nghttp2_submit_response(st->session->ng, st->id, f.nv, f.n,
                                    a->has_body ? &provider : NULL) == 0;
    st->is_answered = is_ok;
done:
    sf_buf_done(&f.text);
    return is_ok;
}

static void wake_out(struct sf_h2_stream *st)
{
    if (st->is_out_waiting) {
        st->is_out_waiting = false;
        (void)nghttp2_session_resume_data(st->session->ng, st->id);
    }
}

bool sf_h2_stream_write(struct sf_h2_stream *st, struct sf_buf *body)
{
    size_t len = body->len;

    if (!len)
        return true;
    if (!st->out.len) {
        sf_buf_done(&st->out);
        st->out = *body;
        *body = (struct sf_buf){0};
        st->out_at = 0;
    } else {
        if (st->out_at > st->out.len / 2) { /* a stream that is never completely sent must not
                                             * grow */
            memmove(st->out.p, st->out.p + st->out_at, st->out.len - st->out_at);
            st->out.len -= st->out_at;
            st->out_at = 0;
        }
        sf_buf_add(&st->out, body->p, body->len);
        if (!sf_buf_ok(&st->out))
            return false;
        sf_buf_reset(body);
    }
    st->session->out_len += len;
    wake_out(st);
    return true;
}

bool sf_h2_stream_end(struct sf_h2_stream *st, const struct sf_response *grpc)
{
    if (grpc) {
        sf_buf_reset(&st->text);
        st->n_trailers = sf_grpc_trailers(grpc, &st->text, st->trailers);
        if (!st->n_trailers)
            return false;
    }
    st->is_out_over = true;
    wake_out(st);
    return true;
}

bool sf_h2_stream_continue(struct sf_h2_stream *st)
{
    static uint8_t name[] = ":status", val[] = "100";
    nghttp2_nv nv = {name, val, sizeof(name) - 1, sizeof(val) - 1, NGHTTP2_NV_FLAG_NONE};

    return nghttp2_submit_headers(st->session->ng, NGHTTP2_FLAG_NONE, st->id, NULL, &nv, 1, NULL) ==
           0;
}

void sf_h2_stream_consume(struct sf_h2_stream *st, size_t len, bool is_stream_too)
{
    nghttp2_session *ng = st->session->ng;
    int rc = is_stream_too ? nghttp2_session_consume(ng, st->id, len)
                           : nghttp2_session_consume_connection(ng, len);

    if (rc)
        st->session->is_no_memory = true;
}

void sf_h2_stream_consume_stream(struct sf_h2_stream *st, size_t len)
{
    if (nghttp2_session_consume_stream(st->session->ng, st->id, len))
        st->session->is_no_memory = true;
}

void sf_h2_stream_ignore_body(struct sf_h2_stream *st)
{
    st->is_body_ignored = true;
}

void sf_h2_stream_let_go(struct sf_h2_stream *st)
{
    if (!st->is_let_go)
        (void)nghttp2_submit_rst_stream(st->session->ng, NGHTTP2_FLAG_NONE, st->id,
                                        NGHTTP2_NO_ERROR);
    st->is_let_go = true;
}

void sf_h2_stream_reset(struct sf_h2_stream *st, bool is_cancel)
{
    (void)nghttp2_submit_rst_stream(st->session->ng, NGHTTP2_FLAG_NONE, st->id,
                                    is_cancel ? NGHTTP2_CANCEL : NGHTTP2_INTERNAL_ERROR);
}

/* --- the connection --- */

static int make_session(struct sf_h2_session *s, const nghttp2_session_callbacks *callbacks)
{
    nghttp2_mem mem = {NULL, ng_new, ng_free, ng_new_n, ng_grow};
    nghttp2_option *option = NULL;
    int rc = nghttp2_option_new(&option);

    if (rc)
        return rc;
    nghttp2_option_set_no_auto_window_update(option, 1);
    /* Closed streams are remembered, as many as may be open: a frame on one of them is an error of
     * the peer; otherwise it would look like a frame on an unknown stream, which is ignored. */
    nghttp2_option_set_max_outbound_ack(option, SF_LIMIT_H2_CONTROL);
    nghttp2_option_set_max_continuations(option, 8); /* 8 x 16 KiB is twice the limit of a head */
    rc = nghttp2_session_server_new3(&s->ng, callbacks, s, option, &mem);
    nghttp2_option_del(option);
    return rc;
}

static int begin_session(struct sf_h2_session *s, uint32_t streams)
{
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW_LEN},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, sf_u32(s->header_len_max)},
    };
    int rc = nghttp2_submit_settings(s->ng, NGHTTP2_FLAG_NONE, settings, 3);

    if (!rc)
        rc = nghttp2_session_set_local_window_size(s->ng, NGHTTP2_FLAG_NONE, 0,
                                                   CONNECTION_WINDOW_LEN);
    return rc;
}

enum sf_err sf_h2_session_new(const struct sf_h2_config *config, struct sf_h2_session **out,
                              struct sf_why *why)
{
    nghttp2_session_callbacks *callbacks = NULL;
    struct sf_h2_session *s = sf_heap_new(sizeof(*s));
    enum sf_err err = SF_ERR_NOMEM;

    if (!s || nghttp2_session_callbacks_new(&callbacks))
        goto done;
    s->hooks = config->hooks;
    s->header_len_max = config->header_len ? config->header_len : SF_LIMIT_HEADER_LEN;
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame_recv);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, h2_session_on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_send);
    if (make_session(s, callbacks) ||
        begin_session(s, config->streams ? config->streams : SF_LIMIT_STREAMS))
        goto done;
    err = SF_OK;
    *out = s;
    s = NULL;
done:
    nghttp2_session_callbacks_del(callbacks);
    sf_h2_session_free(s);
    return err ? sf_fail(why, err, "h2: no memory for a connection") : SF_OK;
}

void sf_h2_session_free(struct sf_h2_session *s)
{
    if (!s)
        return;
    while (s->streams)
        drop_stream(s, s->streams, false);
    nghttp2_session_del(s->ng);
    sf_heap_free(s);
}

static enum sf_err end_session(struct sf_h2_session *s, enum sf_err err, uint32_t code,
                               struct sf_why *why, const char *reason)
{
    s->is_dead = true;
    (void)nghttp2_session_terminate_session(s->ng, code);
    return sf_fail(why, err, "h2: %s", reason);
}

enum sf_err sf_h2_session_recv(struct sf_h2_session *s, sf_bytes in, int64_t now_ns,
                               struct sf_why *why)
{
    ssize_t n;

    if (s->is_dead)
        return sf_fail(why, SF_ERR_INPUT, "h2: the connection has ended");
    s->now_ns = now_ns;
    n = nghttp2_session_mem_recv(s->ng, in.p, in.len);
    if (s->is_flooded)
        return end_session(s, SF_ERR_LIMIT, NGHTTP2_ENHANCE_YOUR_CALM, why, s->reason);
    if (s->is_no_memory || n == NGHTTP2_ERR_NOMEM)
        return end_session(s, SF_ERR_NOMEM, NGHTTP2_INTERNAL_ERROR, why, "no memory");
    if (n == NGHTTP2_ERR_FLOODED || n == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS)
        return end_session(s, SF_ERR_LIMIT, NGHTTP2_ENHANCE_YOUR_CALM, why,
                           nghttp2_strerror((int)n));
    if (n < 0)
        return end_session(s, SF_ERR_INPUT, NGHTTP2_PROTOCOL_ERROR, why, nghttp2_strerror((int)n));
    return SF_OK;
}

enum sf_err sf_h2_session_send(struct sf_h2_session *s, struct sf_buf *out, size_t max)
{
    while (out->len < max) {
        const uint8_t *p;
        ssize_t n = nghttp2_session_mem_send(s->ng, &p);
        if (n < 0)
            return n == NGHTTP2_ERR_NOMEM ? SF_ERR_NOMEM : SF_ERR_INPUT;
        if (!n)
            break;
        sf_buf_add(out, p, (size_t)n);
    }
    return out->err;
}

bool sf_h2_session_wants_send(const struct sf_h2_session *s)
{
    return nghttp2_session_want_write(s->ng) != 0;
}

bool sf_h2_session_has_begun(const struct sf_h2_session *s)
{
    return s->has_begun;
}

bool sf_h2_session_is_over(const struct sf_h2_session *s)
{
    return !nghttp2_session_want_read(s->ng) && !nghttp2_session_want_write(s->ng);
}

bool sf_h2_session_is_broken(const struct sf_h2_session *s)
{
    return s->is_broken;
}

size_t sf_h2_session_n_queued(const struct sf_h2_session *s)
{
    return nghttp2_session_get_outbound_queue_size(s->ng);
}

size_t sf_h2_session_out_len(const struct sf_h2_session *s)
{
    return s->out_len;
}

size_t sf_h2_session_n_streams(const struct sf_h2_session *s)
{
    return s->n_streams;
}

struct sf_h2_stream *sf_h2_session_streams(struct sf_h2_session *s)
{
    return s->streams;
}

void sf_h2_session_drain(struct sf_h2_session *s, bool is_final)
{
    if (!is_final)
        (void)nghttp2_submit_shutdown_notice(s->ng);
    else
        (void)nghttp2_submit_goaway(s->ng, NGHTTP2_FLAG_NONE,
                                    nghttp2_session_get_last_proc_stream_id(s->ng),
                                    NGHTTP2_NO_ERROR, NULL, 0);
}
