/* trust.c - the precision of a figure computed from samples. */
#include "link/trust.h"

#include <math.h>

#define Z95 1.959963984540054

enum { FEWEST_VALUES = 8 }; /* of a mean with an interval */

/* For few hits the lower end is Poisson's: half of the 5 % quantile of chi squared with two degrees
 * of freedom per hit; interpolated for fractions, which samples of different value cause. */
static double least_of_few(double n_hits)
{
    static const double hits[] = {0, 0.0513, 0.3554, 0.8177};
    int i = (int)n_hits;
    return i >= 3 ? hits[3] : hits[i] + (hits[i + 1] - hits[i]) * (n_hits - i);
}

struct sf_interval sf_trust_share(double n_hits, double n_samples)
{
    if (!(n_samples > 0))
        return (struct sf_interval){0, 1};
    double p = n_hits / n_samples;
    p = p < 0 ? 0 : p > 1 ? 1 : p;
    double z = Z95 * (1 + 1 / fmax(1, n_samples)), z2 = z * z;
    double scale = 1 + z2 / n_samples;
    double middle = (p + z2 / (2 * n_samples)) / scale;
    double half = z * sqrt(p * (1 - p) / n_samples + z2 / (4 * n_samples * n_samples)) / scale;
    struct sf_interval in = {fmax(0, middle - half), fmin(1, middle + half)};
    double in_it = p * n_samples, outside = n_samples - in_it;
    if (in_it <= 3)
        in.low = fmin(in.low, least_of_few(in_it) / n_samples);
    if (outside <= 3)
        in.high = fmax(in.high, 1 - least_of_few(outside) / n_samples);
    return in;
}

double sf_trust_t(double df)
{
    return Z95 + (2.37227 + (2.82249 + (2.55585 + 1.58955 / df) / df) / df) / df;
}

double sf_trust_mean(double sum, double sum_of_squares, double n)
{
    if (n < FEWEST_VALUES)
        return NAN;
    double mean = sum / n, spread = fmax(0, sum_of_squares / n - mean * mean);
    return sf_trust_t(n - 1) * sqrt(spread / (n - 1));
}

double sf_trust_effective(double sum, double sum_of_squares)
{
    return sum_of_squares > 0 ? sum * sum / sum_of_squares : 0;
}

double sf_trust_most(uint64_t duration_ns, double period_ns, uint32_t n_threads)
{
    if (!(period_ns > 0))
        return 0;
    return (double)duration_ns / period_ns * (n_threads > 0 ? n_threads : 1);
}

enum sf_trust sf_trust_of(uint64_t n_samples)
{
    return n_samples == 0    ? SF_TRUST_NONE
           : n_samples < 30  ? SF_TRUST_THIN
           : n_samples < 400 ? SF_TRUST_FAIR
                             : SF_TRUST_GOOD;
}

const char *sf_trust_name(enum sf_trust trust)
{
    static const char *const names[] = {"none", "thin", "fair", "good"};
    return names[trust];
}
