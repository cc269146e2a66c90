/* conn.c - moves bytes between socket, TLS and protocol. After every callback sf_conn_advance()
 * writes what is ready, decides whether to read on (not while too much is unsent or no memory is
 * left for bodies) and closes when asked to. HTTP/2 is recognised by ALPN or the first bytes. */
#include "listen/conn.h"

#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/time_unit.h"
#include "os/clock.h"

enum {
    EARLY_LEN_MAX = 64 * 1024,    /* pipelined bytes kept while a request is processed */
    QUEUED_FRAMES_MAX = 256,      /* unsent HTTP/2 frames above which reading stops */
    SURPLUS_MAX = 64,             /* connections over the limit that get an error response */
    WRITE_TURN_LEN = 1024 * 1024, /* bytes sent in one turn, so that other connections are served
                                   * too */
    LINGER_MS = 1000,
    ANSWER_FREE_LEN = 4096,      /* answers up to this length are always sent */
    HEAD_READ_LEN = 8 * 1024,    /* heads are short, and bytes after one must be copied */
    UNREAD_LEN_MAX = 256 * 1024, /* unread bytes of one peer while memory is short */
};

static const char H2_PREFACE[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

static int64_t conn_ms(unsigned n)
{
    return (int64_t)n * SF_NS_PER_MS;
}

/* --- closing --- */

static void on_closed(uv_handle_t *handle)
{
    struct sf_conn *c = handle->data;
    struct sf_loop *loop = c->loop;

    if (c->prev)
        c->prev->next = c->next;
    else
        loop->conns = c->next;
    if (c->next)
        c->next->prev = c->prev;
    loop->n_conns--;
    if (c->is_surplus)
        loop->n_surplus--;
    else
        atomic_fetch_sub_explicit(&loop->shared->counts.n_connections, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&loop->shared->answers_len, c->answers_len, memory_order_relaxed);
    sf_tls_free(c->tls);
    sf_buf_done(&c->wire);
    sf_heap_free(c);
    if (loop->is_draining) /* when draining, the last connection ends the loop */
        (void)uv_async_send(&loop->async);
}

void sf_conn_close(struct sf_conn *c)
{
    if (c->is_closing)
        return;
    c->is_closing = true;
    sf_conn_h1_done(c);
    sf_h2_session_free(c->h2);
    c->h2 = NULL;
    uv_close((uv_handle_t *)&c->tcp, on_closed);
}

void sf_conn_timed_out(struct sf_conn *c, const char *what)
{
    sf_loop_fault(c->loop, SF_FAULT_TIMEOUT, what, c->peer);
    c->wants_close = true;
}

/* --- writing --- */

static bool has_output(const struct sf_conn *c)
{
    if (c->h2)
        return sf_h2_session_wants_send(c->h2);
    return sf_conn_h1_has_output(c);
}

static void fill_plain(struct sf_conn *c, struct sf_buf *out, size_t max)
{
    if (!c->h2) {
        sf_conn_h1_fill(c, out, max);
    } else if (sf_h2_session_send(c->h2, out, max)) {
        c->wants_close = true;
    }
}

/* Puts the next bytes for the socket into `wire`. */
static void fill_wire(struct sf_conn *c)
{
    struct sf_buf plain = {0};

    if (!c->tls) {
        fill_plain(c, &c->wire, SF_LOOP_WRITE_LEN);
    } else {
        if (sf_tls_is_ready(c->tls) && has_output(c)) {
            fill_plain(c, &plain, SF_LOOP_WRITE_LEN);
            if (!sf_buf_ok(&plain) ||
                (plain.len && sf_tls_write(c->tls, sf_buf_bytes(&plain)) != SF_OK))
                c->wants_close = true;
            sf_buf_done(&plain);
        }
        sf_tls_drain(c->tls, &c->wire);
    }
    if (!sf_buf_ok(&c->wire))
        c->wants_close = true;
}

static void on_written(uv_write_t *write, int status)
{
    struct sf_conn *c = write->data;

    c->is_writing = false;
    if (c->is_closing)
        return;
    c->loop->now_ns = sf_clock_mono_ns();
    c->write_ns = c->loop->now_ns;
    c->wire_at = c->wire.len;
    if (status < 0)
        c->wants_close = true;
    sf_loop_touch(c->loop, c);
    sf_loop_settle(c->loop);
}

static void write_later(struct sf_conn *c)
{
    uv_buf_t rest = uv_buf_init((char *)c->wire.p + c->wire_at,
                                (unsigned)(c->wire.len - c->wire_at));

    if (uv_write(&c->write, (uv_stream_t *)&c->tcp, &rest, 1, on_written)) {
        c->wants_close = true;
        return;
    }
    c->is_writing = true;
    c->write_ns = c->loop->now_ns;
}

static void conn_flush(struct sf_conn *c)
{
    size_t sent = 0;

    while (!c->is_writing && !c->wants_close) {
        uv_buf_t rest;
        int n;

        if (c->wire_at == c->wire.len) {
            /* Idle connections keep no buffer. */
            if (c->wire.cap > 4096)
                sf_buf_done(&c->wire);
            sf_buf_reset(&c->wire);
            c->wire_at = 0;
            fill_wire(c);
            if (!c->wire.len)
                return;
        }
        if (sent > WRITE_TURN_LEN) {
            write_later(c);
            return;
        }
        rest = uv_buf_init((char *)c->wire.p + c->wire_at, (unsigned)(c->wire.len - c->wire_at));
        n = uv_try_write((uv_stream_t *)&c->tcp, &rest, 1);
        if (n == UV_EAGAIN) {
            write_later(c);
        } else if (n < 0) {
            c->wants_close = true;
        } else {
            c->wire_at += (size_t)n;
            sent += (size_t)n;
            c->write_ns = c->loop->now_ns;
        }
    }
}

/* --- reading --- */

static bool may_pause(const struct sf_conn *c)
{
    /* A body that has begun must be allowed to finish (see body.h). */
    if (c->h2)
        return !sf_conn_h2_has_partial(c);
    return !c->ex || !c->ex->is_head_over || c->ex->is_whole;
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct sf_conn *c = handle->data;
    uint8_t *room;
    size_t room_len = 0;

    (void)suggested;
    /* Checked before every read, so that at most one read per loop exceeds the budget. */
    if (sf_body_budget_is_over(&c->loop->shared->budget) && may_pause(c) && !c->is_lingering) {
        c->is_paused = true;
        atomic_store(&c->loop->is_waiting, true);
        *buf = uv_buf_init(NULL, 0); /* on_read gets ENOBUFS */
        return;
    }
    *buf = uv_buf_init((char *)c->loop->read_buf, SF_LOOP_READ_LEN);
    if (c->protocol != SF_CONN_H1 || c->tls || c->is_lingering)
        return;
    room = sf_conn_h1_room(c, &room_len);
    if (room) /* read a body directly into its memory */
        *buf = uv_buf_init((char *)room, (unsigned)room_len);
    else if (!c->ex) /* read a head, and as little as possible of what follows it */
        buf->len = HEAD_READ_LEN;
}

static void conn_choose_protocol(struct sf_conn *c, bool is_h2)
{
    c->protocol = is_h2 ? SF_CONN_H2 : SF_CONN_H1;
    if (!is_h2)
        sf_conn_h1_begin(c);
    else if (!sf_conn_h2_begin(c))
        c->wants_close = true;
}

/* Detects the protocol by the first four bytes: no HTTP/1.1 method begins with "PRI ". */
static void sniff(struct sf_conn *c, sf_bytes in)
{
    struct sf_buf early;
    size_t n;

    if (c->tls && sf_tls_is_h2(c->tls)) {
        conn_choose_protocol(c, true);
        return;
    }
    sf_buf_add(&c->early, in.p, in.len);
    if (!sf_buf_ok(&c->early)) {
        c->wants_close = true;
        return;
    }
    n = c->early.len < 4 ? c->early.len : 4;
    if (n < 4 && memcmp(c->early.p, H2_PREFACE, n) == 0)
        return;
    conn_choose_protocol(c, memcmp(c->early.p, H2_PREFACE, n) == 0);
    early = c->early;
    c->early = (struct sf_buf){0};
    if (c->h2)
        sf_conn_h2_input(c, sf_buf_bytes(&early));
    else if (!c->wants_close)
        sf_conn_h1_input(c, sf_buf_bytes(&early));
    sf_buf_done(&early);
}

static void input(struct sf_conn *c, sf_bytes in)
{
    if (c->is_lingering || c->closes_after)
        return; /* read only so that the peer receives our answer */
    if (c->protocol == SF_CONN_UNKNOWN) {
        bool is_tls_h2 = c->tls && sf_tls_is_h2(c->tls);
        sniff(c, in);
        if (!is_tls_h2 || c->wants_close)
            return;
    }
    if (c->h2)
        sf_conn_h2_input(c, in);
    else
        sf_conn_h1_input(c, in);
}

static void input_eof(struct sf_conn *c)
{
    c->is_eof = true;
    if (c->protocol == SF_CONN_H1 && !c->is_lingering)
        sf_conn_h1_eof(c);
    else
        c->wants_close = true;
}

/* A TLS record begins with a small number, a request line or the preface of HTTP/2 with a letter.
 */
static bool is_plain_http(const struct sf_conn *c, sf_bytes in)
{
    return !c->has_fed_tls && in.len && in.p[0] >= 'A' && in.p[0] <= 'Z';
}

/* Sent in plain text, since such a client would not understand a TLS alert. */
static void refuse_plain(struct sf_conn *c)
{
    sf_loop_fault(c->loop, SF_FAULT_TLS, "plain HTTP came to a port with TLS", c->peer);
    sf_tls_free(c->tls);
    c->tls = NULL;
    c->protocol = SF_CONN_H1;
    sf_conn_h1_begin(c);
    sf_conn_h1_refuse(c, 400, "this port speaks TLS: use https://", 0);
}

static void input_tls(struct sf_conn *c, sf_bytes in)
{
    char what[128];
    enum sf_err err;
    size_t n = 1;

    if (is_plain_http(c, in)) {
        refuse_plain(c);
        return;
    }
    c->has_fed_tls = true;
    err = sf_tls_feed(c->tls, in);

    while (!err && n && !c->wants_close) {
        err = sf_tls_read(c->tls, c->loop->tls_buf, SF_LOOP_READ_LEN, &n);
        if (!err && n)
            input(c, (sf_bytes){c->loop->tls_buf, n});
    }
    if (err == SF_ERR_CANCELLED) {
        input_eof(c);
    } else if (err) {
        (void)snprintf(what, sizeof(what), "TLS failed: %s", sf_tls_reason(c->tls));
        sf_loop_fault(c->loop, SF_FAULT_TLS, what, c->peer);
        sf_tls_drain(c->tls, &c->wire); /* send the alert, but do not wait for the rest */
        conn_flush(c);
        c->wants_close = true;
    }
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct sf_conn *c = stream->data;
    struct sf_loop *loop = c->loop;

    loop->now_ns = sf_clock_mono_ns();
    if (c->is_closing || n == 0)
        return;
    if (n == UV_ENOBUFS) {
        sf_conn_advance(c); /* stops reading */
        return;
    }
    c->read_ns = loop->now_ns;
    if (n == UV_EOF)
        input_eof(c);
    else if (n < 0)
        c->wants_close = true;
    else if (c->tls)
        input_tls(c, (sf_bytes){(const uint8_t *)buf->base, (size_t)n});
    else
        input(c, (sf_bytes){(const uint8_t *)buf->base, (size_t)n});
    sf_loop_touch(loop, c);
    sf_loop_settle(loop);
}

static void decide_reading(struct sf_conn *c)
{
    bool wants;

    c->is_full = c->early.len >= EARLY_LEN_MAX ||
                 (c->h2 && c->is_writing && sf_h2_session_n_queued(c->h2) > QUEUED_FRAMES_MAX);
    wants = !c->is_paused && !c->is_full && !c->is_eof;
    if (wants && !c->is_reading) {
        if (uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read))
            c->wants_close = true;
        else
            c->is_reading = true;
    } else if (!wants && c->is_reading) {
        (void)uv_read_stop((uv_stream_t *)&c->tcp);
        c->is_reading = false;
    }
}

