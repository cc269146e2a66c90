/* cohort.h - one flame graph of all spans that a query selects. */
#pragma once
#include "join/span_set.h"
#include "model/answer/cohort.h"

struct sf_cohort_want {
    sf_str query, type;
    int64_t from_ns, to_ns;
    bool is_self;             /* without the spans' children */
    bool is_sum;              /* sums, not means per span */
    struct sf_arena *scratch; /* for temporary data; is reset */
};

/* The result is in q->req. INPUT: a bad query. NOT_FOUND: no profiles of this type. Without spans
 * or samples: an empty tree and a reason. A sample that several spans of the set could claim (one
 * being an ancestor of the other) counts once. */
enum sf_err sf_cohort_make(struct sf_store *store, const struct sf_cohort_want *want,
                           struct sf_query_ctx *q, struct sf_cohort_view *out, struct sf_why *why);
