/* remote_keep.h - keeping samples by outcome in ClickHouse: of which traces samples stay when their
 * hour is over, decided over all nodes' data.
 *
 * Samples of hours that are to be judged come into `undecided`, whole. When the hour and
 * retention.tail_delay are over, the node that has the lease judges it (join/keep_judge.h), reading
 * spans and samples of all nodes as for any other question. On each shard for itself, an *attempt*
 * (a number that is used once) then
 *
 *   1. reads which batches have samples of that hour here, all of them: only such are there whose
 *      row of `batches` is,
 *   2. writes what the verdict keeps to kept_traces and kept_roots, the batches to judged_batches,
 *   3. copies the samples that are kept to `details`, with its number,
 *   4. writes its row of `judged`, of which ClickHouse stores the first for a tenant, hour and
 * round.
 *
 * What has no row of `judged` does not count: a node that is killed before 4 has changed no answer,
 * and of two that do the same at once the first counts. A row counts from `counts_at` on, a while
 * after it was written: then all questions see the same samples, either all of the hour's batches
 * in `undecided`, or those of them that were kept in `details`. After that the parts of `undecided`
 * of which every row was judged are dropped, by name: rows that came meanwhile are in other parts,
 * and are judged in the next round, where what was kept before stays kept. */
#pragma once
#include "store/clickhouse/remote_source.h"
#include "store/clickhouse/shard.h"

/* The oldest hour that is due on any shard: its tenant's name and its rules, in `req`. Hours that
 * no rule judges are kept whole on the way. NOT_FOUND: none is. */
enum sf_err sf_remote_keep_due(const struct sf_remote_source *r, int64_t grace_s,
                               struct sf_arena *req, struct sf_keep_due *out, struct sf_why *why);
/* The verdict of a tenant's hour, on all shards. It counts after `grace_s`. */
enum sf_err sf_remote_keep_put(const struct sf_remote_source *r, const struct sf_verdict *v,
                               int64_t grace_s, struct sf_why *why);
/* As keep_states of store.h. */
enum sf_err sf_remote_keep_states(const struct sf_remote_source *r, const struct sf_keep_ask *asks,
                                  uint32_t n, struct sf_query_ctx *q, struct sf_keep_state *out,
                                  struct sf_why *why);
/* By which rules an hour of a tenant was judged: head.version and rules of `out`, in q->req; its
 * lists are empty. NOT_FOUND: it was not. */
enum sf_err sf_remote_keep_rules(const struct sf_remote_source *r, int64_t hour,
                                 struct sf_query_ctx *q, struct sf_verdict *out,
                                 struct sf_why *why);
/* Drops what was judged `grace_s` after it counts, and what attempts left that never counted. */
enum sf_err sf_remote_keep_clear(struct sf_shard *shard, const char *database, int64_t grace_s,
                                 uint64_t *io_n_dropped, struct sf_why *why);
