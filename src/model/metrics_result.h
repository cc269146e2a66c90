/* metrics_result.h - the result of a TraceQL metrics query, in a form that can be written in any
 * format. */
#pragma once
#include "model/value.h"

struct sf_metric_exemplar { /* an example span for a value */
    struct sf_attrs labels;
    double value;
    int64_t time_ns; /* the span's start */
};

struct sf_metric_series {
    struct sf_attrs labels;
    double *values; /* one per step of the result; NaN: no sample */
    struct sf_metric_exemplar *exemplars;
    uint32_t n_exemplars;
};

struct sf_metrics_result {
    struct sf_metric_series *series; /* sorted by number of labels, then label by label */
    uint32_t n_series;
    uint32_t n_steps; /* an instant query has one */
    int64_t from_ns;  /* step i covers (from + i * step, from + (i + 1) * step] ... */
    int64_t step_ns;  /* ... and has the time of its right edge */
    bool is_running;  /* still counting: values will grow */
    bool is_partial;  /* a limit was hit: `note` says which */
    bool is_cut;      /* partial not only because of unreadable data */
    sf_str note;
    uint64_t n_inspected_traces, n_inspected_spans, read_len, n_blocks;
};
