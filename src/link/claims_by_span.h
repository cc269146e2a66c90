/* claims_by_span.h - groups the claims of an attribution by span. */
#pragma once
#include "link/attribution.h"

struct sf_claims_by_span { /* indexes of the claims of span i: claims[first[i] .. first[i + 1]) */
    const uint32_t *claims;
    const uint32_t *first;
};

/* In `req`. False: it is full. */
bool sf_claims_by_span_make(const struct sf_attribution *a, uint32_t n_spans, struct sf_arena *req,
                            struct sf_claims_by_span *out);
