/* loop.c - one libuv event loop and its thread. Other threads return exchanges through a list under
 * a mutex and wake the loop; the loop processes them, accepts connections, checks timeouts, and,
 * when unsent answers take too much memory, closes the connections that have not read theirs for
 * the longest time. */
#include "listen/loop.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/time_unit.h"
#include "listen/conn.h"
#include "os/clock.h"

/* A peer that reads nothing for this long is considered stalled; even a slow connection is faster.
 */
static const int64_t STALLED_NS = 200 * SF_NS_PER_MS;

static _Thread_local const struct sf_loop *mine; /* the loop that this thread runs */

/* Whether the calling thread runs it. */
static bool loop_is_mine(const struct sf_loop *loop)
{
    return mine == loop;
}

void sf_loop_fault(struct sf_loop *loop, enum sf_listen_fault kind, const char *reason,
                   const char *peer)
{
    struct sf_listen_shared *shared = loop->shared;
    struct sf_listen_counts *n = &shared->counts;
    atomic_ullong *counts[] = {[SF_FAULT_TIMEOUT] = &n->n_timeouts,
                               [SF_FAULT_FLOOD] = &n->n_floods,
                               [SF_FAULT_FRAMING] = &n->n_bad_framing,
                               [SF_FAULT_TLS] = &n->n_tls_failures,
                               [SF_FAULT_SURPLUS] = &n->n_refused};

    atomic_fetch_add_explicit(counts[kind], 1, memory_order_relaxed);
    if (shared->hooks.on_fault)
        shared->hooks.on_fault(shared->hooks.arg, kind, reason, peer);
}

/* --- exchanges returned by other threads --- */

static void list_locally(struct sf_loop *loop, struct sf_exchange *ex, bool is_finished)
{
    ex->is_finished = ex->is_finished || is_finished;
    if (ex->is_listed)
        return;
    ex->is_listed = true;
    ex->next = NULL;
    *loop->local_tail = ex;
    loop->local_tail = &ex->next;
}

void sf_loop_give(struct sf_loop *loop, struct sf_exchange *ex, bool is_finished)
{
    bool is_first;

    if (loop_is_mine(loop)) {
        /* No wake-up is needed: the running callback processes it before it ends. */
        sf_mutex_lock(&loop->mutex);
        list_locally(loop, ex, is_finished);
        sf_mutex_unlock(&loop->mutex);
        return;
    }
    sf_mutex_lock(&loop->mutex);
    is_first = loop->given == NULL;
    ex->is_finished = ex->is_finished || is_finished;
    if (!ex->is_listed) {
        ex->is_listed = true;
        ex->next = NULL;
        *loop->given_tail = ex;
        loop->given_tail = &ex->next;
    }
    /* Under the lock, so that the loop cannot process the last exchange and end before the
     * wake-up. */
    if (is_first)
        (void)uv_async_send(&loop->async);
    sf_mutex_unlock(&loop->mutex);
}

static void come_back(struct sf_exchange *ex, bool is_finished)
{
    struct sf_conn *conn = ex->conn;
    struct sf_loop *loop = ex->loop;

    if (is_finished) {
        ex->is_with_app = false;
        sf_exchange_release_body(ex);
    }
    if (!conn) {
        if (is_finished)
            sf_exchange_free(ex);
        return;
    }
    if (conn->protocol == SF_CONN_H2)
        sf_conn_h2_answer(conn, ex);
    else
        sf_conn_h1_answer(conn, ex);
    sf_loop_touch(loop, conn);
}

/* Takes the first exchange of a list; under the loop's mutex, which also guards the list marks. */
static struct sf_exchange *loop_take_first(struct sf_loop *loop, struct sf_exchange **list,
                                           struct sf_exchange ***tail, bool *out_finished)
{
    struct sf_exchange *ex;

    sf_mutex_lock(&loop->mutex);
    ex = *list;
    if (ex) {
        *list = ex->next;
        if (!*list)
            *tail = list;
        ex->next = NULL;
        ex->is_listed = false;
        *out_finished = ex->is_finished;
    }
    sf_mutex_unlock(&loop->mutex);
    return ex;
}

void sf_loop_touch(struct sf_loop *loop, struct sf_conn *c)
{
    if (c->is_touched)
        return;
    c->is_touched = true;
    c->next_touched = loop->touched;
    loop->touched = c;
}

void sf_loop_settle(struct sf_loop *loop)
{
    struct sf_exchange *ex;
    struct sf_conn *c;
    bool is_finished = false;

    do {
        while ((ex = loop_take_first(loop, &loop->local, &loop->local_tail, &is_finished)))
            come_back(ex, is_finished);
        c = loop->touched;
        if (c) {
            loop->touched = c->next_touched;
            c->is_touched = false;
            sf_conn_advance(c); /* may begin the next request, which may be answered immediately */
        }
    } while (c);
}

