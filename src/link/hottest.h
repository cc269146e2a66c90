/* hottest.h - finds the function with the largest cost in each span.
 *
 * Uses a span's own samples, without its descendants: so in a waterfall each line describes its own
 * span, and a parent does not repeat its children. Only certain samples are used; estimates are
 * counted separately. */
#pragma once
#include "link/attribution.h"
#include "model/tree.h"

struct sf_hot {
    sf_str function; /* empty: no sample certainly belongs to the span itself */
    sf_str file;     /* of the line with the largest cost; empty: unknown */
    uint32_t line;
    int64_t value;               /* in the function itself, in the stacks' unit */
    int64_t all;                 /* of all the span's own samples */
    uint64_t n_samples;          /* number of these samples */
    double timed, timed_squares; /* of those with a time: sum of values, and of squared values */
    uint64_t n_estimated;        /* samples that may belong to it */
};

/* One entry per span, in `req`; names are borrowed from the stacks. One pass over the claims.
 * LIMIT: `req` is full. */
enum sf_err sf_hottest(const struct sf_tree *stacks, const struct sf_link_sample *samples,
                       const struct sf_attribution *claims, uint32_t n_spans, struct sf_arena *req,
                       const struct sf_hot **out, struct sf_why *why);
