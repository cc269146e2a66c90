#include "link/trust.h"

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

/* Wilson's score interval as tables give it. */
TEST(trust, gives_the_interval_of_a_share)
{
    struct sf_interval i = sf_trust_share(5, 10);
    assert_near(i.low, 0.2366);
    assert_near(i.high, 0.7634);
    i = sf_trust_share(0, 10);
    assert_near(i.low, 0);
    assert_near(i.high, 0.2775);
    i = sf_trust_share(400, 400);
    assert_near(i.low, 0.9905);
    assert_near(i.high, 1);
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
