#include "intake/profile_upload.h"

#include "base/limits.h"
#include "intake/intake.h"
#include "test.h"

/* Answers and counters tell what became of a request: all of its profiles together. */
TEST(profile_upload, sums_up_what_became_of_all_its_profiles)
{
    const struct sf_profile_hint hint = {.format = SF_STR("folded"),
                                         .service = SF_STR("shop"),
                                         .now_ns = INT64_C(1763200000000000000)};
    struct sf_intake_config config = {0};
    struct sf_profile_upload u = {.config = &config,
                                  .tools = sf_intake_tools_new(),
                                  .tenant = 1,
                                  .recv_ns = hint.now_ns - INT64_C(90000) * 1000000000,
                                  .max_len = 1 << 20};
    struct sf_why why;
    struct sf_buf deep = {0};
    struct sf_batch *b;
    uint32_t n = 0;
    assert_non_null(u.tools);
    for (int i = 0; i < 3000; i++) /* more frames than a stack keeps */
        sf_buf_print(&deep, "%sf%d", i ? ";" : "", i);
    sf_buf_print(&deep, " 5\n");
    assert_ok(sf_profile_upload_add(&u, SF_STR("main;a 3\nmain;b 4\n"), &hint, &why));
    assert_ok(sf_profile_upload_add(&u, sf_buf_str(&deep), &hint, &why));
    /* What cannot be read is stated, and adds nothing. */
    assert_err(sf_profile_upload_add(&u, SF_STR("main;a x\n"), &hint, &why), SF_ERR_INPUT);
    assert_int_equal(u.n, 2);
    assert_int_equal(u.sum.n_samples, 3);
    assert_int_equal(u.sum.n_series, 2);
    assert_int_equal(u.sum.n_retimed, 2); /* they say tomorrow */
    assert_int_equal(u.drops.n_cut_stacks, 1);
    b = sf_profile_upload_take(&u);
    for (const struct sf_batch *at = b; at; at = at->next)
        n++;
    sf_batch_free(b);
    assert_int_equal(n, 2);
    sf_profile_upload_done(&u);
    sf_intake_tools_free(u.tools);
    sf_buf_done(&deep);
}

TEST(profile_upload, knows_what_carries_its_own_time)
{
    static const char *const dated[] = {
        "\x1f\x8b\x08", "\x28\xb5\x2f\xfd", "FLR\0\0\2",
        "{\"meta\":{\"interval\":1,\"startTime\":1,\"version\":24},\"threads\":[],\"libs\":[]}",
        "{\"resourceProfiles\":[]}"};
    for (size_t i = 0; i < sizeof(dated) / sizeof(dated[0]); i++) {
        size_t len = i == 2 ? 6 : strlen(dated[i]);
        if (!sf_profile_upload_is_dated((sf_str){dated[i], len}))
            fail_msg("%zu", i);
    }
    assert_false(sf_profile_upload_is_dated(SF_STR("main;work 7\n")));
    assert_false(sf_profile_upload_is_dated(SF_STR("")));
}
