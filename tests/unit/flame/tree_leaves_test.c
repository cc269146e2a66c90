#include "flame/tree_leaves.h"

#include "support/stack_tree.h"

TEST(tree_leaves, keeps_the_ends_of_stacks)
{
    static const struct stack lines[] = {
        {{"main", "a", "x"}, 5, 10}, {{"main", "b", "x"}, 7, 11}, {{"main"}, 1, 3}};
    struct sf_tree t, out;
    assert_true(sf_arena_init(&req, 1 << 20));
    t = tree(lines, 3);
    assert_ok(sf_tree_leaves(&t, 1, false, &req, &out, NULL));
    expect(&out, "x 5 x 7 main 1 ");
    assert_ok(sf_tree_leaves(&t, 1, true, &req, &out, NULL));
    expect(&out, "x 12 main 1 ");
    assert_ok(sf_tree_leaves(&t, 2, true, &req, &out, NULL));
    expect(&out, "a;x 5 b;x 7 main 1 ");
    assert_ok(sf_tree_leaves(&t, 0, false, &req, &out, NULL));
    expect(&out, "main;a;x 5 main;b;x 7 main 1 ");
    sf_arena_done(&req);
}
