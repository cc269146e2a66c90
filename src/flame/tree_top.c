#include "flame/tree_top.h"

#include <stdlib.h>

#include "base/num.h"
#include "flame/tree_map.h"
#include "flame/tree_order.h"

static enum sf_err tree_top_no_room(const struct sf_tree *t, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "flame graph: %u nodes do not fit the memory of one query",
                   t->n_nodes);
}

/* ---- the table ---- */

struct sorting {
    const uint32_t *ranks;
    enum sf_top_by by;
};

static int tree_top_compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int tree_top_compare_rows(const void *left, const void *right, void *arg)
{
    const struct sf_top_row *a = left, *b = right;
    const struct sorting *s = arg;
    int self = tree_top_compare_numbers(sf_tree_order_magnitude(b->self),
                                        sf_tree_order_magnitude(a->self)),
        total = tree_top_compare_numbers(sf_tree_order_magnitude(b->total),
                                         sf_tree_order_magnitude(a->total)),
        first = s->by == SF_TOP_BY_SELF ? self : total,
        second = s->by == SF_TOP_BY_SELF ? total : self;
    if (first || second)
        return first ? first : second;
    return tree_top_compare_numbers(s->ranks[a->frame], s->ranks[b->frame]);
}

/* A node's total is added to its frame unless the same frame is an ancestor. A depth-first walk,
 * which counts the frames on the current path. */
static enum sf_err add_totals(const struct sf_tree *t, const int64_t *totals,
                              struct sf_top_row *rows, struct sf_arena scratch, struct sf_why *why)
{
    struct sf_tree_order order;
    uint32_t *on_path, *path;
    enum sf_err err = sf_tree_order(t, totals, SF_TREE_BY_NAME, &scratch, &order, why);
    if (err)
        return err;
    on_path = sf_arena_new_n(&scratch, (size_t)t->n_frames + 1, sizeof(*on_path));
    path = sf_arena_new_n(&scratch, (size_t)order.max_depth + 1, sizeof(*path));
    if (!on_path || !path)
        return tree_top_no_room(t, why);
    for (uint32_t i = 1, depth = 0; i < t->n_nodes; i++) {
        uint32_t place = order.places[i], frame = t->nodes[place].frame;
        while (depth >= order.depths[i])
            on_path[path[depth--]]--;
        if (on_path[frame]++ == 0)
            rows[frame].total = sf_add_sat_i64(rows[frame].total, totals[place]);
        path[++depth] = frame;
    }
    return SF_OK;
}

enum sf_err sf_tree_top(const struct sf_tree *t, enum sf_top_by by, struct sf_arena *req,
                        const struct sf_top_row **out, uint32_t *out_n, struct sf_why *why)
{
    struct sf_top_row *rows = sf_arena_new_n(req, (size_t)t->n_frames + 1, sizeof(*rows));
    struct sf_arena scratch = *req;
    struct sorting s = {.by = by};
    uint32_t *ranks;
    int64_t *totals;
    enum sf_err err = rows ? sf_tree_order_totals(t, &scratch, &totals, why)
                           : tree_top_no_room(t, why);
    if (!err)
        err = sf_tree_order_frame_ranks(t, &scratch, &ranks, why);
    if (err)
        return err;
    for (uint32_t i = 0; i < t->n_frames; i++)
        rows[i].frame = i;
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        struct sf_top_row *row = &rows[t->nodes[i].frame];
        row->self = sf_add_sat_i64(row->self, t->nodes[i].self);
    }
    err = add_totals(t, totals, rows, scratch, why);
    if (err)
        return err;
    s.ranks = ranks;
    qsort_r(rows, t->n_frames, sizeof(*rows), tree_top_compare_rows, &s);
    *out = rows;
    *out_n = t->n_frames;
    return SF_OK;
}
