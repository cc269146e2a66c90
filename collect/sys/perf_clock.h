/* perf_clock.h - the kernel's sampling clock over the CPU time of one thread (perf_event_open).
 *
 * It interrupts the thread exactly when its period is over, not at the next tick of the kernel: on
 * a busy CPU threads are switched at ticks, so a timer that is checked there samples the end of
 * time slices too often.
 *
 * No descriptor stays open: a mapping of the event keeps it alive. So the program's own descriptors
 * keep the numbers they would have had, closing all descriptors does not stop the clock, and a
 * child process does not inherit it (fork does not copy the mapping). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Whether this process may use clocks that also run in kernel mode; others would miss the time of
 * system calls. Denied, without trying, in a program under a seccomp filter: many filters kill the
 * process for this call. */
enum sf_err sf_perf_clock_try(struct sf_why *why);
/* Sends `sig` to the thread every `period_ns` of its CPU time, with si_code POLL_IN. NULL: refused.
 */
void *sf_perf_clock_start(uint32_t tid, uint64_t period_ns, int sig);
void sf_perf_clock_stop(void *clock);
