/* trace_flame.h - answer: a whole request as one flame graph. */
#pragma once
#include "base/err.h"
#include "model/answer/clocks.h"
#include "model/answer/grades.h"
#include "model/answer/known.h"
#include "model/answer/profile_view.h"
#include "model/ids.h"
#include "model/keep_state.h"

struct sf_trace_flame_view {
    sf_trace_id trace;
    const char *by;              /* "samples", "wall", "critical-path" */
    uint32_t n_spans, n_sampled; /* number of spans, and of those with samples of their own */
    uint64_t n_samples;
    struct sf_grades grades;
    struct sf_known_view known; /* which samples certainly belong to the span in which they are
                                 * drawn */
    const char *trust;          /* "good": reliability of those */
    struct sf_profile_view view;
    struct sf_keep_state keep; /* whether its samples were kept */
    sf_str reason;             /* why there are no samples; empty: no problem */
    const sf_str *types;
    uint32_t n_types;
    bool is_partial;
    struct sf_clocks_view clocks; /* clocks that were corrected */
};
