/* set_fates.h - removes spans without samples (deleted by retention) from a set; spans that were
 * kept by chance represent them.
 *
 * A span whose trace was kept for its outcome had the probability 1, one of the baseline the share
 * in the rules of its hour. Weighted by 1 / probability, means over the remaining spans estimate
 * those over all that match. */
#pragma once
#include "join/span_set.h"

struct sf_set_fates {
    uint64_t n_thinned;  /* spans that were removed */
    uint64_t n_weighted; /* spans that represent more than themselves */
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
/* Adds a sentence to `note` if spans were removed. `of` is "left: " or empty. False: no space. */
bool sf_set_fates_note(const struct sf_set_fates *f, sf_str of, struct sf_arena *req, sf_str *note);
