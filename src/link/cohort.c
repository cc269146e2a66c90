/* cohort.c - two sets of spans compared, frame by frame, per request.
 *
 * For frame f: d = mean of the right - mean of the left, s = its standard error (Welch). A round
 * draws as many spans as each side has, with replacement, and looks how far the largest of
 * |d* - d| / s* over all frames goes; the 95th of 100 rounds is c, and d is called different when
 * |d| > c s. A round is one pass over all costs: a span's weight is how often it was drawn, and
 * drawing is counted first, so that costs are read in order.
 *
 * Means of few, skewed values make t too large too often, so frames need a support to be judged. */
#include "link/cohort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct moments { /* of one frame on one side */
    double sum, squares;
};

struct side {
    const struct sf_cohort *cohort;
    struct moments *all, *drawn; /* by frame */
    uint32_t *n_with;            /* by frame: spans that have it */
    uint32_t *weights;           /* by span: how often drawn */
};

struct work {
    struct side left, right;
    uint32_t n_frames;
    bool *is_judged;
    double *worst; /* by round */
    uint64_t random;
};

static uint64_t next_random(struct work *w)
{
    w->random += 0x9e3779b97f4a7c15u;
    return sf_hash_mix(w->random, w->random >> 7);
}

static void sum_up(const struct side *s, struct moments *out, const uint32_t *weights)
{
    const struct sf_cohort *c = s->cohort;
    for (uint32_t i = 0; i < c->n_costs; i++) {
        const struct sf_cohort_cost *cost = &c->costs[i];
        double weight = weights ? weights[cost->span] : 1;
        out[cost->frame].sum += weight * cost->value;
        out[cost->frame].squares += weight * cost->value * cost->value;
    }
}

static double mean(const struct moments *m, uint32_t n)
{
    return n ? m->sum / n : 0;
}

/* Of the mean: variance over n, with n - 1 in the variance. */
static double error2(const struct moments *m, uint32_t n)
{
    if (n < 2)
        return 0;
    double variance = (m->squares - m->sum * m->sum / n) / (n - 1);
    return variance > 0 ? variance / n : 0;
}

static double difference(const struct work *w, uint32_t f, const struct moments *left,
                         const struct moments *right)
{
    return mean(&right[f], w->right.cohort->n_spans) - mean(&left[f], w->left.cohort->n_spans);
}

static double deviation(const struct work *w, uint32_t f, const struct moments *left,
                        const struct moments *right)
{
    return sqrt(error2(&right[f], w->right.cohort->n_spans) +
                error2(&left[f], w->left.cohort->n_spans));
}

static void draw(struct work *w, struct side *s)
{
    uint32_t n = s->cohort->n_spans;
    memset(s->weights, 0, n * sizeof(*s->weights));
    for (uint32_t i = 0; i < n; i++)
        s->weights[(next_random(w) >> 32) * n >> 32]++;
    memset(s->drawn, 0, w->n_frames * sizeof(*s->drawn));
    sum_up(s, s->drawn, s->weights);
}

static double play_round(struct work *w)
{
    double worst = 0;
    draw(w, &w->left);
    draw(w, &w->right);
    for (uint32_t f = 0; f < w->n_frames; f++) {
        if (!w->is_judged[f])
            continue;
        /* Few spans that hardly differ: a draw may hold the same one over and over, and would
         * seem sure of itself. It is believed down to half of what all of them say. */
        double s = fmax(deviation(w, f, w->left.drawn, w->right.drawn),
                        deviation(w, f, w->left.all, w->right.all) / 2);
        double moved = fabs(difference(w, f, w->left.drawn, w->right.drawn) -
                            difference(w, f, w->left.all, w->right.all));
        if (s > 0 && moved / s > worst)
            worst = moved / s;
    }
    return worst;
}

static int order_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How many standard errors a difference must be. Rounds are a sample too: the place is rounded up.
 */
static double find_bound(struct work *w)
{
    for (uint32_t r = 0; r < SF_COHORT_ROUNDS; r++)
        w->worst[r] = play_round(w);
    qsort(w->worst, SF_COHORT_ROUNDS, sizeof(*w->worst), order_doubles);
    return w->worst[(uint32_t)ceil(0.95 * (SF_COHORT_ROUNDS + 1)) - 1];
}

