/* perf_clock.h - the kernel's sampling clock over the CPU time of one thread (perf_event_open).
 *
 * It interrupts where the thread is when its time is up, not at the next tick of the kernel:
 * threads that take turns on a busy processor change hands at ticks, and a timer that is examined
 * there sees whatever a program does at the end of its turn too often.
 *
 * No descriptor stays open: a mapping of the event keeps it alive. So the program's own descriptors
 * have the numbers they would have had, closing all of them ends nothing, and a child inherits
 * nothing (the mapping stays behind in a fork). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* May this process have clocks that run in the kernel, too? Clocks that stop in the kernel would
 * attribute the time of a system call to no one. Also denied, without asking, to a program under a
 * seccomp filter: many kill for the query. */
enum sf_err sf_perf_clock_try(struct sf_why *why);
/* Sends `sig` to the thread every `period_ns` of its CPU time, with si_code POLL_IN. NULL: refused.
 */
void *sf_perf_clock_start(uint32_t tid, uint64_t period_ns, int sig);
void sf_perf_clock_stop(void *clock);
