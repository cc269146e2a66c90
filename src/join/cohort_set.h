/* cohort_set.h - joins spans of many traces with their samples at once, and computes the cost of
 * each. */
#pragma once
#include "join/link_set.h"
#include "link/member_costs.h"

#define SF_COHORT_SPANS                                                                          \
    1000 /* at most this many spans per side; of more, a uniform sample is used (the answer says \
            so) */
#define SF_COHORT_ALONE 200 /* the same if samples have no ids: one query per span */

struct sf_cohort_set {
    struct sf_link_set link;
    struct sf_attribution claims;
    struct sf_frame_functions functions;
    struct sf_member_costs costs;
    const uint32_t *members; /* indexes of the requested spans, or SF_NOBODY */
    uint32_t n;              /* fewer than requested: the others did not fit */
};

/* In q->req; `out` must not move. `many` as for sf_link_set_load_many. */
enum sf_err sf_cohort_set_load(struct sf_store *store, const struct sf_link_many *many,
                               bool is_self, struct sf_query_ctx *q, struct sf_cohort_set *out,
                               struct sf_why *why);
/* The same if the spans of the requests of `spans` were gathered before. */
enum sf_err sf_cohort_set_load_gathered(struct sf_store *store, struct sf_link_gathered *g,
                                        const struct sf_set_span *spans, sf_str type, bool is_self,
                                        struct sf_query_ctx *q, struct sf_cohort_set *out,
                                        struct sf_why *why);
/* Marks the requested spans, and those that are requested or, unless `is_self`, descendants of a
 * requested one in its process. Both lists have an entry for every span, all false at first. False:
 * `req` is full. */
bool sf_cohort_set_cover(const struct sf_cohort_set *c, bool is_self, struct sf_arena *req,
                         bool *is_asked, bool *is_covered);
