/* profiled_thread.h - the threads of the program while they are sampled: a clock, a ring and what
 * is known of the stack, each. The clock is perf's where that is allowed, else a timer that is
 * examined when the kernel ticks. Blocks never move and are never unmapped, so that a late signal
 * finds one.
 *
 * A thread that the hooks see begin joins by itself, with a timer whose first gap is drawn evenly
 * from nothing to a period: however short its life, it gets as many samples as its CPU time is
 * worth, on average. When it ends it hands in what no sample represented. All other threads are
 * found by the collecting thread; so is, after a turn, what may continue with perf. */
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
    atomic_bool is_held;  /* held by the one that changes it: its thread as it joins or leaves, or
                             the collecting thread */
    atomic_bool is_ended; /* its thread takes no more samples */
    bool is_fresh;        /* joined by itself, and not examined since */
    uintptr_t start;      /* what such a thread runs */
    uint64_t first_ns;    /* and how long its first gap is */
    uintptr_t serial;     /* of its owner: which signals are this one's */
    struct sf_clock_pair perf; /* off: the timer */
    timer_t timer;
    bool has_run;      /* there were samples since the last update */
    uint64_t since_ns; /* in samples since perf's periods were drawn */
    bool is_drawn;     /* perf's periods were, once or more */
    uint64_t aim_ns;   /* and for which period */
    uint64_t n_slices; /* how often it had got a processor when they were */
    bool is_seen;      /* by the scan at hand */
    bool is_hastened;  /* sampled at a rate of its own */
    /* What an expiry of the clock represents. The gap that runs keeps the length it began with. */
    atomic_uint_fast64_t period_ns; /* the collecting thread's to set */
    atomic_uint_fast64_t gap_ns;    /* the handler's */
    atomic_int_fast64_t owed_ns;    /* CPU time that no sample represented: the next one does. Below
                                     * 0: samples represented more than there was */
    atomic_uint_fast64_t begin_ns;  /* the thread's CPU time when armed */
    uint64_t given_ns;              /* in samples since that were drained */
    atomic_uint_fast64_t taken_ns;  /* in all that were taken */
    /* The stack this thread was given, once known; reading it in place is safe. 0: not known. */
    atomic_uintptr_t stack_lo, stack_hi;
    atomic_uintptr_t seen_sp, seen_tcb; /* from the handler, to find it by */
    struct sf_raw_sample scratch;       /* the handler's */
    struct sf_raw_sample last;          /* the collecting thread's: what it took out last */
    struct sf_sample_ring ring;
};

struct sf_profiled_threads {
    _Atomic(struct sf_profiled_thread *) blocks[SF_PROFILED_MAX];
    struct sf_lock lock; /* guards which block is whose; takes nothing */
    atomic_uint n;       /* blocks made */
    atomic_uint n_armed;
    /* For threads that join by themselves: 0: they may not; otherwise the number of this recording.
     */
    atomic_uint_fast64_t joinable, join_period_ns;
    atomic_int join_signal;
    uint64_t n_times;
    atomic_bool is_refused; /* no more timers: stop asking */
    bool has_perf;          /* set before the first update, and when it is given up */
    struct sf_gap_chance chance;
    uint64_t fast_ns; /* the period of those that are hastened */
};

/* The block behind a signal's value, NULL when it is none of ours. Safe in handlers. */
struct sf_profiled_thread *sf_profiled_threads_find(struct sf_profiled_threads *all,
                                                    const void *value);
/* The calling thread's own, for signals that bring no value. Safe in handlers; gets the thread id
 * from the kernel on the first call in a thread. */
struct sf_profiled_thread *sf_profiled_threads_mine(struct sf_profiled_threads *all);
/* What may be read above `sp`: in place when it is the thread's known stack, else a copy that must
 * be returned. Safe in handlers; makes one system call for a copy. */
struct sf_walk_stack sf_profiled_thread_view(struct sf_profiled_thread *t, uintptr_t sp,
                                             struct sf_stack_copy **copy);

/* How many periods, and how many ns, one expiry and `overruns` more represent. In the handler. */
void sf_profiled_thread_weigh(struct sf_profiled_thread *t, uint32_t overruns, uint64_t out[2]);

/* Gives away what the ring holds; the ns that it represented. */
typedef uint64_t (*sf_profiled_drain)(struct sf_profiled_thread *t, void *arg);
struct sf_profiled_signals {
    int timer, perf;
};
/* Arms new threads, drains all, varies the periods of those that ran, releases those that ended.
 * One thread at a time. */
void sf_profiled_threads_update(struct sf_profiled_threads *all, struct sf_profiled_signals sigs,
                                uint64_t period_ns, sf_profiled_drain drain, void *arg);
/* Drains all, and no more. In the thread that updates. */
void sf_profiled_threads_drain(struct sf_profiled_threads *all, sf_profiled_drain drain, void *arg);
/* Those threads, and no others, at that period from the next update on. */
void sf_profiled_threads_hasten(struct sf_profiled_threads *all, const uint32_t *tids, uint32_t n,
                                uint64_t period_ns);
void sf_profiled_threads_stop(struct sf_profiled_threads *all, sf_profiled_drain drain, void *arg);
/* In the thread itself, when it begins to run `start` and when it has. Neither waits. */
void sf_profiled_threads_join(struct sf_profiled_threads *all, uintptr_t start);
void sf_profiled_threads_leave(struct sf_profiled_threads *all);
uint32_t sf_profiled_threads_n(const struct sf_profiled_threads *all);
void sf_profiled_threads_forget(struct sf_profiled_threads *all); /* in a forked child */
