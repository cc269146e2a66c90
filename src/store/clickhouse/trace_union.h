/* trace_union.h - whole traces, wherever their spans were sent: this node's own rows, then those
 * that ClickHouse has and this node does not. */
#pragma once
#include "store/clickhouse/remote_source.h"

/* As traces_get of store.h. A shard that does not answer goes into q->unread. Asks 2 queries of
 * each shard for every 128 traces. */
enum sf_err sf_trace_union_get(const struct sf_remote_source *source,
                               const struct sf_trace_ask *asks, size_t n_asks,
                               struct sf_query_ctx *q, struct sf_span_cursor **out,
                               struct sf_why *why);
