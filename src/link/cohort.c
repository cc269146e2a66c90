/* cohort.c - compares two sets of spans, frame by frame, per request.
 *
 * For frame f, d = mean of the right - mean of the left is a sum over clusters: cluster c
 * contributes p(c) = (T - m n) / N of the right minus the same of the left, where T is the cost of
 * its n spans of that side, m the mean and N the number of all spans of the side. The contributions
 * add up to 0, and their spread gives the standard error s of d, which includes the correlation
 * within clusters. A bootstrap round draws as many clusters as there are, with replacement, and
 * records the largest |sum p*| / s* over all frames; the 95th of 100 rounds is c, and d is
 * significant if |d| > c s.
 *
 * With a few dozen clusters, s has an error of a sixth, which widens the bound for every frame. So
 * s is stabilized by what the frames have in common (link/moderate.h): the ratio of the variance
 * between clusters to that of independent spans. If spans are independent, this finds about as much
 * as a test over all spans would; if they come in bursts, s is that of clusters. In a round the
 * same is done with what was drawn, and |sum p*| is scaled from the spread of clusters to s.
 *
 * Clusters split bursts at their ends, so that they underestimate the correlation. Pairs of
 * neighbouring clusters split half as many bursts: the difference between both estimates is added
 * once more, for all frames together.
 *
 * A side with few spans may by chance have none of what one request in fifty does, and its variance
 * would be 0. So s is at least what it would be if both sides had the same variance, as under the
 * null hypothesis. (With equally many spans on both sides these are equal.) Means of few, skewed
 * values make t too large too often: frames need a minimum support to be tested, and only those are
 * in the tables of a round. */
#include "link/cohort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/hash.h"
#include "link/cohort_clusters.h"
#include "link/moderate.h"
#include "model/profile.h"

#define Z80      0.8416 /* 80 % quantile of the normal distribution */
#define MOST_CUT 3.0    /* more would be a trend, which clusters cannot detect */
/* Added to the part of a variance that is due to bursts, since the number of bursts is known only
 * roughly. Calibrated with tests/calibration: without it, sides that follow each other in time give
 * too many false alarms. */
#define ALLOWANCE 0.3
/* Independent spans show a little less or more by chance, and only more counts: this much, as a
 * logarithm, is attributed to chance if there are many functions. */
#define DEAD_ZONE 0.03
/* For few functions that add up to one whole, for example under a regular sampling clock that
 * meets requests at the same point for long: what pairs of neighbours show would increase with
 * groups of four and eight, which are too few to measure. Factor of the square of what pairs
 * show. Calibrated with tests/calibration: without it, six functions under a regular clock gave
 * 6 % of false alarms. */
#define FEW_FUNCTIONS 6.0
#define FEW_ALLOWANCE 1.8

struct side {
    const struct sf_cohort *cohort;
    const uint32_t *cluster; /* by span */
    double *sums;            /* by frame */
    uint32_t *n_with;        /* by frame: spans that have it */
    double *parts;           /* by cluster: share of the side's weight */
    double *part_squares;    /* by cluster: sum of the squared shares of its spans */
    double weight;           /* sum over all spans */
    double worth;            /* effective number of spans of equal weight */
    double fix, fix_pairs; /* factors for variances: the mean is estimated from the same clusters */
    double *moves;         /* contributions to the side's mean: n_clusters rows of n_columns */
    double *squares;       /* the same: sums of the squared contributions of single spans */
};

struct spread { /* sums of squared contributions of clusters, in one column */
    double left, right, left2, right2, both;
    double left_spans, right_spans; /* of single spans */
};

