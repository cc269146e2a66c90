/* trace_rows.h - answer: a trace as rows of a waterfall, with its critical path. */
#pragma once
#include "model/answer/clocks.h"
#include "model/span.h"

struct sf_trace_segment {
    uint64_t start_ns, end_ns;
};

struct sf_trace_row {
    const struct sf_span *span;
    uint32_t depth;
    int64_t shift_ns;     /* converts its times to the clock of the trace's first span */
    bool is_critical;     /* it or a span below it is on the critical path */
    bool is_unwaited;     /* it ends after all its ancestors: nothing waited for it */
    uint64_t critical_ns; /* its self time on the path */
    const struct sf_trace_segment *segments;
    uint32_t n_segments;
    sf_str hot;      /* the function with most of its own samples; empty: unknown */
    sf_str hot_file; /* with its most expensive line; empty: unknown */
    uint32_t hot_line;
    int64_t hot_value;
    double hot_share;         /* share of the value of its own samples */
    double hot_low, hot_high; /* its 95 % interval */
    uint64_t n_samples;       /* samples that certainly are its own */
    uint64_t n_estimated;     /* samples that may be its own */
    double taken;             /* profiler samples in the n_samples records */
    double estimated_taken;   /* profiler samples in the n_estimated records */
    sf_span_id known_id;      /* the span that certainly has all of those, including its children;
                               * 0: none */
    bool is_hot_below;        /* `hot` includes the samples of all spans below it */
};

struct sf_trace_rows {
    sf_trace_id trace_id;
    const struct sf_span_batch *spans; /* provides resources and scopes of the rows */
    const struct sf_trace_row *rows;   /* parents before children, siblings by start */
    uint32_t n_rows;
    uint64_t start_ns, end_ns, critical_ns;
    uint64_t gap_ns, outside_ns; /* between roots; before and after all of them */
    uint32_t n_unwaited;
    bool is_partial, is_exact;
    struct sf_clocks_view clocks; /* clocks that were corrected */
    sf_str hot_type, hot_unit;    /* profile type of `hot`; empty: no profiles */
    sf_str note;                  /* data that is missing in `hot`; empty: complete */
};
