/* cohort.h - two sets of spans compared, frame by frame, per request.
 *
 * A cohort is a list of costs: span i spent that much in frame f. For every frame the mean per span
 * of the right side less that of the left is given with an interval, and the intervals hold for all
 * frames together: if both cohorts do the same, in at most 5 of 100 comparisons is any frame called
 * different at all. They come from a bootstrap of the largest |t| over all frames; what is drawn
 * are clusters of spans, of one trace or one range of time (link/cohort_clusters.h), with all
 * their frames, so that what goes together stays together. docs/accuracy.md has how often they
 * hold, how wide they are and what is found.
 *
 * Frames that fewer than SF_COHORT_SUPPORT spans have, or spans of too few clusters, and all frames
 * where a side has fewer spans than that, are listed but never called significant. The draw is
 * seeded: same input, same answer.
 *
 * A span may represent others that were left out at random with a known chance: its weight is 1 /
 * chance. Means are then weighted ones, and their spread is that of weighted spans: a side is worth
 * as many spans as its square of the sum of weights through the sum of their squares. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

#define SF_COHORT_SUPPORT  8
#define SF_COHORT_CLUSTERS 5 /* at least, with a frame */
#define SF_COHORT_ROUNDS   199
#define SF_COHORT_SEE      0.3 /* of the left mean: the difference that n_needed is about */

struct sf_cohort_cost {
    uint32_t span; /* < n_spans */
    uint32_t frame;
    double value;
};

struct sf_cohort_when {
    uint64_t trace; /* equal: the same one */
    uint64_t start_ns;
    double weight; /* spans it represents; 0: itself alone */
};

struct sf_cohort {
    const struct sf_cohort_cost *costs; /* by span; a frame once per span */
    uint32_t n_costs;
    uint32_t n_spans;                  /* spans without any cost count as zero */
    const struct sf_cohort_when *when; /* by span; NULL: each a trace of its own, in order */
};

struct sf_cohort_row {
    uint32_t frame;
    uint32_t n_left, n_right; /* spans that have it */
    double left, right;       /* mean per span */
    double delta, low, high;  /* right - left, and its interval */
    /* Spans of both sides, as many times more on each, with which a difference of SF_COHORT_SEE is
     * called significant in 80 of 100 comparisons; 0: not known. */
    double n_needed;
    bool is_significant;
};

struct sf_cohort_result {
    const struct sf_cohort_row *rows; /* significant ones first, then by |delta|; ties by frame */
    uint32_t n_rows;
    uint32_t n_significant;
    double left, right;  /* mean of all costs per span */
    uint32_t n_clusters; /* that were drawn */
    bool is_too_small;   /* a side has under SF_COHORT_SUPPORT spans: nothing can be significant */
};

/* Frames are numbered below n_frames on both sides alike. LIMIT: the arena is full. */
enum sf_err sf_cohort_compare(const struct sf_cohort *left, const struct sf_cohort *right,
                              uint32_t n_frames, uint64_t seed, struct sf_arena *req,
                              struct sf_cohort_result *out, struct sf_why *why);

/* Keeps `most` of `n` places, evenly spread by a hash of what identifies them: the same query
 * always keeps the same spans. `ids` are those hashes; `out` gets the places kept, in order.
 * Returns how many. */
uint32_t sf_cohort_thin(const uint64_t *ids, uint32_t n, uint32_t most, uint32_t *out);