static bool prepare(struct work *w, struct side *s, struct sf_arena *req)
{
    s->all = sf_arena_new_n(req, w->n_frames + 1u, sizeof(*s->all));
    s->drawn = sf_arena_new_n(req, w->n_frames + 1u, sizeof(*s->drawn));
    s->n_with = sf_arena_new_n(req, w->n_frames + 1u, sizeof(*s->n_with));
    s->weights = sf_arena_new_n(req, s->cohort->n_spans + 1u, sizeof(*s->weights));
    if (!s->all || !s->drawn || !s->n_with || !s->weights)
        return false;
    sum_up(s, s->all, NULL);
    for (uint32_t i = 0; i < s->cohort->n_costs; i++)
        s->n_with[s->cohort->costs[i].frame]++;
    return true;
}

static int order_rows(const void *a, const void *b)
{
    const struct sf_cohort_row *x = a, *y = b;
    if (x->is_significant != y->is_significant)
        return x->is_significant ? -1 : 1;
    if (fabs(x->delta) != fabs(y->delta))
        return fabs(x->delta) > fabs(y->delta) ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

static struct sf_cohort_row make_row(const struct work *w, uint32_t f, double bound)
{
    struct sf_cohort_row row = {.frame = f,
                                .n_left = w->left.n_with[f],
                                .n_right = w->right.n_with[f],
                                .left = mean(&w->left.all[f], w->left.cohort->n_spans),
                                .right = mean(&w->right.all[f], w->right.cohort->n_spans)};
    double half = bound * deviation(w, f, w->left.all, w->right.all);
    row.delta = row.right - row.left;
    row.low = row.delta - half;
    row.high = row.delta + half;
    /* Without any spread on either side a difference is a fact, not a draw. */
    row.is_significant = w->is_judged[f] && row.delta != 0 && fabs(row.delta) > half;
    return row;
}

enum sf_err sf_cohort_compare(const struct sf_cohort *left, const struct sf_cohort *right,
                              uint32_t n_frames, uint64_t seed, struct sf_arena *req,
                              struct sf_cohort_result *out, struct sf_why *why)
{
    struct work w = {
        .left = {.cohort = left}, .right = {.cohort = right}, .n_frames = n_frames, .random = seed};
    struct sf_cohort_row *rows = sf_arena_new_n(req, n_frames + 1u, sizeof(*rows));
    struct sf_cohort_result result = {.rows = rows};
    w.is_judged = sf_arena_new_n(req, n_frames + 1u, sizeof(*w.is_judged));
    w.worst = sf_arena_new_n(req, SF_COHORT_ROUNDS, sizeof(*w.worst));
    if (!rows || !w.is_judged || !w.worst || !prepare(&w, &w.left, req) ||
        !prepare(&w, &w.right, req))
        return sf_fail(why, SF_ERR_LIMIT, "compare: no memory for %u frames", n_frames);
    result.is_too_small = left->n_spans < SF_COHORT_SUPPORT || right->n_spans < SF_COHORT_SUPPORT;
    for (uint32_t f = 0; f < n_frames; f++)
        w.is_judged[f] = !result.is_too_small &&
                         w.left.n_with[f] + w.right.n_with[f] >= SF_COHORT_SUPPORT;
    double bound = result.is_too_small ? INFINITY : find_bound(&w);
    for (uint32_t f = 0; f < n_frames; f++) {
        if (w.left.n_with[f] + w.right.n_with[f] == 0)
            continue;
        rows[result.n_rows] = make_row(&w, f, bound);
        result.left += rows[result.n_rows].left;
        result.right += rows[result.n_rows].right;
        result.n_significant += rows[result.n_rows++].is_significant;
    }
    qsort(rows, result.n_rows, sizeof(*rows), order_rows);
    *out = result;
    return SF_OK;
}

/* A span is kept when its hash is under a bound; the bound is lowered until few enough are. */
uint32_t sf_cohort_thin(const uint64_t *ids, uint32_t n, uint32_t most, uint32_t *out)
{
    uint64_t bound = UINT64_MAX;
    uint32_t kept = n;
    while (kept > most && bound > 1) {
        /* Aim a little under, so that a second try is rare. */
        bound = (uint64_t)((double)bound * 0.98 * most / kept);
        kept = 0;
        for (uint32_t i = 0; i < n; i++)
            kept += sf_hash_mix(1, ids[i]) <= bound;
    }
    kept = 0;
    for (uint32_t i = 0; i < n && kept < most; i++)
        if (sf_hash_mix(1, ids[i]) <= bound)
            out[kept++] = i;
    return kept;
}
