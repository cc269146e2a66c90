/* hottest.h - the function each span spent most in.
 *
 * By what a span's own samples say, spans below it left out: in a waterfall each line then speaks
 * of itself, and a parent does not repeat its children. Only what is known counts: estimates are
 * counted apart. */
#pragma once
#include "link/attribution.h"
#include "model/tree.h"

struct sf_hot {
    sf_str function; /* empty: no sample is known to be the span's own */
    sf_str file;     /* of the line of it that cost most; empty: not known */
    uint32_t line;
    int64_t value;               /* in the function itself, in the stacks' unit */
    int64_t all;                 /* of all the span's own samples */
    uint64_t n_samples;          /* of those */
    double timed, timed_squares; /* of those with a time: their values, and these squared */
    uint64_t n_estimated;        /* samples that may be its own */
};

/* One for each span, in `req`; names are borrowed from the stacks. One pass over the claims. LIMIT:
 * `req` is full. */
enum sf_err sf_hottest(const struct sf_tree *stacks, const struct sf_link_sample *samples,
                       const struct sf_attribution *claims, uint32_t n_spans, struct sf_arena *req,
                       const struct sf_hot **out, struct sf_why *why);
