/* pin_set.h - which rows in ClickHouse are those of pinned traces: for one round of retention, or
 * one judging.
 *
 * Pins are texts that nodes share (shared_text.h), so what is read is what all nodes say. What rows
 * of these traces look like is written to `pinned` on every shard, under a number of its own:
 * samples of a trace may be on other shards than its spans. Rows of old rounds go by themselves. */
#pragma once
#include "base/buf.h"
#include "store/clickhouse/shard.h"

struct sf_pin_set {
    uint64_t round; /* 0: nothing is pinned */
};

enum sf_err sf_pin_set_spread(struct sf_shard *const *shards, uint32_t n_shards,
                              const char *database, struct sf_pin_set *out, struct sf_why *why);
/* A condition, in parentheses. `is_samples`: of the tables of samples; one that names neither trace
 * nor span counts when its service had a span of such a trace within five minutes. */
void sf_pin_set_where(const struct sf_pin_set *p, const char *database, bool is_samples,
                      struct sf_buf *sql);
