/* cohort_clusters.h - which spans of a comparison are drawn together.
 *
 * Spans of one trace, and spans of one range of time, are alike: a cache is cold for all of a
 * burst, and an even sampling clock meets requests of equal length in the same place again and
 * again before it moves on. Taken for independent they make chance look like a difference. So
 * spans of both sides are put in order of time, those of a trace in one place, and cut into
 * ranges of about the same weight; each is drawn or left as a whole. A side weighs as much as
 * the other, however many spans it has: where they ran at different times, each has half the
 * ranges. */
#pragma once
#include "link/cohort.h"

/* Found by comparing equal sides with an even clock, with bursts and with costs that drift: fewer
 * and longer ranges lose power, more and shorter ones raise alarms. */
#define SF_CLUSTERS_LEAST 12 /* of so many spans or more */
#define SF_CLUSTERS_MOST  32
#define SF_CLUSTERS_SPANS 12 /* of both sides in one, when there are few */

struct sf_cohort_clusters {
    const uint32_t *left, *right; /* by span: its cluster */
    uint32_t n;
};

/* In `req`. False: it is full. */
bool sf_cohort_clusters_make(const struct sf_cohort *left, const struct sf_cohort *right,
                             struct sf_arena *req, struct sf_cohort_clusters *out);
