/* lock.h - a futex lock and a wait for notifications, for code that runs as a guest in another
 * program's process.
 *
 * Not pthread mutexes: a program may interpose those, and so will we. Held for a few hundred
 * nanoseconds at most; the few that are held across a system call report it. errno is kept.
 *
 * The order in which they may be taken together, outermost first: a span's own, the library's, an
 * exporter's start, its outbox, the span pool's, the stack table's, the heap's. The others are
 * taken with no other but the heap's. A signal handler only tries. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct sf_lock { /* a zeroed one is free */
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
/* In a forked child, whose other threads are gone: free whatever it was. */
static inline void sf_lock_reset(struct sf_lock *l)
{
    atomic_store_explicit(&l->word, 0, memory_order_relaxed);
}

/* A counter of notifications. A thread that waits passes the count it has seen, so that none is
 * missed between looking and waiting. */
struct sf_notifier {
    atomic_uint rings;
};
static inline unsigned sf_notifier_seen(struct sf_notifier *b)
{
    return atomic_load_explicit(&b->rings, memory_order_acquire);
}
void sf_notifier_notify(struct sf_notifier *b); /* wakes all that wait; never waits itself */
/* Returns when it was rung after `heard`, or the time is over. */
void sf_notifier_wait(struct sf_notifier *b, unsigned heard, int64_t timeout_ns);
