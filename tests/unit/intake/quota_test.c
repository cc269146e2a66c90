#include "test.h"

#include "base/limits.h"
#include "base/time_unit.h"
#include "intake/quota.h"

static const int64_t NOW_NS = 1000 * SF_NS_PER_S;
static const sf_str NONE = {0};

static struct sf_quota *quota;
static struct sf_quota_rules *rules;
static struct sf_why why;
static struct sf_quota_refusal over;

static void set(sf_str tenant, sf_str service, enum sf_quota_key key, uint64_t value)
{
    assert_int_equal(sf_quota_rules_set(rules, tenant, service, key, value, &why), SF_OK);
}

static void begin(void)
{
    quota = sf_quota_new();
    rules = sf_quota_rules_new();
    assert_true(quota && rules);
}

static void use(void)
{
    sf_quota_replace(quota, rules);
    rules = NULL;
}

static bool is_over(sf_str tenant, sf_str service)
{
    return sf_quota_is_over(quota, tenant, service, true, NOW_NS, &over);
}

TEST(quota, finds_the_value_of_the_nearest_name)
{
    begin();
    set(SF_STR("*"), SF_STR("*"), SF_QUOTA_SPANS_RATE, 1);
    set(SF_STR("*"), SF_STR("shop"), SF_QUOTA_SPANS_RATE, 2);
    set(SF_STR("red"), SF_STR("*"), SF_QUOTA_SPANS_RATE, 3);
    set(SF_STR("red"), SF_STR("shop"), SF_QUOTA_SPANS_RATE, 4);
    set(SF_STR("*"), NONE, SF_QUOTA_DISK, 5);
    set(SF_STR("red"), NONE, SF_QUOTA_SERIES, 6);
    use();
    assert_int_equal(sf_quota_value(quota, SF_STR("red"), SF_STR("shop"), SF_QUOTA_SPANS_RATE), 4);
    assert_int_equal(sf_quota_value(quota, SF_STR("red"), SF_STR("web"), SF_QUOTA_SPANS_RATE), 3);
    assert_int_equal(sf_quota_value(quota, SF_STR("blue"), SF_STR("shop"), SF_QUOTA_SPANS_RATE), 2);
    assert_int_equal(sf_quota_value(quota, SF_STR("blue"), SF_STR("web"), SF_QUOTA_SPANS_RATE), 1);
    assert_int_equal(sf_quota_value(quota, SF_STR("red"), NONE, SF_QUOTA_DISK), 5);
    assert_int_equal(sf_quota_value(quota, SF_STR("red"), NONE, SF_QUOTA_SERIES), 6);
    assert_int_equal(sf_quota_value(quota, SF_STR("blue"), NONE, SF_QUOTA_SERIES), 0);
    assert_int_equal(sf_quota_value(quota, SF_STR("blue"), NONE, SF_QUOTA_SPANS_RATE), 0);
    sf_quota_free(quota);
}

TEST(quota, a_tenant_that_is_over_says_when_to_come_back)
{
    begin();
    set(SF_STR("red"), NONE, SF_QUOTA_SPANS_RATE, 100);
    set(SF_STR("red"), NONE, SF_QUOTA_BYTES_RATE, 1000);
    set(SF_STR("red"), NONE, SF_QUOTA_BYTES_BURST, 5000);
    use();
    assert_false(is_over(SF_STR("red"), NONE));
    sf_quota_charge(quota, SF_STR("red"), NONE, 350, 10, NOW_NS);
    assert_true(is_over(SF_STR("red"), NONE));
    assert_int_equal(over.key, SF_QUOTA_SPANS_RATE);
    assert_int_equal(over.limit, 100);
    assert_int_equal(over.wait_s, 3); /* a debt of 250 */
    sf_quota_explain(&over, SF_STR("red"), NONE, &why);
    assert_string_equal(why.text,
                        "tenant red is over its limit spans_per_second: 100; retry in 3 s");
    assert_false(sf_quota_is_over(quota, SF_STR("red"), NONE, false, NOW_NS, &over)); /* profiles */
    assert_false(is_over(SF_STR("blue"), NONE));
    sf_quota_refund(quota, SF_STR("red"), NONE, 350, 10);
    assert_false(is_over(SF_STR("red"), NONE));
    sf_quota_charge(quota, SF_STR("red"), NONE, 0, 5000, NOW_NS);
    assert_true(sf_quota_is_over(quota, SF_STR("red"), NONE, false, NOW_NS, &over));
    assert_int_equal(over.key, SF_QUOTA_BYTES_RATE);
    sf_quota_free(quota);
}

