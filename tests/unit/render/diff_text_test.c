#include "render/diff_text.h"

#include "folded_tree.h"
#include "golden.h"

static struct sf_arena req;

TEST(diff_text, shows_changes_absolute_and_relative)
{
    struct sf_profile_view left = {.service = SF_STR("order-service{commit=abc123}")},
                           right = {.service = SF_STR("order-service{commit=def456}"),
                                    .type = {.sample_type = SF_STR("cpu")}};
    struct sf_tree_diff d;
    struct sf_diff_text t = {.left = &left, .right = &right, .diff = &d, .columns = 100};
    struct sf_buf out = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    left.tree = folded_tree(
        SF_STR("main;parse 400000000\nmain;old 100000000\nmain;same 50000000\n"),
        SF_STR("nanoseconds"), &req);
    right.tree = folded_tree(
        SF_STR("main;parse 900000000\nmain;new 20000000\nmain;same 50000000\n"),
        SF_STR("nanoseconds"), &req);
    assert_ok(sf_tree_diff(&left.tree, &right.tree, &req, &d, NULL));
    t.limit = 10;
    assert_ok(sf_diff_text_table(&t, req, &out, NULL));
    assert_golden("diff_table.txt", &out);
    sf_buf_reset(&out);
    assert_ok(sf_diff_text_tree(&t, req, &out, NULL));
    assert_golden("diff_tree.txt", &out);
    sf_buf_done(&out);
    sf_arena_done(&req);
}
