/* profile_view.h - one profile, ready to be drawn or exported. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "model/ids.h"
#include "model/tree.h"

struct sf_profile_owned { /* a part of a node's self value that belongs to a span */
    uint32_t node;
    sf_trace_id trace; /* zero: only the span is known */
    sf_span_id span;   /* 0: only the trace is known */
    int64_t value;
};

struct sf_profile_view {
    struct sf_tree tree;
    const struct sf_profile_owned
        *owned; /* sorted by node, each pair of ids once; for files that keep the ids */
    uint32_t n_owned;
    struct sf_profile_type type;
    sf_str service;                /* or the name of its file */
    const struct sf_label *labels; /* of the series, if there is one */
    uint32_t n_labels;
    int64_t time_ns, duration_ns; /* 0: unknown */
    int64_t period;
    bool is_few;      /* too few samples to show where the time went; `taken` is their number */
    bool is_estimate; /* some of it may belong to other spans */
    bool has_no_hot;  /* too few as well, for bars that are times of spans: no hot function is
                       * named */
    double taken;     /* number of profiler samples, when there are few */
    sf_str reason;    /* of one span: why there is little or nothing; empty: no problem */
};