void sf_loop_budget_freed(struct sf_loop *loop)
{
    struct sf_listen_shared *shared = loop->shared;

    if (sf_body_budget_is_over(&shared->budget))
        return;
    for (unsigned i = 0; i < shared->n_loops; i++) {
        if (atomic_load(&shared->loops[i].is_waiting))
            (void)uv_async_send(&shared->loops[i].async);
    }
}

static void resume_waiting(struct sf_loop *loop)
{
    struct sf_conn *next;

    if (!atomic_load(&loop->is_waiting) || sf_body_budget_is_over(&loop->shared->budget))
        return;
    atomic_store(&loop->is_waiting, false); /* connections that must wait again set it again */
    for (struct sf_conn *c = loop->conns; c; c = next) {
        next = c->next;
        if (c->is_paused) {
            c->is_paused = false;
            c->read_ns = loop->now_ns;
        }
        if (c->h2)
            sf_conn_h2_unwithhold(c);
        sf_loop_touch(loop, c);
    }
}

void sf_loop_evict(struct sf_loop *loop)
{
    const atomic_size_t *all = &loop->shared->answers_len;
    size_t gone = 0;

    while (atomic_load_explicit(all, memory_order_relaxed) - gone >
           loop->shared->limits.answers_len) {
        struct sf_conn *oldest = NULL;
        for (struct sf_conn *c = loop->conns; c; c = c->next) {
            if (c->answers_len && !c->is_closing && !c->wants_close &&
                loop->now_ns - c->answers_ns > STALLED_NS &&
                (!oldest || c->answers_ns < oldest->answers_ns))
                oldest = c;
        }
        if (!oldest)
            return;                  /* everybody reads */
        gone += oldest->answers_len; /* subtracted when it is closed */
        sf_conn_timed_out(oldest, "memory is short and the answer was not read");
        if (!oldest->is_active)
            sf_conn_close(oldest);
    }
}

/* --- ending --- */

static void close_acceptors(struct sf_loop *loop)
{
    for (size_t i = 0; i < loop->n_acceptors; i++) {
        if (loop->acceptors[i].is_open)
            uv_close((uv_handle_t *)&loop->acceptors[i].tcp, NULL);
        loop->acceptors[i].is_open = false;
    }
}

static void drain_conns(struct sf_loop *loop, bool is_final)
{
    struct sf_conn *next;

    for (struct sf_conn *c = loop->conns; c; c = next) {
        next = c->next;
        sf_conn_drain(c, is_final);
        sf_loop_touch(loop, c);
    }
}

static void close_conns(struct sf_loop *loop)
{
    struct sf_conn *next;

    for (struct sf_conn *c = loop->conns; c; c = next) {
        next = c->next;
        sf_conn_close(c);
    }
}

static void begin_drain(struct sf_loop *loop, int64_t drain_ms)
{
    loop->is_draining = true;
    loop->drain_from_ns = loop->now_ns;
    loop->drain_until_ns = loop->now_ns + drain_ms * SF_NS_PER_MS;
    close_acceptors(loop);
    drain_conns(loop, false);
}

/* When nothing is left, the last handles are closed and uv_run returns. */
static void end_if_empty(struct sf_loop *loop)
{
    if (!loop->is_draining || loop->n_conns || loop->n_exchanges || loop->is_async_closed)
        return;
    loop->is_async_closed = true;
    uv_close((uv_handle_t *)&loop->async, NULL);
    uv_close((uv_handle_t *)&loop->tick, NULL);
}

static void on_tick(uv_timer_t *timer)
{
    struct sf_loop *loop = timer->data;
    struct sf_conn *next;

    loop->now_ns = sf_clock_mono_ns();
    for (struct sf_conn *c = loop->conns; c; c = next) {
        next = c->next;
        sf_conn_tick(c);
        sf_loop_touch(loop, c);
    }
    for (size_t i = 0; i < loop->n_acceptors; i++) {
        if (loop->acceptors[i].is_stuck && loop->acceptors[i].is_open)
            sf_conn_accept(&loop->acceptors[i]);
    }
    if (loop->is_draining && !loop->is_final) {
        loop->is_final = true; /* peers have had a tick to receive the first notice */
        drain_conns(loop, true);
    }
    if (loop->is_draining && loop->now_ns >= loop->drain_until_ns)
        close_conns(loop);
    resume_waiting(loop); /* if a wake-up is missed, the connection is only delayed */
    sf_loop_settle(loop);
    end_if_empty(loop);
}

static void on_async(uv_async_t *async)
{
    struct sf_loop *loop = async->data;
    struct sf_exchange *ex;
    bool is_finished = false;
    int64_t drain_ms;

    loop->now_ns = sf_clock_mono_ns();
    while ((ex = loop_take_first(loop, &loop->given, &loop->given_tail, &is_finished)))
        come_back(ex, is_finished);
    sf_mutex_lock(&loop->mutex);
    drain_ms = loop->drain_ms_asked;
    sf_mutex_unlock(&loop->mutex);
    if (drain_ms >= 0 && !loop->is_draining)
        begin_drain(loop, drain_ms);
    resume_waiting(loop);
    sf_loop_settle(loop);
    end_if_empty(loop);
}