struct work {
    struct side left, right;
    uint32_t n_frames, n_clusters;
    uint32_t *column;   /* by frame: its column in the table, or SF_NONE: not tested */
    uint32_t n_columns; /* number of tested frames */
    double *errors;     /* by column: standard errors */
    double *scales;     /* by column: factor from the spread of clusters to the standard error */
    struct sf_moderate common; /* common to all columns */
    double cut; /* factor for variances: correlation that clusters miss because they split bursts */
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

static double link_cohort_weight_of(const struct sf_cohort *c, uint32_t span)
{
    return c->when && c->when[span].weight > 0 ? c->when[span].weight : 1;
}

static double mean(const struct side *s, uint32_t f)
{
    return s->cohort->n_spans ? s->sums[f] / s->weight : 0;
}

/* ---- what is judged ---- */

static bool cohort_prepare(struct work *w, struct side *s, struct sf_arena *req)
{
    const struct sf_cohort *c = s->cohort;
    s->sums = sf_arena_new_n(req, w->n_frames + 1u, sizeof(*s->sums));
    s->n_with = sf_arena_new_n(req, w->n_frames + 1u, sizeof(*s->n_with));
    s->parts = sf_arena_new_n(req, w->n_clusters + 1u, sizeof(*s->parts));
    s->part_squares = sf_arena_new_n(req, w->n_clusters + 1u, sizeof(*s->part_squares));
    if (!s->sums || !s->n_with || !s->parts || !s->part_squares)
        return false;
    double squares = 0;
    for (uint32_t i = 0; i < c->n_spans; i++) {
        double weight = link_cohort_weight_of(c, i);
        s->weight += weight;
        squares += weight * weight;
    }
    s->worth = squares > 0 ? s->weight * s->weight / squares : 0;
    for (uint32_t i = 0; i < c->n_costs; i++) {
        s->sums[c->costs[i].frame] += c->costs[i].value *
                                      link_cohort_weight_of(c, c->costs[i].span);
        s->n_with[c->costs[i].frame]++;
    }
    for (uint32_t i = 0; i < c->n_spans; i++) {
        double part = link_cohort_weight_of(c, i) / s->weight;
        s->parts[s->cluster[i]] += part;
        s->part_squares[s->cluster[i]] += part * part;
    }
    return true;
}

/* In how many clusters is each frame? Counting directly would need the costs sorted by cluster; a
 * bit per cluster does not. */
static void mark_clusters(const struct side *s, uint64_t *bits)
{
    const struct sf_cohort *c = s->cohort;
    for (uint32_t i = 0; i < c->n_costs; i++)
        bits[c->costs[i].frame] |= UINT64_C(1) << s->cluster[c->costs[i].span];
}

static bool cohort_choose(struct work *w, struct sf_arena *req)
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
    s->squares = sf_arena_new_n(req, n * w->n_clusters + 1, sizeof(*s->squares));
    if (!s->moves || !s->squares)
        return false;
    for (uint32_t i = 0; i < c->n_costs; i++) {
        const struct sf_cohort_cost *cost = &c->costs[i];
        uint32_t column = w->column[cost->frame];
        if (column == SF_NONE)
            continue;
        size_t at = s->cluster[cost->span] * n + column;
        double part = link_cohort_weight_of(c, cost->span) / s->weight;
        s->moves[at] += cost->value * part;
        s->squares[at] += cost->value * part * (cost->value - 2 * mean(s, cost->frame)) * part;
    }
    for (uint32_t f = 0; f < w->n_frames; f++)
        for (uint32_t k = 0; w->column[f] != SF_NONE && k < w->n_clusters; k++) {
            s->moves[k * n + w->column[f]] -= s->parts[k] * mean(s, f);
            s->squares[k * n + w->column[f]] += s->part_squares[k] * mean(s, f) * mean(s, f);
        }
    return true;
}

static void add_cluster(const struct work *w, uint32_t cluster, double weight, struct spread *out)
{
    const double *left = w->left.moves + (size_t)cluster * w->n_columns;
    const double *right = w->right.moves + (size_t)cluster * w->n_columns;
    const double *left_squares = w->left.squares + (size_t)cluster * w->n_columns;
    const double *right_squares = w->right.squares + (size_t)cluster * w->n_columns;
    for (uint32_t i = 0; i < w->n_columns; i++) {
        double l = weight * left[i], r = weight * right[i];
        out[i].left += l;
        out[i].right += r;
        out[i].left2 += l * left[i];
        out[i].right2 += r * right[i];
        out[i].both += l * right[i];
        out[i].left_spans += weight * left_squares[i];
        out[i].right_spans += weight * right_squares[i];
    }
}

/* The variance of the difference; or that with equal variances on both sides, if it is larger. */
static double variance_of(const struct work *w, double left, double right)
{
    double ratio = w->left.worth / w->right.worth;
    return fmax(left + right, left * ratio + right / ratio);
}

static double of_clusters(const struct work *w, const struct spread *s, bool is_pairs)
{
    const struct side *l = &w->left, *r = &w->right;
    double n = is_pairs ? (w->n_clusters + 1) / 2 : w->n_clusters;
    double left_fix = is_pairs ? l->fix_pairs : l->fix,
           right_fix = is_pairs ? r->fix_pairs : r->fix;
    double left = s->left2 - s->left * s->left / n, right = s->right2 - s->right * s->right / n;
    double both = (s->both - s->left * s->right / n) * sqrt(left_fix * right_fix);
    double v = variance_of(w, left * left_fix, right * right_fix) - 2 * both;
    return v > 0 && n > 1 ? v : 0;
}

/* Corrects for deviations being measured from a mean of the same clusters: a factor of 1 / (1 - sum
 * of the squared shares). */
