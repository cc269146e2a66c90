/* trace_flame.h - a whole request as one flame graph, as JSON. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "model/ids.h"
#include "render/clocks.h"
#include "render/grades.h"
#include "render/profile_view.h"

struct sf_trace_flame_view {
    sf_trace_id trace;
    const char *by;              /* "samples", "wall", "critical-path" */
    uint32_t n_spans, n_sampled; /* spans; of them, with samples of their own */
    uint64_t n_samples;
    struct sf_grades grades;
    const char *trust; /* "good" */
    struct sf_profile_view view;
    sf_str reason; /* why there are no samples; empty: well */
    const sf_str *types;
    uint32_t n_types;
    bool is_partial;
    struct sf_clocks_view clocks; /* that were corrected */
};

/* One or two lines above a drawing. */
void sf_trace_flame_words(const struct sf_trace_flame_view *v, struct sf_buf *out);
enum sf_err sf_trace_flame_json(const struct sf_trace_flame_view *v, struct sf_buf *out,
                                struct sf_why *why);
