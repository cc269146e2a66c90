/* cohort.h - answer: the code of a set of spans as one flame graph. */
#pragma once
#include "base/err.h"
#include "model/answer/grades.h"
#include "model/answer/known.h"
#include "model/answer/profile_view.h"

struct sf_cohort_view {
    sf_str query, type;
    bool is_self;        /* without the spans' children */
    bool is_sum;         /* values are sums; otherwise means per span */
    uint64_t n_found;    /* spans the query found */
    bool is_estimate;    /* n_found is: there were too many to count */
    uint64_t n_spans;    /* examined */
    uint64_t n_thinned;  /* spans that lost their samples, and are left out; */
    uint64_t n_weighted; /* those of the baseline represent them */
    bool is_sample;      /* not all that match were: `note` says how they were chosen */
    uint64_t n_sampled;
    struct sf_grades grades;
    struct sf_known_view known; /* samples known to be of these spans; the rest is an estimate */
    struct sf_tree sure;        /* the known samples alone, likewise per span: what conclusions are
                                   drawn from */
    double sure_taken;          /* of the profilers, of the known samples */
    const char *trust;          /* of the known samples */
    double mean_duration_ns, mean_value;
    sf_str note, reason;
    uint8_t left_out; /* bits of enum sf_left_out */
    const sf_str *types;
    uint32_t n_types;
    struct sf_profile_view view;
};
