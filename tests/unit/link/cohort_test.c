#include "link/cohort.h"

#include <math.h>

#include "test.h"

/* Everything is drawn from one fixed seed, so that a verdict is the same on every run. "By chance
 * once in N" is reported for other seeds: how often right code would fail with one of them. What is
 * held beyond these few hundred draws is in tests/calibration. */
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
    struct sf_cohort left = {l, 2, 2, NULL}, right = {r, 2, 3, NULL};
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

/* Ten standard errors; that its interval holds 4 fails by chance less than once in 20. */
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

/* Costs are exponential, so that 30 % are seen with a standard error of 0.073 of the mean: 3.2 of
 * them, and 0.84 to be on the safe side of in 80 of 100. That is 500 spans a side, whatever number
 * they were estimated from. Of 400 comparisons of 1,000 spans 80 % found it. */
TEST(cohort, says_how_many_spans_a_difference_needs)
{
    static const uint32_t counts[] = {100, 200, 390};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        fresh();
        struct sf_cohort left = make(counts[i], 0), right = make(counts[i], 0);
        struct sf_cohort_result r = compare(&left, &right);
        for (uint32_t k = 0; k < r.n_rows; k++)
            if (r.rows[k].frame == 3 && (r.rows[k].n_needed < 600 || r.rows[k].n_needed > 1500))
                fail_msg("%u spans a side: %.0f", counts[i], r.rows[k].n_needed);
    }
    fresh();
    struct sf_cohort few = make(5, 0), others = make(50, 0);
    assert_true(compare(&few, &others).rows[0].n_needed == 0);
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

/* ---- spans that are alike ---- */

enum { PARTS = 6 };

struct crowd { /* of both sides */
    struct sf_cohort_cost *costs[2];
    struct sf_cohort_when *when[2];
    struct sf_cohort sides[2];
};

static struct crowd make_crowd(void)
{
    struct crowd c = {0};
    for (int i = 0; i < 2; i++) {
        c.costs[i] = sf_arena_new_n(&req, MAX_SPANS * FRAMES, sizeof(**c.costs));
        c.when[i] = sf_arena_new_n(&req, MAX_SPANS, sizeof(**c.when));
        assert_non_null(c.costs[i]);
        assert_non_null(c.when[i]);
        c.sides[i] = (struct sf_cohort){.costs = c.costs[i], .when = c.when[i]};
    }
    return c;
}

static uint32_t add_span(struct crowd *c, bool is_right, uint64_t trace, double ms)
{
    struct sf_cohort *s = &c->sides[is_right];
    c->when[is_right][s->n_spans] = (struct sf_cohort_when){trace, (uint64_t)(ms * 1e6), 0};
    return s->n_spans++;
}

static void add_cost(struct crowd *c, bool is_right, uint32_t span, uint32_t frame, double value)
{
    struct sf_cohort *s = &c->sides[is_right];
    if (value > 0)
        c->costs[is_right][s->n_costs++] = (struct sf_cohort_cost){span, frame, value};
}

/* One thread works off requests of equal length without a pause, and a clock looks every 10 ms: it
 * meets several requests on end at the same place, then the next. Who requests the left or the
 * right side comes in runs. `slower` adds to the third part of a request of the right side. */
static struct crowd make_clocked(uint32_t n_spans, double length_ms, double slower)
{
    struct crowd c = make_crowd();
    double at = uniform() * 1000, tick = ceil(at / 10) * 10;
    uint32_t left_of_run = 0;
    bool is_right = false;
    for (uint64_t i = 0; c.sides[0].n_spans < n_spans || c.sides[1].n_spans < n_spans; i++) {
        if (left_of_run-- == 0) {
            is_right = uniform() < 0.5;
            left_of_run = (uint32_t)(uniform() * 8);
        }
        if (c.sides[0].n_spans == MAX_SPANS || c.sides[1].n_spans == MAX_SPANS)
            break;
        double part = length_ms / PARTS, more = is_right ? slower : 0;
        double costs[PARTS] = {0};
        uint32_t span = add_span(&c, is_right, i, at);
        for (; tick < at + length_ms + more; tick += 10) {
            double in = tick - at;
            uint32_t f = in < 2 * part          ? (uint32_t)(in / part)
                         : in < 3 * part + more ? 2
                                                : (uint32_t)((in - more) / part);
            costs[f < PARTS ? f : PARTS - 1] += 10;
        }
        for (uint32_t f = 0; f < PARTS; f++)
            add_cost(&c, is_right, span, f, costs[f]);
        at += length_ms + more;
    }
    return c;
}

