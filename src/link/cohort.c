/* cohort.c - two sets of spans compared, frame by frame, per request.
 *
 * For frame f, d = mean of the right - mean of the left is a sum over clusters: cluster c moves it
 * by p(c) = (T - m n) / N of the right less the same of the left, where T is what its n spans of
 * that side spent, m the mean and N the number of all of them. These add up to 0, and their spread
 * is the standard error s of d, with what spans of a cluster have in common in it. A round draws as
 * many clusters as there are, with replacement, and looks how far the largest of |sum p*| / s* over
 * all frames goes; the 95th of 100 rounds is c, and d is called different when |d| > c s.
 *
 * A side of few spans may have none of what one in fifty does, and would be sure of it. So s is
 * never less than if both sides varied alike, as they do where they are the same. (With as many
 * spans on both sides these are equal.) Means of few, skewed values make t too large too often:
 * frames need a support to be judged, and only those are in the tables that a round goes through.
 */
#include "link/cohort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "link/cohort_clusters.h"
#include "model/profile.h"

struct side {
    const struct sf_cohort *cohort;
    const uint32_t *cluster; /* by span */
    double *sums;            /* by frame */
    uint32_t *n_with;        /* by frame: spans that have it */
    double *parts;           /* by cluster: of the side's spans */
    double *moves;           /* of the side's mean: n_clusters rows of n_columns */
};

struct spread { /* of what clusters move, in one column */
    double left, right, left2, right2, both;
};

struct work {
    struct side left, right;
    uint32_t n_frames, n_clusters;
    uint32_t *column;   /* by frame: where it is in the table, or SF_NONE: it is not judged */
    uint32_t n_columns; /* frames that are judged */
    double *errors;     /* by column: standard errors */
    struct spread *drawn;
    uint32_t *weights; /* by cluster: how often drawn */
    double *worst;     /* by round */
    uint64_t random;
};

static uint64_t next_random(struct work *w)
{
    w->random += 0x9e3779b97f4a7c15u;
    return sf_hash_mix(w->random, w->random >> 7);
}

static double mean(const struct side *s, uint32_t f)
{
    return s->cohort->n_spans ? s->sums[f] / s->cohort->n_spans : 0;
}

/* ---- what is judged ---- */

static bool prepare(struct work *w, struct side *s, struct sf_arena *req)
{
    const struct sf_cohort *c = s->cohort;
    s->sums = sf_arena_new_n(req, w->n_frames + 1u, sizeof(*s->sums));
    s->n_with = sf_arena_new_n(req, w->n_frames + 1u, sizeof(*s->n_with));
    s->parts = sf_arena_new_n(req, w->n_clusters + 1u, sizeof(*s->parts));
    if (!s->sums || !s->n_with || !s->parts)
        return false;
    for (uint32_t i = 0; i < c->n_costs; i++) {
        s->sums[c->costs[i].frame] += c->costs[i].value;
        s->n_with[c->costs[i].frame]++;
    }
    for (uint32_t i = 0; i < c->n_spans; i++)
        s->parts[s->cluster[i]] += 1.0 / c->n_spans;
    return true;
}

/* In how many clusters is each frame? One after the other, over costs in order of clusters, would
 * need them sorted; a bit for each cluster does not. */
static void mark_clusters(const struct side *s, uint64_t *bits)
{
    const struct sf_cohort *c = s->cohort;
    for (uint32_t i = 0; i < c->n_costs; i++)
        bits[c->costs[i].frame] |= UINT64_C(1) << s->cluster[c->costs[i].span];
}

static bool choose(struct work *w, struct sf_arena *req)
{
    uint64_t *bits = sf_arena_new_n(req, w->n_frames + 1u, sizeof(*bits));
    _Static_assert(SF_CLUSTERS_MOST < 64, "a bit for each cluster");
    w->column = sf_arena_new_n(req, w->n_frames + 1u, sizeof(*w->column));
    if (!bits || !w->column)
        return false;
    mark_clusters(&w->left, bits);
    mark_clusters(&w->right, bits);
    for (uint32_t f = 0; f < w->n_frames; f++) {
        bool is_judged = w->left.n_with[f] + w->right.n_with[f] >= SF_COHORT_SUPPORT &&
                         __builtin_popcountll(bits[f]) >= SF_COHORT_CLUSTERS;
        w->column[f] = is_judged ? w->n_columns++ : SF_NONE;
    }
    return true;
}

/* ---- the table of what clusters move ---- */

static bool make_moves(struct work *w, struct side *s, struct sf_arena *req)
{
    const struct sf_cohort *c = s->cohort;
    size_t n = w->n_columns;
    s->moves = sf_arena_new_n(req, n * w->n_clusters + 1, sizeof(*s->moves));
    if (!s->moves)
        return false;
    for (uint32_t i = 0; i < c->n_costs; i++) {
        uint32_t column = w->column[c->costs[i].frame];
        if (column != SF_NONE)
            s->moves[s->cluster[c->costs[i].span] * n + column] += c->costs[i].value / c->n_spans;
    }
    for (uint32_t f = 0; f < w->n_frames; f++)
        for (uint32_t k = 0; w->column[f] != SF_NONE && k < w->n_clusters; k++)
            s->moves[k * n + w->column[f]] -= s->parts[k] * mean(s, f);
    return true;
}

