/* cond_sql.h - pushed-down conditions of spans as SQL.
 *
 * What is written holds for every span that may satisfy the conditions as read/conds.h of the local
 * store understands them, and for some others; whatever is not certain is left out, and the node
 * looks again. */
#pragma once
#include "store/clickhouse/remote_source.h"

/* " AND ..." of the rows of `spans` that overlap [from, to] and may satisfy the conditions; nothing
 * when all may. */
void sf_cond_sql_where(const struct sf_remote_source *r, const struct sf_span_query *query,
                       const struct sf_query_ctx *q, struct sf_buf *sql);
