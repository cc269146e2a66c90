#include "flame/tree_builder.h"

#include "base/heap.h"
#include "test.h"

static struct sf_frame named(const char *name)
{
    return (struct sf_frame){.function = sf_str_from(name)};
}

/* "a;b;c" 3 */
static uint32_t put(struct sf_tree_builder *b, const char *stack, int64_t value)
{
    sf_str rest = sf_str_from(stack), name;
    uint32_t node = 0;
    while (sf_str_split_next(&rest, ';', &name)) {
        struct sf_frame f = {.function = name};
        node = sf_tree_builder_child(b, node, sf_tree_builder_frame(b, &f));
    }
    sf_tree_builder_add(b, node, value, 1);
    return node;
}

static struct sf_arena arena(void)
{
    struct sf_arena a = {0};
    assert_true(sf_arena_init(&a, 64 << 20));
    return a;
}

TEST(tree_builder, gives_equal_stacks_one_node_and_adds_their_values)
{
    struct sf_arena req = arena();
    struct sf_tree_builder b;
    struct sf_tree t;
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    assert_int_equal(put(&b, "a;b", 3), put(&b, "a;b", 4));
    put(&b, "a", 1);
    put(&b, "b;a", 2); /* the same frames in another order: other nodes */
    assert_ok(sf_tree_builder_take(&b, SF_STR("count"), &t, NULL));
    assert_int_equal(t.n_frames, 2);
    assert_int_equal(t.n_nodes, 5);
    assert_int_equal(t.total, 10);
    assert_int_equal(t.n_samples, 4);
    assert_int_equal(t.nodes[0].parent, 0);
    assert_int_equal(t.nodes[0].frame, SF_NONE);
    assert_int_equal(t.nodes[2].self, 7);
    for (uint32_t i = 1; i < t.n_nodes; i++)
        assert_true(t.nodes[i].parent < i);
    assert_str(t.unit, "count");
    sf_tree_builder_done(&b);
    sf_arena_done(&req);
}

TEST(tree_builder, tells_frames_apart_by_every_field)
{
    struct sf_arena req = arena();
    struct sf_tree_builder b;
    struct sf_frame f[7];
    for (int i = 0; i < 7; i++)
        f[i] = named("f");
    f[1].file = SF_STR("f.c");
    f[2].module = SF_STR("f.c");
    f[3].build_id = SF_STR("f.c");
    f[4].line = 7;
    f[5].kind = SF_FRAME_GO;
    f[6].file_off = 7;
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    for (uint32_t i = 0; i < 14; i++)
        assert_int_equal(sf_tree_builder_frame(&b, &f[i % 7]), i % 7);
    sf_tree_builder_done(&b);
    sf_arena_done(&req);
}

TEST(tree_builder, keeps_copies_of_strings_when_asked)
{
    struct sf_arena req = arena();
    struct sf_tree_builder b;
    struct sf_tree t;
    char name[] = "gone";
    sf_tree_builder_init(&b, &req, 0, SF_TREE_COPIES);
    put(&b, name, 1);
    memset(name, 'x', 4);
    assert_ok(sf_tree_builder_take(&b, SF_STR_NONE, &t, NULL));
    assert_str(t.frames[0].function, "gone");
    sf_tree_builder_done(&b);
    sf_arena_done(&req);
}

TEST(tree_builder, finds_every_node_again_after_growing)
{
    enum { N = 20000 };
    struct sf_arena req = arena();
    struct sf_tree_builder b;
    struct sf_tree t;
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    for (int round = 0; round < 2; round++) {
        uint32_t node = 0;
        for (uint32_t i = 0; i < N; i++) {
            struct sf_frame f = {.line = i};
            uint32_t frame = sf_tree_builder_frame(&b, &f);
            assert_int_equal(frame, i);
            if (i % 100 == 0)
                node = 0;
            node = sf_tree_builder_child(&b, node, frame);
            assert_int_equal(node, i + 1);
            sf_tree_builder_add(&b, node, 1, 1);
        }
    }
    assert_ok(sf_tree_builder_take(&b, SF_STR_NONE, &t, NULL));
    assert_int_equal(t.n_nodes, N + 1);
    assert_int_equal(t.total, 2 * N);
    sf_tree_builder_done(&b);
    sf_arena_done(&req);
}

