/* trace_hot.h - beside every span of a trace, the function its own samples are mostly in. */
#pragma once
#include "exec/traces.h"
#include "model/answer/trace_rows.h"

/* Fills in `hot` of the rows that were made from `trace`. Only samples that carry an id of the
 * trace speak here: what a whole process did meanwhile would need all its other requests. No
 * profiles, or no memory left for them: the rows stay as they are. */
enum sf_err sf_trace_hot_find(struct sf_store *store, const struct sf_trace *trace, sf_str type,
                              struct sf_query_ctx *q, struct sf_trace_rows *rows,
                              struct sf_why *why);
