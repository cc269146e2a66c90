/* findings_requests.h - finds what stands out over many requests: work that most of them repeat,
 * and the same call made many times by one request. */
#pragma once
#include "join/findings.h"
#include "link/findings.h"

struct sf_requests_want {
    sf_str query, type;
    /* Everything that ran in it for these requests; empty: the spans of the query. */
    sf_str service;
    sf_str of; /* the base of shares, in words */
    int64_t from_ns, to_ns;
    const struct sf_finding_limits *limits;
    struct sf_arena *scratch; /* for temporary data; is reset */
};

struct sf_request_span {
    sf_trace_id trace;
    sf_span_id span;
};

struct sf_requests_findings {
    struct sf_finding_list again; /* repeated work in code */
    /* Loops of spans; `ids` has their parents (indexes are not used). */
    struct sf_finding_list loops;
    const struct sf_request_span *ids;
    const double *shares;              /* share of the requests that have each loop */
    uint8_t left_out;                  /* bits of enum sf_left_out */
    struct sf_request_samples samples; /* what was examined; empty: no requests */
};

/* Examines the newest traces, which are enough to tell what most requests do. The result is in
 * q->req. */
enum sf_err sf_findings_requests(struct sf_store *store, const struct sf_requests_want *want,
                                 struct sf_query_ctx *q, struct sf_requests_findings *out,
                                 struct sf_why *why);