void sf_loop_drain(struct sf_loop *loop, unsigned drain_ms)
{
    sf_mutex_lock(&loop->mutex);
    if (loop->drain_ms_asked < 0) {
        loop->drain_ms_asked = drain_ms;
        (void)uv_async_send(&loop->async);
    }
    sf_mutex_unlock(&loop->mutex);
}

/* --- beginning --- */

static void on_connection(uv_stream_t *stream, int status)
{
    struct sf_loop_acceptor *acceptor = stream->data;

    acceptor->loop->now_ns = sf_clock_mono_ns();
    if (status == 0)
        sf_conn_accept(acceptor);
    sf_loop_settle(acceptor->loop);
}

enum sf_err sf_loop_init(struct sf_loop *loop, struct sf_listen_shared *shared, size_t n_acceptors,
                         struct sf_why *why)
{
    *loop = (struct sf_loop){.shared = shared, .drain_ms_asked = -1};
    loop->given_tail = &loop->given;
    loop->local_tail = &loop->local;
    sf_mutex_init(&loop->mutex, SF_LOCK_LISTEN_LOOP);
    loop->acceptors = sf_heap_new_n(n_acceptors, sizeof(*loop->acceptors));
    loop->read_buf = sf_heap_new(SF_LOOP_READ_LEN);
    loop->tls_buf = sf_heap_new(SF_LOOP_READ_LEN);
    if (!loop->acceptors || !loop->read_buf || !loop->tls_buf || uv_loop_init(&loop->uv))
        return sf_fail(why, SF_ERR_NOMEM, "listen: no memory for an event loop");
    loop->is_ready = true;
    if (uv_async_init(&loop->uv, &loop->async, on_async) || uv_timer_init(&loop->uv, &loop->tick) ||
        uv_timer_start(&loop->tick, on_tick, SF_LOOP_TICK_MS, SF_LOOP_TICK_MS))
        return sf_fail(why, SF_ERR_NOMEM, "listen: cannot make an event loop");
    loop->async.data = loop;
    loop->tick.data = loop;
    loop->now_ns = sf_clock_mono_ns();
    return SF_OK;
}

enum sf_err sf_loop_add_acceptor(struct sf_loop *loop, int fd, struct sf_tls_context *tls,
                                 struct sf_why *why)
{
    struct sf_loop_acceptor *acceptor = &loop->acceptors[loop->n_acceptors];
    int rc;

    *acceptor = (struct sf_loop_acceptor){.loop = loop, .tls = tls};
    rc = uv_tcp_init(&loop->uv, &acceptor->tcp);
    if (rc) {
        (void)close(fd);
        return sf_fail(why, SF_ERR_IO, "listen: %s", uv_strerror(rc));
    }
    acceptor->is_open = true;
    loop->n_acceptors++;
    acceptor->tcp.data = acceptor;
    rc = uv_tcp_open(&acceptor->tcp, fd);
    if (rc)
        (void)close(fd);
    else
        rc = uv_listen((uv_stream_t *)&acceptor->tcp, 1024, on_connection);
    return rc ? sf_fail(why, SF_ERR_IO, "listen: %s", uv_strerror(rc)) : SF_OK;
}

static void run_loop(void *arg)
{
    struct sf_loop *loop = arg;

    mine = loop;
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
    mine = NULL;
}

enum sf_err sf_loop_start(struct sf_loop *loop, unsigned n, struct sf_why *why)
{
    char name[16];

    (void)snprintf(name, sizeof(name), "loop-%u", n % 1000);
    return sf_thread_start(&loop->thread, name, 0, run_loop, loop, why);
}

void sf_loop_join(struct sf_loop *loop)
{
    sf_thread_join(&loop->thread);
}

void sf_loop_done(struct sf_loop *loop)
{
    struct sf_exchange *ex;

    if (loop->is_ready) {
        if (!loop->is_async_closed) { /* it never ran: its handles are still open */
            close_acceptors(loop);
            if (loop->async.data)
                uv_close((uv_handle_t *)&loop->async, NULL);
            if (loop->tick.data)
                uv_close((uv_handle_t *)&loop->tick, NULL);
            (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
        }
        (void)uv_loop_close(&loop->uv);
    }
    while ((ex = loop->spare)) {
        loop->spare = ex->next;
        sf_head_done(&ex->head);
        sf_response_done(&ex->response);
        sf_mutex_done(&ex->mutex);
        sf_condvar_done(&ex->room);
        sf_heap_free(ex);
    }
    if (loop->shared)
        sf_mutex_done(&loop->mutex);
    sf_heap_free(loop->acceptors);
    sf_heap_free(loop->read_buf);
    sf_heap_free(loop->tls_buf);
    *loop = (struct sf_loop){0};
}
