/* batch_check.h - checks that a shard has every row that a node sent to it exactly once. */
#pragma once
#include "model/answer/remote_state.h"
#include "store/clickhouse/shard.h"
#include "store/clickhouse/shipper.h"
#include "store/store.h"

struct sf_batch_checking {
    struct sf_shard *shard, *first; /* the one that is checked, and the first of the fleet */
    uint32_t number;                /* of the shard, from 1 */
    const char *database;
    const uint8_t *node;          /* 16 bytes */
    struct sf_ship_extent extent; /* read before the shards are queried */
};

/* Adds the findings of one shard to `io`. Fails when a shard cannot be queried. */
enum sf_err sf_batch_check(const struct sf_batch_checking *which, struct sf_query_ctx *q,
                           struct sf_remote_check *io, struct sf_why *why);
