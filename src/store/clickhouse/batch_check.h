/* batch_check.h - checks that a shard has every row that a node sent to it exactly once. */
#pragma once
#include "model/answer/remote_state.h"
#include "store/clickhouse/shard.h"
#include "store/store.h"

/* Adds the findings of one shard (`number` from 1) to `io`. Fails when the shard cannot be
 * queried. */
enum sf_err sf_batch_check(struct sf_shard *shard, const char *database, const uint8_t node[16],
                           uint32_t number, struct sf_query_ctx *q, struct sf_remote_check *io,
                           struct sf_why *why);
