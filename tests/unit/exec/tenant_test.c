#include "exec/tenant.h"

#include "base/limits.h"
#include "test.h"

TEST(tenant, names_follow_the_rules_of_x_scope_orgid)
{
    static char longest[SF_LIMIT_TENANT_LEN + 2];
    memset(longest, 'a', sizeof(longest));
    assert_ok(sf_tenant_check(SF_STR("team-1_a.b!*'()"), false, NULL));
    assert_ok(sf_tenant_check(SF_STR("AZaz09"), false, NULL));
    for (const char *c = "@[`{/:"; *c; c++) /* next to letters and digits */
        assert_err(sf_tenant_check((sf_str){c, 1}, false, NULL), SF_ERR_INPUT);
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
    struct sf_buf many = {0};
    for (int i = 0; i < SF_TENANTS_MAX; i++)
        sf_buf_print(&many, i ? "|t%d" : "t%d", i);
    assert_ok(sf_tenant_check(sf_buf_str(&many), true, NULL));
    sf_buf_print(&many, "|more");
    assert_err(sf_tenant_check(sf_buf_str(&many), true, NULL), SF_ERR_INPUT);
    sf_buf_done(&many);
}

static enum sf_err fake_tenant(__attribute__((unused)) struct sf_store *s, sf_str name,
                               bool can_create, uint32_t *out,
                               __attribute__((unused)) struct sf_why *why)
{
    if (sf_str_eq(name, SF_STR("broken")))
        return SF_ERR_IO;
    if (name.len != 1 || (name.p[0] == 'z' && !can_create))
        return SF_ERR_NOT_FOUND;
    *out = (uint8_t)name.p[0];
    return SF_OK;
}

TEST(tenant, numbers_come_sorted_once_and_without_unknown_ones)
{
    static const struct sf_store_ops ops = {.name = "fake", .tenant = fake_tenant};
    struct sf_store store = {&ops};
    uint32_t tenants[SF_TENANTS_MAX + 1];
    size_t n;
    for (size_t i = 0; i <= SF_TENANTS_MAX; i++)
        tenants[i] = 'c'; /* what lies behind the list is none of it */
    assert_ok(sf_tenant_find(&store, SF_STR("d|a|z|d|b"), false, tenants, &n, NULL));
    assert_int_equal(n, 3);
    assert_int_equal(tenants[0], 'a');
    assert_int_equal(tenants[1], 'b');
    assert_int_equal(tenants[2], 'd');
    assert_ok(sf_tenant_find(&store, SF_STR("z"), false, tenants, &n, NULL));
    assert_int_equal(n, 0);
    assert_ok(sf_tenant_find(&store, SF_STR("z"), true, tenants, &n, NULL));
    assert_int_equal(n, 1);
    assert_err(sf_tenant_find(&store, SF_STR("a|broken"), false, tenants, &n, NULL), SF_ERR_IO);
    assert_err(sf_tenant_find(&store, SF_STR("xx"), true, tenants, &n, NULL), SF_ERR_NOT_FOUND);
    char names[2 * (SF_TENANTS_MAX + 1)];
    for (size_t i = 0; i <= SF_TENANTS_MAX; i++) {
        names[2 * i] = (char)(128 + i);
        names[2 * i + 1] = '|';
    }
    tenants[SF_TENANTS_MAX] = 77;
    assert_ok(sf_tenant_find(&store, (sf_str){names, sizeof(names) - 1}, false, tenants, &n, NULL));
    assert_int_equal(n, SF_TENANTS_MAX);
    assert_int_equal(tenants[SF_TENANTS_MAX], 77);
}
