/* remote_retain.h - what is too old goes from a shard: whole partitions, which are days.
 *
 * A day goes when it is too old for every tenant. Of tenants with a shorter age the rows are
 * deleted sooner. Dictionaries of a day (resources, stacks, ...) go when no rows of that day are
 * left that may refer to them. Work that was done before is found done. */
#pragma once
#include "model/retention.h"
#include "store/clickhouse/shard.h"

struct sf_remote_ages { /* 0: never */
    int64_t spans_ns, profiles_ns, detail_ns;
};

struct sf_tenant_ages {
    sf_str tenant;
    struct sf_remote_ages ages; /* each shorter than, or equal to, what holds for all */
};

struct sf_remote_retain {
    struct sf_shard *shard;
    const char *database;
    int64_t now_ns;
    struct sf_remote_ages longest; /* of all tenants */
    const struct sf_tenant_ages *tenants;
    size_t n_tenants;
    uint64_t n_dropped, n_deleted; /* partitions; rows of single tenants */
};

/* The ages that follow from a rule; a sample does not outlive its profile. */
struct sf_remote_ages sf_remote_retain_ages(const struct sf_retention *rule,
                                            const struct sf_tenant_rule *tenant);
enum sf_err sf_remote_retain_work(struct sf_remote_retain *r, struct sf_why *why);
