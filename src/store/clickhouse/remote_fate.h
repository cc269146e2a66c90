/* remote_fate.h - reads what retention by outcome did with traces (remote_keep.h). */
#pragma once
#include "store/clickhouse/remote_source.h"

/* As keep_states of store.h. */
enum sf_err sf_remote_fate_states(const struct sf_remote_source *r, const struct sf_keep_ask *asks,
                                  uint32_t n, struct sf_query_ctx *q, struct sf_keep_state *out,
                                  struct sf_why *why);
/* The rules by which an hour of a tenant was judged: head.version and rules of `out`, in q->req;
 * its lists are empty. NOT_FOUND: it was not judged. */
enum sf_err sf_remote_fate_rules(const struct sf_remote_source *r, int64_t hour,
                                 struct sf_query_ctx *q, struct sf_verdict *out,
                                 struct sf_why *why);
