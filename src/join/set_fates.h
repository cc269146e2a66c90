/* set_fates.h - a set of spans of which some lost their samples: those go, and spans that were kept
 * by chance alone represent them.
 *
 * A span whose trace was kept for what it did had the chance 1, one of the baseline the share of
 * the rules of its hour. Weighted by 1 / chance, means over what is left are those over all that
 * match. */
#pragma once
#include "join/span_set.h"

struct sf_set_fates {
    uint64_t n_thinned;  /* spans that went */
    uint64_t n_weighted; /* that represent more than themselves */
    double most;         /* largest weight; 0: none */
};

/* In place. */
enum sf_err sf_set_fates_apply(struct sf_store *store, struct sf_span_set *set,
                               struct sf_query_ctx *q, struct sf_set_fates *out,
                               struct sf_why *why);
static inline double sf_set_span_weight(const struct sf_set_span *s)
{
    return s->weight > 0 ? s->weight : 1;
}
/* Adds a sentence to `note`, when some went. `of` is "left: " or nothing. False: no space. */
bool sf_set_fates_note(const struct sf_set_fates *f, const char *of, struct sf_arena *req,
                       sf_str *note);
