/* loop.h - one event loop: its thread, its connections, and the exchanges returned by other
 * threads. */
#pragma once
#include <uv.h>

#include "listen/body.h"
#include "listen/exchange_private.h"
#include "listen/listener.h"
#include "listen/tls.h"

enum {
    SF_LOOP_READ_LEN = 64 * 1024,   /* length of one read; buffer shared by all connections of the
                                     * loop */
    SF_LOOP_WRITE_LEN = 128 * 1024, /* bytes prepared for one write */
    SF_LOOP_TICK_MS = 100,
    SF_LOOP_SPARE_EXCHANGES = 64
};

struct sf_listen_counts { /* relaxed atomics shared by the loops */
    atomic_ullong n_connections, n_accepted, n_refused;
    atomic_ullong n_requests_h1, n_requests_h2, n_requests_grpc;
    atomic_ullong n_timeouts, n_floods, n_bad_framing, n_tls_failures;
};

struct sf_listen_shared { /* shared by all loops of a listener; constant except for the atomics */
    struct sf_listen_limits limits; /* with defaults filled in */
    struct sf_listen_hooks hooks;
    struct sf_body_budget budget;
    struct sf_listen_counts counts;
    atomic_size_t n_streams;   /* HTTP/2 requests, counted from their head on */
    atomic_size_t answers_len; /* bytes of answers not yet sent */
    atomic_size_t late_len;    /* bytes of answers in files */
    struct sf_loop *loops;
    unsigned n_loops;
};

struct sf_loop_acceptor { /* a listening socket of this loop */
    uv_tcp_t tcp;
    struct sf_loop *loop;
    struct sf_tls_context *tls; /* borrowed from the listener; NULL: plain */
    bool is_open;
    bool is_stuck; /* a connection could not be accepted for lack of memory; retried */
};

struct sf_loop {
    uv_loop_t uv;
    uv_async_t async;
    uv_timer_t tick;
    struct sf_thread thread;
    struct sf_listen_shared *shared;
    struct sf_loop_acceptor *acceptors;
    size_t n_acceptors;
    struct sf_conn *conns;
    size_t n_conns, n_surplus;
    size_t n_exchanges; /* created and not freed */
    struct sf_exchange *spare;
    unsigned n_spare;
    struct sf_conn *touched;                 /* connections to advance before the current callback
                                              * ends */
    struct sf_exchange *local, **local_tail; /* returned while this thread was in a callback */
    bool is_ready, is_async_closed;
    bool is_draining, is_final; /* GOAWAY was announced; the final one was sent */
    int64_t drain_from_ns, drain_until_ns;
    int64_t now_ns;              /* monotonic, of the current callback */
    atomic_bool is_waiting;      /* some connection waits for the body budget */
    uint8_t *read_buf, *tls_buf; /* SF_LOOP_READ_LEN each */

    /* Guards the three below and the list marks of exchanges. Held while the loop is woken (a write
     * to its descriptor), so that it cannot end in between; no other lock is taken while it is
     * held. */
    struct sf_mutex mutex;
    struct sf_exchange *given, **given_tail;
    int64_t drain_ms_asked; /* -1: not asked */
};

/* Initialises everything but the thread. */
enum sf_err sf_loop_init(struct sf_loop *loop, struct sf_listen_shared *shared, size_t n_acceptors,
                         struct sf_why *why);
/* Gives a listening socket (owned by the loop from then on, also on failure) to the loop. */
enum sf_err sf_loop_add_acceptor(struct sf_loop *loop, int fd, struct sf_tls_context *tls,
                                 struct sf_why *why);
enum sf_err sf_loop_start(struct sf_loop *loop, unsigned n, struct sf_why *why);
void sf_loop_drain(struct sf_loop *loop, unsigned drain_ms); /* any thread */
void sf_loop_join(struct sf_loop *loop);
void sf_loop_done(struct sf_loop *loop); /* must not be running; a zeroed one is fine */

/* Any thread: the exchange was finished or has streamed data. */
void sf_loop_give(struct sf_loop *loop, struct sf_exchange *ex, bool is_finished);
/* The budget may have space again: wakes all loops that wait for it. */
void sf_loop_budget_freed(struct sf_loop *loop);
/* Unread answers take too much memory: closes the connections that have not read for the longest
 * time. */
void sf_loop_evict(struct sf_loop *loop);
/* Marks the connection to be advanced. */
void sf_loop_touch(struct sf_loop *loop, struct sf_conn *c);
/* Processes exchanges returned during this callback, then advances each marked connection once, so
 * that many answers on one connection are sent in one write. Called at the end of every
 * callback. */
void sf_loop_settle(struct sf_loop *loop);
void sf_loop_fault(struct sf_loop *loop, enum sf_listen_fault kind, const char *reason,
                   const char *peer);
