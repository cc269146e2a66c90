/* findings.h - what stands out in a span, a trace, or a service over time. */
#pragma once
#include "exec/link_set.h"
#include "render/findings.h"

struct sf_findings_want {
    sf_trace_id trace; /* zero: a service */
    sf_span_id span;   /* 0: the whole trace */
    sf_str service;
    sf_str type;
    int64_t from_ns, until_ns; /* of a service */
};

/* Lives in q->req. NOT_FOUND: no such trace, span or type. */
enum sf_err sf_findings_make(struct sf_store *store, const struct sf_findings_want *want,
                             struct sf_query_ctx *q, struct sf_findings_view *out,
                             struct sf_why *why);
