/* cpu_profiler.h - which code runs, sampled by each thread's own CPU clock.
 *
 * Every thread gets a timer over the CPU time it uses, so idle threads cost nothing and no sleeping
 * call is ever interrupted. The signal's handler walks the stack and notes the active span; the
 * collecting thread finds new threads and empties the rings. Timers are looked at when the kernel's
 * clock ticks: a rate above the tick comes out as fewer samples with larger weights, and the totals
 * stay right. */
#pragma once
#include "collect/lib/profiler.h"

extern const struct sf_profile_source sf_cpu_source;
void sf_cpu_profiler_after_fork(void); /* in the child: the timers stayed with the parent */
