#include "link/hottest.h"

#include "test.h"

/* Two places in one function are one function; the child's samples are its own. */
static const struct sf_frame frames[] = {
    {.function = SF_STR("main"), .line = 1},       {.function = SF_STR("sum"), .line = 7},
    {.function = SF_STR("sum"), .line = 9},        {.function = SF_STR("sign"), .line = 3},
    {.function = SF_STR("runtime.asyncPreempt2")}, {.function = SF_STR("runtime.asyncPreempt")}};
static const struct sf_tree_node nodes[] = {{0},       {0, 0, 0}, {1, 1, 0}, {1, 2, 0},
                                            {1, 3, 0}, {2, 5, 0}, {5, 4, 0}};
static const struct sf_tree stacks = {
    .frames = frames, .nodes = nodes, .n_frames = 6, .n_nodes = 7};
enum { MAIN = 1, SUM7, SUM9, SIGN, PREEMPT, PREEMPT2 };

static struct sf_arena req;

static const struct sf_hot *hottest(const struct sf_link_sample *samples, uint32_t n)
{
    static struct sf_span spans[] = {{.span_id = 1, .start_ns = 0, .end_ns = 100},
                                     {.span_id = 2, .parent_id = 1, .start_ns = 10, .end_ns = 90},
                                     {.span_id = 3, .parent_id = 2, .start_ns = 20, .end_ns = 30}};
    static const struct sf_span_origin origins[] = {{7, 0}, {8, 0}, {8, 0}};
    struct sf_span_tree *tree;
    struct sf_local_index *index;
    struct sf_attribution a;
    struct sf_attribution_input in = {.samples = samples, .n_samples = n};
    const struct sf_hot *out = NULL;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 1 << 20));
    tree = sf_arena_new(&req, sizeof(*tree));
    index = sf_arena_new(&req, sizeof(*index));
    assert_ok(sf_span_tree_build(spans, origins, 3, &req, tree, NULL));
    assert_ok(sf_local_index_build(tree, &req, index, NULL));
    assert_ok(sf_attribution_make(index, &in, &req, &a, NULL));
    assert_ok(sf_hottest(&stacks, samples, &a, 3, &req, &out, NULL));
    return out;
}

TEST(hottest, sums_a_functions_lines_and_leaves_children_to_themselves)
{
    const struct sf_link_sample samples[] = {{.span_id = 2, .value = 4, .node = SIGN},
                                             {.span_id = 2, .value = 3, .node = SUM7},
                                             {.span_id = 2, .value = 3, .node = SUM9},
                                             {.span_id = 3, .value = 50, .node = SIGN}};
    const struct sf_hot *hot = hottest(samples, 4);
    assert_int_equal(hot[0].function.len, 0);
    assert_int_equal(hot[0].n_samples, 0);
    assert_true(sf_str_eq(hot[1].function, SF_STR("sum")));
    assert_int_equal(hot[1].value, 6);
    assert_int_equal(hot[1].all, 10);
    assert_int_equal(hot[1].n_samples, 3);
    assert_true(sf_str_eq(hot[2].function, SF_STR("sign")));
    assert_int_equal(hot[2].value, 50);
    sf_arena_done(&req);
}

TEST(hottest, is_what_was_interrupted_and_not_the_interruption)
{
    const struct sf_link_sample samples[] = {{.span_id = 3, .value = 5, .node = PREEMPT2},
                                             {.span_id = 3, .value = 4, .node = SIGN}};
    const struct sf_hot *hot = hottest(samples, 2);
    assert_true(sf_str_eq(hot[2].function, SF_STR("sum")));
    assert_int_equal(hot[2].value, 5);
    sf_arena_done(&req);
}

TEST(hottest, is_silent_without_a_function_or_a_value)
{
    const struct sf_link_sample samples[] = {{.span_id = 2, .value = 4, .node = 0},
                                             {.span_id = 3, .value = 2, .node = SUM7},
                                             {.span_id = 3, .value = -2, .node = SUM9},
                                             {.span_id = 3, .value = -5, .node = SIGN}};
    const struct sf_hot *hot = hottest(samples, 4);
    assert_int_equal(hot[1].function.len, 0);
    assert_int_equal(hot[1].all, 4);
    assert_int_equal(hot[2].function.len, 0);
    sf_arena_done(&req);
}

TEST(hottest, says_that_memory_is_out)
{
    struct sf_attribution a = {0};
    const struct sf_hot *out = NULL;
    struct sf_arena small = {0};
    struct sf_why why = {0};
    assert_true(sf_arena_init(&small, 4096));
    assert_int_equal(sf_hottest(&stacks, NULL, &a, 100000, &small, &out, &why), SF_ERR_LIMIT);
    assert_null(out);
    while (sf_arena_raw(&small, 16, 1)) {
        /* until it is full: not even the functions fit */
    }
    assert_int_equal(sf_hottest(&stacks, NULL, &a, 0, &small, &out, &why), SF_ERR_LIMIT);
    assert_null(out);
    sf_arena_done(&small);
}

TEST(hottest, is_not_said_of_samples_that_spans_share)
{
    const struct sf_link_sample samples[] = {
        {.span_id = 2, .value = 40, .node = SIGN, .length_ns = 100}};
    const struct sf_hot *hot = hottest(samples, 1); /* the local root's id, without a time */
    assert_int_equal(hot[1].function.len, 0);
    assert_int_equal(hot[1].n_samples, 0);
    assert_int_equal(hot[1].n_estimated, 1);
    assert_int_equal(hot[2].n_estimated, 1);
    sf_arena_done(&req);
}
