/* cohort.h - compares two sets of spans, frame by frame, per request.
 *
 * A cohort is a list of costs: span i spent this much in frame f. For every frame the mean per span
 * of the right side minus that of the left is given with an interval, and the intervals hold for
 * all frames together: if both cohorts do the same, at most 5 of 100 comparisons find any
 * significant difference. They come from a bootstrap of the largest |t| over all frames. It draws
 * clusters of spans, of one trace or one range of time (link/cohort_clusters.h), with all their
 * frames, so that correlations are preserved. docs/accuracy.md gives coverage, width and power.
 *
 * Frames that fewer than SF_COHORT_SUPPORT spans have, or spans of too few clusters, and all frames
 * if a side has fewer spans than that, are listed but never significant. The random generator has a
 * fixed seed: same input, same answer.
 *
 * A span may represent others that were left out at random with a known probability: its weight is
 * 1 / probability. Means are then weighted, and their variance accounts for the weights: the
 * effective number of spans of a side is the square of the sum of weights divided by the sum of
 * their squares. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

#define SF_COHORT_SUPPORT  8
#define SF_COHORT_CLUSTERS 5 /* at least this many clusters with a frame */
#define SF_COHORT_ROUNDS   199
#define SF_COHORT_SEE      0.3 /* relative difference for which n_needed is computed */

struct sf_cohort_cost {
    uint32_t span; /* < n_spans */
    uint32_t frame;
    double value;
};

struct sf_cohort_when {
    uint64_t trace; /* equal values: the same trace */
    uint64_t start_ns;
    double weight; /* number of spans it represents; 0: only itself */
};

struct sf_cohort {
    const struct sf_cohort_cost *costs; /* by span; a frame once per span */
    uint32_t n_costs;
    uint32_t n_spans;                  /* spans without any cost count as zero */
    const struct sf_cohort_when *when; /* by span; NULL: each is a trace of its own, in order */
};

struct sf_cohort_row {
    uint32_t frame;
    uint32_t n_left, n_right; /* number of spans with this frame */
    double left, right;       /* mean per span */
    double delta, low, high;  /* right - left, and its interval */
    /* How many spans both sides would need, in the same proportion, so that a difference of
     * SF_COHORT_SEE is significant in 80 of 100 comparisons; 0: unknown. */
    double n_needed;
    bool is_significant;
};

struct sf_cohort_result {
    const struct sf_cohort_row *rows; /* significant ones first, then by |delta|; ties by frame */
    uint32_t n_rows;
    uint32_t n_significant;
    double left, right;  /* mean of all costs per span */
    uint32_t n_clusters; /* number of clusters that were drawn from */
    bool is_too_small; /* a side has fewer than SF_COHORT_SUPPORT spans: nothing can be significant
                        */
};

/* Both sides use the same frame numbers, below n_frames. LIMIT: the arena is full. */
enum sf_err sf_cohort_compare(const struct sf_cohort *left, const struct sf_cohort *right,
                              uint32_t n_frames, uint64_t seed, struct sf_arena *req,
                              struct sf_cohort_result *out, struct sf_why *why);

/* Keeps `most` of `n` items, evenly selected by a hash of their identity: the same query always
 * keeps the same spans. `ids` are those hashes; `out` gets the indexes of the kept items, in order.
 * Returns their number. */
uint32_t sf_cohort_thin(const uint64_t *ids, uint32_t n, uint32_t most, uint32_t *out);
