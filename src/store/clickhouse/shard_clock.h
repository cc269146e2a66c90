/* shard_clock.h - the clock by which data of all nodes is deleted. A node whose clock is ahead must
 * not decide about it alone. */
#pragma once
#include "store/clickhouse/shard.h"

/* `now_ns`, or the shard's time if that is earlier. */
enum sf_err sf_shard_clock_bound(struct sf_shard *s, int64_t now_ns, int64_t *out_ns,
                                 struct sf_why *why);