/* Everything was sent, but the peer may still be sending. Closing now would reset the connection
 * and the peer could lose our answer, so only our side is closed, and received bytes are dropped
 * for a while. */
static void linger(struct sf_conn *c)
{
    int fd;

    if (c->tls) {
        sf_tls_goodbye(c->tls);
        sf_tls_drain(c->tls, &c->wire);
        conn_flush(c);
    }
    if (c->is_eof || uv_fileno((uv_handle_t *)&c->tcp, &fd) || shutdown(fd, SHUT_WR)) {
        c->wants_close = true;
        return;
    }
    c->is_lingering = true;
    c->is_paused = false;
    c->write_ns = c->loop->now_ns;
}

static size_t unsent_len(const struct sf_conn *c)
{
    size_t len = c->wire.len - c->wire_at;
    return len + (c->h2 ? sf_h2_session_out_len(c->h2) : c->out.len + c->body.len - c->body_at);
}

bool sf_conn_may_answer(struct sf_conn *c, size_t body_len)
{
    struct sf_listen_shared *shared = c->loop->shared;
    size_t all = atomic_load_explicit(&shared->answers_len, memory_order_relaxed);

    if (all <= shared->limits.answers_len || body_len <= ANSWER_FREE_LEN)
        return true;
    if (all <= 2 * shared->limits.answers_len && unsent_len(c) <= UNREAD_LEN_MAX)
        return true;
    sf_loop_fault(c->loop, SF_FAULT_FLOOD, "too many answers are not read", c->peer);
    return false;
}

