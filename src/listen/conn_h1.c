/* conn_h1.c - HTTP/1.1 on one connection: turns parser events into an exchange (head, body pieces,
 * end), writes answers whole or in chunks, and handles keep-alive, Expect: 100-continue and
 * timeouts. Runs on the loop's thread. */
#include <string.h>

#include "base/time_unit.h"
#include "http/h1_writer.h"
#include "listen/conn.h"
#include "os/clock.h"

enum {
    IGNORED_LEN_MAX = 64 * 1024
}; /* bytes of a refused body that are read so that the
    * connection can be kept */

static int64_t conn_h1_ms(unsigned n)
{
    return (int64_t)n * SF_NS_PER_MS;
}

void sf_conn_h1_begin(struct sf_conn *c)
{
    sf_h1_parser_init(&c->h1);
    c->keeps_alive = true;
}

void sf_conn_h1_done(struct sf_conn *c)
{
    struct sf_exchange *ex = c->ex;

    c->ex = NULL;
    if (ex)
        sf_exchange_part(ex);
    sf_h1_parser_done(&c->h1);
    sf_buf_done(&c->early);
    sf_buf_done(&c->out);
    sf_buf_done(&c->body);
}

/* --- answers --- */

void sf_conn_h1_refuse(struct sf_conn *c, int status, const char *reason, unsigned retry_after_s)
{
    struct sf_response r = {0};
    struct sf_exchange *ex = c->ex;
    bool is_head = ex && ex->request.method == SF_METHOD_HEAD;
    bool is_begun = ex && ex->is_answering;

    if (!is_begun)
        sf_exchange_refuse(&c->loop->shared->hooks, ex, status, reason, retry_after_s, &r);
    c->ex = NULL;
    if (ex)
        sf_exchange_part(ex);
    if (is_begun) { /* a partly sent answer cannot be replaced */
        c->wants_close = true;
        return;
    }
    sf_h1_writer_head(&c->out, &(struct sf_h1_answer){.response = &r,
                                                      .body_len = r.body.len,
                                                      .now_s = sf_clock_wall_ns() / SF_NS_PER_S});
    if (!is_head)
        sf_buf_add(&c->out, r.body.p, r.body.len);
    sf_response_done(&r);
    c->closes_after = true;
}

static void refuse_bad(struct sf_conn *c, int status, const char *reason)
{
    sf_loop_fault(c->loop, SF_FAULT_FRAMING, reason, c->peer);
    sf_conn_h1_refuse(c, status, reason, 0);
}

static void conn_h1_write_head(struct sf_conn *c, struct sf_exchange *ex, enum sf_h1_body kind)
{
    c->keeps_alive = c->keeps_alive && c->h1.keeps_alive && !c->loop->is_draining &&
                     kind != SF_H1_BODY_TO_END;
    sf_h1_writer_head(&c->out, &(struct sf_h1_answer){.response = &ex->response,
                                                      .body = kind,
                                                      .body_len = ex->response.body.len,
                                                      .keeps_alive = c->keeps_alive,
                                                      .is_1_0 = c->h1.is_1_0,
                                                      .is_gzip = ex->is_gzip,
                                                      .now_s = sf_clock_wall_ns() / SF_NS_PER_S});
    ex->is_answering = true;
    ex->progress_ns = c->loop->now_ns;
}

static bool sends_body(const struct sf_exchange *ex)
{
    return ex->request.method != SF_METHOD_HEAD && sf_h1_writer_has_body(ex->response.status);
}

static void conn_h1_answer_streamed(struct sf_conn *c, struct sf_exchange *ex)
{
    struct sf_buf piece = {0};
    bool is_over;

    sf_exchange_take_stream(ex, &piece);
    if (!ex->is_stream_begun) {
        conn_h1_write_head(c, ex, c->h1.is_1_0 ? SF_H1_BODY_TO_END : SF_H1_BODY_CHUNKED);
        c->is_chunking = !c->h1.is_1_0;
        ex->is_stream_begun = true;
    }
    while (!sends_body(ex) && piece.len) {
        sf_exchange_sent(ex, piece.len);
        sf_buf_done(&piece);
        sf_exchange_take_stream(ex, &piece);
    }
    is_over = !ex->is_with_app && !sf_exchange_has_late(ex);
    if (!piece.len)
        ;
    else if (c->is_chunking)
        sf_h1_writer_chunk(&c->out, sf_buf_bytes(&piece));
    else
        sf_buf_add(&c->out, piece.p, piece.len);
    if (ex->is_lost || (!ex->is_with_app && ex->response.is_broken)) {
        c->wants_close = true;
    } else if (is_over) {
        if (c->is_chunking && sends_body(ex))
            sf_h1_writer_last_chunk(&c->out);
        c->is_answer_over = true;
    }
    sf_buf_done(&piece);
}

