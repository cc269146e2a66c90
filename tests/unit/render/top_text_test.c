#include "render/top_text.h"

#include "folded_tree.h"
#include "golden.h"

static struct sf_arena req;

static struct sf_profile_view shop(void)
{
    struct sf_profile_view v = {.service = SF_STR("order-service"),
                                .type = {.sample_type = SF_STR("cpu")}};
    v.tree = folded_tree(SF_STR("main;total;tax 200000000\nmain;total;tax;total 100000000\n"
                                "main;total 50000000\nmain;json.parse 640000000\nidle 10000000\n"),
                         SF_STR("nanoseconds"), &req);
    return v;
}

TEST(top_text, lists_functions_with_the_base_of_the_percentage)
{
    struct sf_profile_view v;
    struct sf_top_text t = {.view = &v, .columns = 80, .limit = 4};
    struct sf_buf out = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    v = shop();
    assert_ok(sf_top_text_table(&t, req, &out, NULL));
    assert_golden("top_table.txt", &out);
    sf_buf_done(&out);
    sf_arena_done(&req);
}

TEST(top_text, nests_callees_below_their_caller)
{
    struct sf_profile_view v;
    struct sf_top_text t = {
        .view = &v, .columns = 60, .min_share = 0.02, .order = SF_TREE_BY_TOTAL};
    struct sf_buf out = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    v = shop();
    assert_ok(sf_top_text_tree(&t, req, &out, NULL));
    assert_golden("top_tree.txt", &out);
    sf_buf_done(&out);
    sf_arena_done(&req);
}

TEST(top_text, says_how_many_samples_where_they_are_too_few_for_times)
{
    struct sf_profile_view v;
    struct sf_top_text t = {.view = &v, .columns = 80, .limit = 1};
    struct sf_buf out = {0};
    size_t at;
    assert_true(sf_arena_init(&req, 1 << 20));
    v = shop();
    v.is_few = v.is_estimate = true;
    v.taken = 4;
    assert_ok(sf_top_text_table(&t, req, &out, NULL));
    assert_true(sf_str_find(sf_buf_str(&out), SF_STR("percentages are of ~4 samples cpu in"), &at));
    assert_true(sf_str_find(sf_buf_str(&out), SF_STR("~ estimate: other spans"), &at));
    assert_true(sf_str_find(sf_buf_str(&out), SF_STR(" ~3 samples ~64.0 %"), &at));
    assert_false(sf_str_find(sf_buf_str(&out), SF_STR(" ms"), &at));
    sf_buf_done(&out);
    sf_arena_done(&req);
}