static void find_fixes(const struct work *w, struct side *s)
{
    double squares = 0, pairs = 0;
    for (uint32_t k = 0; k < w->n_clusters; k++) {
        double next = k + 1 < w->n_clusters ? s->parts[k + 1] : 0;
        squares += s->parts[k] * s->parts[k];
        pairs += k % 2 == 0 ? (s->parts[k] + next) * (s->parts[k] + next) : 0;
    }
    s->fix = squares < 1 ? 1 / (1 - squares) : 1;
    s->fix_pairs = pairs < 1 ? 1 / (1 - pairs) : 1;
}

static double of_spans(const struct work *w, const struct spread *s)
{
    double n_left = w->left.worth, n_right = w->right.worth;
    double v = variance_of(w, s->left_spans * n_left / (n_left - 1),
                           s->right_spans * n_right / (n_right - 1));
    return v > 0 ? v : 0;
}

static double cohort_error_of(const struct work *w, const struct spread *s)
{
    double clusters = of_clusters(w, s, false), spans = of_spans(w, s);
    if (clusters <= 0 || spans <= 0)
        return sqrt(clusters * w->cut);
    return sqrt(w->cut * spans *
                sf_moderate_ratio(&w->common, clusters / spans, w->n_clusters - 1.0));
}

/* The spread of one column, with each two neighbouring clusters as one. */
static struct spread spread_of_pairs(const struct work *w, uint32_t column)
{
    struct spread s = {0};
    for (uint32_t k = 0; k < w->n_clusters; k += 2) {
        size_t at = (size_t)k * w->n_columns + column;
        size_t next = k + 1 < w->n_clusters ? at + w->n_columns : SIZE_MAX;
        double l = w->left.moves[at] + (next == SIZE_MAX ? 0 : w->left.moves[next]);
        double r = w->right.moves[at] + (next == SIZE_MAX ? 0 : w->right.moves[next]);
        s.left += l;
        s.right += r;
        s.left2 += l * l;
        s.right2 += r * r;
        s.both += l * r;
    }
    return s;
}

/* A single column says little about it; the mean over all columns does. */
static void find_cut(struct work *w)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n_columns; i++) {
        struct spread pairs = spread_of_pairs(w, i);
        double once = of_clusters(w, &w->drawn[i], false), twice = of_clusters(w, &pairs, true);
        if (once <= 0 || twice <= 0)
            continue;
        sum += log(twice / once);
        n++;
    }
    double df = w->n_clusters - 1.0, half_df = (w->n_clusters + 1) / 2 - 1.0;
    double chance = half_df >= 1 ? sf_moderate_offset(half_df) - sf_moderate_offset(df) : 0;
    double few = fmin(1, FEW_FUNCTIONS / fmax(1, w->n_columns));
    double dead = DEAD_ZONE * fmax(0, 1 - 3 * few);
    double found = n > 0 && half_df >= 1 ? 2 * exp(sum / n - chance - dead) - 1 : 1;
    w->cut = fmin(MOST_CUT, fmax(1, found));
    w->cut *= 1 + ALLOWANCE * (1 - 1 / w->common.prior);
    double more = w->cut - 1;
    w->cut += FEW_ALLOWANCE * few * few * more * more;
}

/* Uses `scales` as scratch, which is not set yet. */
static void find_common(struct work *w)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n_columns; i++) {
        double clusters = of_clusters(w, &w->drawn[i], false), spans = of_spans(w, &w->drawn[i]);
        if (clusters > 0 && spans > 0)
            w->scales[n++] = clusters / spans;
    }
    w->common = sf_moderate_fit(w->scales, n, w->n_clusters - 1.0);
}

static bool cohort_make_table(struct work *w, struct sf_arena *req)
{
    w->errors = sf_arena_new_n(req, w->n_columns + 1u, sizeof(*w->errors));
    w->scales = sf_arena_new_n(req, w->n_columns + 1u, sizeof(*w->scales));
    w->drawn = sf_arena_new_n(req, w->n_columns + 1u, sizeof(*w->drawn));
    w->weights = sf_arena_new_n(req, w->n_clusters + 1u, sizeof(*w->weights));
    w->worst = sf_arena_new_n(req, SF_COHORT_ROUNDS, sizeof(*w->worst));
    if (!w->errors || !w->scales || !w->drawn || !w->weights || !w->worst ||
        !make_moves(w, &w->left, req) || !make_moves(w, &w->right, req))
        return false;
    for (uint32_t k = 0; k < w->n_clusters; k++)
        add_cluster(w, k, 1, w->drawn);
    find_fixes(w, &w->left);
    find_fixes(w, &w->right);
    find_common(w);
    find_cut(w);
    for (uint32_t i = 0; i < w->n_columns; i++) {
        double clusters = of_clusters(w, &w->drawn[i], false);
        w->errors[i] = cohort_error_of(w, &w->drawn[i]);
        w->scales[i] = clusters > 0 ? w->errors[i] / sqrt(clusters) : 1;
    }
    return true;
}