/* Maintains the sum of unsent answers, and since when this peer has not read any of its own. */
static void count_answers(struct sf_conn *c)
{
    atomic_size_t *all = &c->loop->shared->answers_len;
    size_t len = unsent_len(c);

    if (len < c->answers_len || !c->answers_len)
        c->answers_ns = c->loop->now_ns;
    if (len > c->answers_len)
        atomic_fetch_add_explicit(all, len - c->answers_len, memory_order_relaxed);
    else
        atomic_fetch_sub_explicit(all, c->answers_len - len, memory_order_relaxed);
    c->answers_len = len;
}

void sf_conn_advance(struct sf_conn *c)
{
    if (c->is_closing || c->is_active)
        return;
    c->is_active = true; /* sending may complete an answer, after which the next request is
                          * processed */
    conn_flush(c);
    if (!c->wants_close && !c->is_writing && c->wire_at == c->wire.len) {
        if (c->h2 && sf_h2_session_is_over(c->h2))
            c->closes_after = true;
        if (c->closes_after && !c->is_lingering && !has_output(c))
            linger(c);
    }
    if (!c->wants_close)
        decide_reading(c);
    count_answers(c);
    if (atomic_load_explicit(&c->loop->shared->answers_len, memory_order_relaxed) >
        c->loop->shared->limits.answers_len)
        sf_loop_evict(c->loop);
    c->is_active = false;
    if (c->wants_close)
        sf_conn_close(c);
}

