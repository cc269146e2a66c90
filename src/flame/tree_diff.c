#include "flame/tree_diff.h"

#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "flame/tree_builder.h"
#include "flame/tree_cut.h"
#include "flame/tree_order.h"
#include "flame/tree_top.h"

static bool tree_diff_make_side(const struct sf_tree *shape, struct sf_arena *req,
                                struct sf_tree_side *side)
{
    side->self = sf_arena_new_n(req, shape->n_nodes, sizeof(*side->self));
    side->totals = sf_arena_new_n(req, shape->n_nodes, sizeof(*side->totals));
    return side->self && side->totals;
}

static void add_self(struct sf_tree_side *side, const uint32_t *places, uint32_t n,
                     const struct sf_tree_node *nodes, const int64_t *self)
{
    for (uint32_t i = 0; i < n; i++) {
        int64_t *to = &side->self[places[i]];
        *to = sf_add_sat_i64(*to, nodes ? nodes[i].self : self ? self[i] : 0);
    }
}

/* Computes the totals of both sides, and the differences as the values of the shape. */
static bool tree_diff_finish(struct sf_tree_diff *d, struct sf_arena *req)
{
    struct sf_tree_node *nodes = sf_arena_new_n(req, d->shape.n_nodes, sizeof(*nodes));
    if (!nodes)
        return false;
    sf_tree_order_sum(&d->shape, d->left.self, d->left.totals);
    sf_tree_order_sum(&d->shape, d->right.self, d->right.totals);
    for (uint32_t i = 0; i < d->shape.n_nodes; i++) {
        nodes[i] = d->shape.nodes[i];
        nodes[i].self = sf_sub_sat_i64(d->right.self[i], d->left.self[i]);
    }
    d->shape.nodes = nodes;
    d->left.total = d->left.totals[0];
    d->right.total = d->right.totals[0];
    d->shape.total = sf_sub_sat_i64(d->right.total, d->left.total);
    return true;
}

enum sf_err sf_tree_diff(const struct sf_tree *left, const struct sf_tree *right,
                         struct sf_arena *req, struct sf_tree_diff *out, struct sf_why *why)
{
    static const struct sf_tree_node root = {.frame = SF_NONE};
    struct sf_tree empty = {.nodes = &root, .n_nodes = 1};
    struct sf_tree_builder b;
    struct sf_tree_diff d = {0};
    uint32_t *left_places, *right_places;
    enum sf_err err;
    left = left->n_nodes ? left : &empty;
    right = right->n_nodes ? right : &empty;
    left_places = sf_arena_new_n(req, left->n_nodes, sizeof(*left_places));
    right_places = sf_arena_new_n(req, right->n_nodes, sizeof(*right_places));
    if (!left_places || !right_places)
        return sf_no_room(why, "the comparison");
    sf_tree_builder_init(&b, req, 0, SF_TREE_BORROWS);
    sf_tree_builder_shape(&b, left, left_places);
    sf_tree_builder_shape(&b, right, right_places);
    err = sf_tree_builder_take(&b, right->unit.len ? right->unit : left->unit, &d.shape, why);
    sf_tree_builder_done(&b);
    if (err)
        return err;
    if (!tree_diff_make_side(&d.shape, req, &d.left) ||
        !tree_diff_make_side(&d.shape, req, &d.right))
        return sf_no_room(why, "the comparison");
    add_self(&d.left, left_places, left->n_nodes, left->nodes, NULL);
    add_self(&d.right, right_places, right->n_nodes, right->nodes, NULL);
    d.shape.is_cut = left->is_cut || right->is_cut;
    d.shape.is_saturated = left->is_saturated || right->is_saturated;
    d.shape.n_samples = sf_add_sat_u64(left->n_samples, right->n_samples);
    if (!tree_diff_finish(&d, req))
        return sf_no_room(why, "the comparison");
    *out = d;
    return SF_OK;
}

enum sf_err sf_tree_diff_cut(const struct sf_tree_diff *d, uint32_t max_nodes, struct sf_arena *req,
                             struct sf_tree_diff *out, struct sf_why *why)
{
    struct sf_tree_diff cut = *d;
    uint64_t *weights = sf_arena_new_n(req, d->shape.n_nodes, sizeof(*weights));
    uint32_t *places = sf_arena_new_n(req, d->shape.n_nodes, sizeof(*places));
    enum sf_err err;
    if (!weights || !places)
        return sf_no_room(why, "the comparison");
    for (uint32_t i = 0; i < d->shape.n_nodes; i++) {
        uint64_t l = sf_tree_order_magnitude(d->left.totals[i]),
                 r = sf_tree_order_magnitude(d->right.totals[i]);
        weights[i] = l > r ? l : r;
    }
    err = sf_tree_cut_shape(&d->shape, weights, max_nodes, req, &cut.shape, places, why);
    if (err)
        return err;
    if (!tree_diff_make_side(&cut.shape, req, &cut.left) ||
        !tree_diff_make_side(&cut.shape, req, &cut.right))
        return sf_no_room(why, "the comparison");
    add_self(&cut.left, places, d->shape.n_nodes, NULL, d->left.self);
    add_self(&cut.right, places, d->shape.n_nodes, NULL, d->right.self);
    if (!tree_diff_finish(&cut, req))
        return sf_no_room(why, "the comparison");
    *out = cut;
    return SF_OK;
}

