/* shard_state.h - what a shard says of itself: version, schema, and how much it holds. */
#pragma once
#include "model/answer/remote_state.h"
#include "store/clickhouse/shard.h"
#include "store/store.h"

/* A shard that does not answer is noted in the result and is no error. NOMEM, LIMIT. */
enum sf_err sf_shard_state_ask(struct sf_shard *shard, const char *database, struct sf_query_ctx *q,
                               struct sf_remote_shard *out, struct sf_why *why);
