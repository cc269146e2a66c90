/* findings.h - reports what stands out in a span, a trace, a cohort, a service over time, or
 * between two of them. */
#pragma once
#include "join/link_set.h"
#include "link/findings.h"
#include "model/answer/findings.h"
#include "query/label_selector.h"

struct sf_findings_want { /* one of: */
    sf_trace_id trace;    /* with `span`, only that span */
    sf_span_id span;      /* 0: the whole trace */
    sf_str service;       /* over time */
    sf_str query;         /* the spans of a query */
    sf_str left, right; /* two queries: what the spans of `right` do more of than those of `left` */
    sf_str baseline;    /* the same for profiles of two label selectors, */
    sf_str comparison;  /* as they were written, for the sentences */
    struct sf_label_selector baseline_match, comparison_match;
    sf_str type;
    int64_t from_ns, until_ns; /* not for a trace or span */
    struct sf_finding_limits limits;
    struct sf_arena *scratch; /* for temporary data; is reset */
};

/* The result is in q->req. NOT_FOUND: no such trace, span or type. INPUT: a bad query. */
enum sf_err sf_findings_make(struct sf_store *store, const struct sf_findings_want *want,
                             struct sf_query_ctx *q, struct sf_findings_view *out,
                             struct sf_why *why);
