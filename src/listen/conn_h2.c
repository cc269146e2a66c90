/* conn_h2.c - HTTP/2 on one connection: hooks of the session create an exchange per stream, pass on
 * head and body (gRPC messages are unframed), and send answers with flow control. Deadlines are per
 * stream. Runs on the loop's thread. */
#include <stdio.h>
#include <string.h>

#include "base/time_unit.h"
#include "http/h1_writer.h"
#include "listen/conn.h"
#include "os/clock.h"

enum { REFUSED_BODY_MS = 2000 }; /* time for the rest of a refused body to arrive */

static int64_t conn_h2_ms(unsigned n)
{
    return (int64_t)n * SF_NS_PER_MS;
}

/* --- answers --- */

static int grpc_status_of(int http_status)
{
    switch (http_status) {
    case 400: return SF_GRPC_INVALID_ARGUMENT;
    case 401: return SF_GRPC_UNAUTHENTICATED;
    case 403: return SF_GRPC_PERMISSION_DENIED;
    case 404: return SF_GRPC_UNIMPLEMENTED;
    case 408:
    case 504: return SF_GRPC_DEADLINE_EXCEEDED;
    case 413:
    case 431: return SF_GRPC_RESOURCE_EXHAUSTED;
    case 503: return SF_GRPC_UNAVAILABLE;
    default: return SF_GRPC_INTERNAL;
    }
}

/* Puts the prefix of a gRPC message before it. */
static bool frame_message(struct sf_buf *body)
{
    size_t len = body->len;

    if (len > UINT32_MAX || !sf_buf_take(body, SF_GRPC_PREFIX_LEN))
        return false;
    memmove(body->p + SF_GRPC_PREFIX_LEN, body->p, len);
    sf_grpc_write_prefix(body->p, (uint32_t)len, false);
    return true;
}

static bool conn_h2_begin_answer(struct sf_exchange *ex, bool has_body, bool has_len)
{
    struct sf_h2_answer a = {
        .response = &ex->response,
        .is_grpc = ex->request.is_grpc,
        .is_gzip = ex->is_gzip,
        .has_body = has_body,
        .has_len = has_len,
        .body_len = ex->response.body.len,
        .now_s = sf_clock_wall_ns() / SF_NS_PER_S,
    };

    ex->is_answering = true;
    ex->progress_ns = ex->loop->now_ns;
    return sf_h2_stream_answer(ex->stream, &a);
}

static bool conn_h2_answer_streamed(struct sf_exchange *ex)
{
    bool is_grpc = ex->request.is_grpc;
    bool is_mute = !is_grpc && (ex->request.method == SF_METHOD_HEAD ||
                                !sf_h1_writer_has_body(ex->response.status));
    struct sf_buf piece = {0};
    bool is_ok = true, is_over;

    sf_exchange_take_stream(ex, &piece);
    if (!ex->is_stream_begun) {
        ex->is_stream_begun = true;
        is_ok = conn_h2_begin_answer(ex, true, false);
    }
    while (is_mute && piece.len) {
        sf_exchange_sent(ex, piece.len);
        sf_buf_done(&piece);
        sf_exchange_take_stream(ex, &piece);
    }
    is_over = !ex->is_with_app && !sf_exchange_has_late(ex);
    is_ok = is_ok && sf_h2_stream_write(ex->stream, &piece);
    if (ex->is_lost || (!ex->is_with_app && ex->response.is_broken))
        is_ok = false;
    if (is_ok && is_over && ex->response.is_framed)
        is_ok = sf_h2_stream_write(ex->stream, &ex->response.body);
    if (is_ok && is_over)
        is_ok = sf_h2_stream_end(ex->stream, is_grpc ? &ex->response : NULL);
    sf_buf_done(&piece);
    return is_ok;
}

static bool answer_whole(struct sf_exchange *ex)
{
    struct sf_response *r = &ex->response;
    bool has_body;

    if (ex->request.is_grpc) {
        if (r->grpc_status != SF_GRPC_OK)
            return conn_h2_begin_answer(ex, false, false);
        return (r->is_framed || frame_message(&r->body)) && conn_h2_begin_answer(ex, true, false) &&
               sf_h2_stream_write(ex->stream, &r->body) && sf_h2_stream_end(ex->stream, r);
    }
    has_body = r->body.len && ex->request.method != SF_METHOD_HEAD &&
               sf_h1_writer_has_body(r->status);
    if (!conn_h2_begin_answer(ex, has_body, true))
        return false;
    return !has_body ||
           (sf_h2_stream_write(ex->stream, &r->body) && sf_h2_stream_end(ex->stream, NULL));
}

