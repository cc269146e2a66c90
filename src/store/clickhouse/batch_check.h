/* batch_check.h - is everything that a node has sent to a shard there, once? */
#pragma once
#include "model/answer/remote_state.h"
#include "store/clickhouse/shard.h"
#include "store/store.h"

/* Adds what it finds on one shard (`number` from 1) to `io`. Fails when it cannot look. */
enum sf_err sf_batch_check(struct sf_shard *shard, const char *database, const uint8_t node[16],
                           uint32_t number, struct sf_query_ctx *q, struct sf_remote_check *io,
                           struct sf_why *why);
