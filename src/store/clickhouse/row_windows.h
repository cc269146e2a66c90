/* row_windows.h - single spans that may match, over all nodes: span_scan of store.h without whole
 * traces, and span_columns.
 *
 * Rows of all shards and of this node's store are read into a view; if there are many, one time
 * window after the other, newest first. A span belongs to the window of its start, so each span is
 * in exactly one. */
#pragma once
#include "store/clickhouse/remote_source.h"

enum sf_err sf_row_windows_scan(const struct sf_remote_source *source,
                                const struct sf_span_query *query, struct sf_query_ctx *q,
                                struct sf_span_cursor **out, struct sf_why *why);
enum sf_err sf_row_windows_columns(const struct sf_remote_source *source,
                                   const struct sf_span_query *query, struct sf_query_ctx *q,
                                   struct sf_column_cursor **out, struct sf_why *why);
