#include "flame/tree_under.h"

#include "base/buf.h"
#include "flame/tree_builder.h"
#include "test.h"

TEST(tree_under, puts_every_stack_below_one_frame)
{
    struct sf_arena req;
    struct sf_tree_builder b;
    struct sf_tree t, out;
    assert_true(sf_arena_init(&req, 1 << 20));
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    struct sf_frame main_frame = {.function = SF_STR("main")}, work = {.function = SF_STR("work")};
    uint32_t top = sf_tree_builder_child(&b, 0, sf_tree_builder_frame(&b, &main_frame));
    uint32_t leaf = sf_tree_builder_child(&b, top, sf_tree_builder_frame(&b, &work));
    sf_tree_builder_add(&b, 0, 2, 1); /* without a stack */
    sf_tree_builder_add(&b, top, 3, 1);
    sf_tree_builder_add(&b, leaf, 5, 2);
    assert_ok(sf_tree_builder_take(&b, SF_STR("count"), &t, NULL));
    sf_tree_builder_done(&b);

    assert_ok(sf_tree_under(&t, SF_STR("~ estimate"), &req, &out, NULL));
    assert_int_equal(out.n_nodes, 4);
    assert_int_equal(out.total, 10);
    assert_int_equal(out.n_samples, 4);
    assert_int_equal(out.nodes[0].self, 0);
    const int64_t selfs[] = {2, 3, 5};
    const char *const names[] = {"~ estimate", "main", "work"};
    for (uint32_t i = 1; i < 4; i++) {
        assert_int_equal(out.nodes[i].parent, i - 1);
        assert_int_equal(out.nodes[i].self, selfs[i - 1]);
        assert_true(sf_str_eq(out.frames[out.nodes[i].frame].function, sf_str_from(names[i - 1])));
    }
    assert_int_equal(out.frames[out.nodes[1].frame].kind, SF_FRAME_MARKER);
    sf_arena_done(&req);
}