/* A refusal by the listener: the application has not seen the request, or will not see its end. */
static void prepare_refusal(struct sf_exchange *ex, int status, const char *reason,
                            unsigned retry_after_s)
{
    struct sf_response *r = &ex->response;

    sf_response_done(r); /* free a long body */
    ex->is_gzip = false;
    sf_exchange_refuse(&ex->loop->shared->hooks, ex, status, reason, retry_after_s, r);
    r->grpc_status = grpc_status_of(status);
    (void)snprintf(r->grpc_message, sizeof(r->grpc_message), "%s", reason);
}

void sf_conn_h2_answer(struct sf_conn *c, struct sf_exchange *ex)
{
    bool is_ok = true;

    if (c->is_closing || !ex->stream)
        return;
    if (!ex->is_with_app && !sf_conn_may_answer(c, ex->response.body.len))
        prepare_refusal(ex, 503, "too many answers are not read", 1);
    if (ex->is_streamed)
        is_ok = conn_h2_answer_streamed(ex);
    else if (!ex->is_with_app)
        is_ok = answer_whole(ex);
    if (!is_ok)
        sf_h2_stream_reset(ex->stream, false);
}

static void send_refusal(struct sf_exchange *ex)
{
    ex->is_refused = true;
    sf_h2_stream_ignore_body(ex->stream);
    sf_conn_h2_answer(ex->conn, ex);
}

static void conn_h2_refuse(struct sf_exchange *ex, int status, const char *reason,
                           unsigned retry_after_s)
{
    prepare_refusal(ex, status, reason, retry_after_s);
    send_refusal(ex);
}

/* --- requests --- */

/* A request that has begun uses memory even if the rest never arrives. One per connection is always
 * accepted; further ones only while all connections together have fewer than limits.requests. */
static bool has_room_for_stream(const struct sf_conn *c)
{
    const struct sf_listen_shared *shared = c->loop->shared;
    return sf_h2_session_n_streams(c->h2) == 0 ||
           atomic_load_explicit(&shared->n_streams, memory_order_relaxed) < shared->limits.requests;
}

static struct sf_head *on_begin(void *arg, struct sf_h2_stream *s)
{
    struct sf_conn *c = arg;
    struct sf_exchange *ex = has_room_for_stream(c) ? sf_exchange_new(c->loop, c) : NULL;

    if (!ex)
        return NULL;
    atomic_fetch_add_explicit(&c->loop->shared->n_streams, 1, memory_order_relaxed);
    ex->is_counted = true;
    ex->stream = s;
    s->user = ex;
    return &ex->head;
}

static enum sf_err check_content_len(const struct sf_exchange *ex, struct sf_why *why)
{
    uint64_t len;
    uint64_t prefix_len = ex->request.is_grpc ? SF_GRPC_PREFIX_LEN : 0;

    if (!sf_str_to_u64(sf_request_header(&ex->request, SF_STR("content-length")), &len))
        return SF_OK; /* unknown length: counted as it arrives */
    return sf_body_check_len(len < prefix_len ? 0 : len - prefix_len, ex->body.len_max, why);
}

static void on_head(void *arg, struct sf_h2_stream *s)
{
    struct sf_conn *c = arg;
    struct sf_exchange *ex = s->user;
    struct sf_listen_shared *shared = c->loop->shared;
    struct sf_request *r = &ex->request;
    struct sf_why why = {""};

    r->is_h2 = true;
    if (!sf_head_finish(&ex->head, r)) {
        sf_exchange_stamp(ex);
        sf_loop_fault(c->loop, SF_FAULT_FRAMING, ex->head.reason, c->peer);
        conn_h2_refuse(ex, ex->head.status, ex->head.reason, 0);
        return;
    }
    r->is_grpc = sf_grpc_is_type(r->content_type);
    if (r->is_grpc)
        r->coding = SF_CODING_NONE; /* until a message is marked as compressed */
    sf_exchange_stamp(ex);
    c->n_requests++;
    atomic_fetch_add_explicit(r->is_grpc ? &shared->counts.n_requests_grpc
                                         : &shared->counts.n_requests_h2,
                              1, memory_order_relaxed);
    if (check_content_len(ex, &why)) {
        conn_h2_refuse(ex, 413, why.text, 0);
        return;
    }
    if (shared->hooks.on_headers && !shared->hooks.on_headers(shared->hooks.arg, ex)) {
        send_refusal(ex);
        return;
    }
    if (sf_str_ieq(sf_request_header(r, SF_STR("expect")), SF_STR("100-continue")))
        (void)sf_h2_stream_continue(s);
}

