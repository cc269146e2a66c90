#include "render/pyroscope_tree.h"

#include "folded_tree.h"

static struct sf_arena req;

TEST(pyroscope_tree, writes_parents_first)
{
    static const char want[] = "\0\0\2"
                               "\1a\4\2"
                               "\1b\3\0"
                               "\1c\xac\2\0"
                               "\1d\1\0";
    struct sf_buf out = {0};
    struct sf_tree t;
    assert_true(sf_arena_init(&req, 1 << 20));
    t = folded_tree(SF_STR("d 1\na 4\na;c 300\na;b 3\n"), SF_STR("count"), &req);
    assert_ok(sf_pyroscope_tree_render(&t, req, &out, NULL));
    assert_int_equal(out.len, sizeof(want) - 1);
    assert_memory_equal(out.p, want, sizeof(want) - 1);
    sf_buf_done(&out);
    sf_arena_done(&req);
}

TEST(pyroscope_tree, is_empty_without_samples)
{
    struct sf_buf out = {0};
    struct sf_tree t;
    assert_true(sf_arena_init(&req, 1 << 20));
    t = folded_tree(SF_STR_NONE, SF_STR("count"), &req);
    assert_ok(sf_pyroscope_tree_render(&t, req, &out, NULL));
    assert_int_equal(out.len, 0);
    sf_buf_done(&out);
    sf_arena_done(&req);
}