/* ---- rounds ---- */

static void cohort_draw(struct work *w)
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
    cohort_draw(w);
    for (uint32_t i = 0; i < w->n_columns; i++) {
        /* With few clusters that hardly differ, a draw may repeat the same cluster and
         * underestimate the error. It is at least half of the error from all clusters. */
        double s = fmax(cohort_error_of(w, &w->drawn[i]), w->errors[i] / 2);
        double moved = fabs(w->drawn[i].right - w->drawn[i].left) * w->scales[i];
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

/* How many standard errors a difference must exceed. 100 rounds are a sample, too: the rank is
 * rounded up. */
static double cohort_find_bound(struct work *w)
{
    for (uint32_t r = 0;
         r < SF_COHORT_ROUNDS && sf_account_goes_on((size_t)w->n_columns * w->n_clusters); r++)
        w->worst[r] = play_round(w);
    qsort(w->worst, SF_COHORT_ROUNDS, sizeof(*w->worst), order_doubles);
    return w->worst[(uint32_t)ceil(0.95 * (SF_COHORT_ROUNDS + 1)) - 1];
}

/* ---- the answer ---- */

static int cohort_order_rows(const void *a, const void *b)
{
    const struct sf_cohort_row *x = a, *y = b;
    if (x->is_significant != y->is_significant)
        return x->is_significant ? -1 : 1;
    if (fabs(x->delta) != fabs(y->delta))
        return fabs(x->delta) > fabs(y->delta) ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/* Without a bound, the interval is unknown. */
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
    if (is_judged && row.left > 0) {
        double seen = SF_COHORT_SEE * row.left / (half + Z80 * w->errors[w->column[f]]);
        double n = w->left.worth + w->right.worth;
        row.n_needed = fmax(n / (seen * seen), 2 * SF_COHORT_SUPPORT);
    }
    row.low = row.delta - half;
    row.high = row.delta + half;
    /* If neither side varies at all, any difference is significant, except rounding errors. */
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
        has_room = cohort_prepare(&w, &w.left, req) && cohort_prepare(&w, &w.right, req) &&
                   cohort_choose(&w, req);
    }
    result.is_too_small = w.left.worth < SF_COHORT_SUPPORT || w.right.worth < SF_COHORT_SUPPORT;
    has_room = has_room && (result.is_too_small || cohort_make_table(&w, req));
    if (!has_room)
        return sf_fail(why, SF_ERR_LIMIT, "compare: no memory for %u frames", n_frames);
    result.n_clusters = w.n_clusters;
    double bound = result.is_too_small ? INFINITY : cohort_find_bound(&w);
    for (uint32_t f = 0; f < n_frames; f++) {
        if (w.left.n_with[f] + w.right.n_with[f] == 0)
            continue;
        rows[result.n_rows] = make_row(&w, f, bound);
        result.left += rows[result.n_rows].left;
        result.right += rows[result.n_rows].right;
        result.n_significant += rows[result.n_rows++].is_significant;
    }
    qsort(rows, result.n_rows, sizeof(*rows), cohort_order_rows);
    *out = result;
    return SF_OK;
}

/* How many hashes are up to `bound`. */
static uint32_t count_up_to(const uint64_t *ids, uint32_t n, uint64_t bound)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++)
        kept += sf_hash_mix(1, ids[i]) <= bound;
    return kept;
}

/* Keeps spans whose hash is at most a bound, which is found by bisection: any bound that keeps few
 * enough might by chance keep only three of eight. */
uint32_t sf_cohort_thin(const uint64_t *ids, uint32_t n, uint32_t most, uint32_t *out)
{
    uint64_t low = 0, bound = UINT64_MAX; /* fewer than `most` are below `low` */
    uint32_t kept = n;
    while (kept > most && low < bound) {
        uint64_t middle = low + (bound - low) / 2;
        uint32_t n_middle = count_up_to(ids, n, middle);
        if (n_middle >= most) {
            bound = middle;
            kept = n_middle;
        } else {
            low = middle + 1;
        }
    }
    kept = 0; /* equal hashes: keep the first of them */
    for (uint32_t i = 0; i < n && kept < most; i++)
        if (sf_hash_mix(1, ids[i]) <= bound)
            out[kept++] = i;
    return kept;
}
