/* frame_spans.h - answer: the spans that ran a function, most expensive first. */
#pragma once
#include "model/ids.h"

struct sf_frame_span {
    sf_trace_id trace; /* zero: not found, its spans are gone or on their way */
    sf_span_id id;
    sf_str service, name;
    uint64_t start_ns, duration_ns;
    int64_t value; /* of samples with the function in their stack */
    double share;  /* of all the span's own samples */
    uint64_t n_samples;
    bool is_cut; /* the value: samples represent more than the span had space for */
    double few;  /* samples of the profiler behind `value`, too few for times; 0: enough */
};

struct sf_frame_spans {
    sf_str function; /* or the pattern; empty: any code */
    sf_str type, unit;
    uint64_t n_found; /* spans with such samples; `list` has the first of them */
    int64_t value;    /* of all of them together: what samples represent, no cut */
    double few;       /* samples behind it, too few for times; 0: enough */
    const struct sf_frame_span *list;
    uint32_t n;
    sf_str note, reason;
};
