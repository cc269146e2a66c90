#include "flame/tree_order.h"

#include <stdlib.h>

#include "base/num.h"
#include "flame/tree_cut.h"

static enum sf_err tree_order_no_room(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT,
                   "flame graph: it does not fit the memory of one query; ask for fewer nodes");
}

void sf_tree_order_sum(const struct sf_tree *t, const int64_t *self, int64_t *out_totals)
{
    for (uint32_t i = 0; i < t->n_nodes; i++)
        out_totals[i] = self[i];
    for (uint32_t i = t->n_nodes; i-- > 1;) {
        int64_t *up = &out_totals[t->nodes[i].parent];
        *up = sf_add_sat_i64(*up, out_totals[i]);
    }
}

enum sf_err sf_tree_order_totals(const struct sf_tree *t, struct sf_arena *req, int64_t **out,
                                 struct sf_why *why)
{
    int64_t *totals = sf_arena_new_n(req, t->n_nodes, sizeof(*totals));
    if (!totals)
        return tree_order_no_room(why);
    for (uint32_t i = 0; i < t->n_nodes; i++)
        totals[i] = t->nodes[i].self;
    sf_tree_order_sum(t, totals, totals);
    *out = totals;
    return SF_OK;
}

uint64_t sf_tree_order_magnitude(int64_t v)
{
    return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

/* ---- frames by name ---- */

static int tree_order_compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_frames(const void *left, const void *right, void *arg)
{
    const struct sf_frame *frames = arg, *a = &frames[*(const uint32_t *)left],
                          *b = &frames[*(const uint32_t *)right];
    int order = (int)sf_tree_cut_is_other(a) - (int)sf_tree_cut_is_other(b);
    if (!order)
        order = sf_str_cmp(a->function, b->function);
    if (!order)
        order = sf_str_cmp(a->file, b->file);
    if (!order)
        order = tree_order_compare_numbers(a->line, b->line);
    if (!order)
        order = sf_str_cmp(a->module, b->module);
    if (!order)
        order = tree_order_compare_numbers(a->file_off, b->file_off);
    if (!order)
        order = sf_str_cmp(a->build_id, b->build_id);
    return order ? order : tree_order_compare_numbers(a->kind, b->kind);
}

enum sf_err sf_tree_order_frame_ranks(const struct sf_tree *t, struct sf_arena *req, uint32_t **out,
                                      struct sf_why *why)
{
    uint32_t *sorted, *ranks = sf_arena_new_n(req, (size_t)t->n_frames + 1, sizeof(*ranks));
    struct sf_arena scratch = *req;
    sorted = sf_arena_new_n(&scratch, (size_t)t->n_frames + 1, sizeof(*sorted));
    if (!ranks || !sorted)
        return tree_order_no_room(why);
    for (uint32_t i = 0; i < t->n_frames; i++)
        sorted[i] = i;
    qsort_r(sorted, t->n_frames, sizeof(*sorted), compare_frames, (void *)t->frames);
    for (uint32_t i = 0; i < t->n_frames; i++)
        ranks[sorted[i]] = i;
    *out = ranks;
    return SF_OK;
}

/* ---- reading order ---- */

struct siblings {
    const struct sf_tree *t;
    const int64_t *totals;
    const uint32_t *ranks;
    enum sf_tree_by by;
};

static bool is_other_node(const struct siblings *s, uint32_t place)
{
    uint32_t frame = s->t->nodes[place].frame;
    return frame != SF_NONE && sf_tree_cut_is_other(&s->t->frames[frame]);
}

/* Siblings are adjacent, in the order in which they are pushed: the last one is visited first. */
static int tree_order_compare_nodes(const void *left, const void *right, void *arg)
{
    const struct siblings *s = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct sf_tree_node *na = &s->t->nodes[a], *nb = &s->t->nodes[b];
    int order = tree_order_compare_numbers(na->parent, nb->parent);
    if (order)
        return order;
    order = (int)is_other_node(s, b) - (int)is_other_node(s, a);
    if (!order && s->by == SF_TREE_BY_TOTAL)
        order = tree_order_compare_numbers(sf_tree_order_magnitude(s->totals[a]),
                                           sf_tree_order_magnitude(s->totals[b]));
    if (!order && s->by == SF_TREE_AS_SEEN)
        return tree_order_compare_numbers(b, a);
    return order ? order : tree_order_compare_numbers(s->ranks[nb->frame], s->ranks[na->frame]);
}

/* Iterative depth-first walk: a malicious tree may be as deep as it has nodes. */
static uint32_t tree_order_walk(const struct sf_tree *t, const uint32_t *sorted,
                                const uint32_t *starts, uint32_t *stack, uint32_t *places,
                                uint32_t *depths)
{
    uint32_t n_stack = 0, n = 0, max_depth = 0;
    uint32_t *depth_of = depths; /* by node at first, by row at the end */
    depth_of[0] = 0;
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        depth_of[i] = depth_of[t->nodes[i].parent] + 1;
        max_depth = depth_of[i] > max_depth ? depth_of[i] : max_depth;
    }
    stack[n_stack++] = 0;
    while (n_stack) {
        uint32_t place = stack[--n_stack];
        places[n++] = place;
        for (uint32_t i = starts[place]; i < starts[place + 1]; i++)
            stack[n_stack++] = sorted[i];
    }
    for (uint32_t i = 0; i < n; i++)
        stack[i] = depth_of[places[i]];
    for (uint32_t i = 0; i < n; i++)
        depths[i] = stack[i];
    return max_depth;
}

enum sf_err sf_tree_order(const struct sf_tree *t, const int64_t *totals, enum sf_tree_by by,
                          struct sf_arena *req, struct sf_tree_order *out, struct sf_why *why)
{
    uint32_t *places = sf_arena_new_n(req, t->n_nodes, sizeof(*places)),
             *depths = sf_arena_new_n(req, t->n_nodes, sizeof(*depths)), *sorted, *starts, *stack,
             *ranks;
    struct sf_arena scratch = *req;
    struct siblings s = {.t = t, .totals = totals, .by = by};
    enum sf_err err = sf_tree_order_frame_ranks(t, &scratch, &ranks, why);
    if (err)
        return err;
    sorted = sf_arena_new_n(&scratch, t->n_nodes, sizeof(*sorted));
    starts = sf_arena_new_n(&scratch, (size_t)t->n_nodes + 1, sizeof(*starts));
    stack = sf_arena_new_n(&scratch, t->n_nodes, sizeof(*stack));
    if (!places || !depths || !sorted || !starts || !stack)
        return tree_order_no_room(why);
    s.ranks = ranks;
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        sorted[i - 1] = i;
        starts[t->nodes[i].parent + 1]++;
    }
    for (uint32_t i = 0; i < t->n_nodes; i++)
        starts[i + 1] += starts[i];
    qsort_r(sorted, t->n_nodes - 1, sizeof(*sorted), tree_order_compare_nodes, &s);
    out->max_depth = tree_order_walk(t, sorted, starts, stack, places, depths);
    out->places = places;
    out->depths = depths;
    return SF_OK;
}
