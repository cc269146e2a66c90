#include "exec/tenant.h"

#include <string.h>

#include "base/limits.h"

static bool is_allowed(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!-_.*'()", c));
}

enum sf_err sf_tenant_check_name(sf_str name, struct sf_why *why)
{
    if (name.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "X-Scope-OrgID: a tenant's name is empty");
    if (name.len > SF_LIMIT_TENANT_LEN)
        return sf_fail(why, SF_ERR_INPUT, "X-Scope-OrgID: a tenant's name has at most %d bytes",
                       SF_LIMIT_TENANT_LEN);
    if (sf_str_eq(name, SF_STR(".")) || sf_str_eq(name, SF_STR("..")))
        return sf_fail(why, SF_ERR_INPUT, "X-Scope-OrgID: '.' and '..' are not names");
    for (size_t i = 0; i < name.len; i++) {
        if (!is_allowed(name.p[i]))
            return sf_fail(
                why, SF_ERR_INPUT,
                "X-Scope-OrgID: '%c' is not allowed; letters, digits and ! - _ . * ' ( )",
                name.p[i]);
    }
    return SF_OK;
}

enum sf_err sf_tenant_check(sf_str header, bool can_be_several, struct sf_why *why)
{
    size_t n = 0;
    sf_str name;
    while (sf_str_split_next(&header, '|', &name)) {
        enum sf_err err = sf_tenant_check_name(name, why);
        if (err)
            return err;
        n++;
    }
    if (n > 1 && !can_be_several)
        return sf_fail(why, SF_ERR_INPUT, "X-Scope-OrgID: only reads may name several tenants");
    if (n > SF_TENANTS_MAX)
        return sf_fail(why, SF_ERR_INPUT, "X-Scope-OrgID: at most %d tenants", SF_TENANTS_MAX);
    return SF_OK;
}

static void add_sorted(uint32_t *list, size_t *n, uint32_t tenant)
{
    size_t at = *n;
    for (size_t i = 0; i < *n; i++) {
        if (list[i] == tenant)
            return;
    }
    while (at > 0 && list[at - 1] > tenant) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = tenant;
    ++*n;
}

enum sf_err sf_tenant_find(struct sf_store *store, sf_str header, bool can_create,
                           uint32_t out[SF_TENANTS_MAX], size_t *out_n, struct sf_why *why)
{
    size_t n = 0;
    sf_str name;
    while (n < SF_TENANTS_MAX && sf_str_split_next(&header, '|', &name)) {
        uint32_t tenant;
        enum sf_err err = store->ops->tenant(store, name, can_create, &tenant, why);
        if (err == SF_ERR_NOT_FOUND && !can_create)
            continue;
        if (err)
            return err;
        add_sorted(out, &n, tenant);
    }
    *out_n = n;
    return SF_OK;
}
