/* trust.h - the precision of a figure computed from samples. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct sf_interval {
    double low, high;
};

/* The 95 % interval of a share, for `n_hits` of `n_samples` samples. Wilson's interval stays inside
 * [0, 1], but its coverage is only 86 to 92 % if hits or samples are few; so it is a little wider
 * with few samples, and its end on the side of few hits is Poisson's (Brown, Cai and DasGupta
 * 2001). Coverage is 93 % or more for every share from 5 samples on. Without samples: [0, 1]. */
struct sf_interval sf_trust_share(double n_hits, double n_samples);

/* Half a 95 % interval of Student's t in standard errors, for `df` degrees of freedom, by the
 * expansion of Cornish and Fisher: 0.8 % too short for 2 degrees of freedom, 0.2 % for 3, less from
 * there on. */
double sf_trust_t(double df);
/* Half the 95 % interval of the mean of `n` values, from their sum and the sum of their squares.
 * NAN for fewer than 8 values. */
double sf_trust_mean(double sum, double sum_of_squares, double n);

/* The effective number of equal samples, for samples of different value: from the sum of values and
 * the sum of their squares. A sample that represents ten because nine came too late is one
 * observation. */
double sf_trust_effective(double sum, double sum_of_squares);

/* The most samples a span can have: its duration at that rate on that many threads. */
double sf_trust_most(uint64_t duration_ns, double period_ns, uint32_t n_threads);

/* With fewer samples neither times nor functions are reported, only their number. */
enum { SF_TRUST_FEW = 5 };

enum sf_trust {
    SF_TRUST_NONE, /* no samples at all */
    SF_TRUST_THIN, /* under 30: shares are mostly chance */
    SF_TRUST_FAIR, /* under 400: a share of a half is known to 5 points */
    SF_TRUST_GOOD
};
enum sf_trust sf_trust_of(uint64_t n_samples);
const char *sf_trust_name(enum sf_trust trust); /* "thin" */
