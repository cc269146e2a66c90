#include "link/member_costs.h"

#include "test.h"

/* gateway 1 > shop: 2 > 3 > 4; all of shop's in process 8 */
static struct sf_span spans[] = {{.span_id = 1, .start_ns = 0, .end_ns = 100},
                                 {.span_id = 2, .parent_id = 1, .start_ns = 10, .end_ns = 90},
                                 {.span_id = 3, .parent_id = 2, .start_ns = 20, .end_ns = 60},
                                 {.span_id = 4, .parent_id = 3, .start_ns = 30, .end_ns = 40}};
static const struct sf_span_origin origins[] = {{7, 0}, {8, 0}, {8, 0}, {8, 0}};
static const struct sf_frame frames[] = {{.function = SF_STR("main")},
                                         {.function = SF_STR("sum"), .line = 7},
                                         {.function = SF_STR("sum"), .line = 9}};
static const struct sf_tree_node nodes[] = {{0}, {0, 0, 0}, {1, 1, 0}, {1, 2, 0}};
static const struct sf_tree stacks = {
    .frames = frames, .nodes = nodes, .n_frames = 3, .n_nodes = 4};
static const struct sf_link_sample samples[] = {
    {.span_id = 1, .value = 1000, .node = 1}, {.span_id = 2, .value = 1, .node = 1},
    {.span_id = 3, .value = 20, .node = 2},   {.span_id = 3, .value = 300, .node = 3},
    {.span_id = 4, .value = 4000, .node = 0}, {.span_id = 4, .value = 50000, .node = 2}};

static struct sf_arena req;

static struct sf_member_costs costs(const uint32_t *members, uint32_t n, bool is_self)
{
    struct sf_span_tree *tree;
    struct sf_local_index *index;
    struct sf_attribution a;
    struct sf_attribution_input in = {.samples = samples, .n_samples = 6};
    struct sf_frame_functions functions;
    struct sf_member_costs out;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 1 << 20));
    tree = sf_arena_new(&req, sizeof(*tree));
    index = sf_arena_new(&req, sizeof(*index));
    assert_ok(sf_span_tree_build(spans, origins, 4, &req, tree, NULL));
    assert_ok(sf_local_index_build(tree, &req, index, NULL));
    assert_ok(sf_attribution_make(index, &in, &req, &a, NULL));
    assert_ok(sf_frame_functions_make(&stacks, &req, &functions, NULL));
    assert_int_equal(functions.n, 2);
    struct sf_member_input what = {tree, &a, samples, &stacks, &functions, members, n, is_self};
    assert_ok(sf_member_costs_make(&what, &req, &out, NULL));
    return out;
}

TEST(member_costs, give_each_span_its_own_and_what_is_below_it_in_its_process)
{
    const uint32_t members[] = {0, 1, 2, SF_NOBODY};
    struct sf_member_costs c = costs(members, 4, false);
    assert_int_equal(c.totals[0], 1000); /* what shop did is not the gateway's */
    assert_int_equal(c.totals[1], 54321);
    assert_int_equal(c.totals[2], 54320);
    assert_int_equal(c.totals[3], 0);
    assert_int_equal(c.n_samples[1], 5);
    assert_int_equal(c.first[2] - c.first[1], 2); /* main, and sum with both its lines */
    for (uint32_t k = c.first[1]; k < c.first[2]; k++) {
        assert_int_equal(c.costs[k].span, 1);
        assert_true(c.costs[k].value == (c.costs[k].frame == 0 ? 1 : 50320));
    }
    assert_int_equal(c.first[4], c.first[3]);
    sf_arena_done(&req);
}

TEST(member_costs, leave_out_what_is_below_when_asked_to)
{
    const uint32_t members[] = {2, 1};
    struct sf_member_costs c = costs(members, 2, true);
    assert_int_equal(c.totals[0], 320);
    assert_int_equal(c.totals[1], 1);
    assert_int_equal(c.n_costs, 2);
    sf_arena_done(&req);
}

TEST(member_costs, say_that_memory_is_out)
{
    struct sf_span_tree tree = {0};
    struct sf_attribution a = {0};
    struct sf_frame_functions functions = {0};
    struct sf_member_input in = {
        .spans = &tree, .claims = &a, .functions = &functions, .n_members = 100000};
    struct sf_member_costs out;
    struct sf_arena small = {0};
    struct sf_why why = {0};
    assert_true(sf_arena_init(&small, 4096));
    assert_int_equal(sf_member_costs_make(&in, &small, &out, &why), SF_ERR_LIMIT);
    sf_arena_done(&small);
}
