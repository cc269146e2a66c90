#include "flame/tree_top.h"

#include <stdlib.h>

#include "base/num.h"
#include "flame/tree_map.h"
#include "flame/tree_order.h"

static enum sf_err no_room(const struct sf_tree *t, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "flame graph: %u nodes do not fit the memory of one query",
                   t->n_nodes);
}

/* ---- the table ---- */

struct sorting {
    const uint32_t *ranks;
    enum sf_top_by by;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_rows(const void *left, const void *right, void *arg)
{
    const struct sf_top_row *a = left, *b = right;
    const struct sorting *s = arg;
    int self = compare_numbers(sf_tree_magnitude(b->self), sf_tree_magnitude(a->self)),
        total = compare_numbers(sf_tree_magnitude(b->total), sf_tree_magnitude(a->total)),
        first = s->by == SF_TOP_BY_SELF ? self : total,
        second = s->by == SF_TOP_BY_SELF ? total : self;
    if (first || second)
        return first ? first : second;
    return compare_numbers(s->ranks[a->frame], s->ranks[b->frame]);
}

/* A node's total counts for its frame unless the same frame is above it on the path. Depth first,
 * with the frames of the path counted as it grows and shrinks. */
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
        return no_room(t, why);
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
    enum sf_err err = rows ? sf_tree_totals(t, &scratch, &totals, why) : no_room(t, why);
    if (!err)
        err = sf_tree_frame_ranks(t, &scratch, &ranks, why);
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
    qsort_r(rows, t->n_frames, sizeof(*rows), compare_rows, &s);
    *out = rows;
    *out_n = t->n_frames;
    return SF_OK;
}

/* ---- callers and callees ---- */

/* has[i]: node i is chosen or below one that is. */
static void note_chosen(const struct sf_tree *t, const bool *is_chosen, bool *has)
{
    for (uint32_t i = 1; i < t->n_nodes; i++)
        has[i] = has[t->nodes[i].parent] || is_chosen[t->nodes[i].frame];
}

static enum sf_err make_callees(const struct sf_tree *t, const bool *has, struct sf_arena *req,
                                struct sf_tree *out, struct sf_why *why)
{
    struct sf_tree_map m = {0};
    enum sf_err err = sf_tree_map_init(&m, t, req, why);
    for (uint32_t i = 0; !err && i < t->n_nodes; i++) {
        uint32_t parent = t->nodes[i].parent, frame;
        if (!has[i]) {
            m.nodes[i] = SF_NONE;
            continue;
        }
        frame = sf_tree_builder_frame(&m.to, &t->frames[t->nodes[i].frame]);
        m.nodes[i] = sf_tree_builder_child(&m.to, has[parent] ? m.nodes[parent] : 0, frame);
    }
    if (!err)
        err = sf_tree_map_take(&m, out, why);
    sf_tree_map_done(&m);
    return err;
}

static enum sf_err make_callers(const struct sf_tree *t, const int64_t *totals, const bool *has,
                                struct sf_arena *req, struct sf_tree *out, struct sf_why *why)
{
    struct sf_tree_builder b;
    enum sf_err err;
    sf_tree_builder_init(&b, req, 0, SF_TREE_BORROWS);
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t at = 0;
        if (!has[i] || has[t->nodes[i].parent])
            continue;
        for (uint32_t up = i; up != 0; up = t->nodes[up].parent)
            at = sf_tree_builder_child(&b, at,
                                       sf_tree_builder_frame(&b, &t->frames[t->nodes[up].frame]));
        sf_tree_builder_add(&b, at, totals[i], 0);
    }
    b.n_samples = t->n_samples;
    err = sf_tree_builder_take(&b, t->unit, out, why);
    sf_tree_builder_done(&b);
    return err;
}

enum sf_err sf_tree_sandwich(const struct sf_tree *t, const bool *is_chosen, struct sf_arena *req,
                             struct sf_sandwich *out, struct sf_why *why)
{
    bool *has = sf_arena_new_n(req, t->n_nodes, sizeof(*has));
    int64_t *totals;
    struct sf_sandwich s;
    enum sf_err err = has ? sf_tree_totals(t, req, &totals, why) : no_room(t, why);
    if (err)
        return err;
    note_chosen(t, is_chosen, has);
    err = make_callers(t, totals, has, req, &s.callers, why);
    if (!err)
        err = make_callees(t, has, req, &s.callees, why);
    if (!err)
        *out = s;
    return err;
}
