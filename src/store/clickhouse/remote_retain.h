/* remote_retain.h - deletes data that is too old from a shard, in whole partitions, which are days.
 *
 * A day is dropped when it is too old for every tenant. Rows of tenants with a shorter age are
 * deleted earlier. The dictionaries of a day (resources, stacks, ...) are dropped when no rows of
 * that day are left that may refer to them. Rows of pinned traces are kept, and with
 * them their day. All steps can be repeated. */
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
    struct sf_shard *shard; /* the one that is being worked on */
    const char *database;
    int64_t now_ns;
    bool may_ask_pins;      /* false: days that may hold pinned traces wait for another round */
    bool has_pins;          /* they were asked for, */
    struct sf_pin_set pins; /* and are these */
    uint64_t n_spared;      /* rows of pinned traces in days that are too old */
    struct sf_remote_ages longest; /* the longest of any tenant */
    const struct sf_tenant_ages *tenants;
    size_t n_tenants;
    uint64_t n_dropped, n_deleted; /* partitions; rows of single tenants */
};

/* The ages that follow from a rule; samples are not kept longer than their profiles. */
struct sf_remote_ages sf_remote_retain_ages(const struct sf_retention *rule,
                                            const struct sf_tenant_rule *tenant);
enum sf_err sf_remote_retain_work(struct sf_remote_retain *r, struct sf_why *why);
