#include "store/local/write/tenant_rules.h"

#include "base/heap.h"
#include "base/list.h"
#include "store/local/files/tenants.h"

static struct sf_tenant_use *tenant_rules_find(const struct sf_tenant_rules *t, uint32_t tenant)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!t->n)
        return NULL;
    lookup = sf_table_lookup(&t->at, sf_key_u64(tenant));
    while (sf_table_next(&lookup, &at)) {
        if (t->list[at].tenant == tenant)
            return &t->list[at];
    }
    return NULL;
}

static struct sf_tenant_use *tenant_rules_add(struct sf_tenant_rules *t, struct sf_local *l,
                                              uint32_t tenant)
{
    struct sf_tenant_use use = {.tenant = tenant, .rule = t->usual};
    sf_str name;
    if (!sf_list_room(&t->list, t->n, &t->cap, 16) || !sf_table_more(&t->at))
        return NULL;
    if (sf_tenants_name(l->tenants, tenant, &name))
        l->config.tenant_rule(l->config.tenant_rule_arg, name, &use.rule);
    sf_table_put(&t->at, sf_key_u64(tenant), (uint32_t)t->n);
    t->list[t->n] = use;
    return &t->list[t->n++];
}

enum sf_err sf_tenant_rules_init(struct sf_tenant_rules *t, struct sf_local *l,
                                 const struct sf_retention *rule, struct sf_run *const *blocks,
                                 size_t n, struct sf_why *why)
{
    *t = (struct sf_tenant_rules){
        .usual = {.spans_ns = rule->spans_ns, .profiles_ns = rule->profiles_ns},
        .is_on = l->config.tenant_rule != NULL};
    t->longest = t->usual;
    if (t->is_on)
        l->config.tenant_rule(l->config.tenant_rule_arg, SF_STR_NONE, &t->longest);
    for (size_t i = 0; t->is_on && i < n; i++) {
        uint32_t tenant = blocks[i]->row.tenant;
        struct sf_tenant_use *use = tenant ? tenant_rules_find(t, tenant) : NULL;
        if (tenant && !use)
            use = tenant_rules_add(t, l, tenant);
        if (tenant && !use) {
            sf_tenant_rules_done(t);
            return sf_fail(why, SF_ERR_NOMEM, "retain: no memory for rules of tenants");
        }
        if (use)
            use->len += blocks[i]->row.len;
    }
    return SF_OK;
}

void sf_tenant_rules_done(struct sf_tenant_rules *t)
{
    sf_table_done(&t->at);
    sf_heap_free(t->list);
    *t = (struct sf_tenant_rules){0};
}

int64_t sf_tenant_rules_age(const struct sf_tenant_rules *t, const struct sf_run *run)
{
    const struct sf_tenant_use *use = tenant_rules_find(t, run->row.tenant);
    const struct sf_tenant_rule *rule = use               ? &use->rule
                                        : run->row.tenant ? &t->usual
                                                          : &t->longest;
    return run->row.kind == SF_BLOCK_PROFILES ? rule->profiles_ns : rule->spans_ns;
}

bool sf_tenant_rules_is_over(const struct sf_tenant_rules *t, const struct sf_run *run)
{
    const struct sf_tenant_use *use = tenant_rules_find(t, run->row.tenant);
    return use && use->rule.max_len && use->len > use->rule.max_len;
}

void sf_tenant_rules_remove(struct sf_tenant_rules *t, const struct sf_run *run)
{
    struct sf_tenant_use *use = tenant_rules_find(t, run->row.tenant);
    if (use)
        use->len -= run->row.len;
}
