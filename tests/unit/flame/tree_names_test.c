#include "flame/tree_names.h"

#include "flame/tree_builder.h"
#include "test.h"

static uint32_t code_at(struct sf_tree_builder *b, uint32_t parent, uint64_t off)
{
    struct sf_frame f = {.module = SF_STR("app"),
                         .build_id = SF_STR("abcd"),
                         .file_off = off,
                         .kind = SF_FRAME_NATIVE};
    return sf_tree_builder_child(b, parent, sf_tree_builder_frame(b, &f));
}

/* Two addresses of one function become one node, an inlined call one of its own below it, and what
 * is only known to be of one function stays without a name. */
TEST(tree_names, puts_inlined_calls_below_their_function_and_joins_what_is_equal)
{
    const struct sf_named_line flat[] = {{SF_STR("work"), SF_STR("w.c"), 7}};
    const struct sf_named_line deep[] = {{SF_STR("inner"), SF_STR("i.c"), 3},
                                         {SF_STR("work"), SF_STR("w.c"), 7}};
    struct sf_named named[5] = {{flat, 1, 0}, {flat, 1, 0}, {deep, 2, 0}, {.start_off = 0x90}, {0}};
    struct sf_arena req = {0};
    struct sf_tree_builder b;
    struct sf_tree t;
    uint32_t nodes[6], places[5];
    assert_true(sf_arena_init(&req, 1 << 20));
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    for (uint32_t i = 0; i < 5; i++) {
        places[i] = code_at(&b, 0, 0x10 + i);
        sf_tree_builder_add(&b, places[i], 1 << i, 1);
    }
    assert_ok(sf_tree_builder_take(&b, SF_STR("count"), &t, NULL));
    assert_int_equal(t.n_frames, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_true(sf_frame_is_unnamed(&t.frames[i]));
    assert_ok(sf_tree_names_give(&t, named, &req, &t, nodes, NULL));
    assert_int_equal(t.n_nodes, 5); /* root, work, inner, app!0x90, app!0x14 */
    assert_int_equal(nodes[places[0]], nodes[places[1]]);
    assert_int_equal(t.nodes[nodes[places[0]]].self, 3);
    assert_int_equal(t.nodes[nodes[places[2]]].self, 4);
    assert_int_equal(t.nodes[nodes[places[2]]].parent, nodes[places[0]]);
    assert_str(t.frames[t.nodes[nodes[places[2]]].frame].function, "inner");
    assert_str(t.frames[t.nodes[nodes[places[2]]].frame].build_id, "abcd");
    assert_str(t.frames[t.nodes[nodes[places[3]]].frame].function, "app!0x90");
    assert_true(t.frames[t.nodes[nodes[places[3]]].frame].is_unnamed);
    assert_int_equal(t.frames[t.nodes[nodes[places[4]]].frame].file_off, 0x14);
    assert_int_equal(t.total, 31);
    assert_int_equal(t.n_samples, 5);
    assert_str(t.unit, "count");
    sf_tree_builder_done(&b);
    sf_arena_done(&req);
}
