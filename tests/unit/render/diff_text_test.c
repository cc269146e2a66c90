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

static void check_text(struct sf_buf *out, const char *text)
{
    sf_buf_add_u8(out, 0);
    if (!strstr((const char *)out->p, text))
        fail_msg("no '%s' in: %s", text, (const char *)out->p);
    sf_buf_reset(out);
}

TEST(diff_text, says_what_it_leaves_out_and_that_sums_are_of_different_times)
{
    struct sf_profile_view left = {.duration_ns = INT64_C(3600000000000)},
                           right = {.duration_ns = INT64_C(36000000000000)};
    struct sf_tree_diff d;
    struct sf_diff_text t = {
        .left = &left, .right = &right, .diff = &d, .columns = 100, .limit = 2, .min_share = 0.2};
    struct sf_buf out = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    left.tree = folded_tree(SF_STR("main;a 400\nmain;b 100\nmain;c 50\n"), SF_STR("count"), &req);
    right.tree = folded_tree(SF_STR("main;a 900\nmain;b 20\nmain;c 50\n"), SF_STR("count"), &req);
    assert_ok(sf_tree_diff(&left.tree, &right.tree, &req, &d, NULL));
    assert_ok(sf_diff_text_table(&t, req, &out, NULL));
    check_text(&out, "1 more function; --limit 3 shows all");
    assert_ok(sf_diff_text_table(&t, req, &out, NULL));
    check_text(&out, "the baseline covers 1 h 00 m, the comparison 10 h 00 m: values are sums");
    assert_ok(sf_diff_text_tree(&t, req, &out, NULL));
    check_text(&out, "2 more frames below 20 % of both sides; --min 0 shows all");
    right.duration_ns = left.duration_ns;
    assert_true(!sf_diff_text_lengths_differ(&left, &right));
    sf_buf_done(&out);
    sf_arena_done(&req);
}
