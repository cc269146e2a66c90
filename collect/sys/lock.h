/* lock.h - a futex lock and notifications, for library code that runs inside another program.
 *
 * Not pthread mutexes, because those are interposed by this library and possibly by the program.
 * Held for a few hundred nanoseconds at most; comments name the few that are held across a system
 * call. errno is kept.
 *
 * The order in which they may be taken together, outermost first: a span's own, the library's, an
 * exporter's start, its outbox, the span pool's, the stack table's, the heap's. All other locks are
 * taken alone or before the heap's only. A signal handler only tries a lock. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sf_lock { /* a zeroed lock is free */
    atomic_uint word;
};

void sf_lock_wait(struct sf_lock *l);
void sf_lock_wake(struct sf_lock *l);

static inline bool sf_lock_try(struct sf_lock *l)
{
    unsigned free = 0;
    return atomic_compare_exchange_strong_explicit(&l->word, &free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}
static inline void sf_lock_take(struct sf_lock *l)
{
    if (__builtin_expect(!sf_lock_try(l), 0))
        sf_lock_wait(l);
}
static inline void sf_lock_give(struct sf_lock *l)
{
    if (__builtin_expect(atomic_exchange_explicit(&l->word, 0, memory_order_release) == 2, 0))
        sf_lock_wake(l);
}
/* In a forked child, which has no other threads: releases it in any state. */
static inline void sf_lock_reset(struct sf_lock *l)
{
    atomic_store_explicit(&l->word, 0, memory_order_relaxed);
}

/* A counter of notifications. A waiting thread passes the count it has seen, so that it misses none
 * between reading the count and waiting. */
struct sf_notifier {
    atomic_uint rings;
};
static inline unsigned sf_notifier_seen(struct sf_notifier *b)
{
    return atomic_load_explicit(&b->rings, memory_order_acquire);
}
void sf_notifier_notify(struct sf_notifier *b); /* wakes all waiting threads; never waits itself */
/* Returns when it was notified after `heard` was read, or the time is over. */
void sf_notifier_wait(struct sf_notifier *b, unsigned heard, int64_t timeout_ns);
