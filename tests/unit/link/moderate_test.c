#include "link/moderate.h"

#include <math.h>

#include "test.h"

static void assert_near(double got, double want)
{
    if (fabs(got - want) > 1e-6 * fmax(1, fabs(want)))
        fail_msg("%.9f, not %.9f", got, want);
}

/* As tables give them. */
TEST(moderate, knows_digamma_and_trigamma)
{
    assert_near(sf_moderate_digamma(1), -0.5772156649);
    assert_near(sf_moderate_digamma(0.5), -1.9635100260);
    assert_near(sf_moderate_digamma(10), 2.2517525890);
    assert_near(sf_moderate_trigamma(1), 1.6449340668);
    assert_near(sf_moderate_trigamma(0.5), 4.9348022005);
    assert_near(sf_moderate_trigamma(10), 0.1051663357);
}

/* The mean of log(chi squared / df), by adding up: about -1 / df. */
TEST(moderate, knows_how_far_a_logarithm_falls_short)
{
    assert_near(sf_moderate_offset(2), -0.5772156649);
    assert_true(fabs(sf_moderate_offset(1000) + 0.001) < 1e-5);
}

TEST(moderate, believes_the_common_value_of_ratios_that_are_alike)
{
    double ratios[40];
    for (int i = 0; i < 40; i++)
        ratios[i] = 2 + 0.05 * (i % 2);
    struct sf_moderate m = sf_moderate_fit(ratios, 40, 20);
    assert_near(m.prior_df, 60); /* three times what one of them is worth */
    assert_true(m.prior > 1.9 && m.prior < 2.2);
    assert_true(sf_moderate_ratio(&m, 4, 20) < 2.7 && sf_moderate_ratio(&m, 1, 20) > 1.7);
}

TEST(moderate, leaves_ratios_that_differ_as_they_are)
{
    double ratios[40];
    for (int i = 0; i < 40; i++)
        ratios[i] = i % 2 ? 1 : 50;
    struct sf_moderate m = sf_moderate_fit(ratios, 40, 20);
    assert_true(m.prior_df < 2);
    assert_true(sf_moderate_ratio(&m, 50, 20) > 40);
}

TEST(moderate, never_makes_less_of_a_variance_than_independent_spans_have)
{
    double ratios[] = {0.5, 0.5, 0.5};
    assert_near(sf_moderate_fit(ratios, 3, 20).prior, 1);
}

TEST(moderate, says_nothing_of_one_function)
{
    double one = 3;
    struct sf_moderate m = sf_moderate_fit(&one, 1, 20);
    assert_near(m.prior_df, 0);
    assert_near(sf_moderate_ratio(&m, 3, 20), 3);
    double alike[] = {2, 2, 2};
    assert_near(sf_moderate_fit(alike, 3, 1).prior_df, 3); /* one degree of freedom is enough */
    assert_near(sf_moderate_fit(alike, 3, 0.5).prior_df, 0);
}

/* The variance of a sample of two: one degree of freedom. */
TEST(moderate, counts_the_mean_of_the_ratios_as_estimated)
{
    double ratios[] = {exp(1), exp(-1)};
    struct sf_moderate m = sf_moderate_fit(ratios, 2, 10);
    assert_near(sf_moderate_trigamma(m.prior_df / 2), 2 - sf_moderate_trigamma(5));
}
