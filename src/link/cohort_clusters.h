/* cohort_clusters.h - divides the spans of a comparison into clusters that are drawn together.
 *
 * Spans of one trace, and spans close in time, are correlated: a cache is cold for all of a burst,
 * and a regular sampling clock meets requests of equal length at the same point again and again
 * before it drifts. Treating them as independent makes chance look like a difference. So spans of
 * both sides are sorted by time, with all spans of a trace together, and divided into ranges of
 * about the same weight; each range is drawn as a whole. Both sides have the same total weight,
 * however many spans they have: if they ran at different times, each gets half of the ranges. */
#pragma once
#include "link/cohort.h"

/* Calibrated by comparing equal sides with a regular clock, with bursts and with costs that drift:
 * fewer and longer ranges reduce power, more and shorter ones give false alarms. */
#define SF_CLUSTERS_LEAST 12 /* with this many spans or more */
#define SF_CLUSTERS_MOST  32
#define SF_CLUSTERS_SPANS 12 /* spans of both sides in a cluster, if there are few */

struct sf_cohort_clusters {
    const uint32_t *left, *right; /* by span: its cluster */
    uint32_t n;
};

/* In `req`. False: it is full. */
bool sf_cohort_clusters_make(const struct sf_cohort *left, const struct sf_cohort *right,
                             struct sf_arena *req, struct sf_cohort_clusters *out);
