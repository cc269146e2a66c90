#include "link/cohort.h"

#include <math.h>

#include "test.h"

enum { FRAMES = 40, MAX_SPANS = 400 };

static uint64_t seed = 77;
static double uniform(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static struct sf_arena req;
static void fresh(void)
{
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 64 << 20));
}

/* Requests as they come: some frames always there, some in a tenth of requests, costs skewed (a
 * few are ten times the rest). `extra` is added to frame 3 where it occurs. */
static struct sf_cohort make(uint32_t n_spans, double extra)
{
    struct sf_cohort_cost *costs = sf_arena_new_n(&req, (size_t)n_spans * FRAMES, sizeof(*costs));
    struct sf_cohort c = {.costs = costs, .n_spans = n_spans};
    assert_non_null(costs);
    for (uint32_t i = 0; i < n_spans; i++) {
        for (uint32_t f = 0; f < FRAMES; f++) {
            if (f % 4 == 1 && uniform() > 0.1)
                continue;
            double value = -log(1 - uniform()) * (double)(1 + f % 7);
            costs[c.n_costs++] = (struct sf_cohort_cost){i, f, value + (f == 3 ? extra : 0)};
        }
    }
    return c;
}

static struct sf_cohort_result compare(const struct sf_cohort *left, const struct sf_cohort *right)
{
    struct sf_cohort_result r;
    assert_ok(sf_cohort_compare(left, right, FRAMES, 1, &req, &r, NULL));
    return r;
}

TEST(cohort, gives_means_per_request)
{
    const struct sf_cohort_cost l[] = {{0, 0, 10}, {1, 0, 20}}, r[] = {{0, 0, 30}, {0, 1, 6}};
    struct sf_cohort left = {l, 2, 2}, right = {r, 2, 3};
    fresh();
    struct sf_cohort_result got = compare(&left, &right);
    assert_int_equal(got.n_rows, 2);
    assert_true(got.is_too_small);
    assert_int_equal(got.n_significant, 0);
    assert_int_equal(got.rows[0].frame, 0);
    assert_true(got.rows[0].left == 15 && got.rows[0].right == 10 && got.rows[0].delta == -5);
    assert_int_equal(got.rows[1].n_left, 0);
    assert_true(got.rows[1].delta == 2);
    assert_true(got.left == 15 && got.right == 12);
}

TEST(cohort, finds_a_planted_difference_first)
{
    fresh();
    struct sf_cohort left = make(200, 0), right = make(200, 4);
    struct sf_cohort_result r = compare(&left, &right);
    assert_true(r.n_significant >= 1);
    assert_int_equal(r.rows[0].frame, 3);
    assert_true(r.rows[0].is_significant);
    assert_true(r.rows[0].low < 4 && 4 < r.rows[0].high);
    assert_true(r.rows[0].low > 0);
}

TEST(cohort, answers_the_same_every_time)
{
    fresh();
    struct sf_cohort left = make(50, 0), right = make(60, 1);
    struct sf_cohort_result a = compare(&left, &right), b = compare(&left, &right);
    assert_int_equal(a.n_rows, b.n_rows);
    for (uint32_t i = 0; i < a.n_rows; i++)
        assert_memory_equal(&a.rows[i], &b.rows[i], sizeof(a.rows[i]));
}

TEST(cohort, holds_its_tongue_about_identical_cohorts)
{
    /* 400 comparisons of equal cohorts: 5 % are 20; more than 34 would be chance once in 1,000. */
    uint32_t n_alarms = 0;
    for (int i = 0; i < 400; i++) {
        fresh();
        struct sf_cohort left = make(30 + (uint32_t)(i % 3) * 40, 0);
        struct sf_cohort right = make(30 + (uint32_t)(i % 2) * 40, 0);
        n_alarms += compare(&left, &right).n_significant > 0;
    }
    if (n_alarms > 34)
        fail_msg("%u of 400 comparisons raised an alarm", n_alarms);
}

TEST(cohort, sees_a_fifth_more_of_a_frame_most_of_the_time)
{
    uint32_t n_found = 0; /* frame 3 has mean 4, standard deviation 4; 200 spans a side */
    for (int i = 0; i < 50; i++) {
        fresh();
        struct sf_cohort left = make(200, 0), right = make(200, 2);
        struct sf_cohort_result r = compare(&left, &right);
        for (uint32_t k = 0; k < r.n_rows; k++)
            n_found += r.rows[k].frame == 3 && r.rows[k].is_significant;
    }
    assert_true(n_found >= 40);
}

TEST(cohort, calls_nothing_significant_that_only_few_requests_have)
{
    struct sf_cohort_cost l[100], r[100];
    struct sf_cohort left = {l, 0, 20}, right = {r, 0, 20};
    fresh();
    for (uint32_t i = 0; i < 20; i++) {
        l[left.n_costs++] = (struct sf_cohort_cost){i, 0, 5 + uniform()};
        r[right.n_costs++] = (struct sf_cohort_cost){i, 0, 5 + uniform()};
    }
    r[right.n_costs++] = (struct sf_cohort_cost){19, 1, 1000};
    struct sf_cohort_result got = compare(&left, &right);
    assert_int_equal(got.rows[0].frame, 1);
    assert_false(got.rows[0].is_significant);
}

TEST(cohort, copes_with_nothing)
{
    struct sf_cohort none = {NULL, 0, 0};
    fresh();
    struct sf_cohort_result got = compare(&none, &none);
    assert_int_equal(got.n_rows, 0);
    assert_true(got.is_too_small);
}

TEST(cohort, thins_the_same_way_every_time)
{
    enum { N = 20000 };
    static uint64_t ids[N];
    static uint32_t once[N], twice[N];
    for (uint32_t i = 0; i < N; i++)
        ids[i] = i * 3;
    uint32_t n = sf_cohort_thin(ids, N, 1000, once);
    assert_true(n <= 1000 && n > 800);
    assert_int_equal(sf_cohort_thin(ids, N, 1000, twice), n);
    assert_memory_equal(once, twice, n * sizeof(*once));
    assert_true(once[n - 1] > N * 9 / 10); /* from everywhere, not the first ones */
    assert_int_equal(sf_cohort_thin(ids, 10, 1000, once), 10);
}

TEST(cohort, says_when_memory_runs_out)
{
    struct sf_cohort none = {NULL, 0, 0};
    struct sf_cohort_result r;
    struct sf_arena small;
    assert_true(sf_arena_init(&small, 256));
    assert_err(sf_cohort_compare(&none, &none, 1000, 1, &small, &r, NULL), SF_ERR_LIMIT);
    sf_arena_done(&small);
}