/* ---- measures ---- */

static double tree_diff_share(int64_t v, double base)
{
    return base != 0 ? (double)v / base : 0;
}

struct sf_diff_change sf_tree_diff_measure(const struct sf_tree_diff *d,
                                           enum sf_diff_measure measure, int64_t left,
                                           int64_t right)
{
    struct sf_diff_change c;
    double left_base = 1, right_base = 1;
    if (measure == SF_DIFF_SHARE) {
        left_base = (double)d->left.total;
        right_base = (double)d->right.total;
    } else if (measure == SF_DIFF_REQUEST && d->left.n_requests && d->right.n_requests) {
        left_base = (double)d->left.n_requests;
        right_base = (double)d->right.n_requests;
    }
    c.left = tree_diff_share(left, left_base);
    c.right = tree_diff_share(right, right_base);
    c.delta = c.right - c.left;
    c.ratio = c.left != 0 ? c.delta / fabs(c.left) : c.delta == 0 ? 0 : copysign(INFINITY, c.delta);
    return c;
}

/* ---- functions ---- */

struct sorting {
    const struct sf_tree_diff *d;
    const uint32_t *ranks;
    enum sf_diff_measure measure;
};

static int tree_diff_compare_rows(const void *left, const void *right, void *arg)
{
    const struct sf_diff_row *a = left, *b = right;
    const struct sorting *s = arg;
    double by_a = fabs(sf_tree_diff_measure(s->d, s->measure, a->left_self, a->right_self).delta),
           by_b = fabs(sf_tree_diff_measure(s->d, s->measure, b->left_self, b->right_self).delta);
    if (by_a != by_b)
        return by_a > by_b ? -1 : 1;
    return s->ranks[a->frame] < s->ranks[b->frame] ? -1 : s->ranks[a->frame] > s->ranks[b->frame];
}

static enum sf_err one_side(const struct sf_tree *shape, const int64_t *self, struct sf_arena *req,
                            const struct sf_top_row **out, struct sf_why *why)
{
    struct sf_tree t = *shape;
    struct sf_tree_node *nodes = sf_arena_new_n(req, t.n_nodes, sizeof(*nodes));
    uint32_t n;
    if (!nodes)
        return sf_no_room(why, "the comparison");
    for (uint32_t i = 0; i < t.n_nodes; i++) {
        nodes[i] = t.nodes[i];
        nodes[i].self = self[i];
    }
    t.nodes = nodes;
    return sf_tree_top(&t, SF_TOP_BY_SELF, req, out, &n, why);
}

enum sf_err sf_tree_diff_top(const struct sf_tree_diff *d, enum sf_diff_measure measure,
                             struct sf_arena *req, const struct sf_diff_row **out, uint32_t *out_n,
                             struct sf_why *why)
{
    struct sf_diff_row *rows = sf_arena_new_n(req, (size_t)d->shape.n_frames + 1, sizeof(*rows));
    struct sf_arena scratch = *req;
    const struct sf_top_row *left, *right;
    struct sorting s = {.d = d, .measure = measure};
    uint32_t *ranks;
    enum sf_err err = rows ? sf_tree_order_frame_ranks(&d->shape, &scratch, &ranks, why)
                           : sf_no_room(why, "the comparison");
    if (!err)
        err = one_side(&d->shape, d->left.self, &scratch, &left, why);
    if (!err)
        err = one_side(&d->shape, d->right.self, &scratch, &right, why);
    if (err)
        return err;
    for (uint32_t i = 0; i < d->shape.n_frames; i++) {
        rows[i].frame = i;
        rows[left[i].frame].left_self = left[i].self;
        rows[left[i].frame].left_total = left[i].total;
        rows[right[i].frame].right_self = right[i].self;
        rows[right[i].frame].right_total = right[i].total;
    }
    s.ranks = ranks;
    qsort_r(rows, d->shape.n_frames, sizeof(*rows), tree_diff_compare_rows, &s);
    *out = rows;
    *out_n = d->shape.n_frames;
    return SF_OK;
}
