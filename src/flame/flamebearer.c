#include "flame/flamebearer.h"

#include "base/num.h"
#include "flame/tree_order.h"

struct side {
    const int64_t *totals;
    int64_t *ends;   /* where the previous bar of each level ended */
    int64_t *starts; /* where the next child of each level's open bar begins */
};

struct layout {
    const struct sf_tree *t;
    struct sf_tree_order order;
    int64_t **values; /* of each level, while it is filled */
    uint32_t *n;
    struct sf_flamebearer out;
};

static enum sf_err flamebearer_no_room(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT,
                   "flame graph: it does not fit the memory of one query; ask for fewer nodes");
}

/* Names sorted by frame rank, so that equal names of different frames are adjacent; index 0 is
 * "total". */
static enum sf_err make_names(const struct sf_tree *t, struct sf_arena *req, uint32_t **out_index,
                              struct sf_flamebearer *out, struct sf_why *why)
{
    sf_str *names = sf_arena_new_n(req, (size_t)t->n_frames + 1, sizeof(*names));
    uint32_t *index = sf_arena_new_n(req, (size_t)t->n_frames + 1, sizeof(*index)), *ranks,
             *by_rank;
    enum sf_err err = sf_tree_order_frame_ranks(t, req, &ranks, why);
    by_rank = sf_arena_new_n(req, (size_t)t->n_frames + 1, sizeof(*by_rank));
    if (!err && (!names || !index || !by_rank))
        err = flamebearer_no_room(why);
    if (err)
        return err;
    for (uint32_t i = 0; i < t->n_frames; i++)
        by_rank[ranks[i]] = i;
    names[0] = SF_STR("total");
    out->n_names = 1;
    for (uint32_t i = 0; i < t->n_frames; i++) {
        sf_str name = t->frames[by_rank[i]].function;
        if (out->n_names == 1 || !sf_str_eq(names[out->n_names - 1], name))
            names[out->n_names++] = name;
        index[by_rank[i]] = out->n_names - 1;
    }
    out->names = names;
    *out_index = index;
    return SF_OK;
}

static enum sf_err make_levels(struct layout *l, const int64_t *totals, uint32_t width,
                               struct sf_arena *req, struct sf_why *why)
{
    uint32_t n_levels;
    struct sf_flame_level *levels;
    enum sf_err err = sf_tree_order(l->t, totals, SF_TREE_BY_NAME, req, &l->order, why);
    if (err)
        return err;
    n_levels = l->order.max_depth + 1;
    levels = sf_arena_new_n(req, n_levels, sizeof(*levels));
    l->values = sf_arena_new_n(req, n_levels, sizeof(*l->values));
    l->n = sf_arena_new_n(req, n_levels, sizeof(*l->n));
    if (!levels || !l->values || !l->n)
        return flamebearer_no_room(why);
    for (uint32_t i = 0; i < l->t->n_nodes; i++)
        levels[l->order.depths[i]].n += width;
    for (uint32_t i = 0; i < n_levels; i++) {
        l->values[i] = sf_arena_new_n(req, levels[i].n, sizeof(int64_t));
        if (!l->values[i])
            return flamebearer_no_room(why);
        levels[i].values = l->values[i];
    }
    l->out.levels = levels;
    l->out.n_levels = n_levels;
    return SF_OK;
}

static bool flamebearer_make_side(const struct layout *l, struct sf_arena *req,
                                  const int64_t *totals, struct side *out)
{
    size_t n = (size_t)l->order.max_depth + 2;
    out->totals = totals;
    out->ends = sf_arena_new_n(req, n, sizeof(*out->ends));
    out->starts = sf_arena_new_n(req, n, sizeof(*out->starts));
    return out->ends && out->starts;
}

/* Offset, total and self of one bar. */
static void put_bar(struct side *s, uint32_t place, uint32_t depth, int64_t self, int64_t *to)
{
    int64_t start = s->starts[depth], total = s->totals[place];
    to[0] = sf_sub_sat_i64(start, s->ends[depth]);
    to[1] = total;
    to[2] = self;
    s->ends[depth] = s->starts[depth] = sf_add_sat_i64(start, total);
    s->starts[depth + 1] = sf_add_sat_i64(start, self);
}

static void note_self(struct layout *l, int64_t self)
{
    if (self > l->out.max_self)
        l->out.max_self = self;
}

enum sf_err sf_flamebearer_single(const struct sf_tree *t, struct sf_arena *req,
                                  struct sf_flamebearer *out, struct sf_why *why)
{
    struct layout l = {.t = t};
    struct side side;
    uint32_t *names;
    int64_t *totals;
    enum sf_err err = sf_tree_order_totals(t, req, &totals, why);
    if (!err)
        err = make_names(t, req, &names, &l.out, why);
    if (!err)
        err = make_levels(&l, totals, 4, req, why);
    if (!err && !flamebearer_make_side(&l, req, totals, &side))
        err = flamebearer_no_room(why);
    if (err)
        return err;
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        uint32_t place = l.order.places[i], depth = l.order.depths[i];
        int64_t *bar = l.values[depth] + l.n[depth];
        put_bar(&side, place, depth, t->nodes[place].self, bar);
        bar[3] = place ? names[t->nodes[place].frame] : 0;
        l.n[depth] += 4;
        note_self(&l, t->nodes[place].self);
    }
    l.out.total = totals[0];
    *out = l.out;
    return SF_OK;
}

static bool is_negative(const struct sf_tree_diff *d)
{
    for (uint32_t i = 0; i < d->shape.n_nodes; i++) {
        if (d->left.self[i] < 0 || d->right.self[i] < 0)
            return true;
    }
    return false;
}

enum sf_err sf_flamebearer_double(const struct sf_tree_diff *d, struct sf_arena *req,
                                  struct sf_flamebearer *out, struct sf_why *why)
{
    struct layout l = {.t = &d->shape};
    struct side left, right;
    uint32_t *names;
    enum sf_err err;
    if (is_negative(d))
        return sf_fail(why, SF_ERR_INPUT, "a profile with negative values cannot be compared");
    err = make_names(&d->shape, req, &names, &l.out, why);
    if (!err)
        err = make_levels(&l, d->left.totals, 7, req, why);
    if (!err && (!flamebearer_make_side(&l, req, d->left.totals, &left) ||
                 !flamebearer_make_side(&l, req, d->right.totals, &right)))
        err = flamebearer_no_room(why);
    if (err)
        return err;
    for (uint32_t i = 0; i < d->shape.n_nodes; i++) {
        uint32_t place = l.order.places[i], depth = l.order.depths[i];
        int64_t *bar = l.values[depth] + l.n[depth];
        put_bar(&left, place, depth, d->left.self[place], bar);
        put_bar(&right, place, depth, d->right.self[place], bar + 3);
        bar[6] = place ? names[d->shape.nodes[place].frame] : 0;
        l.n[depth] += 7;
        note_self(&l, d->left.self[place]);
        note_self(&l, d->right.self[place]);
    }
    l.out.left_total = d->left.total;
    l.out.right_total = d->right.total;
    l.out.total = sf_add_sat_i64(d->left.total, d->right.total);
    *out = l.out;
    return SF_OK;
}
