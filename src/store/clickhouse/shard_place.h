/* shard_place.h - is a shard where it always was in the list of shards? */
#pragma once
#include "store/clickhouse/shard.h"

/* Fails if the shard has batches that were sent to another place of the list: the order was
 * changed, or a server is listed twice, under two names, and would count twice in every answer. */
enum sf_err sf_shard_place_check(struct sf_shard *s, const char *database, uint32_t place,
                                 struct sf_why *why);
