/* profile_view.h - one profile, ready to be drawn or written: what every export takes. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "model/ids.h"
#include "model/tree.h"

struct sf_profile_owned { /* a part of a node's own value that is known to be of a span */
    uint32_t node;
    sf_trace_id trace; /* zero: only the span is known */
    sf_span_id span;   /* 0: only the trace is */
    int64_t value;
};

struct sf_profile_view {
    struct sf_tree tree;
    const struct sf_profile_owned
        *owned; /* by node, each pair of ids once; those that files keep */
    uint32_t n_owned;
    struct sf_profile_type type;
    sf_str service;                /* or the file it came from */
    const struct sf_label *labels; /* of the series, where there is one */
    uint32_t n_labels;
    int64_t time_ns, duration_ns; /* 0: unknown */
    int64_t period;
    bool is_few;      /* samples: too few to show where the time went; `taken` counts them */
    bool is_estimate; /* some of it may belong to others */
    bool has_no_hot;  /* the same where bars are times of spans: no function is named */
    double taken;     /* samples the profiler took, when there are few */
    sf_str reason;    /* of one span: why there is little or nothing; empty: well */
};
