/* comparison.h - answer: two sets of spans compared per request. */
#pragma once
#include "base/str.h"

struct sf_comparison_side {
    sf_str words;       /* "duration < p95 (12 ms)", or the query */
    uint64_t n_found;   /* spans the query found */
    bool is_estimate;   /* n_found is: there were too many to count */
    uint64_t n_spans;   /* looked at: the rest was left out, evenly */
    uint64_t n_sampled; /* of those, with samples */
    double mean_duration_ns;
    double mean_value; /* per span, in the profile's unit */
};

struct sf_comparison_row {
    sf_str function;
    double left, right, delta, low, high; /* per span */
    uint32_t n_left, n_right;             /* spans that have it */
    bool is_significant;
};

struct sf_comparison {
    sf_str type, unit;
    struct sf_comparison_side left, right;
    const struct sf_comparison_row *rows; /* significant first, then by size of the difference */
    uint32_t n_rows, n_significant;
    bool is_sample; /* not all that match were looked at, on a side or both */
    sf_str note;    /* what was left out; empty: nothing */
    sf_str reason;  /* why nothing can be said; empty: well */
};
