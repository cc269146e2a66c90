/* trace_flame.h - one flame graph of a whole trace, over all services.
 *
 * service > local root span > child spans > frames. Without weights a bar is the sum of its
 * samples, in their unit. With a weight for each span (its own wall time, or its own time on the
 * critical path) a bar is that time, divided among the span's stacks by the shares of its samples.
 * Samples of time cover only a part of it: the rest (waiting, or not sampled) stays on the span's
 * own bar; without samples, all of it does. So the total is the sum of the claims, or of the
 * weights. Equal spans below one parent are one bar, so that a loop of calls appears as one. */
#pragma once
#include "flame/tree_builder.h"
#include "link/attribution.h"
#include "model/tree.h"

struct sf_trace_flame_input {
    const struct sf_span_tree *spans;
    const sf_str *services; /* of each span */
    const struct sf_tree *stacks;
    const struct sf_link_sample *samples; /* their nodes are in `stacks` */
    const struct sf_attribution *claims;
    const uint64_t *weights_ns; /* of each span, or NULL: by samples */
    bool is_time;               /* values are nanoseconds that passed in the span */
};

/* The bar of each span, made in `b`. In `req`; NULL: it is full. */
const uint32_t *sf_trace_flame_bars(const struct sf_span_tree *spans, const sf_str *services,
                                    struct sf_tree_builder *b, struct sf_arena *req);
/* In `req`; strings are borrowed. LIMIT: it is full. */
enum sf_err sf_trace_flame(const struct sf_trace_flame_input *in, struct sf_arena *req,
                           struct sf_tree *out, struct sf_why *why);
