/* tenant_rules.h - which blocks are too old or too many for their tenant.
 *
 * The rule of a tenant applies to its blocks. A block of several tenants (level 0, until it is
 * merged) is deleted when it is too old for every tenant, and does not count towards the size of
 * any tenant. For one pass of retention. */
#pragma once
#include "base/table.h"
#include "store/local/engine.h"

struct sf_tenant_use {
    uint32_t tenant;
    struct sf_tenant_rule rule;
    uint64_t len; /* total size of its remaining blocks */
};

struct sf_tenant_rules {
    struct sf_tenant_use *list;
    size_t n, cap;
    struct sf_table at;
    struct sf_tenant_rule usual;   /* of tenants without a rule */
    struct sf_tenant_rule longest; /* its size is unused */
    bool is_on;                    /* there are rules of tenants */
};

/* Loads the rules of the tenants of these blocks. NOMEM. */
enum sf_err sf_tenant_rules_init(struct sf_tenant_rules *t, struct sf_local *l,
                                 const struct sf_retention *rule, struct sf_run *const *blocks,
                                 size_t n, struct sf_why *why);
void sf_tenant_rules_done(struct sf_tenant_rules *t); /* a zeroed one is fine */
/* The age at which the block is deleted; 0: never. */
int64_t sf_tenant_rules_age(const struct sf_tenant_rules *t, const struct sf_run *run);
/* Is its tenant over its size limit? Call from the oldest block to the newest. */
bool sf_tenant_rules_is_over(const struct sf_tenant_rules *t, const struct sf_run *run);
void sf_tenant_rules_remove(struct sf_tenant_rules *t, const struct sf_run *run);
