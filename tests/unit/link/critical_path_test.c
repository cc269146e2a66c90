#include "link/critical_path.h"

#include <stdlib.h>

#include "test.h"

/* Times in the tests are small numbers: the walk knows no units. */
static struct sf_span span(sf_span_id id, sf_span_id parent, uint64_t start, uint64_t end)
{
    return (struct sf_span){.span_id = id, .parent_id = parent, .start_ns = start, .end_ns = end};
}

struct path {
    struct sf_arena req;
    struct sf_span_tree tree;
    struct sf_critical_path p;
};

static struct path find(const struct sf_span *spans, uint32_t n)
{
    struct path p;
    assert_true(sf_arena_init(&p.req, 32 << 20));
    assert_ok(sf_span_tree_build(spans, NULL, n, &p.req, &p.tree, NULL));
    assert_ok(sf_critical_path_find(&p.tree, &p.req, &p.p, NULL));
    for (uint32_t i = 1; i < p.p.n_segments; i++)
        assert_true(p.p.segments[i - 1].end_ns <= p.p.segments[i].start_ns);
    return p;
}

static void assert_segment(const struct path *p, uint32_t i, uint32_t span_at, uint64_t start,
                           uint64_t end)
{
    assert_true(i < p->p.n_segments);
    assert_int_equal(p->p.segments[i].span, span_at);
    assert_int_equal(p->p.segments[i].start_ns, start);
    assert_int_equal(p->p.segments[i].end_ns, end);
}

TEST(critical_path, of_a_lone_span_is_the_span)
{
    struct sf_span spans[] = {span(1, 0, 10, 30)};
    struct path p = find(spans, 1);
    assert_int_equal(p.p.n_segments, 1);
    assert_segment(&p, 0, 0, 10, 30);
    assert_int_equal(p.p.total_ns, 20);
    sf_arena_done(&p.req);
}

TEST(critical_path, goes_through_children_one_after_the_other)
{
    struct sf_span spans[] = {span(1, 0, 0, 100), span(2, 1, 10, 40), span(3, 1, 50, 90)};
    struct path p = find(spans, 3);
    assert_int_equal(p.p.n_segments, 5);
    assert_segment(&p, 0, 0, 0, 10);
    assert_segment(&p, 1, 1, 10, 40);
    assert_segment(&p, 2, 0, 40, 50);
    assert_segment(&p, 3, 2, 50, 90);
    assert_segment(&p, 4, 0, 90, 100);
    assert_int_equal(p.p.critical_ns[0], 30);
    assert_int_equal(p.p.total_ns, 100);
    sf_arena_done(&p.req);
}

TEST(critical_path, takes_of_parallel_children_the_one_that_finished_last)
{
    struct sf_span spans[] = {span(1, 0, 0, 100), span(2, 1, 10, 60), span(3, 1, 10, 90)};
    struct path p = find(spans, 3);
    assert_int_equal(p.p.critical_ns[1], 0);
    assert_false(p.p.is_on_path[1]);
    assert_int_equal(p.p.critical_ns[2], 80);
    assert_true(p.p.is_on_path[2]);
    sf_arena_done(&p.req);
}

TEST(critical_path, leaves_out_a_child_its_parent_did_not_wait_for)
{
    struct sf_span spans[] = {span(1, 0, 0, 50), span(2, 1, 10, 20), span(3, 2, 12, 90)};
    struct path p = find(spans, 3); /* the trace ends at 90, its root at 50 */
    assert_false(p.p.is_on_path[2]);
    assert_int_equal(p.p.critical_ns[0], 40);
    assert_int_equal(p.p.critical_ns[1], 10);
    assert_int_equal(p.p.total_ns, 50);
    sf_arena_done(&p.req);
}

TEST(critical_path, lists_what_outlives_everything_above_it)
{
    struct sf_span spans[] = {span(1, 0, 0, 50), span(2, 1, 10, 20), span(3, 2, 12, 90),
                              span(4, 3, 15, 18)};
    struct path p = find(spans, 4);
    assert_int_equal(p.p.n_unwaited, 1);
    assert_true(p.p.is_unwaited[2]);
    assert_false(p.p.is_unwaited[3]); /* that is waited for, by one that is not */
    assert_false(p.p.is_on_path[3]);
    assert_int_equal(p.p.outside_ns, 40);
    assert_int_equal(p.p.gap_ns, 0);
    sf_arena_done(&p.req);
}

TEST(critical_path, lets_an_ancestor_wait_for_what_outlives_its_parent)
{
    struct sf_span spans[] = {span(1, 0, 0, 100), span(2, 1, 5, 40), span(3, 2, 30, 90)};
    struct path p = find(spans, 3);
    assert_int_equal(p.p.n_segments, 4);
    assert_segment(&p, 0, 0, 0, 5);
    assert_segment(&p, 1, 1, 5, 30);
    assert_segment(&p, 2, 2, 30, 90);
    assert_segment(&p, 3, 0, 90, 100);
    sf_arena_done(&p.req);
}

TEST(critical_path, gives_covered_time_to_the_sibling_that_covers_it)
{
    struct sf_span spans[] = {span(1, 0, 0, 100), span(2, 1, 0, 60), span(3, 1, 40, 100)};
    struct path p = find(spans, 3);
    assert_int_equal(p.p.critical_ns[0], 0);
    assert_int_equal(p.p.critical_ns[1], 40);
    assert_int_equal(p.p.critical_ns[2], 60);
    sf_arena_done(&p.req);
}

