/* known_claims.c - separates certain claims of some spans from estimates. */
#include "link/known_claims.h"

/* The span that has all of it, given two spans that each have some. For two of one tree it is the
 * root. */
static uint32_t known_claims_join(const struct sf_span_tree *t, uint32_t a, uint32_t b)
{
    if (a == b || a == SF_NOBODY || b == SF_NOBODY)
        return a == b ? a : SF_NOBODY;
    uint32_t root = t->places[a].local_root;
    return t->places[b].local_root == root ? root : SF_NOBODY;
}

bool sf_known_claims_find(const struct sf_span_tree *t, const struct sf_attribution *a,
                          const bool *is_in, bool is_self, struct sf_arena *req,
                          struct sf_known_claims *out)
{
    bool *is_known = sf_arena_new_n(req, a->n_claims + 1u, sizeof(*is_known));
    struct sf_known_claims k = {.is_known = is_known, .within = SF_NOBODY};
    uint32_t last = SF_NOBODY;
    if (!is_known)
        return false;
    for (uint32_t i = 0; i < a->n_claims; i++) {
        const struct sf_claim *c = &a->claims[i];
        bool is_new = c->sample != last;
        last = c->sample;
        is_known[i] = sf_claim_is_known_in(c, is_in, is_self);
        k.all = sf_add_sat_i64(k.all, c->value);
        if (is_known[i]) {
            k.n_samples += is_new;
            k.value = sf_add_sat_i64(k.value, c->value);
            continue;
        }
        k.within = k.n_estimated == 0 ? c->within : known_claims_join(t, k.within, c->within);
        k.n_estimated += is_new;
    }
    *out = k;
    return true;
}

bool sf_known_claims_keep(const struct sf_known_claims *k, const struct sf_attribution *a,
                          struct sf_arena *req, struct sf_attribution *out)
{
    struct sf_claim *kept = sf_arena_new_n(req, a->n_claims + 1u, sizeof(*kept));
    uint32_t n = 0;
    if (!kept)
        return false;
    for (uint32_t i = 0; i < a->n_claims; i++)
        if (k->is_known[i])
            kept[n++] = a->claims[i];
    *out = *a;
    out->claims = kept;
    out->n_claims = n;
    return true;
}
