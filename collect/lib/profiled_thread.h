/* profiled_thread.h - the program's threads while they are sampled: each has a clock, a ring of
 * samples and the bounds of its stack. The clock is perf's where that is allowed, else a timer that
 * the kernel checks at each tick. Blocks never move and are never unmapped, so that a late signal
 * finds one.
 *
 * A thread whose start the hooks see joins by itself, with a timer whose first gap is drawn
 * uniformly from 0 to a period: however short it lives, it gets on average as many samples as its
 * CPU time is worth. When it ends, it adds a sample for its remaining CPU time. All other threads
 * are found by the collecting thread, which also switches joined threads to perf after a turn.
 *
 * perf's clock costs about a microsecond per context switch. A thread with more than 2.5 of them
 * per millisecond of CPU time, which would cost it 0.25 %, gets a timer until it has fewer. */
#pragma once
#include <stdatomic.h>
#include <time.h>

#include "collect/lib/clock_pair.h"
#include "collect/lib/gap.h"
#include "collect/lib/sample_ring.h"
#include "collect/lib/stack_copy.h"
#include "collect/sys/lock.h"

enum { SF_PROFILED_MAX = 1024 };

struct sf_profiled_thread {
    atomic_uint tid;      /* 0: free */
    uint32_t index;       /* of this block */
    atomic_bool is_held;  /* held by the thread that changes it: the profiled thread as it joins or
                           * leaves, or the collecting thread */
    atomic_bool is_ended; /* its thread records no more samples */
    bool is_fresh;        /* joined by itself, and not yet seen by the collecting thread */
    uintptr_t start;      /* start function of such a thread */
    uint64_t first_ns;    /* length of its first gap */
    uintptr_t serial;     /* of its owner: identifies the signals of this one */
    struct sf_clock_pair perf; /* off: the timer */
    timer_t timer;
    bool has_run;      /* there were samples since the last update */
    uint64_t since_ns; /* CPU time in samples since perf's periods were drawn */
    bool is_drawn;     /* perf's periods were drawn at least once */
    uint64_t aim_ns;   /* the period for which they were drawn */
    uint64_t n_slices; /* number of time slices when they were drawn */
    bool is_ticked;    /* sampled by a timer because of its many context switches */
    bool is_seen;      /* found by the current scan */
    bool is_hastened;  /* sampled at a rate of its own */
    /* Time that one expiry of the clock represents. The current gap keeps the length it began
     * with. */
    atomic_uint_fast64_t period_ns; /* set by the collecting thread */
    atomic_uint_fast64_t gap_ns;    /* set by the handler, and when a clock starts */
    atomic_int_fast64_t owed_ns;    /* CPU time that no sample has covered yet: the next one does.
                                     * Negative: samples covered too much */
    atomic_uint_fast64_t begin_ns;  /* the thread's CPU time when armed */
    uint64_t given_ns;              /* CPU time in the samples drained since then */
    atomic_uint_fast64_t taken_ns;  /* CPU time in all samples taken */
    /* The bounds of the thread's stack, once known; reading it in place is safe. 0: unknown. */
    atomic_uintptr_t stack_lo, stack_hi;
    atomic_uintptr_t seen_sp, seen_tcb; /* set by the handler, to find the bounds */
    struct sf_raw_sample scratch;       /* used by the handler */
    struct sf_raw_sample last;          /* of the collecting thread: the last sample drained */
    struct sf_sample_ring ring;
};

struct sf_profiled_threads {
    _Atomic(struct sf_profiled_thread *) blocks[SF_PROFILED_MAX];
    struct sf_lock lock; /* guards the ownership of blocks; no other lock is taken while it is
                          * held */
    atomic_uint n;       /* blocks made */
    atomic_uint n_armed;
    /* For threads that join by themselves. 0: not allowed; otherwise the number of this
     * recording. */
    atomic_uint_fast64_t joinable, join_period_ns;
    atomic_int join_signal;
    uint64_t n_times;
    atomic_bool is_refused; /* the kernel refused a timer: do not try again */
    bool has_perf;          /* set before the first update; cleared when perf is given up */
    struct sf_gap_chance chance;
    uint64_t fast_ns; /* period of the hastened threads */
};

/* The block that a signal's value identifies; NULL: not ours. Safe in handlers. */
struct sf_profiled_thread *sf_profiled_threads_find(struct sf_profiled_threads *all,
                                                    const void *value);
/* The calling thread's block, for signals without a value. Safe in handlers; the first call in a
 * thread gets its id from the kernel. */
struct sf_profiled_thread *sf_profiled_threads_mine(struct sf_profiled_threads *all);
/* The readable stack above `sp`: in place if it is the thread's known stack, else a copy that must
 * be given back. Safe in handlers; a copy needs one system call. */
struct sf_walk_stack sf_profiled_thread_view(struct sf_profiled_thread *t, uintptr_t sp,
                                             struct sf_stack_copy **copy);

/* How many periods and ns one expiry and `overruns` more represent. Called in the handler. */
void sf_profiled_thread_weigh(struct sf_profiled_thread *t, uint32_t overruns, uint64_t out[2]);

/* Empties the ring; returns the ns that its samples represent. */
typedef uint64_t (*sf_profiled_drain)(struct sf_profiled_thread *t, void *arg);
struct sf_profiled_signals {
    int timer, perf;
};
/* Starts clocks of new threads, drains all rings, varies the periods of threads that ran, releases
 * those that ended. One thread at a time. */
void sf_profiled_threads_update(struct sf_profiled_threads *all, struct sf_profiled_signals sigs,
                                uint64_t period_ns, sf_profiled_drain drain, void *arg);
/* Only drains all rings. Called in the thread that updates. */
void sf_profiled_threads_drain(struct sf_profiled_threads *all, sf_profiled_drain drain, void *arg);
/* Samples those threads, and no others, at that period from the next update on. */
void sf_profiled_threads_hasten(struct sf_profiled_threads *all, const uint32_t *tids, uint32_t n,
                                uint64_t period_ns);
void sf_profiled_threads_stop(struct sf_profiled_threads *all, sf_profiled_drain drain, void *arg);
/* Called in the thread itself, before it runs `start` and after. Neither waits. */
void sf_profiled_threads_join(struct sf_profiled_threads *all, uintptr_t start);
void sf_profiled_threads_leave(struct sf_profiled_threads *all);
uint32_t sf_profiled_threads_n(const struct sf_profiled_threads *all);
void sf_profiled_threads_forget(struct sf_profiled_threads *all); /* in a forked child */
