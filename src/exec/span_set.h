/* span_set.h - the spans a TraceQL query picks, as a plain list. */
#pragma once
#include "exec/search.h"

struct sf_set_span {
    sf_trace_id trace;
    sf_span_id id;
    uint64_t duration_ns;
};

struct sf_span_set {
    struct sf_set_span *spans; /* newest traces first */
    uint32_t n;
    bool is_partial; /* there were more: the newest are here */
};

struct sf_span_set_want {
    sf_str query;
    int64_t from_ns, to_ns;
    uint32_t limit_traces;
    struct sf_arena *scratch; /* for the search; reset */
};

/* Lives in q->req. INPUT: a bad query, with its column. */
enum sf_err sf_span_set_find(struct sf_store *store, const struct sf_span_set_want *want,
                             struct sf_query_ctx *q, struct sf_span_set *out, struct sf_why *why);