/* --- time --- */

void sf_conn_tick(struct sf_conn *c)
{
    const struct sf_listen_limits *limits = &c->loop->shared->limits;
    int64_t now = c->loop->now_ns;

    if (c->is_closing)
        return;
    if (c->is_lingering) {
        if (now - c->write_ns > conn_ms(LINGER_MS))
            c->wants_close = true;
        return;
    }
    if (c->is_writing && now - c->write_ns > conn_ms(limits->body_timeout_ms)) {
        sf_conn_timed_out(c, "the answer was not read in time");
        return;
    }
    if (c->is_paused)
        return; /* it waits for us, so it does not time out */
    if (c->protocol == SF_CONN_UNKNOWN) {
        if (now - c->begin_ns > conn_ms(limits->header_timeout_ms))
            sf_conn_timed_out(c, "no request came in time");
    } else if (c->h2) {
        sf_conn_h2_tick(c);
    } else {
        sf_conn_h1_tick(c);
    }
}

void sf_conn_drain(struct sf_conn *c, bool is_final)
{
    if (c->is_closing)
        return;
    if (c->h2)
        sf_h2_session_drain(c->h2, is_final);
    else if (c->protocol == SF_CONN_UNKNOWN || (!c->ex && !sf_conn_h1_has_output(c)))
        c->closes_after = true;
    else
        c->keeps_alive = false;
}