TEST(critical_path, follows_a_chain_of_calls_beside_a_long_one)
{
    struct sf_span spans[] = {span(1, 0, 0, 100), span(2, 1, 0, 95),  span(3, 1, 1, 30),
                              span(4, 1, 31, 60), span(5, 1, 61, 99), span(6, 2, 55, 62)};
    struct path p = find(spans, 6);
    assert_int_equal(p.p.critical_ns[0], 1); /* 99 to 100 */
    assert_int_equal(p.p.critical_ns[2], 29);
    assert_int_equal(p.p.critical_ns[3], 29);
    assert_int_equal(p.p.critical_ns[4], 38);
    assert_int_equal(p.p.critical_ns[1], 2); /* 0 to 1 and 30 to 31 */
    assert_int_equal(p.p.critical_ns[5], 1); /* of 60 to 61 */
    assert_int_equal(p.p.total_ns, 100);
    sf_arena_done(&p.req);
}

/* A chain of n calls below one that is passed n times is n * n steps to look into. */
TEST(critical_path, is_found_in_bounded_time)
{
    enum { N = 20000 };
    struct sf_span *spans = calloc(2 * N + 1, sizeof(*spans));
    assert_non_null(spans);
    spans[0] = span(1, 0, 0, 1000000);
    for (uint32_t i = 1; i <= N; i++) {
        spans[i] = span(i + 1, i, 0, 999999);
        spans[N + i] = span(N + i + 1, 1, 10 * i, 10 * i + 5);
    }
    struct path p = find(spans, 2 * N + 1);
    assert_int_equal(p.p.total_ns, 1000000);
    sf_arena_done(&p.req);
    free(spans);
}

TEST(critical_path, marks_ancestors_without_time_of_their_own)
{
    struct sf_span spans[] = {span(1, 0, 0, 10), span(2, 1, 0, 10)};
    struct path p = find(spans, 2);
    assert_int_equal(p.p.critical_ns[0], 0);
    assert_true(p.p.is_on_path[0]);
    assert_int_equal(p.p.critical_ns[1], 10);
    sf_arena_done(&p.req);
}

TEST(critical_path, clips_a_child_that_began_before_its_parent)
{
    struct sf_span spans[] = {span(1, 0, 10, 30), span(2, 1, 5, 20)};
    struct path p = find(spans, 2);
    assert_int_equal(p.p.n_segments, 2);
    assert_segment(&p, 0, 1, 10, 20);
    assert_segment(&p, 1, 0, 20, 30);
    sf_arena_done(&p.req);
}

TEST(critical_path, runs_through_pieces_whose_parents_are_missing)
{
    struct sf_span spans[] = {span(1, 77, 0, 10), span(2, 78, 20, 30)};
    struct path p = find(spans, 2);
    assert_int_equal(p.p.n_segments, 2);
    assert_segment(&p, 0, 0, 0, 10);
    assert_segment(&p, 1, 1, 20, 30);
    assert_int_equal(p.p.parents[0], UINT32_MAX);
    sf_arena_done(&p.req);
}

TEST(critical_path, survives_loops_own_parents_and_ends_before_starts)
{
    struct sf_span spans[] = {span(1, 2, 0, 10), span(2, 1, 0, 10), span(3, 3, 5, 6),
                              span(4, 1, 9, 2), span(5, 4, 3, 4)};
    struct path p = find(spans, 5);
    assert_true(p.p.total_ns <= 10);
    for (uint32_t i = 0; i < 5; i++) {
        uint32_t steps = 0;
        for (uint32_t up = i; up != UINT32_MAX; up = p.p.parents[up])
            assert_true(++steps <= 5);
    }
    sf_arena_done(&p.req);
}

TEST(critical_path, of_nothing_is_nothing)
{
    struct path p = find(NULL, 0);
    assert_int_equal(p.p.n_segments, 0);
    sf_arena_done(&p.req);
}

/* The slow, obvious rule: at each moment, from the end backwards, descend from the root into the
 * child that ends last among those that end no later than where the walk stands. Here only its
 * consequence: the path of a well-nested tree covers the root's time exactly, once. */
TEST(critical_path, covers_the_root_of_any_nested_tree_exactly)
{
    static struct sf_span spans[2000];
    uint64_t seed = 42;
    for (int round = 0; round < 20; round++) {
        spans[0] = span(1, 0, 1000, 1000000);
        for (uint32_t i = 1; i < 2000; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            uint32_t up = (uint32_t)(seed >> 33) % i;
            uint64_t len = spans[up].end_ns - spans[up].start_ns;
            uint64_t a = spans[up].start_ns + (len ? (seed >> 20) % (len + 1) : 0);
            uint64_t b = a + (spans[up].end_ns - a ? (seed >> 7) % (spans[up].end_ns - a + 1) : 0);
            spans[i] = span(i + 1, up + 1, a, b);
        }
        struct path p = find(spans, 2000);
        assert_int_equal(p.p.total_ns, 1000000 - 1000);
        assert_int_equal(p.p.segments[0].start_ns, 1000);
        for (uint32_t i = 1; i < p.p.n_segments; i++)
            assert_int_equal(p.p.segments[i - 1].end_ns, p.p.segments[i].start_ns);
        sf_arena_done(&p.req);
    }
}

TEST(critical_path, says_limit_when_the_arena_is_too_small)
{
    struct sf_span spans[100] = {0};
    struct sf_arena req, of_tree;
    struct sf_span_tree tree;
    struct sf_critical_path p;
    assert_true(sf_arena_init(&req, 1024) && sf_arena_init(&of_tree, 1 << 20));
    assert_ok(sf_span_tree_build(spans, NULL, 100, &of_tree, &tree, NULL));
    assert_err(sf_critical_path_find(&tree, &req, &p, NULL), SF_ERR_LIMIT);
    sf_arena_done(&of_tree);
    sf_arena_done(&req);
}
