/* cond_sql.h - pushed-down conditions on spans as SQL.
 *
 * The SQL selects every span that may satisfy the conditions as the local store evaluates them
 * (read/conds.h), and some others. Conditions that SQL cannot decide exactly are left out; the node
 * evaluates all of them again. */
#pragma once
#include "store/clickhouse/remote_source.h"

/* Writes " AND ..." for the rows of `spans` that overlap [from, to] and may satisfy the conditions;
 * nothing if all may. */
void sf_cond_sql_where(const struct sf_remote_source *r, const struct sf_span_query *query,
                       const struct sf_query_ctx *q, struct sf_buf *sql);
