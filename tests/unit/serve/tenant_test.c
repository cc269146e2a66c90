#include "serve/tenant.h"

#include "base/limits.h"
#include "test.h"

TEST(tenant, names_follow_the_rules_of_x_scope_orgid)
{
    static char longest[SF_LIMIT_TENANT_LEN + 2];
    memset(longest, 'a', sizeof(longest));
    assert_ok(sf_tenant_check(SF_STR("team-1_a.b!*'()"), false, NULL));
    assert_ok(sf_tenant_check((sf_str){longest, SF_LIMIT_TENANT_LEN}, false, NULL));
    assert_err(sf_tenant_check((sf_str){longest, SF_LIMIT_TENANT_LEN + 1}, false, NULL),
               SF_ERR_INPUT);
    assert_err(sf_tenant_check(SF_STR("a b"), false, NULL), SF_ERR_INPUT);
    assert_err(sf_tenant_check(SF_STR("a/b"), false, NULL), SF_ERR_INPUT);
    assert_err(sf_tenant_check(SF_STR("."), false, NULL), SF_ERR_INPUT);
    assert_err(sf_tenant_check(SF_STR(".."), false, NULL), SF_ERR_INPUT);
    assert_err(sf_tenant_check(SF_STR("a\0b"), false, NULL), SF_ERR_INPUT);
}

TEST(tenant, only_reads_may_name_several)
{
    assert_ok(sf_tenant_check(SF_STR("a|b|c"), true, NULL));
    assert_err(sf_tenant_check(SF_STR("a|b"), false, NULL), SF_ERR_INPUT);
    assert_err(sf_tenant_check(SF_STR("a||b"), true, NULL), SF_ERR_INPUT);
    assert_err(sf_tenant_check(SF_STR("a|"), true, NULL), SF_ERR_INPUT);
}

static enum sf_err fake_tenant(__attribute__((unused)) struct sf_store *s, sf_str name,
                               bool can_create, uint32_t *out,
                               __attribute__((unused)) struct sf_why *why)
{
    if (name.len != 1 || (name.p[0] == 'z' && !can_create))
        return SF_ERR_NOT_FOUND;
    *out = (uint32_t)name.p[0];
    return SF_OK;
}

TEST(tenant, numbers_come_sorted_once_and_without_unknown_ones)
{
    static const struct sf_store_ops ops = {.name = "fake", .tenant = fake_tenant};
    struct sf_store store = {&ops};
    uint32_t tenants[SF_TENANTS_MAX];
    size_t n;
    assert_ok(sf_tenant_find(&store, SF_STR("c|a|z|c|b"), false, tenants, &n, NULL));
    assert_int_equal(n, 3);
    assert_int_equal(tenants[0], 'a');
    assert_int_equal(tenants[1], 'b');
    assert_int_equal(tenants[2], 'c');
    assert_ok(sf_tenant_find(&store, SF_STR("z"), false, tenants, &n, NULL));
    assert_int_equal(n, 0);
    assert_ok(sf_tenant_find(&store, SF_STR("z"), true, tenants, &n, NULL));
    assert_int_equal(n, 1);
}
