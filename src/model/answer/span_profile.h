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

struct sf_span_moment { /* one sample that has a time of its own */
    int64_t start_ns;   /* after the span's start; samples of spans below may lie around it */
    int64_t length_ns;  /* 0: a moment */
    int64_t value;
    uint32_t node;   /* its stack, in the profile's tree */
    uint32_t thread; /* numbered from 0 */
};

struct sf_span_share { /* of a function by itself, with its 95 % interval */
    sf_str function;
    double share, low, high;
};
enum { SF_SPAN_SHARES = 10 };

struct sf_span_profile {
    sf_trace_id trace;
    sf_span_id span;
    sf_str service, name;
    uint64_t duration_ns;
    bool is_self; /* this span only; otherwise with its children in this process */
    sf_str part;  /* of its ledger: "lock"; empty: all of it */
    struct sf_profile_view view;
    struct sf_known_view known; /* what of it is; the rest is an estimate */
    struct sf_tree sure;        /* the known samples alone: what conclusions are drawn from */
    double sure_taken;          /* of the profiler, of the known samples */
    double sure_worth;          /* as many equal samples know as much */
    struct sf_grades grades;
    struct sf_grades as_sent; /* before samples were cut to fit, or scaled to a measured figure */
    uint64_t n_samples;
    int64_t measured_ns; /* CPU time that the spans themselves carry; below 0: they do not */
    double taken;        /* samples of the profiler, where a record represents several */
    uint32_t n_threads;  /* that the samples name; else the fewest they can be of, at least one */
    bool are_threads_named;
    double most_samples; /* that the span could have had on them; 0: unknown */
    const char *trust;   /* "good": of the known samples */
    struct sf_span_share shares[SF_SPAN_SHARES]; /* of the known samples; the largest ones */
    uint32_t n_shares, n_more_shares;
    sf_str reason;       /* why there is little or nothing, and what to change; empty: well */
    const sf_str *types; /* all it could be requested */
    uint32_t n_types;
    bool is_partial;
    bool is_by_service;        /* joined with profiles of the whole service */
    bool is_mixed;             /* samples without ids may be of several processes: left out */
    bool has_strange_threads;  /* spans and samples number threads differently: they are ignored */
    bool has_untagged;         /* some of it comes from profiles that name no span */
    struct sf_keep_state keep; /* what became of its request's samples */
    struct sf_clocks_view clocks; /* that were corrected for it */
    bool has_timeline;
    const struct sf_span_moment *moments; /* by time */
    uint32_t n_moments;
};
