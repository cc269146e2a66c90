/* moderate.c - stabilizes variances of many functions, each estimated from few units, by what they
 * have in common.
 *
 * The logarithm of a ratio of df degrees of freedom has mean log(prior) + a(df) - a(prior_df) with
 * a(d) = digamma(d / 2) - log(d / 2), and variance trigamma(df / 2) + trigamma(prior_df / 2): both
 * are solved for the prior. */
#include "link/moderate.h"

#include <math.h>

/* Above this the prior is practically certain. */
#define MOST_DF 1e4

double sf_moderate_digamma(double x)
{
    double sum = 0;
    while (x < 8) {
        sum -= 1 / x;
        x++;
    }
    double x2 = 1 / (x * x);
    return sum + log(x) - 1 / (2 * x) - x2 * (1.0 / 12 - x2 * (1.0 / 120 - x2 / 252));
}

double sf_moderate_trigamma(double x)
{
    double sum = 0;
    while (x < 8) {
        sum += 1 / (x * x);
        x++;
    }
    double x2 = 1 / (x * x);
    return sum + 1 / x + x2 / 2 + x2 / x * (1.0 / 6 - x2 * (1.0 / 30 - x2 / 42));
}

/* Finds d with trigamma(d / 2) = y. The function decreases from infinity to 0. */
static double df_of(double y)
{
    double low = 1e-3, high = MOST_DF;
    if (y <= sf_moderate_trigamma(high / 2))
        return MOST_DF;
    for (int i = 0; i < 60; i++) {
        double middle = sqrt(low * high);
        if (sf_moderate_trigamma(middle / 2) > y)
            low = middle;
        else
            high = middle;
    }
    return low;
}

double sf_moderate_offset(double df)
{
    return sf_moderate_digamma(df / 2) - log(df / 2);
}

struct sf_moderate sf_moderate_fit(const double *ratios, uint32_t n, double df)
{
    double mean = 0, spread = 0;
    if (n < 2 || df < 1)
        return (struct sf_moderate){1, 0};
    for (uint32_t i = 0; i < n; i++)
        mean += log(ratios[i]) / n;
    for (uint32_t i = 0; i < n; i++)
        spread += (log(ratios[i]) - mean) * (log(ratios[i]) - mean) / (n - 1);
    double own = spread - sf_moderate_trigamma(df / 2);
    struct sf_moderate m = {1, own > 0 ? df_of(own) : MOST_DF};
    /* The functions of a request share its bursts, so many functions carry little more information
     * than some. */
    m.prior_df = fmin(m.prior_df, 3 * df);
    m.prior = fmax(1, exp(mean - sf_moderate_offset(df) + sf_moderate_offset(m.prior_df)));
    return m;
}
