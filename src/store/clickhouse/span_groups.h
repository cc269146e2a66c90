/* span_groups.h - span_columns of store.h for a query that cannot tell certain spans apart: the
 * shards count them.
 *
 * A shard returns one span of each group, with the number of spans in it. So that every span counts
 * once, spans of some traces are no groups, but rows, which are put together with the rows of this
 * node in a view (store/local/view.h) like those of any other query:
 *
 * - traces with spans that this node may not have shipped yet
 * - traces of which a shard has a span more than once (group_check.h)
 * - spans that are not in the bucket of their start, because the sender's clock was wrong */
#pragma once
#include "store/clickhouse/group_check.h"

/* UNSUPPORTED: the query must read rows (sf_row_windows_columns). */
enum sf_err sf_span_groups_open(struct sf_group_checks *checks,
                                const struct sf_remote_source *source,
                                const struct sf_span_query *query, struct sf_query_ctx *q,
                                struct sf_column_cursor **out, struct sf_why *why);
