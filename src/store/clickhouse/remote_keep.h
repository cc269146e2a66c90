/* remote_keep.h - retention of samples by outcome in ClickHouse: which traces keep their samples
 * after their hour is over, decided over the data of all nodes.
 *
 * Samples of hours that are to be judged are first stored in `undecided`, all of them. When the
 * hour and retention.tail_delay have passed, the node that has the lease judges it
 * (join/keep_judge.h), reading spans and samples of all nodes like any other query. On each shard
 * separately, an *attempt* (a number that is used once) then
 *
 *   1. reads which batches have samples of that hour here: complete ones only, which have a row
 *      of `batches`,
 *   2. writes what the verdict keeps to kept_traces and kept_roots, the batches to
 *      judged_batches,
 *   3. copies the samples that are kept to `details`, with its number,
 *   4. writes its row of `judged`, of which ClickHouse stores the first for a tenant, hour and
 *      round.
 *
 * An attempt without a row of `judged` does not count: a node that is killed before step 4 has
 * changed no answer, and if two nodes judge the same hour, the first one counts. A row counts from
 * `counts_at` on, some time after it was written: then all queries see the same samples, either all
 * of the hour's batches in `undecided`, or the kept ones in `details`. After that, the parts of
 * `undecided` of which every row was judged are dropped, by name: rows that came meanwhile are in
 * other parts, and are judged in the next round, in which everything kept before stays kept. */
#pragma once
#include "store/clickhouse/remote_source.h"
#include "store/clickhouse/shard.h"

/* The oldest hour that is due on any shard: its tenant's name and its rules, in `req`. Hours to
 * which no rule applies are kept completely on the way. NOT_FOUND: none is due. */
enum sf_err sf_remote_keep_due(const struct sf_remote_source *r, int64_t grace_s,
                               struct sf_arena *req, struct sf_keep_due *out, struct sf_why *why);
/* Applies the verdict on a tenant's hour on all shards. It takes effect after `grace_s`. */
enum sf_err sf_remote_keep_put(const struct sf_remote_source *r, const struct sf_verdict *v,
                               int64_t grace_s, struct sf_why *why);
/* Deletes judged samples `grace_s` after the verdict counts, and leftovers of attempts that never
 * counted. */
enum sf_err sf_remote_keep_clear(struct sf_shard *shard, const char *database, int64_t grace_s,
                                 uint64_t *io_n_dropped, struct sf_why *why);
