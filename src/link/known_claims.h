/* known_claims.h - which of the claims of some spans are known, and which are estimates.
 *
 * A flame graph may show estimates. What is concluded from it (intervals, the hottest function, hot
 * paths, findings, significance) may not: that is made from the known claims alone. */
#pragma once
#include "link/attribution.h"

struct sf_known_claims {
    const bool *is_known; /* by claim */
    uint64_t n_samples;   /* known; a sample that several spans share counts once */
    uint64_t n_estimated; /* not */
    int64_t value, all;   /* of the known claims; of all */
    uint32_t within;      /* the lowest span of which the estimated ones are known too, with all
                             below it; SF_NOBODY: of none */
};

/* `is_in`: the spans it is about, with a span all that is below it in its process unless `is_self`.
 * In `req`. False: it is full. */
bool sf_known_claims_find(const struct sf_span_tree *t, const struct sf_attribution *a,
                          const bool *is_in, bool is_self, struct sf_arena *req,
                          struct sf_known_claims *out);
/* The claims that are known: those of `a`, or of one with as many claims in the same order. */
bool sf_known_claims_keep(const struct sf_known_claims *k, const struct sf_attribution *a,
                          struct sf_arena *req, struct sf_attribution *out);
