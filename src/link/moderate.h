/* moderate.h - stabilizes variances of many functions, each estimated from few units, by what they
 * have in common.
 *
 * A variance estimated from a few dozen clusters has an error of a third, and the smallest of forty
 * such estimates causes a false alarm. If the functions of a comparison are clustered alike, their
 * common estimate is nearly exact. So each ratio (the variance between clusters divided by that of
 * independent spans) is treated as a draw around a common value: how far the ratios scatter beyond
 * chance determines the weight of the common value, as a number of units ("prior degrees of
 * freedom"; Smyth 2004, moderated t). If they are alike, the common value decides; if not, each
 * keeps its own. */
#pragma once
#include <stdint.h>

struct sf_moderate {
    double prior;    /* the common ratio; at least 1 */
    double prior_df; /* its weight; 0: none */
};

/* Of `n` positive ratios with `df` degrees of freedom each. */
struct sf_moderate sf_moderate_fit(const double *ratios, uint32_t n, double df);
/* One ratio, stabilized. */
static inline double sf_moderate_ratio(const struct sf_moderate *m, double ratio, double df)
{
    return m->prior_df + df > 0 ? (m->prior_df * m->prior + df * ratio) / (m->prior_df + df)
                                : ratio;
}

double sf_moderate_offset(double df);  /* mean of the logarithm of a ratio that is 1 on average */
double sf_moderate_digamma(double x);  /* x > 0 */
double sf_moderate_trigamma(double x); /* x > 0 */
