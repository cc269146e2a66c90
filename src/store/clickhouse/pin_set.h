/* pin_set.h - selects the rows of pinned traces in ClickHouse, for one round of retention or for
 * one evaluation of an hour's outcome.
 *
 * The pins of all nodes are read from `shared` (shared_text.h). The ids, services and times of the
 * spans of these traces are then inserted into `pinned` on every shard, because samples of a trace
 * may be on other shards than its spans. A random number (`round`) identifies the rows of one such
 * insert; the table's TTL deletes rows after a day. */
#pragma once
#include "base/buf.h"
#include "store/clickhouse/shard.h"

struct sf_pin_set {
    uint64_t round; /* 0: no trace is pinned */
};

/* Reads the pins and inserts their rows into `pinned` on all shards. */
enum sf_err sf_pin_set_spread(struct sf_shard *const *shards, uint32_t n_shards,
                              const char *database, struct sf_pin_set *out, struct sf_why *why);
/* Appends an SQL condition, in parentheses, that is true for rows of pinned traces. `is_samples`:
 * for a table of samples. A sample with neither trace id nor span id is selected when its service
 * had a span of a pinned trace within five minutes. */
void sf_pin_set_where(const struct sf_pin_set *p, const char *database, bool is_samples,
                      struct sf_buf *sql);
