/* waits.h - waiting that the hooks have measured, on its way to a profile.
 *
 * Every wait is counted and its time summed, so totals are exact; only stacks are chosen. A wait of
 * a millisecond or more is a sample by itself. Of shorter ones, one stack per millisecond of
 * waiting on average is taken, at random in proportion to time, and carries what this thread has
 * waited since the one before. Samples have whole microseconds, what is left of a wait goes with
 * the next one of the thread: nanoseconds of a wait say nothing of it, and take more bytes than its
 * other times together. */
#pragma once
#include <stdint.h>

#include "collect/lib/sample_kind.h"

enum { SF_WAIT_LONG_NS = 1000000 };

/* This thread has waited `ns` for `wait` in a call that returns to `caller`. `kind` is mutex or
 * block. Keeps errno. */
void sf_waits_add(enum sf_sample_kind kind, enum sf_wait wait, uint64_t ns, const void *caller);
