/* upkeep.h - the thread that maintains the data in ClickHouse.
 *
 * Every node has one. Work that must be done once is done by the node that has the lease (lease.h):
 * deleting data that is too old or was judged, and finishing erasures. */
#pragma once
#include "store/clickhouse/remote_address.h"
#include "store/local/local_config.h"
#include "store/store.h"

struct sf_upkeep;

struct sf_upkeep_config {
    const struct sf_remote_address *address; /* borrowed until stop, like all below */
    const char *user, *password, *ca_file;   /* NULL: none */
    uint64_t memory_len;                     /* that a statement may take on a shard */
    int64_t interval_ns; /* the shipping interval; a maintenance pass runs every twelve of these */
    void (*tenant_rule)(void *arg, sf_str tenant, struct sf_tenant_rule *io); /* may be NULL */
    void *tenant_rule_arg;
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
};

struct sf_upkeep_counts {
    bool has_lease;
    int64_t lease_until_ns;        /* monotonic */
    uint64_t n_dropped, n_deleted; /* partitions; rows */
    uint64_t n_erasures;           /* not finished */
    uint64_t n_judged;             /* parts of samples dropped after their hour was judged */
    uint64_t n_rounds, n_failed;
};

enum sf_err sf_upkeep_start(const struct sf_upkeep_config *config, struct sf_store *store,
                            struct sf_upkeep **out, struct sf_why *why);
void sf_upkeep_stop(struct sf_upkeep *u); /* NULL is allowed */
/* Delay until a decision counts: longer than a query needs to read all shards. */
static inline int64_t sf_upkeep_grace_s(int64_t interval_ns)
{
    int64_t s = 12 * interval_ns / 1000000000;
    return s < 1 ? 1 : s;
}
void sf_upkeep_counts(struct sf_upkeep *u, struct sf_upkeep_counts *out);