TEST(quota, new_rules_keep_what_is_used)
{
    begin();
    set(SF_STR("red"), NONE, SF_QUOTA_SPANS_RATE, 100);
    use();
    sf_quota_charge(quota, SF_STR("red"), NONE, 1000, 0, NOW_NS);
    rules = sf_quota_rules_new();
    set(SF_STR("red"), NONE, SF_QUOTA_SPANS_RATE, 50);
    use();
    assert_true(is_over(SF_STR("red"), NONE));
    assert_int_equal(over.limit, 50);
    rules = sf_quota_rules_new();
    use();
    assert_false(is_over(SF_STR("red"), NONE));
    sf_quota_free(quota);
}

/* Every name that is made up gets a rate of its own while there is space, then all of them share
 * one; other tenants notice nothing, and the memory has an end. */
TEST(quota, made_up_services_cost_nobody_else_anything)
{
    char name[32];
    size_t n_tenants, n_services;
    begin();
    set(SF_STR("*"), SF_STR("*"), SF_QUOTA_SPANS_RATE, 10);
    use();
    sf_quota_charge(quota, SF_STR("blue"), SF_STR("web"), 5, 0, NOW_NS);
    for (unsigned i = 0; i < 20000; i++) {
        snprintf(name, sizeof(name), "made-up-%u", i);
        sf_quota_charge(quota, SF_STR("red"), sf_str_from(name), 1000, 0, NOW_NS);
    }
    sf_quota_count(quota, &n_tenants, &n_services);
    assert_int_equal(n_tenants, 2);
    assert_int_equal(n_services, SF_LIMIT_QUOTA_SERVICES + 1);
    assert_true(is_over(SF_STR("red"), SF_STR("made-up-3")));     /* its own */
    assert_true(is_over(SF_STR("red"), SF_STR("made-up-19999"))); /* the shared one */
    assert_true(is_over(SF_STR("red"), SF_STR("never-seen")));
    assert_false(is_over(SF_STR("blue"), SF_STR("web")));
    assert_false(is_over(SF_STR("blue"), SF_STR("never-seen")));
    sf_quota_free(quota);
}

TEST(quota, rates_that_are_full_again_make_room_and_lose_nothing)
{
    char name[32];
    size_t n_tenants, n_services;
    begin();
    set(SF_STR("*"), SF_STR("*"), SF_QUOTA_SPANS_RATE, 10);
    use();
    for (unsigned i = 0; i < SF_LIMIT_QUOTA_SERVICES; i++) {
        snprintf(name, sizeof(name), "s-%u", i);
        sf_quota_charge(quota, SF_STR("red"), sf_str_from(name), i == 7 ? 100000 : 10, 0, NOW_NS);
    }
    sf_quota_charge(quota, SF_STR("red"), SF_STR("late"), 1000, 0, NOW_NS + 2 * SF_NS_PER_S);
    sf_quota_count(quota, &n_tenants, &n_services);
    assert_int_equal(n_services, 2); /* the one in debt, and the new one */
    assert_true(is_over(SF_STR("red"), SF_STR("s-7")));
    assert_false(is_over(SF_STR("red"), SF_STR("s-8")));
    sf_quota_free(quota);
}

TEST(quota, made_up_tenants_share_one_rate_and_named_ones_keep_theirs)
{
    char name[32];
    size_t n_tenants, n_services;
    begin();
    set(SF_STR("*"), NONE, SF_QUOTA_SPANS_RATE, 10);
    set(SF_STR("gold"), NONE, SF_QUOTA_SPANS_RATE, 10);
    use();
    for (unsigned i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "made-up-%u", i);
        sf_quota_charge(quota, sf_str_from(name), NONE, 1000, 0, NOW_NS);
    }
    sf_quota_charge(quota, SF_STR("gold"), NONE, 5, 0, NOW_NS);
    assert_false(is_over(SF_STR("gold"), NONE));
    assert_true(is_over(SF_STR("made-up-4999"), NONE));
    sf_quota_count(quota, &n_tenants, &n_services);
    assert_int_equal(n_tenants, SF_LIMIT_QUOTA_TENANTS + 1);
    sf_quota_free(quota);
}

