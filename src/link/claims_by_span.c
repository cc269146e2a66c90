/* claims_by_span.c - groups the claims of an attribution by span, with a counting sort. */
#include "link/claims_by_span.h"

bool sf_claims_by_span_make(const struct sf_attribution *a, uint32_t n_spans, struct sf_arena *req,
                            struct sf_claims_by_span *out)
{
    uint32_t *claims = sf_arena_new_n(req, a->n_claims + 1u, sizeof(*claims));
    uint32_t *first = sf_arena_new_n(req, n_spans + 2u, sizeof(*first));
    if (!claims || !first)
        return false;
    for (uint32_t i = 0; i < a->n_claims; i++)
        first[a->claims[i].span + 1]++;
    for (uint32_t i = 0; i < n_spans; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < a->n_claims; i++)
        claims[first[a->claims[i].span]++] = i;
    /* The sort moved every start to its end: move them back. */
    for (uint32_t i = n_spans; i > 0; i--)
        first[i] = first[i - 1];
    first[0] = 0;
    *out = (struct sf_claims_by_span){claims, first};
    return true;
}
