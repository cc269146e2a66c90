/* signal_price.h - measures the time that the kernel needs to interrupt a thread with a signal and
 * to resume it.
 *
 * No clock of the process counts this separately, and it varies widely: a microsecond on one
 * machine, fifty in a virtual machine whose host sets its timers. A thread that does nothing but
 * read the time sees it as a gap between two readings.
 *
 * Signals in quick succession find warm caches and take half as long: 24 us, where signals 10 ms
 * apart, as those of samples, take 44 to 57 and one after a sleep 45. So each signal is measured
 * after the thread has slept, repeatedly while the program runs; the price is the mean of the last
 * ones plus a quarter. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_signal_ask {
    int sig;
    bool has_perf;                 /* the signal comes from perf's clock, else from a timer */
    const volatile uint64_t *seen; /* incremented in this thread by each such signal */
};

/* Measures one signal. Returns ns; 0: could not be measured. Runs in a thread of the library that
 * has just slept, and takes a fraction of a millisecond of CPU time, during which the signal is
 * unblocked; its handler must accept signals that belong to no profiled thread. */
int64_t sf_signal_price_probe(const struct sf_signal_ask *ask);

enum { SF_SIGNAL_PRICES = 16 };

struct sf_signal_price { /* a zeroed struct is the initial state */
    int64_t ns[SF_SIGNAL_PRICES];
    unsigned n; /* measurements so far */
};

/* Adds a measurement. Ignores 0, and times so long that the thread must have been preempted. */
void sf_signal_price_note(struct sf_signal_price *p, int64_t ns);
/* Of the last ones, plus a quarter; 0: none yet. */
int64_t sf_signal_price_mean(const struct sf_signal_price *p);
