/* cohort_set.h - spans of many traces joined with their samples at once, and what each spent. */
#pragma once
#include "join/link_set.h"
#include "link/member_costs.h"

#define SF_COHORT_SPANS \
    1000                    /* joined per side; of more, a uniform sample (the answer reports it) */
#define SF_COHORT_ALONE 200 /* the same where samples have no ids: one query for each span */

struct sf_cohort_set {
    struct sf_link_set link;
    struct sf_attribution claims;
    struct sf_frame_functions functions;
    struct sf_member_costs costs;
    const uint32_t *members; /* places of the spans that were requested, or SF_NOBODY */
    uint32_t n;              /* fewer than requested: the rest did not fit */
};

/* In q->req; `out` stays where it is. `many` as of sf_link_set_load_many. */
enum sf_err sf_cohort_set_load(struct sf_store *store, const struct sf_link_many *many,
                               bool is_self, struct sf_query_ctx *q, struct sf_cohort_set *out,
                               struct sf_why *why);
/* The same where what ran for the requests of `spans` was gathered before. */
enum sf_err sf_cohort_set_load_gathered(struct sf_store *store, struct sf_link_gathered *g,
                                        const struct sf_set_span *spans, sf_str type, bool is_self,
                                        struct sf_query_ctx *q, struct sf_cohort_set *out,
                                        struct sf_why *why);
/* Which of its spans were requested, and which of them or, unless `is_self`, what is below one of
 * them in its process. Both lists have a place for every span, all false. False: `req` is full. */
bool sf_cohort_set_cover(const struct sf_cohort_set *c, bool is_self, struct sf_arena *req,
                         bool *is_asked, bool *is_covered);
