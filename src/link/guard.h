/* guard.h - decides whether a candidate version is worse than its baseline, by measures per
 * request.
 *
 * A measure is a regression if its 95 % interval is above zero and the difference itself exceeds
 * what is allowed. Both are needed: a significant difference may be too small to matter, a large
 * one may be chance. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sf_guard_verdict {
    SF_GUARD_PASS,
    SF_GUARD_REGRESSION,
    SF_GUARD_UNKNOWN, /* no interval: too few spans or samples */
};

struct sf_guard_measure {
    double left, right; /* baseline and candidate, per span */
    double delta;
    double low, high; /* of delta */
    bool has_interval;
    enum sf_guard_verdict verdict; /* filled by sf_guard_judge() */
};

/* `max_increase`: 0.05 allows 5 % of the baseline. If the baseline is zero, any significant
 * increase is a regression. */
enum sf_guard_verdict sf_guard_judge(struct sf_guard_measure *m, double max_increase);
/* Compares shares of failed spans, `n_left_failed` of `n_left` and so on, with the interval of
 * their difference by Newcombe's method (from Wilson's intervals of both shares). 99 %, because
 * this measure is combined with others that share their own error rate. No interval without spans
 * on both sides. */
struct sf_guard_measure sf_guard_shares(uint64_t n_left_failed, uint64_t n_left,
                                        uint64_t n_right_failed, uint64_t n_right);

enum { SF_GUARD_SAMPLES = 30 }; /* an interval needs at least this many on each side */

struct sf_guard_sum {
    double total;  /* nanoseconds or bytes */
    double period; /* value of one sample; 0: unknown */
};

/* Compares two sums of samples, with an interval that accounts only for sampling (Poisson
 * distribution): two runs of one build may differ by more. `z`: how many standard deviations. No
 * interval if a period is unknown or a side has too few samples. */
struct sf_guard_measure sf_guard_sums(struct sf_guard_sum left, struct sf_guard_sum right,
                                      double z);
