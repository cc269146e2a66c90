/* frame_spans.h - answer: the spans that ran a function, most expensive first. */
#pragma once
#include "model/ids.h"

struct sf_frame_span {
    sf_trace_id trace; /* zero: not found; its spans are deleted or have not arrived */
    sf_span_id id;
    sf_str service, name;
    uint64_t start_ns, duration_ns;
    int64_t value; /* of the samples with the function in their stack */
    double share;  /* share of all samples of the span itself */
    uint64_t n_samples;
    bool is_cut; /* the value was limited: samples represent more than fits into the span */
    double few;  /* number of samples in `value` if too few for times; 0: enough */
};

struct sf_frame_spans {
    sf_str function; /* or the pattern; empty: any code */
    sf_str type, unit;
    uint64_t n_found; /* number of spans with such samples; `list` has the first ones */
    int64_t value;    /* of all of them together, not limited */
    double few;       /* number of samples in it if too few for times; 0: enough */
    const struct sf_frame_span *list;
    uint32_t n;
    sf_str note, reason;
};
