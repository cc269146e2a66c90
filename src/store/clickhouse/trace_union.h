/* trace_union.h - whole traces of all nodes: this node's own rows, then the rows of ClickHouse that
 * this node does not have. */
#pragma once
#include "store/clickhouse/remote_source.h"

/* As traces_get of store.h. A shard that does not answer is added to q->unread. Sends 2 queries to
 * each shard for every 128 traces. */
enum sf_err sf_trace_union_get(const struct sf_remote_source *source,
                               const struct sf_trace_ask *asks, size_t n_asks,
                               struct sf_query_ctx *q, struct sf_span_cursor **out,
                               struct sf_why *why);