void sf_conn_h1_answer(struct sf_conn *c, struct sf_exchange *ex)
{
    if (c->is_closing || c->ex != ex)
        return;
    if (ex->is_streamed) {
        conn_h1_answer_streamed(c, ex);
    } else if (!ex->is_with_app && !sf_conn_may_answer(c, ex->response.body.len)) {
        sf_conn_h1_refuse(c, 503, "too many answers are not read", 1);
    } else if (!ex->is_with_app) {
        conn_h1_write_head(c, ex, SF_H1_BODY_SIZED);
        if (sends_body(ex) && ex->response.body.len) {
            c->body = ex->response.body;
            c->body_at = 0;
            ex->response.body = (struct sf_buf){0};
        }
        c->is_answer_over = true;
    }
    if (!sf_buf_ok(&c->out))
        c->wants_close = true;
}

bool sf_conn_h1_has_output(const struct sf_conn *c)
{
    return c->out.len || c->body_at < c->body.len;
}

static void conn_h1_resume(struct sf_conn *c); /* continues with early bytes */

/* The answer was sent. The exchange is kept only while the rest of a refused body is received. */
static void answer_is_out(struct sf_conn *c)
{
    c->is_answer_over = false;
    if (!c->keeps_alive) {
        c->closes_after = true;
    } else if (c->ex && c->ex->is_whole) {
        sf_exchange_free(c->ex);
        c->ex = NULL;
        conn_h1_resume(c);
    }
}

void sf_conn_h1_fill(struct sf_conn *c, struct sf_buf *out, size_t max)
{
    size_t n;

    if (c->out.len) {
        sf_buf_add(out, c->out.p, c->out.len);
        if (c->ex && c->ex->is_stream_begun)
            sf_exchange_sent(c->ex, c->out.len);
        if (c->out.cap > 4096)
            sf_buf_done(&c->out);
        sf_buf_reset(&c->out);
        if (c->ex && c->ex->is_stream_begun && sf_exchange_has_late(c->ex))
            conn_h1_answer_streamed(c, c->ex);
    }
    n = c->body.len - c->body_at;
    if (n > 0 && out->len < max) {
        if (n > max - out->len)
            n = max - out->len;
        sf_buf_add(out, c->body.p + c->body_at, n);
        c->body_at += n;
        if (c->body_at == c->body.len) {
            sf_buf_done(&c->body);
            c->body_at = 0;
        }
    }
    if (!sf_conn_h1_has_output(c) && c->is_answer_over)
        answer_is_out(c);
}

/* --- requests --- */

static bool begin_request(struct sf_conn *c)
{
    c->ex = sf_exchange_new(c->loop, c);
    if (!c->ex) {
        sf_conn_h1_refuse(c, 503, "no memory for the request", 1);
        return false;
    }
    c->ignored_len = 0;
    sf_h1_parser_start(&c->h1, &c->ex->head);
    return true;
}

/* on_headers refused the request: answers at once. A short rest of the body is read and dropped; if
 * it is long, the connection is closed instead. */
static void refused_by_app(struct sf_conn *c, struct sf_exchange *ex)
{
    ex->is_refused = true;
    if (c->h1.expects_continue || c->h1.content_len > IGNORED_LEN_MAX)
        c->keeps_alive = false;
    sf_conn_h1_answer(c, ex);
}

static void head_is_whole(struct sf_conn *c)
{
    const struct sf_listen_shared *shared = c->loop->shared;
    struct sf_exchange *ex = c->ex;
    struct sf_why why = {""};

    ex->request = c->h1.request;
    sf_exchange_stamp(ex);
    c->n_requests++;
    atomic_fetch_add_explicit(&c->loop->shared->counts.n_requests_h1, 1, memory_order_relaxed);
    if (sf_body_check_len(c->h1.content_len, ex->body.len_max, &why)) {
        sf_conn_h1_refuse(c, 413, why.text, 0);
        return;
    }
    if (shared->hooks.on_headers && !shared->hooks.on_headers(shared->hooks.arg, ex)) {
        refused_by_app(c, ex);
        return;
    }
    if (c->h1.content_len)
        sf_body_expect(&ex->body, c->h1.content_len);
    if (c->h1.expects_continue && (c->h1.is_chunked || c->h1.content_len))
        sf_h1_writer_continue(&c->out);
}

static void body_piece(struct sf_conn *c, sf_bytes piece)
{
    struct sf_why why = {""};
    enum sf_err err;

    c->ex->progress_ns = c->loop->now_ns;
    if (c->ex->is_refused) {
        c->ignored_len += piece.len;
        if (c->ignored_len > IGNORED_LEN_MAX)
            c->keeps_alive = false;
        return;
    }
    err = sf_body_add(&c->ex->body, piece, &why);
    if (err == SF_ERR_LIMIT)
        sf_conn_h1_refuse(c, 413, why.text, 0);
    else if (err)
        sf_conn_h1_refuse(c, 503, why.text, 5);
}

