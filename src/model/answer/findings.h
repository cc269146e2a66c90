/* findings.h - answer: what stands out. */
#pragma once
#include "model/ids.h"

struct sf_finding_view {
    const char *kind;   /* "hot_function" */
    const char *action; /* "optimise that function" */
    sf_str subject, path, sentence, unit;
    sf_str file; /* of the line that cost most; empty: not known */
    uint32_t line;
    sf_str span_name;     /* of the spans that most of it is in; empty: not known, or several */
    double per_request;   /* nanoseconds; NAN: not known */
    double request_share; /* of the requests bear it; NAN: not known */
    double rank;          /* root mean square of what a request bears, ns; NAN: not known */
    double per_hour, low, high; /* of what grows, with its 95 % interval, in `unit`; NAN: else */
    double share;
    int64_t value;
    uint32_t count;
    sf_trace_id trace; /* of the span, or an example; zero: none */
    sf_span_id span;   /* 0: none */
};

struct sf_findings_view {
    sf_str of; /* "CPU time of shop": what the shares are of */
    const struct sf_finding_view *items;
    uint32_t n;
    uint32_t n_more;                 /* smaller ones that are left out */
    uint64_t n_samples, n_estimated; /* examined; left out as their spans are not known */
    sf_str reason;                   /* why there is nothing to examine; empty: well */
    sf_str note;                     /* what was not examined; empty: nothing */
};
