#include "flame/tree_cut.h"

#include <stdlib.h>
#include <string.h>

#include "flame/tree_map.h"
#include "flame/tree_order.h"

static const struct sf_frame other = {.function = {"other", 5}, .kind = SF_FRAME_MARKER};

bool sf_tree_cut_is_other(const struct sf_frame *f)
{
    return f->kind == SF_FRAME_MARKER && sf_str_eq(f->function, other.function);
}

static int compare_weights(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left > right ? -1 : left < right;
}

/* The root is not counted: it is always kept. */
static bool find_threshold(const struct sf_tree *t, const uint64_t *weights, uint32_t max_nodes,
                           struct sf_arena scratch, uint64_t *out)
{
    uint32_t n = t->n_nodes - 1;
    uint64_t *sorted;
    *out = 0;
    if (max_nodes == 0 || n <= max_nodes)
        return true;
    sorted = sf_arena_new_n(&scratch, n, sizeof(*sorted));
    if (!sorted)
        return false;
    for (uint32_t i = 0; i < n; i++)
        sorted[i] = weights[i + 1];
    qsort(sorted, n, sizeof(*sorted), compare_weights);
    *out = sorted[max_nodes - 1];
    return true;
}

static void tree_cut_map_nodes(struct sf_tree_map *m, const uint64_t *weights, uint64_t threshold,
                               const uint32_t *frames, bool *is_cut)
{
    const struct sf_tree *t = m->from;
    uint32_t other_frame = sf_tree_builder_frame(&m->to, &other);
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        const struct sf_tree_node *node = &t->nodes[i];
        is_cut[i] = is_cut[node->parent];
        if (is_cut[i]) {
            m->nodes[i] = m->nodes[node->parent];
            continue;
        }
        is_cut[i] = weights[i] < threshold ||
                    sf_str_eq(t->frames[node->frame].function, other.function);
        m->nodes[i] = sf_tree_builder_child(&m->to, m->nodes[node->parent],
                                            is_cut[i] ? other_frame : frames[node->frame]);
    }
}

static enum sf_err flame_tree_cut(struct sf_tree_map *m, const uint64_t *weights,
                                  uint32_t max_nodes, struct sf_arena scratch, bool *out_is_cut,
                                  struct sf_why *why)
{
    const struct sf_tree *t = m->from;
    uint64_t threshold;
    uint32_t *frames = sf_arena_new_n(&scratch, (size_t)t->n_frames + 1, sizeof(*frames));
    bool *is_cut = sf_arena_new_n(&scratch, t->n_nodes, sizeof(*is_cut));
    if (!frames || !is_cut || !find_threshold(t, weights, max_nodes, scratch, &threshold))
        return sf_fail(why, SF_ERR_LIMIT,
                       "flame graph: %u nodes do not fit the memory of one query", t->n_nodes);
    *out_is_cut = threshold > 0;
    if (threshold == 0) {
        sf_tree_builder_shape(&m->to, t, m->nodes);
        return SF_OK;
    }
    for (uint32_t i = 0; i < t->n_frames; i++)
        frames[i] = sf_tree_builder_frame(&m->to, &t->frames[i]);
    tree_cut_map_nodes(m, weights, threshold, frames, is_cut);
    return SF_OK;
}

enum sf_err sf_tree_cut(const struct sf_tree *t, uint32_t max_nodes, struct sf_arena *req,
                        struct sf_tree *out, struct sf_why *why)
{
    struct sf_tree_map m = {0};
    struct sf_arena scratch = *req;
    int64_t *totals;
    uint64_t *weights;
    bool is_cut = false;
    enum sf_err err = sf_tree_order_totals(t, &scratch, &totals, why);
    if (err)
        return err;
    weights = (uint64_t *)totals; /* the same numbers except for their sign */
    for (uint32_t i = 0; i < t->n_nodes; i++)
        weights[i] = sf_tree_order_magnitude(totals[i]);
    err = sf_tree_map_init(&m, t, req, why);
    if (!err)
        err = flame_tree_cut(&m, weights, max_nodes, scratch, &is_cut, why);
    if (!err)
        err = sf_tree_map_take(&m, out, why); /* overwrites the scratch */
    if (!err)
        out->is_cut |= is_cut;
    sf_tree_map_done(&m);
    return err;
}

enum sf_err sf_tree_cut_shape(const struct sf_tree *t, const uint64_t *weights, uint32_t max_nodes,
                              struct sf_arena *req, struct sf_tree *out, uint32_t *out_nodes,
                              struct sf_why *why)
{
    struct sf_tree_map m = {0};
    bool is_cut = false;
    enum sf_err err = sf_tree_map_init(&m, t, req, why);
    if (!err)
        err = flame_tree_cut(&m, weights, max_nodes, *req, &is_cut, why);
    if (!err)
        err = sf_tree_map_take(&m, out, why);
    if (!err) {
        out->is_cut |= is_cut;
        memcpy(out_nodes, m.nodes, (size_t)t->n_nodes * sizeof(*out_nodes));
    }
    sf_tree_map_done(&m);
    return err;
}