static void request_is_whole(struct sf_conn *c)
{
    struct sf_exchange *ex = c->ex;

    if (!ex->is_refused) {
        sf_exchange_give_to_app(ex);
        return;
    }
    ex->is_whole = true;
    if (!c->is_answer_over && !c->closes_after) { /* its answer was already sent */
        sf_exchange_free(ex);
        c->ex = NULL;
    }
}

/* A slow head uses memory too; it is refused first when memory is short. */
static void head_is_partial(struct sf_conn *c)
{
    sf_exchange_charge_head(c->ex, sf_h1_parser_cap(&c->h1));
    if (c->ex->head_charge && sf_body_budget_is_over(&c->loop->shared->budget))
        sf_conn_h1_refuse(c, 503, "too many large requests at once", 1);
}

void sf_conn_h1_input(struct sf_conn *c, sf_bytes in)
{
    while (!c->closes_after && !c->wants_close) {
        if (c->ex && c->ex->is_whole) {
            sf_buf_add(&c->early, in.p, in.len);
            if (!sf_buf_ok(&c->early))
                c->wants_close = true;
            return;
        }
        if (!c->ex && (!in.len || !begin_request(c)))
            return;
        switch (sf_h1_parser_next(&c->h1, &in)) {
        case SF_H1_MORE:
            if (sf_h1_parser_is_in_head(&c->h1))
                head_is_partial(c);
            return;
        case SF_H1_HEAD: head_is_whole(c); break;
        case SF_H1_BODY: body_piece(c, c->h1.piece); break;
        case SF_H1_END: request_is_whole(c); break;
        case SF_H1_BAD: refuse_bad(c, c->h1.status, c->h1.head->reason); return;
        }
    }
}

uint8_t *sf_conn_h1_room(struct sf_conn *c, size_t *out_len)
{
    uint64_t left = c->ex ? sf_h1_parser_body_left(&c->h1) : 0;

    if (!left || c->ex->is_whole || c->ex->is_refused || c->closes_after || c->wants_close)
        return NULL;
    return sf_body_room(&c->ex->body, left, out_len);
}

static void conn_h1_resume(struct sf_conn *c)
{
    struct sf_buf early = c->early;

    if (!early.len)
        return;
    c->early = (struct sf_buf){0};
    sf_conn_h1_input(c, sf_buf_bytes(&early));
    sf_buf_done(&early);
}

void sf_conn_h1_eof(struct sf_conn *c)
{
    c->keeps_alive = false;
    if (!c->ex)
        c->closes_after = true;
    else if (c->ex->is_with_app)
        /* The peer may have closed only its sending side, but is probably gone. The application may
         * stop; if it still answers, the answer is sent. */
        atomic_store(&c->ex->is_cancelled, true);
    else if (!c->ex->is_answering)
        c->wants_close = true; /* the request is incomplete */
}

/* --- time --- */

static void tick_idle(struct sf_conn *c)
{
    const struct sf_listen_limits *limits = &c->loop->shared->limits;
    int64_t last_ns = c->read_ns > c->write_ns ? c->read_ns : c->write_ns;

    if (!c->n_requests && c->loop->now_ns - c->begin_ns > conn_h1_ms(limits->header_timeout_ms))
        sf_conn_timed_out(c, "no request came in time");
    else if (c->loop->now_ns - last_ns > conn_h1_ms(limits->idle_timeout_ms))
        c->closes_after = true;
}

static void tick_timed_out(struct sf_conn *c, int status, const char *what)
{
    sf_loop_fault(c->loop, SF_FAULT_TIMEOUT, what, c->peer);
    sf_conn_h1_refuse(c, status, what, 0);
}

void sf_conn_h1_tick(struct sf_conn *c)
{
    const struct sf_listen_limits *limits = &c->loop->shared->limits;
    struct sf_exchange *ex = c->ex;
    int64_t now = c->loop->now_ns;

    if (c->closes_after)
        return;
    if (!ex) {
        tick_idle(c);
    } else if (!ex->is_head_over) {
        if (now - ex->begin_ns > conn_h1_ms(limits->header_timeout_ms))
            tick_timed_out(c, 408, "the request's head did not come in time");
    } else if (!ex->is_whole) {
        if (now - ex->progress_ns > conn_h1_ms(limits->body_timeout_ms) ||
            now > ex->request.deadline_ns)
            tick_timed_out(c, 408, "the request's body did not come in time");
    } else if (ex->is_with_app && now > ex->request.deadline_ns) {
        tick_timed_out(c, 504, "the request took too long");
    }
}
