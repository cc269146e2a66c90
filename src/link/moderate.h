/* moderate.h - variances of many functions, each known from few units, made steadier by the others.
 *
 * A variance estimated from a few dozen clusters is off by a third, and the smallest of forty such
 * estimates makes a false alarm. Where the functions of a comparison are clustered alike, what they
 * say together is nearly exact. So each one's ratio (its variance between clusters over what
 * independent spans would give) is taken for a draw around one common value: how far the ratios
 * scatter beyond chance says how much the common value is worth, as a number of units ("prior
 * degrees of freedom"; Smyth 2004, moderated t). Alike: the common value decides. Unlike: each
 * keeps its own. */
#pragma once
#include <stdint.h>

struct sf_moderate {
    double prior;    /* the common ratio; at least 1 */
    double prior_df; /* what it is worth; 0: nothing */
};

/* Of `n` positive ratios with `df` degrees of freedom each. */
struct sf_moderate sf_moderate_fit(const double *ratios, uint32_t n, double df);
/* One ratio, made steadier. */
static inline double sf_moderate_ratio(const struct sf_moderate *m, double ratio, double df)
{
    return m->prior_df + df > 0 ? (m->prior_df * m->prior + df * ratio) / (m->prior_df + df)
                                : ratio;
}

double sf_moderate_offset(double df);  /* mean of the logarithm of a ratio that is 1 on average */
double sf_moderate_digamma(double x);  /* x > 0 */
double sf_moderate_trigamma(double x); /* x > 0 */
