/* signal_price.h - what it takes the kernel to interrupt a thread with a signal and to let it
 * continue.
 *
 * No clock of the process counts this by itself, and it differs much: a microsecond on one machine,
 * forty in a virtual machine whose timers its host has to set. A thread that does nothing but read
 * the time sees it as a gap between two readings. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_signal_ask {
    int sig;
    bool has_perf;                 /* it comes from perf's clock, else from a timer's tick */
    const volatile uint64_t *seen; /* counts up in this thread with each such signal */
};

/* ns; 0: not to be found out. In a thread of ours, some milliseconds of its CPU time: the signal is
 * let in meanwhile, and its handler must accept a signal that belongs to no profiler. */
int64_t sf_signal_price(const struct sf_signal_ask *ask);
