/* span_profile.h - answer: the flame graph of a span and its precision. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/answer/clocks.h"
#include "model/answer/grades.h"
#include "model/answer/known.h"
#include "model/answer/profile_view.h"
#include "model/ids.h"
#include "model/keep_state.h"

struct sf_span_moment { /* one sample with its own time */
    int64_t start_ns;   /* relative to the span's start; samples of child spans may be outside of
                         * it */
    int64_t length_ns;  /* 0: a moment */
    int64_t value;
    uint32_t node;   /* its stack, in the profile's tree */
    uint32_t thread; /* numbered from 0 */
};

struct sf_span_share { /* self share of a function, with its 95 % interval */
    sf_str function;
    double share, low, high;
};
enum { SF_SPAN_SHARES = 10 };

struct sf_span_profile {
    sf_trace_id trace;
    sf_span_id span;
    sf_str service, name;
    uint64_t duration_ns;
    bool is_self; /* this span only; otherwise including its children in this process */
    sf_str part;  /* part of the time breakdown, such as "lock"; empty: all */
    struct sf_profile_view view;
    struct sf_known_view known; /* which part is certain; the rest is an estimate */
    struct sf_tree sure;        /* the certain samples only: used for conclusions */
    double sure_taken;          /* profiler samples among the certain ones */
    double sure_worth;          /* effective number: as many equally weighted samples would give the
                                 * same precision */
    struct sf_grades grades;
    struct sf_grades as_sent; /* before samples were limited to what fits into the span, or scaled
                               * to a measured value */
    uint64_t n_samples;
    int64_t measured_ns; /* CPU time measured by the spans themselves; negative: not measured */
    double taken;        /* number of profiler samples, when a record represents several */
    uint32_t n_threads;  /* threads named by the samples; else the minimum number possible, at least
                          * one */
    bool are_threads_named;
    double most_samples; /* maximum number of samples on these threads; 0: unknown */
    const char *trust;   /* "good": reliability of the certain samples */
    struct sf_span_share shares[SF_SPAN_SHARES]; /* of the certain samples; the largest ones */
    uint32_t n_shares, n_more_shares;
    sf_str reason;       /* why there is little or nothing, and what to change; empty: no problem */
    const sf_str *types; /* all profile types that are available */
    uint32_t n_types;
    bool is_partial;
    bool is_by_service; /* joined with profiles of the whole service, because the process of some
                         * spans is unknown */
    bool is_mixed;      /* samples without ids may be from several processes: left out */
    bool has_strange_threads;     /* spans and samples number threads differently, so threads are
                                   * ignored */
    bool has_untagged;            /* some of it comes from profiles without span ids */
    struct sf_keep_state keep;    /* whether its request's samples were kept */
    struct sf_clocks_view clocks; /* clocks that were corrected for it */
    bool has_timeline;
    const struct sf_span_moment *moments; /* by time */
    uint32_t n_moments;
};
