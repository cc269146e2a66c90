/* explain.h - explains why a span or a trace took so long. */
#pragma once
#include "model/answer/explain.h"
#include "store/store.h"

struct sf_explain_trace_want {
    sf_trace_id trace;
    sf_span_id span;
    sf_str focus; /* a function or the name of child spans; empty: none */
};

/* For a span: its own time by part, with its local and remote children explained one level down.
 * Span 0: the whole trace, along the critical path. The result is in q->req. NOT_FOUND: no such
 * trace or span. */
enum sf_err sf_explain_trace(struct sf_store *store, const struct sf_explain_trace_want *want,
                             struct sf_query_ctx *q, struct sf_explain_view *out,
                             struct sf_why *why);
