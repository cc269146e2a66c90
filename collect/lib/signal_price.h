/* signal_price.h - measures the time that the kernel needs to interrupt a thread with a signal and
 * to resume it.
 *
 * No clock of the process counts this separately, and it varies widely: a microsecond on one
 * machine, forty in a virtual machine whose host sets its timers. A thread that does nothing but
 * read the time sees it as a gap between two readings. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_signal_ask {
    int sig;
    bool has_perf;                 /* the signal comes from perf's clock, else from a timer */
    const volatile uint64_t *seen; /* incremented in this thread by each such signal */
};

/* Returns ns; 0: could not be measured. Runs in a thread of the library and takes some milliseconds
 * of CPU time, during which the signal is unblocked; its handler must accept signals that belong to
 * no profiled thread. */
int64_t sf_signal_price(const struct sf_signal_ask *ask);
