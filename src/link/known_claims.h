/* known_claims.h - separates certain claims of some spans from estimates.
 *
 * A flame graph may show estimates. Conclusions (intervals, the hottest function, hot paths,
 * findings, significance) may not use them: these are made only from certain claims. */
#pragma once
#include "link/attribution.h"

struct sf_known_claims {
    const bool *is_known; /* by claim */
    uint64_t n_samples;   /* certain ones; a sample that several spans share counts once */
    uint64_t n_estimated; /* estimated ones */
    int64_t value, all;   /* of the certain claims; of all */
    uint32_t within; /* the lowest span for which, with its descendants, the estimates are certain,
                        too; SF_NOBODY: none */
};

/* `is_in`: the requested spans, with each span all its descendants in its process unless `is_self`.
 * In `req`. False: it is full. */
bool sf_known_claims_find(const struct sf_span_tree *t, const struct sf_attribution *a,
                          const bool *is_in, bool is_self, struct sf_arena *req,
                          struct sf_known_claims *out);
/* Keeps the certain claims: of `a`, or of an attribution with as many claims in the same order. */
bool sf_known_claims_keep(const struct sf_known_claims *k, const struct sf_attribution *a,
                          struct sf_arena *req, struct sf_attribution *out);
