/* comparison.h - answer: two sets of spans compared per request. */
#pragma once
#include "base/str.h"
#include "model/ids.h"

enum { SF_COMPARISON_QUANTILES = 33 };

struct sf_comparison_side {
    sf_str words;       /* "duration < p95 (12 ms)", or the query */
    uint64_t n_found;   /* spans the query found */
    bool is_estimate;   /* n_found is: there were too many to count */
    uint64_t n_spans;   /* compared: the rest was left out, evenly */
    uint64_t n_sampled; /* of those, with samples */
    double mean_duration_ns;
    double mean_value; /* per span, in the profile's unit */
    uint64_t first_ns; /* when the first of them began; 0: there are none */
    uint64_t durations_ns[SF_COMPARISON_QUANTILES]; /* shortest, the 1/32 quantile, ... longest */
};

struct sf_comparison_row {
    sf_str function; /* or a child span, or nothing */
    sf_str file;     /* of the line of it that cost most; empty: not known */
    uint32_t line;
    double left, right, delta, low, high; /* per span */
    uint32_t n_left, n_right;             /* spans that have it */
    bool is_significant;
    double n_needed; /* spans of both sides to see 30 % more of the left; 0: not known */
};

enum { SF_COMPARISON_PARTS = 16, SF_COMPARISON_ITEMS = 50, SF_COMPARISON_EXAMPLES = 3 };

struct sf_comparison_part { /* of the duration */
    const char *name;       /* "run_queue" */
    const char *words;      /* "waiting for a CPU" */
    struct sf_comparison_row row;
    bool is_estimate; /* for some spans from samples without a span id or thread */
    const struct sf_comparison_row *items; /* functions, or child spans; ordered as rows are */
    uint32_t n_items;                      /* at most SF_COMPARISON_ITEMS */
    uint32_t n_more;                       /* that were left out */
    double rest_left, rest_right;          /* of the part, with no function or child */
};

struct sf_comparison_time {   /* the whole duration */
    uint64_t n_left, n_right; /* spans it is made of */
    struct sf_comparison_row duration;
    struct sf_comparison_part parts[SF_COMPARISON_PARTS]; /* sum: duration; by size of difference */
    uint32_t n_parts;
    uint64_t n_samples; /* in the parts */
    struct {
        sf_trace_id trace;
        sf_span_id span;
        uint64_t duration_ns;
        double part_ns;
    } examples[SF_COMPARISON_EXAMPLES]; /* of the right: most of what differs most */
    uint32_t n_examples;
    sf_str summary;   /* the difference in one sentence; empty: nothing to compare */
    sf_str reason;    /* why much is unknown, or why there are no parts; empty: well */
    uint8_t left_out; /* bits of enum sf_left_out */
};

struct sf_comparison {
    sf_str type, unit;
    struct sf_comparison_side left, right;
    uint64_t bound_ns; /* where one query is split by duration */
    struct sf_comparison_time time;
    const struct sf_comparison_row *rows; /* significant first, then by size of the difference */
    uint32_t n_rows, n_significant;
    bool is_sample;         /* not all that match were compared, on a side or both */
    uint64_t n_thinned[2];  /* left and right: spans that lost their samples, and are left out; */
    uint64_t n_weighted[2]; /* those of the baseline represent them */
    sf_str note;            /* what was left out; empty: nothing */
    sf_str reason;          /* why no conclusion is possible; empty: none */
};
