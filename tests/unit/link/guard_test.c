#include "link/guard.h"

#include <math.h>

#include "test.h"

static enum sf_guard_verdict judge(double left, double delta, double low, double allowed)
{
    struct sf_guard_measure m = {
        .left = left, .right = left + delta, .delta = delta, .low = low, .high = 2 * delta - low};
    m.has_interval = true;
    return sf_guard_judge(&m, allowed);
}

TEST(guard, a_regression_is_significant_and_larger_than_allowed)
{
    assert_int_equal(judge(100, 10, 4, 0.05), SF_GUARD_REGRESSION);
    assert_int_equal(judge(100, 10, -1, 0.05), SF_GUARD_PASS); /* may be chance */
    assert_int_equal(judge(100, 10, 4, 0.10), SF_GUARD_PASS);  /* not more than allowed */
    assert_int_equal(judge(100, -10, -16, 0.05), SF_GUARD_PASS);
    assert_int_equal(judge(0, 1, 0.5, 0.05), SF_GUARD_REGRESSION);
    assert_int_equal(judge(0, 0, 0, 0), SF_GUARD_PASS);
}

TEST(guard, without_an_interval_nothing_is_said)
{
    struct sf_guard_measure m = {.left = 1, .right = 100, .delta = 99};
    assert_int_equal(sf_guard_judge(&m, 0), SF_GUARD_UNKNOWN);
    m = sf_guard_shares(0, 0, 5, 5);
    assert_int_equal(sf_guard_judge(&m, 0), SF_GUARD_UNKNOWN);
}

/* 56/70 against 48/80, Newcombe (1998), table II: 95 % gives 0.0524 to 0.3339; at 99 % it is wider
 * and holds 0. */
TEST(guard, shares_have_newcombes_interval)
{
    struct sf_guard_measure m = sf_guard_shares(48, 80, 56, 70);
    assert_true(fabs(m.delta - 0.2) < 1e-12);
    assert_true(m.low < 0.0524 && m.low > 0 && m.high > 0.3339 && m.high < 0.38);
    m = sf_guard_shares(0, 1000, 0, 1000);
    assert_true(m.low < 0 && m.high > 0 && fabs(m.delta) < 1e-12);
    m = sf_guard_shares(0, 1000, 40, 1000);
    assert_int_equal(sf_guard_judge(&m, 0.05), SF_GUARD_REGRESSION);
    m = sf_guard_shares(0, 1000, 3, 1000);
    assert_int_equal(sf_guard_judge(&m, 0.05), SF_GUARD_PASS);
}
