/* guard.h - is a candidate version worse than its baseline? A verdict on measures per request.
 *
 * A measure is a regression when its 95 % interval lies above zero and the difference itself is
 * above what is allowed. Both are needed: a significant difference may be too small to matter, a
 * large one may be chance. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sf_guard_verdict {
    SF_GUARD_PASS,
    SF_GUARD_REGRESSION,
    SF_GUARD_UNKNOWN, /* no interval: too few spans or samples to say */
};

struct sf_guard_measure {
    double left, right; /* baseline and candidate, per span */
    double delta;
    double low, high; /* of delta */
    bool has_interval;
    enum sf_guard_verdict verdict; /* filled by sf_guard_judge() */
};

/* `max_increase`: 0.05 allows 5 % of the baseline. Where the baseline is zero any significant
 * increase is one. */
enum sf_guard_verdict sf_guard_judge(struct sf_guard_measure *m, double max_increase);
/* Shares of failed spans, `n_left_failed` of `n_left` and so on, with the interval of their
 * difference by Newcombe's method (Wilson's intervals of both shares). 99 %, because this measure
 * joins others that share an error rate of their own. No interval without spans on both sides. */
struct sf_guard_measure sf_guard_shares(uint64_t n_left_failed, uint64_t n_left,
                                        uint64_t n_right_failed, uint64_t n_right);

enum { SF_GUARD_SAMPLES = 30 }; /* of each side, for an interval by samples alone */

struct sf_guard_sum {
    double total;  /* nanoseconds or bytes */
    double period; /* of them, that one sample represents; 0: not known */
};

/* Two sums of samples, with the interval of their difference by what chance samples (Poisson's
 * distribution) and by nothing else: two runs of one build may differ by more. `z`: how many
 * standard deviations wide. No interval where a period is not known or a side has too few. */
struct sf_guard_measure sf_guard_sums(struct sf_guard_sum left, struct sf_guard_sum right,
                                      double z);
