/* cpu_profiler.h - which code runs, sampled by each thread's own CPU clock.
 *
 * Every thread gets a timer over the CPU time it uses, so idle threads cost nothing and no sleeping
 * call is ever interrupted. The signal's handler walks the stack and notes the active span; a
 * thread of ours finds new threads, empties the rings and sums up. Timers are looked at when the
 * kernel's clock ticks: a rate above the tick comes out as fewer samples with larger weights, and
 * the totals stay right. */
#pragma once
#include "base/err.h"
#include "collect/lib/profile_table.h"

struct sf_cpu_profile {
    struct sf_profile_table table;
    uint32_t rate_hz;
    int64_t begin_unix_ns, length_ns;
    uint64_t n_samples, n_dropped; /* as taken, before summing; rings that were full */
};

/* Called by the collecting thread on every turn; NULL: nothing. */
void sf_cpu_profiler_between(void (*between)(void));
void sf_cpu_profiler_wake(void); /* makes it turn now; safe in handlers */

/* BUSY: one is running. DENIED or IO: the system does not let us. */
enum sf_err sf_cpu_profiler_start(uint32_t rate_hz, struct sf_why *why);
/* Ends it and takes what was gathered; NOT_FOUND: none was running. */
enum sf_err sf_cpu_profiler_stop(struct sf_cpu_profile *out, struct sf_why *why);
void sf_cpu_profiler_after_fork(void); /* in the child: the timers stayed with the parent */
