#include "test.h"

#include "link/trace_tree.h"

static struct sf_span span(sf_span_id id, sf_span_id parent, uint64_t start, uint64_t end)
{
    return (struct sf_span){.span_id = id, .parent_id = parent, .start_ns = start, .end_ns = end};
}

TEST(trace_tree, orders_children_by_start_below_their_parent)
{
    struct sf_span s[] = {span(3, 1, 30, 40), span(2, 1, 20, 25), span(1, 0, 0, 100),
                          span(4, 2, 21, 22)};
    struct sf_trace_tree t;
    struct sf_arena req;
    assert_true(sf_arena_init(&req, 1 << 16));
    assert_ok(sf_trace_tree_build(s, 4, &req, &t, NULL));
    assert_int_equal(t.order[0], 2);
    assert_int_equal(t.order[1], 1);
    assert_int_equal(t.order[2], 3);
    assert_int_equal(t.order[3], 0);
    assert_int_equal(t.depth[3], 2);
    assert_int_equal(t.n_roots, 1);
    assert_int_equal(t.end_ns, 100);
    sf_arena_done(&req);
}

TEST(trace_tree, missing_parents_and_cycles_become_roots)
{
    struct sf_span s[] = {span(1, 9, 5, 6), span(2, 3, 1, 2), span(3, 2, 2, 3), span(4, 4, 7, 8)};
    struct sf_trace_tree t;
    struct sf_arena req;
    bool seen[4] = {0};
    assert_true(sf_arena_init(&req, 1 << 16));
    assert_ok(sf_trace_tree_build(s, 4, &req, &t, NULL));
    assert_int_equal(t.n_orphans, 2); /* 9 is nowhere; 4 names only itself */
    assert_int_equal(t.n_cut, 1);
    assert_int_equal(t.n_roots, 3);
    for (int i = 0; i < 4; i++)
        seen[t.order[i]] = true;
    for (int i = 0; i < 4; i++)
        assert_true(seen[i]);
    sf_arena_done(&req);
}

TEST(trace_tree, says_limit_when_it_does_not_fit)
{
    struct sf_span s[64] = {0};
    struct sf_trace_tree t;
    struct sf_arena req;
    for (size_t cap = 1; cap < 4096; cap += 97) {
        assert_true(sf_arena_init(&req, cap));
        assert_err(sf_trace_tree_build(s, 64, &req, &t, NULL), SF_ERR_LIMIT);
        sf_arena_done(&req);
    }
    assert_true(sf_arena_init(&req, 4096));
    assert_ok(sf_trace_tree_build(s, 0, &req, &t, NULL));
    assert_int_equal(t.n_roots, 0);
    sf_arena_done(&req);
}
