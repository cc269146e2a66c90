#include "test.h"

#include "base/time_unit.h"
#include "intake/series_cap.h"

static bool admit(struct sf_series_cap *c, struct sf_arena *req, uint32_t tenant, unsigned id,
                  int64_t now_ns, sf_str *out_env, sf_str *out_id)
{
    char text[32];
    sf_str val;
    struct sf_label labels[3];
    struct sf_series s = {.service = SF_STR("shop"), .labels = labels, .n_labels = 3};
    enum sf_series_verdict verdict;
    snprintf(text, sizeof(text), "id-%u", id);
    assert_true(sf_arena_copy(req, sf_str_from(text), &val));
    labels[0] = (struct sf_label){SF_STR("env"), SF_STR("prod")};
    labels[1] = (struct sf_label){SF_STR("request"), val};
    labels[2] = (struct sf_label){SF_STR("service_name"), SF_STR("shop")};
    verdict = sf_series_cap_admit(c, tenant, &s, (struct sf_series_limits){0}, now_ns, req);
    assert_true(verdict == SF_SERIES_TAKEN || verdict == SF_SERIES_FOLDED);
    assert_str(s.labels[2].val, "shop");
    *out_env = s.labels[0].val;
    *out_id = s.labels[1].val;
    return verdict == SF_SERIES_FOLDED;
}

TEST(series_cap, folds_values_not_seen_before_once_a_service_has_enough)
{
    struct sf_series_cap *c = sf_series_cap_new(3);
    struct sf_arena req = {0};
    sf_str env, id;
    assert_non_null(c);
    assert_true(sf_arena_init(&req, 1 << 20));
    for (unsigned i = 0; i < 3; i++)
        assert_false(admit(c, &req, 1, i, 5, &env, &id));
    assert_true(admit(c, &req, 1, 3, 6, &env, &id));
    assert_str(id, "other");
    assert_false(admit(c, &req, 1, 2, 7, &env, &id)); /* a set that is there stays */
    assert_str(id, "id-2");
    assert_false(admit(c, &req, 2, 3, 8, &env, &id)); /* another tenant counts for itself */
    sf_arena_done(&req);
    sf_series_cap_free(c);
}

TEST(series_cap, counts_anew_after_an_hour)
{
    struct sf_series_cap *c = sf_series_cap_new(1);
    struct sf_arena req = {0};
    sf_str env, id;
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_false(admit(c, &req, 1, 1, 5, &env, &id));
    assert_true(admit(c, &req, 1, 2, 6, &env, &id));
    assert_false(admit(c, &req, 1, 2, INT64_C(3700) * 1000000000, &env, &id));
    sf_arena_done(&req);
    sf_series_cap_free(c);
}

TEST(series_cap, survives_a_flood_of_label_sets)
{
    struct sf_series_cap *c = sf_series_cap_new(5000);
    struct sf_arena req = {0};
    uint32_t n_folded = 0;
    sf_str env, id;
    assert_true(sf_arena_init(&req, 64 << 20));
    for (unsigned i = 0; i < 100000; i++)
        n_folded += admit(c, &req, 1, i, 5, &env, &id);
    assert_int_equal(n_folded, 95000);
    sf_arena_done(&req);
    sf_series_cap_free(c);
}

TEST(series_cap, folds_only_what_is_new_when_that_makes_a_known_set)
{
    struct sf_series_cap *c = sf_series_cap_new(2);
    struct sf_arena req = {0};
    static const char *const sets[][2] = {{"other", "prod"}, {"a", "prod"}, {"b", "prod"}};
    struct sf_label labels[2];
    struct sf_series s;
    assert_true(sf_arena_init(&req, 1 << 20));
    for (size_t i = 0; i < 3; i++) {
        labels[0] = (struct sf_label){SF_STR("zone"), sf_str_from(sets[i][0])};
        labels[1] = (struct sf_label){SF_STR("env"), sf_str_from(sets[i][1])};
        s = (struct sf_series){.service = SF_STR("shop"), .labels = labels, .n_labels = 2};
        (void)sf_series_cap_admit(c, 1, &s, (struct sf_series_limits){0}, 5, &req);
    }
    assert_str(s.labels[0].val, "other");
    assert_str(s.labels[1].val, "prod");
    sf_arena_done(&req);
    sf_series_cap_free(c);
}

TEST(series_cap, says_when_the_hour_is_over)
{
    struct sf_series_cap *c = sf_series_cap_new(1);
    struct sf_arena req = {0};
    sf_str env, id;
    assert_non_null(c);
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_false(admit(c, &req, 1, 0, SF_NS_PER_HOUR * 5, &env, &id)); /* its hour begins */
    assert_int_equal(sf_series_cap_wait_s(c, SF_NS_PER_HOUR * 5 + SF_NS_PER_S / 2), 3600);
    assert_int_equal(sf_series_cap_wait_s(c, SF_NS_PER_HOUR * 6 - 1), 1);
    assert_int_equal(sf_series_cap_wait_s(c, SF_NS_PER_HOUR * 7), 1);
    sf_arena_done(&req);
    sf_series_cap_free(c);
}