/* A message begins: checks whether it is accepted. */
static bool begin_message(struct sf_exchange *ex)
{
    sf_str encoding = sf_request_header(&ex->request, SF_STR("grpc-encoding"));
    struct sf_why why = {""};

    if (ex->grpc.n_messages) {
        conn_h2_refuse(ex, 400, "this method takes one message", 0);
    } else if (sf_body_check_len(ex->grpc.len, ex->body.len_max, &why)) {
        conn_h2_refuse(ex, 413, why.text, 0);
    } else if (ex->grpc.is_compressed && !encoding.len) {
        conn_h2_refuse(ex, 500, "a compressed message without grpc-encoding", 0);
    } else if (ex->grpc.is_compressed && !sf_grpc_coding(encoding, &ex->request.coding)) {
        prepare_refusal(ex, 404, "the grpc-encoding is not supported here", 0);
        (void)sf_response_header(&ex->response, "grpc-accept-encoding",
                                 SF_STR(SF_GRPC_ACCEPT_ENCODING));
        send_refusal(ex);
    }
    return !ex->is_refused;
}

static void conn_h2_add_piece(struct sf_exchange *ex, sf_bytes piece)
{
    struct sf_why why = {""};
    enum sf_err err = sf_body_add(&ex->body, piece, &why);

    if (err == SF_ERR_LIMIT)
        conn_h2_refuse(ex, 413, why.text, 0);
    else if (err)
        conn_h2_refuse(ex, 503, why.text, 5);
}

static void add_grpc(struct sf_exchange *ex, sf_bytes in)
{
    while (!ex->is_refused) {
        switch (sf_grpc_reader_next(&ex->grpc, &in)) {
        case SF_GRPC_MORE: return;
        case SF_GRPC_BEGIN:
            if (!begin_message(ex))
                return;
            break;
        case SF_GRPC_PIECE: conn_h2_add_piece(ex, ex->grpc.piece); break;
        case SF_GRPC_END: break;
        case SF_GRPC_BAD:
            conn_h2_refuse(ex, 500, "a message begins with an unknown flag", 0);
            return;
        }
    }
}

static void on_body(void *arg, struct sf_h2_stream *s, sf_bytes piece)
{
    struct sf_conn *c = arg;
    struct sf_exchange *ex = s->user;
    bool is_over = sf_body_budget_is_over(&c->loop->shared->budget);

    if (!ex) {
        sf_h2_stream_consume(s, piece.len, true);
        return;
    }
    ex->progress_ns = c->loop->now_ns;
    ex->is_late = is_over && (ex->is_late || !ex->body.len);
    if (ex->request.is_grpc)
        add_grpc(ex, piece);
    else
        conn_h2_add_piece(ex, piece);
    /* The connection's window is shared by all streams, so it is opened. The stream's window stays
     * closed for a body that began while the budget was exceeded, so that at most one window of it
     * goes to disk. */
    sf_h2_stream_consume(s, piece.len, !ex->is_late);
    if (ex->is_late) {
        ex->withheld_len += piece.len;
        atomic_store(&c->loop->is_waiting, true);
    }
}

static void conn_h2_on_end(void *arg, struct sf_h2_stream *s)
{
    struct sf_exchange *ex = s->user;

    (void)arg;
    if (!ex || ex->is_refused)
        return;
    if (ex->request.is_grpc && !sf_grpc_reader_is_whole(&ex->grpc))
        conn_h2_refuse(ex, 400, "the message is cut short", 0);
    else if (ex->request.is_grpc && ex->grpc.n_messages != 1)
        conn_h2_refuse(ex, 400, "there is no message in the request", 0);
    else
        sf_exchange_give_to_app(ex);
}

static void on_sent(void *arg, struct sf_h2_stream *s, size_t body_len)
{
    struct sf_conn *c = arg;
    struct sf_exchange *ex = s->user;

    if (!ex)
        return;
    ex->progress_ns = c->loop->now_ns;
    if (!ex->is_stream_begun)
        return;
    sf_exchange_sent(ex, body_len);
    if (sf_exchange_has_late(ex) && !conn_h2_answer_streamed(ex))
        sf_h2_stream_reset(s, false);
}

static void on_close(void *arg, struct sf_h2_stream *s, bool is_clean)
{
    struct sf_exchange *ex = s->user;

    (void)arg;
    (void)is_clean;
    s->user = NULL;
    if (ex)
        sf_exchange_part(ex);
}

bool sf_conn_h2_begin(struct sf_conn *c)
{
    struct sf_h2_config config = {
        .hooks = {on_begin, on_head, on_body, conn_h2_on_end, on_sent, on_close, c},
        .streams = c->loop->shared->limits.streams,
        .header_len = c->loop->shared->limits.header_len,
    };

    return sf_h2_session_new(&config, &c->h2, NULL) == SF_OK;
}

