/* cohort.h - answer: the merged flame graph of a set of spans. */
#pragma once
#include "base/err.h"
#include "model/answer/grades.h"
#include "model/answer/known.h"
#include "model/answer/profile_view.h"

struct sf_cohort_view {
    sf_str query, type;
    bool is_self;        /* excluding the spans' children */
    bool is_sum;         /* values are sums; otherwise means per span */
    uint64_t n_found;    /* spans that match the query */
    bool is_estimate;    /* n_found is an estimate: too many to count */
    uint64_t n_spans;    /* examined */
    uint64_t n_thinned;  /* spans whose samples were removed by retention, and which are left out */
    uint64_t n_weighted; /* baseline spans that are weighted to represent them */
    bool is_sample;      /* not all matching spans were used: `note` says how they were chosen */
    uint64_t n_sampled;
    struct sf_grades grades;
    struct sf_known_view known; /* samples that certainly belong to these spans; the rest is an
                                 * estimate */
    struct sf_tree sure;        /* the certain samples only, also per span: used for conclusions */
    double sure_taken;          /* profiler samples among the certain ones */
    const char *trust;          /* reliability of the certain samples */
    double mean_duration_ns, mean_value;
    sf_str note, reason;
    uint8_t left_out; /* bits of enum sf_left_out */
    const sf_str *types;
    uint32_t n_types;
    struct sf_profile_view view;
};
