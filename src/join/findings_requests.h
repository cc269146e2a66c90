/* findings_requests.h - what stands out over many requests: what most of them do over again, and
 * the same call made many times by one of them. */
#pragma once
#include "join/findings.h"
#include "link/findings.h"

struct sf_requests_want {
    sf_str query, type;
    sf_str service; /* all that ran in it for these requests; empty: the spans of the query */
    sf_str of;      /* what shares are of, in words */
    int64_t from_ns, to_ns;
    const struct sf_finding_limits *limits;
    struct sf_arena *scratch; /* for one thing at a time; reset */
};

struct sf_request_span {
    sf_trace_id trace;
    sf_span_id span;
};

struct sf_requests_findings {
    struct sf_finding_list again; /* in code */
    struct sf_finding_list loops; /* of spans; their places mean nothing, `ids` has their parents */
    const struct sf_request_span *ids;
    const double *shares;              /* of the requests, that have the loop */
    uint8_t left_out;                  /* bits of enum sf_left_out */
    struct sf_request_samples samples; /* what was examined; none: no requests */
};

/* Looks at the newest traces, which are enough for "most". Lives in q->req. */
enum sf_err sf_findings_requests(struct sf_store *store, const struct sf_requests_want *want,
                                 struct sf_query_ctx *q, struct sf_requests_findings *out,
                                 struct sf_why *why);
