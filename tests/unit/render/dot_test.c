#include "render/dot.h"

#include "folded_tree.h"

static struct sf_arena req;

static void draw(sf_str folded, uint32_t max_nodes, struct sf_buf *out)
{
    struct sf_profile_view v = {.service = SF_STR("shop")};
    assert_true(sf_arena_init(&req, 1 << 20));
    v.tree = folded_tree(folded, SF_STR("count"), &req);
    assert_ok(sf_dot_render(&v, max_nodes, req, out, NULL));
    sf_arena_done(&req);
}

TEST(dot, draws_functions_and_their_calls)
{
    struct sf_buf out = {0};
    draw(SF_STR("a;b 3\na;c;b 1\na 6\n"), 10, &out);
    assert_str(sf_buf_str(&out), "digraph \"shop\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n"
                                 "N1 [label=\"a\\n6 (60.00%)\\nof 10 (100.00%)\" shape=box]\n"
                                 "N2 [label=\"b\\n4 (40.00%)\\nof 4 (40.00%)\" shape=box]\n"
                                 "N3 [label=\"c\\n0 (0.00%)\\nof 1 (10.00%)\" shape=box]\n"
                                 "N1 -> N2 [label=\" 3\"]\nN1 -> N3 [label=\" 1\"]\n"
                                 "N3 -> N2 [label=\" 1\"]\n}\n");
    sf_buf_done(&out);
}

TEST(dot, joins_what_is_left_when_functions_are_left_out)
{
    struct sf_buf out = {0};
    size_t at;
    draw(SF_STR("a;b 3\na;c;b 1\na 6\n"), 2, &out);
    assert_false(sf_str_find(sf_buf_str(&out), SF_STR("label=\"c"), &at));
    assert_true(sf_str_find(sf_buf_str(&out), SF_STR("N1 -> N2 [label=\" 4\"]"), &at));
    assert_true(sf_str_find(sf_buf_str(&out), SF_STR("label=\"2 of 3 functions\"\n"), &at));
    sf_buf_done(&out);
}

TEST(dot, keeps_names_inside_their_quotes)
{
    struct sf_buf out = {0};
    size_t at;
    draw(SF_STR("say\"x\\y 1\n"), 10, &out);
    assert_true(sf_str_find(sf_buf_str(&out), SF_STR("[label=\"say\\\"x\\\\y\\n1 "), &at));
    sf_buf_done(&out);
}

TEST(dot, draws_nothing_of_nothing)
{
    struct sf_buf out = {0};
    draw(SF_STR_NONE, 10, &out);
    assert_int_equal(out.len, 0);
    sf_buf_done(&out);
}

TEST(dot, marks_every_figure_of_an_estimate)
{
    struct sf_profile_view v = {.service = SF_STR("shop"), .is_estimate = true};
    struct sf_buf out = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    v.tree = folded_tree(SF_STR("a;b 3\na 1\n"), SF_STR("count"), &req);
    assert_ok(sf_dot_render(&v, 10, req, &out, NULL));
    assert_str(sf_buf_str(&out), "digraph \"shop\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n"
                                 "N1 [label=\"a\\n~1 (~25.00%)\\nof ~4 (~100.00%)\" shape=box]\n"
                                 "N2 [label=\"b\\n~3 (~75.00%)\\nof ~3 (~75.00%)\" shape=box]\n"
                                 "N1 -> N2 [label=\" ~3\"]\n}\n");
    sf_buf_done(&out);
    sf_arena_done(&req);
}
