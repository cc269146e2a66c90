#include "flame/tree_leaves.h"

#include "flame/tree_map.h"

static uint32_t add_leaf(struct sf_tree_map *m, const uint32_t *path, uint32_t n, bool is_flat)
{
    const struct sf_tree *t = m->from;
    uint32_t at = 0;
    while (n > 0) {
        struct sf_frame f = t->frames[t->nodes[path[--n]].frame];
        if (n == 0 && is_flat)
            f.line = 0;
        at = sf_tree_builder_child(&m->to, at, sf_tree_builder_frame(&m->to, &f));
    }
    return at;
}

enum sf_err sf_tree_leaves(const struct sf_tree *t, uint32_t keep, bool is_flat,
                           struct sf_arena *req, struct sf_tree *out, struct sf_why *why)
{
    struct sf_arena scratch = *req;
    uint32_t *path = sf_arena_new_n(&scratch, t->n_nodes, sizeof(*path)); /* leaf first */
    struct sf_tree_map m = {0};
    enum sf_err err = path ? sf_tree_map_init(&m, t, req, why) : sf_no_room(why, "the flame graph");
    for (uint32_t i = 1; !err && i < t->n_nodes; i++) {
        uint32_t n = 0;
        m.nodes[i] = SF_NONE;
        if (!t->nodes[i].self)
            continue;
        for (uint32_t up = i; up != 0 && (keep == 0 || n < keep); up = t->nodes[up].parent)
            path[n++] = up;
        m.nodes[i] = add_leaf(&m, path, n, is_flat);
    }
    if (!err)
        err = sf_tree_map_take(&m, out, why);
    sf_tree_map_done(&m);
    return err;
}
