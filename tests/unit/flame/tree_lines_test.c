#include "flame/tree_lines.h"

#include "flame/tree_builder.h"
#include "test.h"

static struct sf_arena req;
static struct sf_tree_builder b;

static uint32_t frame(const char *name, uint32_t line)
{
    struct sf_frame f = {.function = sf_str_from(name), .file = SF_STR("shop.c"), .line = line};
    return sf_tree_builder_frame(&b, &f);
}

static void lines(const char *name, const struct sf_line_cost **rows, uint32_t *n)
{
    struct sf_tree t;
    assert_ok(sf_tree_builder_take(&b, SF_STR("nanoseconds"), &t, NULL));
    assert_ok(sf_tree_lines(&t, sf_str_from(name), &req, rows, n, NULL));
}

TEST(tree_lines, adds_up_a_functions_lines_and_counts_recursion_once)
{
    const struct sf_line_cost *rows;
    uint32_t n;
    assert_true(sf_arena_init(&req, 1 << 20));
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    uint32_t top = sf_tree_builder_child(&b, 0, frame("main", 1));
    uint32_t a = sf_tree_builder_child(&b, top, frame("match", 7));
    uint32_t again = sf_tree_builder_child(&b, a, frame("match", 7));
    uint32_t other = sf_tree_builder_child(&b, again, frame("match", 9));
    uint32_t leaf = sf_tree_builder_child(&b, other, frame("cmp", 3));
    sf_tree_builder_add(&b, again, 10, 1);
    sf_tree_builder_add(&b, other, 5, 1);
    sf_tree_builder_add(&b, leaf, 2, 1);
    lines("match", &rows, &n);
    assert_int_equal(n, 2);
    assert_int_equal(rows[0].line, 7);
    assert_int_equal(rows[0].self, 10);
    assert_int_equal(rows[0].total, 17);
    assert_int_equal(rows[1].line, 9);
    assert_int_equal(rows[1].self, 5);
    assert_int_equal(rows[1].total, 7);
    lines("mat", &rows, &n);
    assert_int_equal(n, 0);
    sf_tree_builder_done(&b);
    sf_arena_done(&req);
}

TEST(tree_lines, finds_a_name_as_a_word_where_none_is_whole)
{
    const struct sf_line_cost *rows;
    uint32_t n;
    assert_true(sf_arena_init(&req, 1 << 20));
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    uint32_t a = sf_tree_builder_child(&b, 0, frame("regexp.(*Regexp).RegexMatch", 4));
    sf_tree_builder_add(&b, a, 1, 1);
    lines("RegexMatch", &rows, &n);
    assert_int_equal(n, 1);
    lines("Regex", &rows, &n);
    assert_int_equal(n, 0);
    sf_tree_builder_done(&b);
    sf_arena_done(&req);
}
