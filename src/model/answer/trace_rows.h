/* trace_rows.h - answer: a trace as a waterfall draws it, with its critical path. */
#pragma once
#include "model/answer/clocks.h"
#include "model/span.h"

struct sf_trace_segment {
    uint64_t start_ns, end_ns;
};

struct sf_trace_row {
    const struct sf_span *span;
    uint32_t depth;
    int64_t shift_ns;     /* brings its times to the clock of the trace's first span */
    bool is_critical;     /* it or something below it was waited for */
    bool is_unwaited;     /* it outlives everything above it: not waited for */
    uint64_t critical_ns; /* its own time on the path */
    const struct sf_trace_segment *segments;
    uint32_t n_segments;
    sf_str hot;      /* the function its own samples are mostly in; empty: none is known */
    sf_str hot_file; /* of its line that cost most; empty: not known */
    uint32_t hot_line;
    int64_t hot_value;
    double hot_share;         /* of the value of its own samples */
    double hot_low, hot_high; /* its 95 % interval */
    uint64_t n_samples;       /* known to be its own */
    uint64_t n_estimated;     /* that may be its own */
    double taken;             /* samples of the profiler behind n_samples records, */
    double estimated_taken;   /* and behind n_estimated */
    sf_span_id known_id;      /* the span that has all of those, with what is below it; 0: none */
    bool is_hot_below;        /* `hot` is of the samples of all spans below it too */
};

struct sf_trace_rows {
    sf_trace_id trace_id;
    const struct sf_span_batch *spans; /* whose resources and scopes the rows name */
    const struct sf_trace_row *rows;   /* parents before children, siblings by start */
    uint32_t n_rows;
    uint64_t start_ns, end_ns, critical_ns;
    uint64_t gap_ns, outside_ns; /* between roots; before and after all of them */
    uint32_t n_unwaited;
    bool is_partial, is_exact;
    struct sf_clocks_view clocks; /* that were corrected */
    sf_str hot_type, hot_unit;    /* of what `hot` is made from; empty: no profiles */
    sf_str note;                  /* what `hot` was not made from; empty: it is whole */
};
