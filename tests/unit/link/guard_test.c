#include "link/guard.h"

#include <math.h>

#include "link/cohort.h"
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

/* 1,000 pairs of ten equal runs each: any increase that is called certain is a false one. */
TEST(guard, equal_runs_fail_rarely)
{
    enum { PAIRS = 1000, RUNS = 10, FUNCTIONS = 5, N = RUNS * (FUNCTIONS + 1) };
    uint64_t draw = 1;
    int n_failed = 0;
    for (int pair = 0; pair < PAIRS; pair++) {
        struct sf_cohort_cost costs[2][N];
        struct sf_cohort sides[2];
        struct sf_cohort_result r = {0};
        struct sf_arena arena;
        bool has_failed = false;
        assert_true(sf_arena_init(&arena, 4 << 20));
        for (int s = 0; s < 2; s++) {
            for (uint32_t i = 0; i < N; i++) {
                double sum = 0;
                for (int k = 0; k < 4; k++) { /* not quite normal, as times are */
                    draw = draw * 6364136223846793005u + 1442695040888963407u;
                    sum += (double)(draw >> 33) / 2147483648.0;
                }
                costs[s][i] = (struct sf_cohort_cost){i / (FUNCTIONS + 1), i % (FUNCTIONS + 1),
                                                      100 + 20 * sum * sum};
            }
            sides[s] = (struct sf_cohort){.costs = costs[s], .n_costs = N, .n_spans = RUNS};
        }
        assert_int_equal(sf_cohort_compare(&sides[0], &sides[1], FUNCTIONS + 1, (uint64_t)pair,
                                           &arena, &r, NULL),
                         SF_OK);
        for (uint32_t i = 0; i < r.n_rows; i++) {
            struct sf_guard_measure m = {.left = r.rows[i].left,
                                         .right = r.rows[i].right,
                                         .delta = r.rows[i].delta,
                                         .low = r.rows[i].low,
                                         .high = r.rows[i].high,
                                         .has_interval = true};
            has_failed |= r.rows[i].frame == 0 && sf_guard_judge(&m, 0) == SF_GUARD_REGRESSION;
        }
        n_failed += has_failed;
        sf_arena_done(&arena);
    }
    if (n_failed > 65)
        fail_msg("%d of %d equal pairs fail", n_failed, PAIRS);
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

/* 1,000 pairs of two files of one build, of 400 samples each. */
TEST(guard, equal_files_fail_rarely)
{
    enum { PAIRS = 1000, SAMPLES = 400, PARTS = 20 };
    uint64_t draw = 1;
    int n_failed = 0;
    for (int pair = 0; pair < PAIRS; pair++) {
        double n[2] = {0};
        struct sf_guard_measure m;
        for (int i = 0; i < 2 * SAMPLES * PARTS; i++) { /* each hits once in PARTS: Poisson's */
            draw = draw * 6364136223846793005u + 1442695040888963407u;
            n[i % 2] += (double)(draw >> 33) / 2147483648.0 < 1.0 / PARTS;
        }
        m = sf_guard_sums((struct sf_guard_sum){n[0] * 10, 10},
                          (struct sf_guard_sum){n[1] * 10, 10}, 1.96);
        assert_true(m.has_interval);
        n_failed += sf_guard_judge(&m, 0) == SF_GUARD_REGRESSION;
    }
    if (n_failed > 65 || n_failed < 5)
        fail_msg("%d of %d equal pairs fail", n_failed, PAIRS);
}

TEST(guard, sums_of_few_samples_or_no_period_have_no_interval)
{
    struct sf_guard_sum many = {1000, 10}, few = {290, 10}, unknown = {1000, 0};
    assert_true(sf_guard_sums(many, many, 1.96).has_interval);
    assert_false(sf_guard_sums(many, few, 1.96).has_interval);
    assert_false(sf_guard_sums(few, many, 1.96).has_interval);
    assert_false(sf_guard_sums(unknown, many, 1.96).has_interval);
    assert_false(sf_guard_sums(many, unknown, 1.96).has_interval);
}