/* --- accepting --- */

static void name_peer(struct sf_conn *c)
{
    struct sockaddr_storage addr;
    int len = sizeof(addr);
    char host[48] = "";

    if (uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&addr, &len)) {
        (void)snprintf(c->peer, sizeof(c->peer), "unknown");
    } else if (addr.ss_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, &addr, sizeof(v6));
        (void)uv_ip6_name(&v6, host, sizeof(host));
        (void)snprintf(c->peer, sizeof(c->peer), "[%s]:%u", host, ntohs(v6.sin6_port));
    } else {
        struct sockaddr_in v4;
        memcpy(&v4, &addr, sizeof(v4));
        (void)uv_ip4_name(&v4, host, sizeof(host));
        (void)snprintf(c->peer, sizeof(c->peer), "%s:%u", host, ntohs(v4.sin_port));
    }
}

static uint16_t own_port(const struct sf_conn *c)
{
    struct sockaddr_storage addr;
    int len = sizeof(addr);
    struct sockaddr_in v4; /* the port has the same position as for IPv6 */

    if (uv_tcp_getsockname(&c->tcp, (struct sockaddr *)&addr, &len))
        return 0;
    memcpy(&v4, &addr, sizeof(v4));
    return ntohs(v4.sin_port);
}

static void enlist(struct sf_loop *loop, struct sf_conn *c)
{
    c->next = loop->conns;
    if (c->next)
        c->next->prev = c;
    loop->conns = c;
    loop->n_conns++;
}

/* Over the limit: sends an error if that costs nothing, and closes. */
static void turn_away(struct sf_conn *c)
{
    struct sf_loop *loop = c->loop;

    c->is_surplus = true;
    loop->n_surplus++;
    sf_loop_fault(loop, SF_FAULT_SURPLUS, "too many connections", c->peer);
    if (c->tls || loop->n_surplus > SURPLUS_MAX) {
        c->wants_close = true;
        return;
    }
    c->protocol = SF_CONN_H1;
    sf_conn_h1_begin(c);
    sf_conn_h1_refuse(c, 503, "too many connections", 1);
}

void sf_conn_accept(struct sf_loop_acceptor *acceptor)
{
    struct sf_loop *loop = acceptor->loop;
    struct sf_listen_counts *counts = &loop->shared->counts;
    struct sf_conn *c = sf_heap_new(sizeof(*c));

    /* Without uv_accept() libuv stops listening: the next tick tries again. */
    acceptor->is_stuck = !c || uv_tcp_init(&loop->uv, &c->tcp);
    if (acceptor->is_stuck) {
        sf_heap_free(c);
        return;
    }
    c->loop = loop;
    c->tcp.data = c;
    c->write.data = c;
    c->begin_ns = c->read_ns = c->write_ns = loop->now_ns;
    enlist(loop, c);
    atomic_fetch_add_explicit(&counts->n_accepted, 1, memory_order_relaxed);
    if (uv_accept((uv_stream_t *)&acceptor->tcp, (uv_stream_t *)&c->tcp)) {
        atomic_fetch_add_explicit(&counts->n_connections, 1, memory_order_relaxed);
        sf_conn_close(c);
        return;
    }
    (void)uv_tcp_nodelay(&c->tcp, 1);
    name_peer(c);
    c->port = own_port(c);
    if (atomic_fetch_add_explicit(&counts->n_connections, 1, memory_order_relaxed) >=
        loop->shared->limits.connections) {
        atomic_fetch_sub_explicit(&counts->n_connections, 1, memory_order_relaxed);
        turn_away(c);
    }
    if (acceptor->tls && !c->wants_close) {
        c->tls = sf_tls_new(acceptor->tls);
        if (!c->tls)
            c->wants_close = true;
    }
    sf_loop_touch(loop, c);
}
