#include "flame/tree_sandwich.h"

#include "base/num.h"
#include "flame/frame_name.h"
#include "flame/tree_builder.h"
#include "flame/tree_order.h"

struct making {
    const struct sf_tree *t;
    const int64_t *totals;
    sf_str *names;       /* of the tree's frames */
    bool *is_function;   /* for each frame: it is the function */
    uint32_t *n_on_path; /* for each node: occurrences from the root to it */
    uint32_t max_on_path;
    struct sf_tree_builder b; /* builds one of the two trees */
    uint32_t *frames;         /* for each frame of the tree: its index in the builder */
};

static enum sf_err tree_sandwich_name_frames(struct making *m, sf_str name, struct sf_arena *req,
                                             struct sf_why *why)
{
    const struct sf_tree *t = m->t;
    size_t n = (size_t)t->n_frames + 1;
    m->names = sf_arena_new_n(req, n, sizeof(*m->names));
    m->frames = sf_arena_new_n(req, n, sizeof(*m->frames));
    m->is_function = sf_arena_new_n(req, n, sizeof(*m->is_function));
    m->n_on_path = sf_arena_new_n(req, t->n_nodes, sizeof(*m->n_on_path));
    if (!m->names || !m->frames || !m->is_function || !m->n_on_path)
        return sf_no_room(why, "the tree");
    for (uint32_t i = 0; i < t->n_frames; i++) {
        if (!sf_frame_name(&t->frames[i], SF_GROUP_FUNCTION, req, &m->names[i]))
            return sf_no_room(why, "the tree");
        m->is_function[i] = sf_str_eq(m->names[i], name);
    }
    return SF_OK;
}

static bool is_occurrence(const struct making *m, uint32_t node)
{
    return node > 0 && m->is_function[m->t->nodes[node].frame];
}

static void tree_sandwich_count(struct making *m, struct sf_tree_sandwich *out)
{
    const struct sf_tree *t = m->t;
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t above = m->n_on_path[t->nodes[i].parent];
        m->n_on_path[i] = above + is_occurrence(m, i);
        if (m->n_on_path[i] > m->max_on_path)
            m->max_on_path = m->n_on_path[i];
        if (is_occurrence(m, i))
            out->self = sf_add_sat_i64(out->self, t->nodes[i].self);
        if (is_occurrence(m, i) && above == 0)
            out->total = sf_add_sat_i64(out->total, m->totals[i]);
    }
}

static void begin_half(struct making *m, struct sf_arena *req)
{
    sf_tree_builder_init(&m->b, req, 0, SF_TREE_BORROWS);
    for (uint32_t i = 0; i < m->t->n_frames; i++) {
        const struct sf_frame frame = {.function = m->names[i]};
        m->frames[i] = sf_tree_builder_frame(&m->b, &frame);
    }
}

static void add_callers(struct making *m)
{
    const struct sf_tree *t = m->t;
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t at = 0;
        if (!is_occurrence(m, i))
            continue;
        for (uint32_t up = i; up != 0; up = t->nodes[up].parent)
            at = sf_tree_builder_child(&m->b, at, m->frames[t->nodes[up].frame]);
        sf_tree_builder_add(&m->b, at, m->totals[i], 0);
    }
}

/* One pass for each depth of recursion: callees below the first occurrence, below the second, ...
 * Each pass visits only the nodes that the previous pass found to be deep enough. */
static enum sf_err add_callees(struct making *m, struct sf_arena *req, struct sf_why *why)
{
    const struct sf_tree *t = m->t;
    uint32_t *places = sf_arena_new_n(req, t->n_nodes, sizeof(*places));
    uint32_t *left = sf_arena_new_n(req, t->n_nodes, sizeof(*left));
    uint32_t n_left = 0;
    if (!places || !left)
        return sf_no_room(why, "the tree");
    for (uint32_t i = 1; i < t->n_nodes; i++)
        if (m->n_on_path[i] > 0)
            left[n_left++] = i;
    for (uint32_t nth = 1; nth <= m->max_on_path; nth++) {
        uint32_t n_deeper = 0;
        for (uint32_t k = 0; k < n_left; k++) {
            uint32_t i = left[k], parent = t->nodes[i].parent;
            uint32_t above = m->n_on_path[parent] < nth ? 0 : places[parent];
            places[i] = sf_tree_builder_child(&m->b, above, m->frames[t->nodes[i].frame]);
            sf_tree_builder_add(&m->b, places[i], t->nodes[i].self, 0);
            if (m->n_on_path[i] > nth)
                left[n_deeper++] = i;
        }
        n_left = n_deeper;
    }
    return SF_OK;
}

enum sf_err sf_tree_sandwich(const struct sf_tree *t, sf_str name, struct sf_arena *req,
                             struct sf_tree_sandwich *out, struct sf_why *why)
{
    struct sf_tree_sandwich made = {0};
    struct making m = {.t = t};
    int64_t *totals = NULL;
    enum sf_err err = sf_tree_order_totals(t, req, &totals, why);
    m.totals = totals;
    if (!err)
        err = tree_sandwich_name_frames(&m, name, req, why);
    if (err)
        return err;
    tree_sandwich_count(&m, &made);
    begin_half(&m, req);
    add_callers(&m);
    err = sf_tree_builder_take(&m.b, t->unit, &made.callers, why);
    sf_tree_builder_done(&m.b);
    if (err)
        return err;
    begin_half(&m, req);
    err = add_callees(&m, req, why);
    if (!err)
        err = sf_tree_builder_take(&m.b, t->unit, &made.callees, why);
    sf_tree_builder_done(&m.b);
    if (!err)
        *out = made;
    return err;
}
