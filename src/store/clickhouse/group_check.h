/* group_check.h - traces of which a shard has a span more than once: when spans are counted where
 * they are, these are read as rows.
 *
 * Spans are compared within buckets of 300 s, as in sf_row_windows_columns(). The result of a
 * bucket is remembered with the number of its rows and the sum of their batches: while both are the
 * same, the bucket is not compared again. Thread-safe. */
#pragma once
#include "base/table.h"
#include "os/thread.h"
#include "store/clickhouse/remote_source.h"
#include "store/clickhouse/trace_set.h"

struct sf_group_checks {
    struct sf_mutex lock; /* guards all below; a leaf lock */
    struct sf_checked_bucket *list;
    uint32_t n, cap;
    struct sf_table at;
};

void sf_group_checks_init(struct sf_group_checks *c);
void sf_group_checks_done(struct sf_group_checks *c);

/* Adds the traces with repeated spans of the query's tenant in the buckets that begin in [low,
 * high] to `io`: complete for rows that were stored before the call. LIMIT: there are too many. */
enum sf_err sf_group_checks_run(struct sf_group_checks *c, const struct sf_remote_source *r,
                                struct sf_query_ctx *q, uint32_t low_s, uint32_t high_s,
                                struct sf_trace_set *io, struct sf_why *why);
