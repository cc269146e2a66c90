/* explain.h - why a span, a trace or a set of spans took so long, or longer than another. */
#pragma once
#include "model/answer/explain.h"
#include "store/store.h"

struct sf_explain_trace_want {
    sf_trace_id trace;
    sf_span_id span;
    sf_str focus; /* a function or the name of child spans; empty: none */
};

/* A span: its own time by part, with its children here and elsewhere explained one level down. Span
 * 0: the whole trace, along the path that was waited for. Lives in q->req. NOT_FOUND: no such trace
 * or span. */
enum sf_err sf_explain_trace(struct sf_store *store, const struct sf_explain_trace_want *want,
                             struct sf_query_ctx *q, struct sf_explain_view *out,
                             struct sf_why *why);
