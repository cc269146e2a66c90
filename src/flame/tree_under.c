#include "flame/tree_under.h"

#include "flame/tree_map.h"

enum sf_err sf_tree_under(const struct sf_tree *t, sf_str name, struct sf_arena *req,
                          struct sf_tree *out, struct sf_why *why)
{
    const struct sf_frame first = {.function = name, .kind = SF_FRAME_MARKER};
    struct sf_tree_map m = {0};
    enum sf_err err = sf_tree_map_init(&m, t, req, why);
    if (!err)
        m.nodes[0] = sf_tree_builder_child(&m.to, 0, sf_tree_builder_frame(&m.to, &first));
    for (uint32_t i = 1; !err && i < t->n_nodes; i++)
        m.nodes[i] = sf_tree_builder_child(
            &m.to, m.nodes[t->nodes[i].parent],
            sf_tree_builder_frame(&m.to, &t->frames[t->nodes[i].frame]));
    if (!err)
        err = sf_tree_map_take(&m, out, why);
    sf_tree_map_done(&m);
    return err;
}
