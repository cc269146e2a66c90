#include "flame/tree_names.h"

#include "base/heap.h"
#include "flame/frame_name.h"
#include "flame/tree_builder.h"

static uint32_t frame_with(struct sf_tree_builder *b, const struct sf_frame *old,
                           const struct sf_named_line *l)
{
    struct sf_frame f = {.function = l->function,
                         .file = l->file,
                         .module = old->module,
                         .build_id = old->build_id,
                         .line = l->line,
                         .kind = old->kind};
    return sf_tree_builder_frame(b, &f);
}

/* A frame for a function without a name, but with a known start. False: `req` is full. */
static bool frame_from(const struct sf_frame *old, uint64_t start_off, struct sf_arena *req,
                       struct sf_frame *out)
{
    *out = *old;
    out->file_off = start_off;
    if (!sf_frame_name(out, SF_GROUP_LINE, req, &out->function))
        return false;
    out->file_off = 0;
    out->is_unnamed = true;
    return true;
}

/* Adds the node of `i` below that of its parent. */
static uint32_t place_node(struct sf_tree_builder *b, const struct sf_tree *t,
                           const struct sf_named *named, uint32_t i, uint32_t parent)
{
    const struct sf_frame *old = &t->frames[t->nodes[i].frame];
    const struct sf_named *name = &named[t->nodes[i].frame];
    struct sf_frame f = *old;
    for (uint32_t k = name->n_lines; k > 0; k--) /* innermost first in the list */
        parent = sf_tree_builder_child(b, parent, frame_with(b, old, &name->lines[k - 1]));
    if (name->n_lines)
        return parent;
    if (name->start_off && !frame_from(old, name->start_off, b->req, &f))
        b->err = SF_ERR_LIMIT;
    return sf_tree_builder_child(b, parent, sf_tree_builder_frame(b, &f));
}

enum sf_err sf_tree_names_give(const struct sf_tree *t, const struct sf_named *named,
                               struct sf_arena *req, struct sf_tree *out, uint32_t *out_nodes,
                               struct sf_why *why)
{
    struct sf_tree_builder b;
    uint32_t *own = sf_heap_new_n((size_t)t->n_nodes + 1, sizeof(*own));
    uint32_t *nodes = out_nodes ? out_nodes : own;
    struct sf_tree made;
    enum sf_err err;
    if (!own)
        return sf_no_memory(why, "the flame graph");
    sf_tree_builder_init(&b, req, 0, SF_TREE_BORROWS);
    nodes[0] = 0;
    for (uint32_t i = 1; i < t->n_nodes; i++)
        nodes[i] = place_node(&b, t, named, i, nodes[t->nodes[i].parent]);
    for (uint32_t i = 0; i < t->n_nodes; i++)
        sf_tree_builder_add(&b, nodes[i], t->nodes[i].self, 0);
    err = sf_tree_builder_take(&b, t->unit, &made, why);
    sf_tree_builder_done(&b);
    sf_heap_free(own);
    if (err)
        return err;
    made.n_samples = t->n_samples;
    made.is_cut = t->is_cut;
    made.is_saturated |= t->is_saturated;
    *out = made;
    return SF_OK;
}
