/* comparison.h - answer: two sets of spans compared per request. */
#pragma once
#include "base/str.h"
#include "model/ids.h"

enum { SF_COMPARISON_QUANTILES = 33 };

struct sf_comparison_side {
    sf_str words;       /* description: "duration < p95 (12 ms)", or the query */
    uint64_t n_found;   /* spans that match the query */
    bool is_estimate;   /* n_found is an estimate: too many to count */
    uint64_t n_spans;   /* spans compared: an even selection */
    uint64_t n_sampled; /* of those, with samples */
    double mean_duration_ns;
    double mean_value; /* per span, in the profile's unit */
    uint64_t first_ns; /* start of the first of them; 0: there are none */
    uint64_t durations_ns[SF_COMPARISON_QUANTILES]; /* quantiles: shortest, 1/32, ... longest */
};

struct sf_comparison_row {
    sf_str function; /* or a child span; empty: neither */
    sf_str file;     /* with the most expensive line; empty: unknown */
    uint32_t line;
    double left, right, delta, low, high; /* values per span */
    uint32_t n_left, n_right;             /* spans that contain it */
    bool is_significant;
    double n_needed; /* spans needed on both sides to detect 30 % more than on the left; 0:
                      * unknown */
};

enum { SF_COMPARISON_PARTS = 16, SF_COMPARISON_ITEMS = 50, SF_COMPARISON_EXAMPLES = 3 };

struct sf_comparison_part { /* a part of the duration */
    const char *name;       /* "run_queue" */
    const char *words;      /* "waiting for a CPU" */
    struct sf_comparison_row row;
    bool is_estimate; /* for some spans estimated from samples without span id or thread */
    const struct sf_comparison_row *items; /* functions or child spans; ordered like rows */
    uint32_t n_items;                      /* at most SF_COMPARISON_ITEMS */
    uint32_t n_more;                       /* number of items left out */
    double rest_left, rest_right;          /* of the part, without a function or child */
};

struct sf_comparison_time {   /* comparison of the whole duration */
    uint64_t n_left, n_right; /* number of spans */
    struct sf_comparison_row duration;
    struct sf_comparison_part parts[SF_COMPARISON_PARTS]; /* they add up to the duration; sorted by
                                                           * size of the difference */
    uint32_t n_parts;
    uint64_t n_samples; /* samples used for the parts */
    struct {
        sf_trace_id trace;
        sf_span_id span;
        uint64_t duration_ns;
        double part_ns;
    } examples[SF_COMPARISON_EXAMPLES]; /* of the right side: with most of the part that differs
                                         * most */
    uint32_t n_examples;
    sf_str summary;   /* the difference in one sentence; empty: nothing to compare */
    sf_str reason;    /* why much is unknown, or why there are no parts; empty: no problem */
    uint8_t left_out; /* bits of enum sf_left_out */
};

struct sf_comparison_mix {          /* the sides consist of other spans */
    double ns;                      /* difference of the mean duration for that reason; 0: none */
    double left_share, right_share; /* of the name that contributes most */
    sf_trace_id trace;              /* a span of that name */
    sf_span_id span;
};

struct sf_comparison {
    sf_str type, unit;
    struct sf_comparison_side left, right;
    uint64_t bound_ns; /* the duration that separates the sides, when one query is split */
    struct sf_comparison_time time;
    struct sf_comparison_mix mix;
    const struct sf_comparison_row *rows; /* significant first, then by size of the difference */
    uint32_t n_rows, n_significant;
    bool is_sample;         /* on one or both sides not all matching spans were compared */
    uint64_t n_thinned[2];  /* left and right: spans whose samples were removed by retention, and
                             * which are left out */
    uint64_t n_weighted[2]; /* baseline spans that are weighted to represent them */
    sf_str note;            /* what was left out; empty: nothing */
    sf_str reason;          /* why no conclusion is possible; empty: none */
};
