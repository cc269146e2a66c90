/* waits.h - turns waits measured by the hooks into samples.
 *
 * Every wait is counted and its time summed, so totals are exact; only stacks are sampled. A wait
 * of a millisecond or more is a sample by itself. Of shorter ones, on average one stack per
 * millisecond of waiting is taken, at random in proportion to time; it carries all waiting of this
 * thread since the previous one.
 *
 * When samples take too much time, the governor lengthens this mean distance. Then a wait shorter
 * than the mean is a sample with a probability that grows with its length, and represents as many
 * such waits as that says (gap.h): totals are unbiased estimates. The sample itself, with its time
 * and span, is the one wait, because the server takes it as a wait of that length in that span. The
 * others that it represents become a second sample with the same stack, but without time and span.
 *
 * Times are whole microseconds, and remainders are added to the thread's next sample: nanoseconds
 * are meaningless here and would take more bytes than the other fields together. */
#pragma once
#include <stdint.h>

#include "collect/lib/sample_kind.h"

enum { SF_WAIT_MEAN_NS = 1000000 }; /* unless the governor lengthens it */

#define SF_WAIT_KINDS (1u << SF_SAMPLES_MUTEX | 1u << SF_SAMPLES_BLOCK)

/* Records that this thread has waited `ns` for `wait` in a call that returns to `caller`. `kind` is
 * mutex or block. Keeps errno. */
void sf_waits_add(enum sf_sample_kind kind, enum sf_wait wait, uint64_t ns, const void *caller);
/* Samples since the process started, and the mean that is in effect now. */
void sf_waits_count(uint64_t *n_samples, uint64_t *mean_ns);

/* ---- in the collecting thread ---- */

/* A profile begins, with the usual mean; what was summed up before is dropped. */
void sf_waits_begin(enum sf_sample_kind kind);
void sf_waits_pace(uint64_t mean_ns); /* at least SF_WAIT_MEAN_NS */

void sf_waits_brake(void); /* in a hook: twice the mean, until the next sf_waits_pace() */
