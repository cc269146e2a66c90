/* cpu_profiler.h - the CPU profiler: samples each thread by its own CPU clock.
 *
 * Every thread gets a clock over the CPU time it uses, so idle threads cost nothing and sleeping
 * calls are not interrupted, except for those that the hooks restart. The signal's handler walks
 * the stack and notes the active span; the collecting thread finds new threads and empties the
 * rings. The clock is perf's, exact to the microsecond, where the system allows that. Otherwise it
 * is a timer, which the kernel checks at each tick: a rate above the tick rate gives fewer samples
 * with larger weights, and the totals stay correct. */
#pragma once
#include "collect/lib/profiler.h"

extern const struct sf_profiler_source sf_cpu_source;
/* Counts of this thread, since it started. */
struct sf_cpu_samples {
    uint64_t n, ns;
    uint64_t n_ended;           /* system calls that only our signal interrupted */
    volatile uint64_t n_strays; /* signals that belong to no thread of the program */
};
extern __thread struct sf_cpu_samples sf_cpu_samples_self;
/* For other profilers that need samples of running threads; called in the collecting thread. Calls
 * nest: each begin needs its own end. */
enum sf_err sf_cpu_profiler_begin(uint64_t period_ns, struct sf_why *why);
void sf_cpu_profiler_end(void);
/* Samples those threads, and no others, with that period. Called in the collecting thread. */
void sf_cpu_profiler_hasten(const uint32_t *tids, uint32_t n, uint64_t period_ns);
bool sf_cpu_profiler_is_on(void);
/* Called in a thread of the program before it runs `start` and after that. Both keep errno. */
void sf_cpu_profiler_thread_begins(uintptr_t start);
void sf_cpu_profiler_thread_ends(void);
int64_t sf_cpu_profiler_turn(int64_t now_ns);
void sf_cpu_profiler_drain(void); /* empties the rings and does nothing else */
/* Why timers are used instead of perf; NULL: perf is used. */
const char *sf_cpu_profiler_no_perf(void);
/* The last collected sample of a thread, or NULL; valid until the next turn. */
const struct sf_raw_sample *sf_cpu_profiler_last(uint32_t thread);
void sf_cpu_profiler_after_fork(void); /* in the child, which does not inherit the timers */