TEST(quota, queries_are_counted_for_every_tenant_they_name)
{
    begin();
    set(SF_STR("red"), NONE, SF_QUOTA_QUERIES, 2);
    use();
    assert_true(sf_quota_query_begin(quota, SF_STR("red"), NOW_NS, &over));
    assert_true(sf_quota_query_begin(quota, SF_STR("blue|red"), NOW_NS, &over));
    assert_false(sf_quota_query_begin(quota, SF_STR("red|blue"), NOW_NS, &over));
    assert_int_equal(over.key, SF_QUOTA_QUERIES);
    assert_int_equal(over.wait_s, 1);
    assert_true(sf_quota_query_begin(quota, SF_STR("blue"), NOW_NS, &over));
    sf_quota_query_end(quota, SF_STR("blue|red"));
    assert_true(sf_quota_query_begin(quota, SF_STR("red"), NOW_NS, &over));
    sf_quota_query_end(quota, SF_STR("red"));
    sf_quota_query_end(quota, SF_STR("red"));
    sf_quota_query_end(quota, SF_STR("red")); /* one too many is not a loan */
    assert_true(sf_quota_query_begin(quota, SF_STR("red"), NOW_NS, &over));
    sf_quota_free(quota);
}

TEST(quota, tenants_that_are_idle_make_room_and_others_lose_nothing)
{
    char name[32];
    size_t n_tenants, n_services;
    begin();
    set(SF_STR("*"), NONE, SF_QUOTA_SPANS_RATE, 10);
    use();
    for (unsigned i = 0; i < SF_LIMIT_QUOTA_TENANTS; i++) {
        snprintf(name, sizeof(name), "t-%u", i);
        sf_quota_charge(quota, sf_str_from(name), NONE, i == 7 ? 100000 : 10, 0, NOW_NS);
    }
    sf_quota_charge(quota, SF_STR("late"), NONE, 1000, 0, NOW_NS + 2 * SF_NS_PER_S);
    sf_quota_count(quota, &n_tenants, &n_services);
    assert_int_equal(n_tenants, 2); /* the one in debt, and the new one */
    assert_true(is_over(SF_STR("t-7"), NONE));
    assert_false(is_over(SF_STR("t-8"), NONE));
    assert_true(is_over(SF_STR("late"), NONE));
    sf_quota_free(quota);
}

TEST(quota, rules_say_what_they_are_of)
{
    uint64_t longest = 100;
    sf_str got;
    begin();
    assert_false(sf_quota_rules_has_stores(rules));
    set(SF_STR("red"), NONE, SF_QUOTA_RETAIN_SPANS, 50);
    assert_false(sf_quota_rules_has_services(rules, SF_STR("red")));
    set(SF_STR("red"), SF_STR("shop"), SF_QUOTA_SPANS_RATE, 5);
    assert_true(sf_quota_rules_has_services(rules, SF_STR("red")));
    assert_false(sf_quota_rules_has_services(rules, SF_STR("blue")));
    assert_false(sf_quota_rules_has_stores(rules)); /* of a service nothing that is stored */
    sf_quota_rules_longest(rules, SF_QUOTA_RETAIN_SPANS, &longest);
    assert_int_equal(longest, 100);
    set(SF_STR("blue"), NONE, SF_QUOTA_RETAIN_SPANS, 200);
    set(SF_STR("red"), SF_STR("bank"), SF_QUOTA_RETAIN_SPANS, 900);
    assert_true(sf_quota_rules_has_stores(rules));
    sf_quota_rules_longest(rules, SF_QUOTA_RETAIN_SPANS, &longest);
    assert_int_equal(longest, 200);
    set(SF_STR("green"), NONE, SF_QUOTA_RETAIN_SPANS, 0); /* for ever */
    sf_quota_rules_longest(rules, SF_QUOTA_RETAIN_SPANS, &longest);
    assert_int_equal(longest, 0);
    assert_true(sf_quota_rules_service(rules, SF_STR("red"), 0, &got));
    assert_true(sf_quota_rules_service(rules, SF_STR("red"), 1, &got));
    assert_false(sf_quota_rules_service(rules, SF_STR("red"), 2, &got));
    assert_false(sf_quota_rules_service(rules, SF_STR("blue"), 0, &got));
    set(SF_STR("*"), SF_STR("shop"), SF_QUOTA_SPANS_RATE, 5); /* of every tenant */
    assert_true(sf_quota_rules_has_services(rules, SF_STR("blue")));
    sf_quota_rules_free(rules);
    sf_quota_free(quota);
}
