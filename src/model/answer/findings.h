/* findings.h - answer: noteworthy observations. */
#pragma once
#include "model/ids.h"

struct sf_finding_view {
    const char *kind;   /* "hot_function" */
    const char *action; /* "optimise that function" */
    sf_str subject, path, sentence, unit;
    sf_str file; /* with the most expensive line; empty: unknown */
    uint32_t line;
    sf_str span_name;           /* name of the spans that contain most of it; empty: unknown, or
                                 * several */
    double per_request;         /* nanoseconds; NAN: not known */
    double request_share;       /* share of requests that are affected; NAN: unknown */
    double rank;                /* root mean square of the cost per request, ns; NAN: unknown */
    double per_hour, low, high; /* growth per hour with its 95 % interval, in `unit`; NAN: not
                                 * about growth */
    double share;
    int64_t value;
    uint32_t count;
    sf_trace_id trace; /* trace of the span, or an example; zero: none */
    sf_span_id span;   /* 0: none */
};

struct sf_findings_view {
    sf_str of; /* what the shares refer to: "CPU time of shop" */
    const struct sf_finding_view *items;
    uint32_t n;
    uint32_t n_more;                 /* number of smaller findings left out */
    uint64_t n_samples, n_estimated; /* samples examined; left out because their spans are
                                      * uncertain */
    sf_str reason;                   /* why there is nothing to examine; empty: no problem */
    sf_str note;                     /* what was not examined; empty: nothing */
};
