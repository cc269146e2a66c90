/* group_sql.h - the statement by which a shard counts spans that a query cannot tell apart. */
#pragma once
#include "store/clickhouse/remote_source.h"
#include "store/clickhouse/trace_set.h"

enum { SF_GROUP_SQL_MOST = 200000 }; /* groups in the answer of a shard */

/* Writes the statement for the query's grouping and its one tenant. Each span of the traces in
 * `whole` is a group of its own. */
void sf_group_sql_put(const struct sf_remote_source *source, const struct sf_span_query *query,
                      const struct sf_query_ctx *q, const struct sf_trace_set *whole,
                      struct sf_buf *sql);