/* Requests come in bursts, each with its own share of every kind of work (a cold cache, a large
 * customer); a burst is mostly of one side. */
static struct crowd make_bursts(uint32_t n_spans, uint32_t burst, double slower)
{
    struct crowd c = make_crowd();
    double at = 0;
    for (uint64_t trace = 0; c.sides[0].n_spans < n_spans || c.sides[1].n_spans < n_spans;) {
        bool is_right = c.sides[0].n_spans >= n_spans ||
                        (c.sides[1].n_spans < n_spans && uniform() < 0.5);
        uint32_t n = 1 + (uint32_t)(uniform() * burst);
        double kinds[FRAMES];
        for (uint32_t f = 0; f < FRAMES; f++)
            kinds[f] = f % 4 == 1 && uniform() < 0.6 ? 0 : 1 - log(1 - uniform());
        at += -1000 * log(1 - uniform());
        for (uint32_t i = 0; i < n; i++, trace++) {
            bool is_other = uniform() < 0.1 ? !is_right : is_right;
            if (c.sides[is_other].n_spans == MAX_SPANS)
                return c;
            uint32_t span = add_span(&c, is_other, trace / 2, at + i);
            for (uint32_t f = 0; f < FRAMES; f++)
                add_cost(&c, is_other, span, f,
                         kinds[f] * (0.5 + uniform()) + (f == 3 && is_other ? slower : 0));
        }
    }
    return c;
}

static struct sf_cohort_result compare_crowd(const struct crowd *c)
{
    return compare(&c->sides[0], &c->sides[1]);
}

/* 5 % of 300 are 15; more than 27 would be chance once in 1,000. */
enum { CROWDS = 300, MOST_ALARMS = 27 };

static void check_alarms(uint32_t n_alarms, const char *of)
{
    if (n_alarms > MOST_ALARMS)
        fail_msg("%u of %d comparisons of %s raised an alarm", n_alarms, CROWDS, of);
}

TEST(cohort, holds_its_tongue_where_an_even_clock_meets_equal_requests)
{
    uint32_t n_alarms = 0;
    for (int i = 0; i < CROWDS; i++) {
        fresh();
        struct crowd c = make_clocked(60 + (uint32_t)(i % 3) * 60, 9.3 + 0.1 * (i % 13), 0);
        n_alarms += compare_crowd(&c).n_significant > 0;
    }
    check_alarms(n_alarms, "an even clock");
}

TEST(cohort, holds_its_tongue_about_bursts)
{
    uint32_t n_alarms = 0;
    for (int i = 0; i < CROWDS; i++) {
        fresh();
        struct crowd c = make_bursts(60 + (uint32_t)(i % 3) * 60, 2 + (uint32_t)(i % 6), 0);
        n_alarms += compare_crowd(&c).n_significant > 0;
    }
    check_alarms(n_alarms, "bursts");
}

TEST(cohort, holds_its_tongue_where_a_side_is_small)
{
    /* One in ten spans has a quarter of the frames: of few spans it is easily none. */
    uint32_t n_alarms = 0;
    for (int i = 0; i < CROWDS; i++) {
        fresh();
        struct sf_cohort left = make(350, 0), right = make(10 + (uint32_t)(i % 3) * 10, 0);
        n_alarms += (i % 2 ? compare(&left, &right) : compare(&right, &left)).n_significant > 0;
    }
    check_alarms(n_alarms, "350 with a few");
}

