#include "flame/tree_builder.h"
#include "flame/tree_chain.h"
#include "test.h"

static struct sf_arena req;

static void add(struct sf_tree_builder *b, const char *const *names, size_t n, int64_t value)
{
    uint32_t at = 0;
    for (size_t i = 0; i < n; i++) {
        struct sf_frame f = {.function = sf_str_from(names[i]), .line = (uint32_t)i};
        at = sf_tree_builder_child(b, at, sf_tree_builder_frame(b, &f));
    }
    sf_tree_builder_add(b, at, value, 1);
}

/* a > b > a > b, and c > b; frames of one name differ by their lines. */
static struct sf_tree make(void)
{
    static const char *const one[] = {"a", "b", "a", "b"}, *const other[] = {"c", "b"};
    struct sf_tree_builder b;
    struct sf_tree t;
    struct sf_why why;
    sf_arena_init(&req, 1 << 20);
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    add(&b, one, 4, 5);
    add(&b, one, 2, 2);
    add(&b, other, 2, 10);
    assert_ok(sf_tree_builder_take(&b, SF_STR("ns"), &t, &why));
    sf_tree_builder_done(&b);
    return t;
}

static void is_node(const struct sf_tree *t, uint32_t at, const char *name, uint32_t parent,
                    int64_t self)
{
    assert_true(at < t->n_nodes);
    assert_true(sf_str_eq(t->frames[t->nodes[at].frame].function, sf_str_from(name)));
    assert_int_equal(t->nodes[at].parent, parent);
    assert_int_equal(t->nodes[at].self, self);
}

TEST(tree_chain, callees_of_the_outermost_occurrence)
{
    const sf_str names[] = {SF_STR("b")};
    struct sf_tree_chain chain = {.names = names, .n = 1};
    struct sf_tree t = make(), out;
    struct sf_why why;
    assert_ok(sf_tree_chain_callees(&t, &chain, &req, &out, &why));
    assert_int_equal(out.n_nodes, 4);
    assert_int_equal(out.total, 17);
    is_node(&out, 1, "b", 0, 12);
    is_node(&out, 2, "a", 1, 0);
    is_node(&out, 3, "b", 2, 5);
    sf_arena_done(&req);
}

TEST(tree_chain, callers_begin_above_the_first_function)
{
    const sf_str names[] = {SF_STR("a"), SF_STR("b")};
    struct sf_tree_chain chain = {.names = names, .n = 2};
    struct sf_tree t = make(), out;
    struct sf_why why;
    assert_ok(sf_tree_chain_callers(&t, &chain, &req, &out, &why));
    assert_int_equal(out.n_nodes, 2);
    is_node(&out, 1, "a", 0, 7);
    chain.names++;
    chain.n = 1;
    assert_ok(sf_tree_chain_callers(&t, &chain, &req, &out, &why));
    assert_int_equal(out.n_nodes, 4);
    is_node(&out, 1, "b", 0, 0);
    is_node(&out, 2, "a", 1, 7);
    is_node(&out, 3, "c", 1, 10);
    sf_arena_done(&req);
}

TEST(tree_chain, a_path_begins_at_the_root_and_may_be_empty)
{
    const sf_str names[] = {SF_STR("b")};
    struct sf_tree_chain chain = {.names = names, .n = 1, .is_from_root = true};
    struct sf_tree t = make(), out;
    struct sf_why why;
    assert_ok(sf_tree_chain_callees(&t, &chain, &req, &out, &why));
    assert_int_equal(out.n_nodes, 1);
    assert_int_equal(out.total, 0);
    chain.n = 0;
    assert_ok(sf_tree_chain_callees(&t, &chain, &req, &out, &why));
    assert_int_equal(out.total, 17);
    assert_int_equal(out.n_nodes, 7);
    sf_arena_done(&req);
}