static void add_cluster(const struct work *w, uint32_t cluster, double weight, struct spread *out)
{
    const double *left = w->left.moves + (size_t)cluster * w->n_columns;
    const double *right = w->right.moves + (size_t)cluster * w->n_columns;
    for (uint32_t i = 0; i < w->n_columns; i++) {
        double l = weight * left[i], r = weight * right[i];
        out[i].left += l;
        out[i].right += r;
        out[i].left2 += l * left[i];
        out[i].right2 += r * right[i];
        out[i].both += l * right[i];
    }
}

static double error_of(const struct work *w, const struct spread *s)
{
    double n = w->n_clusters, ratio = (double)w->left.cohort->n_spans / w->right.cohort->n_spans;
    double left = s->left2 - s->left * s->left / n, right = s->right2 - s->right * s->right / n;
    double alone = left + right, alike = left * ratio + right / ratio;
    double spread = fmax(alone, alike) - 2 * (s->both - s->left * s->right / n);
    return spread > 0 && n > 1 ? sqrt(spread * n / (n - 1)) : 0;
}

static bool make_table(struct work *w, struct sf_arena *req)
{
    w->errors = sf_arena_new_n(req, w->n_columns + 1u, sizeof(*w->errors));
    w->drawn = sf_arena_new_n(req, w->n_columns + 1u, sizeof(*w->drawn));
    w->weights = sf_arena_new_n(req, w->n_clusters + 1u, sizeof(*w->weights));
    w->worst = sf_arena_new_n(req, SF_COHORT_ROUNDS, sizeof(*w->worst));
    if (!w->errors || !w->drawn || !w->weights || !w->worst || !make_moves(w, &w->left, req) ||
        !make_moves(w, &w->right, req))
        return false;
    for (uint32_t k = 0; k < w->n_clusters; k++)
        add_cluster(w, k, 1, w->drawn);
    for (uint32_t i = 0; i < w->n_columns; i++)
        w->errors[i] = error_of(w, &w->drawn[i]);
    return true;
}

/* ---- rounds ---- */

static void draw(struct work *w)
{
    uint32_t n = w->n_clusters;
    memset(w->weights, 0, n * sizeof(*w->weights));
    for (uint32_t i = 0; i < n; i++)
        w->weights[(next_random(w) >> 32) * n >> 32]++;
    memset(w->drawn, 0, w->n_columns * sizeof(*w->drawn));
    for (uint32_t k = 0; k < n; k++)
        if (w->weights[k] > 0)
            add_cluster(w, k, w->weights[k], w->drawn);
}

static double play_round(struct work *w)
{
    double worst = 0;
    draw(w);
    for (uint32_t i = 0; i < w->n_columns; i++) {
        /* Few clusters that hardly differ: a draw may hold the same one over and over, and would
         * seem sure of itself. It is believed down to half of what all of them say. */
        double s = fmax(error_of(w, &w->drawn[i]), w->errors[i] / 2);
        double moved = fabs(w->drawn[i].right - w->drawn[i].left);
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

/* ---- the answer ---- */

static int order_rows(const void *a, const void *b)
{
    const struct sf_cohort_row *x = a, *y = b;
    if (x->is_significant != y->is_significant)
        return x->is_significant ? -1 : 1;
    if (fabs(x->delta) != fabs(y->delta))
        return fabs(x->delta) > fabs(y->delta) ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Without a bound nothing is known of the interval. */
static struct sf_cohort_row make_row(const struct work *w, uint32_t f, double bound)
{
    struct sf_cohort_row row = {.frame = f,
                                .n_left = w->left.n_with[f],
                                .n_right = w->right.n_with[f],
                                .left = mean(&w->left, f),
                                .right = mean(&w->right, f)};
    bool is_judged = w->column[f] != SF_NONE && isfinite(bound);
    double half = is_judged ? bound * w->errors[w->column[f]] : INFINITY;
    row.delta = row.right - row.left;
    row.low = row.delta - half;
    row.high = row.delta + half;
    /* Without any spread on either side a difference is a fact, not a draw; but for what dividing
     * the same sums by different numbers leaves. */
    row.is_significant = is_judged && fabs(row.delta) > half &&
                         fabs(row.delta) > 1e-9 * fmax(row.left, row.right);
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
    struct sf_cohort_clusters clusters;
    bool has_room = rows && sf_cohort_clusters_make(left, right, req, &clusters);
    if (has_room) {
        w.left.cluster = clusters.left;
        w.right.cluster = clusters.right;
        w.n_clusters = clusters.n;
        has_room = prepare(&w, &w.left, req) && prepare(&w, &w.right, req) && choose(&w, req);
    }
    result.is_too_small = left->n_spans < SF_COHORT_SUPPORT || right->n_spans < SF_COHORT_SUPPORT;
    has_room = has_room && (result.is_too_small || make_table(&w, req));
    if (!has_room)
        return sf_fail(why, SF_ERR_LIMIT, "compare: no memory for %u frames", n_frames);
    result.n_clusters = w.n_clusters;
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
