/* remote_retain.h - deletes data that is too old from a shard, in whole partitions, which are days.
 *
 * A day is dropped when it is too old for every tenant. Rows of tenants with a shorter age are
 * deleted earlier. The dictionaries of a day (resources, stacks, ...) are dropped when no rows of
 * that day are left that may refer to them. Rows of pinned traces are kept, and the
 * partition and dictionaries of their day with them. All steps can be repeated. */
#pragma once
#include "model/retention.h"
#include "store/clickhouse/pin_set.h"
#include "store/clickhouse/shard.h"

struct sf_remote_ages { /* 0: never */
    int64_t spans_ns, profiles_ns, detail_ns;
};

struct sf_tenant_ages {
    sf_str tenant;
    struct sf_remote_ages ages; /* each at most the age that applies to all tenants */
};

struct sf_remote_retain {
    struct sf_shard *const *shards;
    uint32_t n_shards;
    struct sf_shard *shard; /* the shard that sf_remote_retain_work works on */
    const char *database;
    int64_t now_ns;
    bool may_ask_pins; /* false: leave partitions that may hold pinned traces for a later round */
    bool has_pins;     /* `pins` was read in this round */
    struct sf_pin_set pins;
    uint64_t n_spared;             /* rows of pinned traces in partitions that are too old */
    struct sf_remote_ages longest; /* the longest of any tenant */
    const struct sf_tenant_ages *tenants;
    size_t n_tenants;
    uint64_t n_dropped, n_deleted; /* partitions; rows of single tenants */
};

/* The ages that follow from a rule; samples are not kept longer than their profiles. */
struct sf_remote_ages sf_remote_retain_ages(const struct sf_retention *rule,
                                            const struct sf_tenant_rule *tenant);
enum sf_err sf_remote_retain_work(struct sf_remote_retain *r, struct sf_why *why);
