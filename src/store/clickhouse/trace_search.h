/* trace_search.h - whole traces that may match, over all nodes: span_scan of store.h with a judge
 * or has_whole_traces.
 *
 * Every shard, and this node's store for its own rows, lists the traces that have a span that may
 * satisfy the conditions. In the order of their starts, groups of these traces are read completely
 * into a view, and the local scan of that view decides. */
#pragma once
#include "store/clickhouse/remote_source.h"

enum sf_err sf_trace_search_open(const struct sf_remote_source *source,
                                 const struct sf_span_query *query, struct sf_query_ctx *q,
                                 struct sf_span_cursor **out, struct sf_why *why);