TEST(tree_builder, merges_trees_node_by_node)
{
    struct sf_arena req = arena();
    struct sf_tree_builder a, b;
    struct sf_tree ta, sum;
    sf_tree_builder_init(&a, &req, 0, SF_TREE_BORROWS);
    put(&a, "x;y", 5);
    put(&a, "z", 1);
    assert_ok(sf_tree_builder_take(&a, SF_STR_NONE, &ta, NULL));
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    put(&b, "z", 10);
    sf_tree_builder_add_tree(&b, &ta);
    sf_tree_builder_add_tree(&b, &ta);
    sf_tree_builder_add_tree(&b, &(struct sf_tree){0}); /* an answer without data */
    assert_ok(sf_tree_builder_take(&b, SF_STR_NONE, &sum, NULL));
    assert_int_equal(sum.n_nodes, 4);
    assert_int_equal(sum.total, 22);
    assert_int_equal(sum.nodes[1].self, 12);
    assert_int_equal(sum.n_samples, 5);
    sf_tree_builder_done(&a);
    sf_tree_builder_done(&b);
    sf_arena_done(&req);
}

TEST(tree_builder, stops_at_the_largest_number_and_says_so)
{
    struct sf_arena req = arena();
    struct sf_tree_builder b;
    struct sf_tree t;
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    put(&b, "a", INT64_MAX);
    assert_ok(sf_tree_builder_take(&b, SF_STR_NONE, &t, NULL));
    assert_false(t.is_saturated);
    put(&b, "b", 1); /* each fits, their sum does not */
    assert_ok(sf_tree_builder_take(&b, SF_STR_NONE, &t, NULL));
    assert_true(t.is_saturated);
    put(&b, "a", 1);
    put(&b, "c", INT64_MIN);
    put(&b, "c", -1);
    assert_ok(sf_tree_builder_take(&b, SF_STR_NONE, &t, NULL));
    assert_true(t.nodes[1].self == INT64_MAX);
    assert_true(t.nodes[3].self == INT64_MIN);
    assert_true(t.is_saturated);
    sf_tree_builder_done(&b);
    sf_arena_done(&req);
}

TEST(tree_builder, gives_just_the_root_when_nothing_came)
{
    struct sf_arena req = arena();
    struct sf_tree_builder b;
    struct sf_tree t;
    sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
    assert_ok(sf_tree_builder_take(&b, SF_STR("bytes"), &t, NULL));
    assert_int_equal(t.n_nodes, 1);
    assert_int_equal(t.total, 0);
    sf_tree_builder_done(&b);
    sf_arena_done(&req);
}

TEST(tree_builder, refuses_to_outgrow_its_limit)
{
    struct sf_arena req = arena();
    struct sf_tree_builder b;
    struct sf_tree t = {.total = 7};
    struct sf_why why;
    sf_tree_builder_init(&b, &req, 100000, SF_TREE_BORROWS);
    for (uint32_t i = 0; i < 100000; i++) {
        struct sf_frame f = {.line = i};
        sf_tree_builder_add(&b, sf_tree_builder_child(&b, 0, sf_tree_builder_frame(&b, &f)), 1, 1);
    }
    assert_err(sf_tree_builder_take(&b, SF_STR_NONE, &t, &why), SF_ERR_LIMIT);
    assert_non_null(strstr(why.text, "narrow the time range"));
    assert_int_equal(t.total, 7); /* untouched */
    sf_tree_builder_done(&b);
    sf_arena_done(&req);
}

TEST(tree_builder, survives_every_failing_allocation)
{
    struct sf_arena req = arena();
    enum sf_err err = SF_ERR_NOMEM;
    for (uint64_t n = 1; err; n++) {
        struct sf_tree_builder a, b;
        struct sf_tree ta = {0}, t;
        assert_true(n < 100);
        sf_tree_builder_init(&a, &req, 0, SF_TREE_BORROWS);
        sf_tree_builder_init(&b, &req, 0, SF_TREE_BORROWS);
        sf_heap_fail_after(n);
        for (uint32_t i = 0; i < 1000; i++) {
            struct sf_frame f = {.line = i};
            uint32_t node = sf_tree_builder_child(&a, 0, sf_tree_builder_frame(&a, &f));
            sf_tree_builder_add(&a, node, 1, 1);
        }
        err = sf_tree_builder_take(&a, SF_STR_NONE, &ta, NULL);
        sf_tree_builder_add_tree(&b, &ta);
        if (!err)
            err = sf_tree_builder_take(&b, SF_STR_NONE, &t, NULL);
        sf_heap_fail_after(0);
        assert_true(err == SF_OK || err == SF_ERR_NOMEM);
        sf_tree_builder_done(&a);
        sf_tree_builder_done(&b);
        sf_arena_reset(&req);
    }
    sf_arena_done(&req);
}
