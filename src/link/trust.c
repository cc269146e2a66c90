/* trust.c - how far a figure made from samples can be believed. */
#include "link/trust.h"

#include <math.h>

#define Z95 1.959963984540054

struct sf_interval sf_trust_share(double n_hits, double n_samples)
{
    if (!(n_samples > 0))
        return (struct sf_interval){0, 1};
    double p = n_hits / n_samples, z2 = Z95 * Z95;
    p = p < 0 ? 0 : p > 1 ? 1 : p;
    double scale = 1 + z2 / n_samples;
    double middle = (p + z2 / (2 * n_samples)) / scale;
    double half = Z95 * sqrt(p * (1 - p) / n_samples + z2 / (4 * n_samples * n_samples)) / scale;
    return (struct sf_interval){fmax(0, middle - half), fmin(1, middle + half)};
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
