#include "flame/tree_map.h"

#include "base/heap.h"

enum sf_err sf_tree_map_init(struct sf_tree_map *m, const struct sf_tree *from,
                             struct sf_arena *req, struct sf_why *why)
{
    *m = (struct sf_tree_map){.from = from};
    sf_tree_builder_init(&m->to, req, 0, SF_TREE_BORROWS);
    m->nodes = sf_heap_new_n((size_t)from->n_nodes + 1, sizeof(*m->nodes));
    return m->nodes ? SF_OK : sf_fail(why, SF_ERR_NOMEM, "flame graph: no memory");
}

void sf_tree_map_done(struct sf_tree_map *m)
{
    sf_tree_builder_done(&m->to);
    sf_heap_free(m->nodes);
    *m = (struct sf_tree_map){0};
}

enum sf_err sf_tree_map_take(struct sf_tree_map *m, struct sf_tree *out, struct sf_why *why)
{
    const struct sf_tree *from = m->from;
    bool is_cut = from->is_cut; /* `out` may be `from` */
    enum sf_err err;
    for (uint32_t i = 0; i < from->n_nodes; i++)
        sf_tree_builder_add(&m->to, m->nodes[i], from->nodes[i].self, 0);
    m->to.n_samples = from->n_samples;
    m->to.is_saturated |= from->is_saturated;
    err = sf_tree_builder_take(&m->to, from->unit, out, why);
    if (!err)
        out->is_cut = is_cut;
    if (!err && m->owned)
        sf_owned_move(m->owned, m->nodes);
    return err;
}
