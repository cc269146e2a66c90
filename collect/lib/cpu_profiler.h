/* cpu_profiler.h - which code runs, sampled by each thread's own CPU clock.
 *
 * Every thread gets a clock over the CPU time it uses, so idle threads cost nothing and sleeping
 * calls are not interrupted, but for those that the hooks take up again. The signal's handler walks
 * the stack and notes the active span; the collecting thread finds new threads and empties the
 * rings. The clock is perf's, exact to the microsecond, where the system allows that. Otherwise it
 * is a timer, examined when the kernel ticks: a rate above the tick comes out as fewer samples
 * with larger weights, and the totals stay right. */
#pragma once
#include "collect/lib/profiler.h"

extern const struct sf_profiler_source sf_cpu_source;
/* Of this thread, since it began. */
struct sf_cpu_samples {
    uint64_t n, ns;
    uint64_t n_ended; /* system calls that the signal ended, with no other code's in between */
    volatile uint64_t n_strays; /* signals that were for no thread of the program */
};
extern __thread struct sf_cpu_samples sf_cpu_samples_self;
/* For profilers that also need the samples of running threads; in the collecting thread. Calls
 * nest: each start needs its own stop. */
enum sf_err sf_cpu_profiler_begin(uint64_t period_ns, struct sf_why *why);
void sf_cpu_profiler_end(void);
/* Those threads, and no others, are sampled with that period. In the collecting thread. */
void sf_cpu_profiler_hasten(const uint32_t *tids, uint32_t n, uint64_t period_ns);
bool sf_cpu_profiler_is_on(void);
/* In a thread of the program's, before it runs `start` and after that. Keep errno. */
void sf_cpu_profiler_thread_begins(uintptr_t start);
void sf_cpu_profiler_thread_ends(void);
int64_t sf_cpu_profiler_turn(int64_t now_ns);
void sf_cpu_profiler_drain(void); /* what fills the rings, and no more */
/* Why the timers are used and not perf; NULL: perf is. */
const char *sf_cpu_profiler_no_perf(void);
/* The last sample collected of a thread, NULL when there is none; until the next turn. */
const struct sf_raw_sample *sf_cpu_profiler_last(uint32_t thread);
void sf_cpu_profiler_after_fork(void); /* in the child: the timers stayed with the parent */