void sf_conn_h2_input(struct sf_conn *c, sf_bytes in)
{
    struct sf_why why = {""};
    bool was_broken = sf_h2_session_is_broken(c->h2);
    enum sf_err err = sf_h2_session_recv(c->h2, in, c->loop->now_ns, &why);

    if (err) {
        sf_loop_fault(c->loop, err == SF_ERR_LIMIT ? SF_FAULT_FLOOD : SF_FAULT_FRAMING, why.text,
                      c->peer);
        c->closes_after = true; /* after GOAWAY */
    } else if (!was_broken && sf_h2_session_is_broken(c->h2)) {
        sf_loop_fault(c->loop, SF_FAULT_FRAMING, "h2: the peer breaks the protocol", c->peer);
    }
}

bool sf_conn_h2_has_partial(const struct sf_conn *c)
{
    for (struct sf_h2_stream *s = sf_h2_session_streams(c->h2); s; s = s->next) {
        const struct sf_exchange *ex = s->user;
        if (ex && ex->is_head_over && !ex->is_whole && !ex->is_refused && ex->body.len)
            return true;
    }
    return false;
}

void sf_conn_h2_unwithhold(struct sf_conn *c)
{
    for (struct sf_h2_stream *s = sf_h2_session_streams(c->h2); s; s = s->next) {
        struct sf_exchange *ex = s->user;
        if (!ex || !ex->withheld_len)
            continue;
        sf_h2_stream_consume_stream(s, ex->withheld_len);
        ex->withheld_len = 0;
        ex->is_late = false;
        ex->progress_ns = c->loop->now_ns;
    }
}

/* --- time --- */

/* The application has missed the deadline. It keeps the exchange until it finishes; the stream is
 * answered now, without a body, because sending that could not be monitored any more. */
static void deadline_passed(struct sf_conn *c, struct sf_h2_stream *s, struct sf_exchange *ex)
{
    struct sf_response r = {.status = 504, .grpc_status = SF_GRPC_DEADLINE_EXCEEDED};
    struct sf_h2_answer a = {.response = &r, .is_grpc = ex->request.is_grpc, .has_len = true};
    bool is_begun = ex->is_answering;

    a.now_s = sf_clock_wall_ns() / SF_NS_PER_S;
    (void)snprintf(r.grpc_message, sizeof(r.grpc_message), "the request took too long");
    sf_loop_fault(c->loop, SF_FAULT_TIMEOUT, r.grpc_message, c->peer);
    s->user = NULL;
    sf_exchange_part(ex);
    if (is_begun || !sf_h2_stream_answer(s, &a))
        sf_h2_stream_reset(s, true);
}

static void tick_stream(struct sf_conn *c, struct sf_h2_stream *s)
{
    const struct sf_listen_limits *limits = &c->loop->shared->limits;
    struct sf_exchange *ex = s->user;
    int64_t now = c->loop->now_ns;

    if (!ex || ex->withheld_len || ex->is_given_up)
        return;
    if (!ex->is_head_over) {
        if (now - ex->begin_ns > conn_h2_ms(limits->header_timeout_ms))
            sf_conn_timed_out(c, "the request's head did not come in time");
    } else if (ex->is_with_app) {
        if (now > ex->request.deadline_ns)
            deadline_passed(c, s, ex);
    } else if (s->is_answer_out) {
        if (now - ex->progress_ns > conn_h2_ms(REFUSED_BODY_MS))
            sf_h2_stream_let_go(s); /* refused, and the rest of its body has not arrived */
    } else if (ex->is_answering) {
        if (now - ex->progress_ns > conn_h2_ms(limits->body_timeout_ms)) {
            sf_loop_fault(c->loop, SF_FAULT_TIMEOUT, "the answer was not read in time", c->peer);
            ex->is_given_up = true;
            sf_h2_stream_reset(s, true);
        }
    } else if (now - ex->progress_ns > conn_h2_ms(limits->body_timeout_ms) ||
               now > ex->request.deadline_ns) {
        sf_loop_fault(c->loop, SF_FAULT_TIMEOUT, "the request's body did not come in time",
                      c->peer);
        conn_h2_refuse(ex, 408, "the request's body did not come in time", 0);
    }
}

void sf_conn_h2_tick(struct sf_conn *c)
{
    const struct sf_listen_limits *limits = &c->loop->shared->limits;
    struct sf_h2_stream *next;
    int64_t last_ns = c->read_ns > c->write_ns ? c->read_ns : c->write_ns;

    if (!sf_h2_session_has_begun(c->h2)) {
        if (c->loop->now_ns - c->begin_ns > conn_h2_ms(limits->header_timeout_ms))
            sf_conn_timed_out(c, "no request came in time");
        return;
    }
    if (!sf_h2_session_streams(c->h2)) {
        if (c->loop->now_ns - last_ns > conn_h2_ms(limits->idle_timeout_ms))
            sf_h2_session_drain(c->h2, true);
        return;
    }
    for (struct sf_h2_stream *s = sf_h2_session_streams(c->h2); s && !c->wants_close; s = next) {
        next = s->next;
        tick_stream(c, s);
    }
}
