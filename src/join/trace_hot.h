/* trace_hot.h - finds the hottest function of every span of a trace, by its own samples. */
#pragma once
#include "exec/traces.h"
#include "model/answer/trace_rows.h"

/* Sets `hot` of the rows that were made from `trace`. Uses only samples that carry an id of the
 * trace: activity of a whole process would need all its other requests. Without profiles, or
 * without memory for them, the rows stay unchanged. */
enum sf_err sf_trace_hot_find(struct sf_store *store, const struct sf_trace *trace, sf_str type,
                              struct sf_query_ctx *q, struct sf_trace_rows *rows,
                              struct sf_why *why);
