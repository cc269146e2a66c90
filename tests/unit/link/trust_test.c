#include "link/trust.h"

#include <math.h>

#include "test.h"

static void assert_near(double got, double want)
{
    if (got < want - 0.0005 || got > want + 0.0005)
        fail_msg("%f, not %f", got, want);
}

TEST(trust, knows_nothing_without_samples)
{
    struct sf_interval i = sf_trust_share(0, 0);
    assert_near(i.low, 0);
    assert_near(i.high, 1);
    assert_int_equal(sf_trust_of(0), SF_TRUST_NONE);
}

/* Wilson's score interval with z = 1.96 (1 + 1 / n). */
TEST(trust, gives_the_interval_of_a_share)
{
    struct sf_interval i = sf_trust_share(5, 10);
    assert_near(i.low, 0.2183);
    assert_near(i.high, 0.7817);
    i = sf_trust_share(0, 10);
    assert_near(i.low, 0);
    assert_near(i.high, 0.3173);
    i = sf_trust_share(400, 400);
    assert_near(i.low, 0.9904);
    assert_near(i.high, 1);
    i = sf_trust_share(1, 100);
    assert_near(i.low, 0.0005);
    i = sf_trust_share(98, 100);
    assert_near(i.high, 0.9964);
}

/* Exactly, by adding up the binomial: with every share, at least 93 % of all draws hold it. */
TEST(trust, holds_for_every_share)
{
    static const unsigned counts[] = {5, 10, 20, 30, 50, 100, 200};
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
        for (int share = 1; share < 200; share++) {
            double n = counts[c], p = share / 200.0, held = 0;
            for (unsigned k = 0; k <= counts[c]; k++) {
                struct sf_interval i = sf_trust_share(k, n);
                if (i.low <= p && p <= i.high)
                    held += exp(lgamma(n + 1) - lgamma(k + 1.0) - lgamma(n - k + 1) + k * log(p) +
                                (n - k) * log(1 - p));
            }
            if (held < 0.93)
                fail_msg("%u samples, share %.3f: %.4f", counts[c], p, held);
        }
}

/* The quantiles of Student's t from tables. */
TEST(trust, widens_an_interval_for_few_degrees_of_freedom)
{
    static const struct {
        double df, t;
    } table[] = {{2, 4.30265},  {3, 3.18245},  {4, 2.77645},  {5, 2.57058},   {7, 2.36462},
                 {10, 2.22814}, {20, 2.08596}, {60, 2.00030}, {120, 1.97993}, {1e9, 1.95996}};
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        double t = sf_trust_t(table[i].df);
        double room = table[i].df < 3 ? 0.008 : table[i].df < 4 ? 0.002 : 0.0005;
        if (fabs(t - table[i].t) > room * table[i].t)
            fail_msg("%.0f degrees: %f, not %f", table[i].df, t, table[i].t);
    }
}

TEST(trust, gives_the_interval_of_a_mean)
{
    /* 1 to 8: mean 4.5, standard deviation 2.4495, standard error 0.8660, 7 degrees of freedom. */
    assert_near(sf_trust_mean(36, 204, 8), 2.36462 * 0.8660254);
    assert_near(sf_trust_mean(80, 800, 8), 0); /* all equal */
    assert_true(isnan(sf_trust_mean(28, 140, 7)));
}

TEST(trust, counts_what_unequal_samples_are_worth)
{
    assert_near(sf_trust_effective(10, 10), 10); /* ten of one */
    assert_near(sf_trust_effective(10, 100), 1); /* one of ten */
    assert_near(sf_trust_effective(0, 0), 0);
}

TEST(trust, expects_duration_times_rate_times_threads)
{
    assert_near(sf_trust_most(1000000000, 1e7, 2), 200);
    assert_near(sf_trust_most(1000000000, 1e7, 0), 100);
    assert_near(sf_trust_most(1000000000, 0, 1), 0);
}

TEST(trust, has_words_for_it)
{
    assert_string_equal(sf_trust_name(sf_trust_of(12)), "thin");
    assert_string_equal(sf_trust_name(sf_trust_of(30)), "fair");
    assert_string_equal(sf_trust_name(sf_trust_of(400)), "good");
}
