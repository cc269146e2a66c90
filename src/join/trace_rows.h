/* trace_rows.h - the rows of a trace's waterfall, with its critical path. */
#pragma once
#include "exec/traces.h"
#include "model/answer/trace_rows.h"

/* Lives in `req`, borrows from `trace`. LIMIT: the arena is full. */
enum sf_err sf_trace_rows_make(sf_trace_id id, const struct sf_trace *trace, struct sf_arena *req,
                               struct sf_trace_rows *out, struct sf_why *why);