/* More than 50 standard errors. */
TEST(cohort, sees_what_few_slow_ones_have_and_no_fast_one)
{
    fresh();
    struct sf_cohort left = make(380, 0), right = make(20, 0);
    struct sf_cohort_cost *costs = sf_arena_new_n(&req, right.n_costs + 20, sizeof(*costs));
    uint32_t n = 0;
    for (uint32_t i = 0, k = 0; i < 20; i++) {
        for (; k < right.n_costs && right.costs[k].span == i; k++)
            if (right.costs[k].frame != 5)
                costs[n++] = right.costs[k];
        costs[n++] = (struct sf_cohort_cost){i, 5, 30 + uniform()};
    }
    right.costs = costs;
    right.n_costs = n;
    struct sf_cohort_result r = compare(&left, &right);
    assert_true(r.n_significant >= 1 && r.rows[0].frame == 5 && r.rows[0].low > 0);
}

/* 97 and 100 % are found; less than 30 of 40 by chance once in 10^7. */
TEST(cohort, sees_what_is_slower_in_spite_of_both)
{
    uint32_t n_clocked = 0, n_bursts = 0;
    for (int i = 0; i < 40; i++) {
        fresh();
        struct crowd clocked = make_clocked(180, 9.3 + 0.1 * (i % 13), 4);
        struct sf_cohort_result r = compare_crowd(&clocked);
        n_clocked += r.n_significant > 0 && r.rows[0].frame == 2;
        struct crowd bursts = make_bursts(180, 2 + (uint32_t)(i % 6), 2);
        r = compare_crowd(&bursts);
        n_bursts += r.n_significant > 0 && r.rows[0].frame == 3;
    }
    assert_true(n_clocked >= 30 && n_bursts >= 30);
}

/* 89 % are found; less than 35 of 50 by chance once in 10,000. */
TEST(cohort, sees_half_as_much_again_of_a_frame_most_of_the_time)
{
    uint32_t n_found = 0; /* frame 3 has mean 4, standard deviation 4; 200 spans a side */
    for (int i = 0; i < 50; i++) {
        fresh();
        struct sf_cohort left = make(200, 0), right = make(200, 2);
        struct sf_cohort_result r = compare(&left, &right);
        for (uint32_t k = 0; k < r.n_rows; k++)
            n_found += r.rows[k].frame == 3 && r.rows[k].is_significant;
    }
    assert_true(n_found >= 35);
}

TEST(cohort, calls_nothing_significant_that_only_few_requests_have)
{
    struct sf_cohort_cost l[100], r[100];
    struct sf_cohort left = {l, 0, 20, NULL}, right = {r, 0, 20, NULL};
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
    struct sf_cohort none = {NULL, 0, 0, NULL};
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
    assert_int_equal(n, 1000);
    assert_int_equal(sf_cohort_thin(ids, N, 1000, twice), n);
    assert_memory_equal(once, twice, n * sizeof(*once));
    assert_true(once[n - 1] > N * 9 / 10); /* from everywhere, not the first ones */
    assert_int_equal(sf_cohort_thin(ids, 10, 1000, once), 10);
    for (uint32_t first = 0; first < 1000; first++) /* as many as requested, whatever their ids */
        assert_int_equal(sf_cohort_thin(&ids[first], 40, 8, once), 8);
    for (uint32_t i = 0; i < 40; i++)
        ids[i] = 7;
    assert_int_equal(sf_cohort_thin(ids, 40, 8, once), 8); /* the same span forty times */
    assert_int_equal(sf_cohort_thin(ids, 40, 0, once), 0);
}

TEST(cohort, says_when_memory_runs_out)
{
    struct sf_cohort none = {NULL, 0, 0, NULL};
    struct sf_cohort_result r;
    struct sf_arena small;
    assert_true(sf_arena_init(&small, 256));
    assert_err(sf_cohort_compare(&none, &none, 1000, 1, &small, &r, NULL), SF_ERR_LIMIT);
    sf_arena_done(&small);
}
