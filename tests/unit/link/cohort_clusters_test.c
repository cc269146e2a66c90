#include "link/cohort_clusters.h"

#include "test.h"

static struct sf_arena req;
static struct sf_cohort_when left[400], right[400];

static struct sf_cohort_clusters make(uint32_t n_left, uint32_t n_right)
{
    struct sf_cohort l = {.n_spans = n_left, .when = left};
    struct sf_cohort r = {.n_spans = n_right, .when = right};
    struct sf_cohort_clusters c;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_true(sf_cohort_clusters_make(&l, &r, &req, &c));
    return c;
}

TEST(cohort_clusters, are_stretches_of_time_over_both_sides)
{
    for (uint32_t i = 0; i < 400; i++) { /* right ones run between left ones */
        left[i] = (struct sf_cohort_when){2 * i, 1000 - 2 * i, 0};
        right[i] = (struct sf_cohort_when){2 * i + 1, 1000 - 2 * i - 1, 0};
    }
    struct sf_cohort_clusters c = make(400, 400);
    assert_int_equal(c.n, SF_CLUSTERS_MOST);
    for (uint32_t i = 0; i < 400; i++) {
        assert_int_equal(c.left[i], SF_CLUSTERS_MOST - 1 - i * SF_CLUSTERS_MOST / 400);
        assert_true(c.left[i] - c.right[i] <= 1);
    }
}

TEST(cohort_clusters, are_as_many_of_a_small_side_that_ran_at_another_time)
{
    for (uint32_t i = 0; i < 400; i++) {
        left[i] = (struct sf_cohort_when){i, i, 0};
        right[i] = (struct sf_cohort_when){1000 + i, 1000 + i, 0};
    }
    struct sf_cohort_clusters c = make(400, 16);
    assert_int_equal(c.n, SF_CLUSTERS_MOST);
    assert_int_equal(c.left[399], SF_CLUSTERS_MOST / 2 - 1);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(c.right[i], SF_CLUSTERS_MOST / 2 + i);
}

TEST(cohort_clusters, do_not_part_a_trace)
{
    for (uint32_t i = 0; i < 200; i++) { /* traces of ten spans, all at once, right ones too */
        left[i] = (struct sf_cohort_when){i % 20, i, 0};
        right[i] = (struct sf_cohort_when){i % 20, 5000 + i, 0};
    }
    struct sf_cohort_clusters c = make(200, 200);
    assert_int_equal(c.n, 20);
    for (uint32_t i = 0; i < 200; i++) {
        assert_int_equal(c.left[i], c.left[i % 20]);
        assert_int_equal(c.right[i], c.left[i % 20]);
    }
}

TEST(cohort_clusters, part_traces_when_there_are_hardly_any)
{
    for (uint32_t i = 0; i < 100; i++) {
        left[i] = (struct sf_cohort_when){1, i, 0};
        right[i] = (struct sf_cohort_when){2 + i % 7, i, 0};
    }
    assert_int_equal(make(100, 100).n, 200 / SF_CLUSTERS_SPANS);
    for (uint32_t i = 0; i < 100; i++) /* many on one side help nothing */
        right[i].trace = 2 + i % 20;
    assert_int_equal(make(100, 100).n, 200 / SF_CLUSTERS_SPANS);
    for (uint32_t i = 0; i < 100; i++) {
        left[i].trace = 2 + i % 20;
        right[i].trace = 1;
    }
    assert_int_equal(make(100, 100).n, 200 / SF_CLUSTERS_SPANS);
}

TEST(cohort_clusters, are_single_spans_when_those_are_few)
{
    for (uint32_t i = 0; i < 6; i++)
        left[i] = right[i] = (struct sf_cohort_when){i, i, 0};
    for (uint32_t i = 0; i < 6; i++)
        right[i].trace += 100;
    assert_int_equal(make(6, 6).n, 12);
    assert_int_equal(make(0, 6).n, 6);
    assert_int_equal(make(0, 0).n, 0);
}

TEST(cohort_clusters, say_that_memory_is_out)
{
    static struct sf_cohort_when many[3000];
    struct sf_cohort l = {.n_spans = 3000, .when = many}, r = {.n_spans = 1, .when = right};
    struct sf_cohort_clusters c;
    bool is_made = false;
    for (size_t len = 4096; len < 1 << 20 && !is_made; len += 4096) {
        struct sf_arena small = {0};
        assert_true(sf_arena_init(&small, len));
        is_made = sf_cohort_clusters_make(&l, &r, &small, &c);
        assert_true(!is_made || (c.left && c.right));
        sf_arena_done(&small);
    }
    assert_true(is_made);
}
