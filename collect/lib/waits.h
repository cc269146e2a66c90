/* waits.h - turns waits measured by the hooks into samples.
 *
 * Every wait is counted and its time summed, so totals are exact; only stacks are sampled. A wait
 * of a millisecond or more is a sample by itself. Of shorter ones, on average one stack per
 * millisecond of waiting is taken, at random in proportion to time; it carries all waiting of this
 * thread since the previous one. Times are whole microseconds, and remainders are added to the
 * thread's next sample: nanoseconds are meaningless here and would take more bytes than the other
 * fields together. */
#pragma once
#include <stdint.h>

#include "collect/lib/sample_kind.h"

enum { SF_WAIT_LONG_NS = 1000000 };

/* Records that this thread has waited `ns` for `wait` in a call that returns to `caller`. `kind` is
 * mutex or block. Keeps errno. */
void sf_waits_add(enum sf_sample_kind kind, enum sf_wait wait, uint64_t ns, const void *caller);
