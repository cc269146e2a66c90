#include "flame/tree_chain.h"

#include "flame/frame_name.h"
#include "flame/tree_map.h"
#include "flame/tree_order.h"

/* Equal names become one frame, because users see them as one function. */
static enum sf_err tree_chain_name_frames(const struct sf_tree *t, struct sf_arena *req,
                                          sf_str **out, struct sf_why *why)
{
    sf_str *names = sf_arena_new_n(req, (size_t)t->n_frames + 1, sizeof(*names));
    if (!names)
        return sf_no_room(why, "the tree");
    for (uint32_t i = 0; i < t->n_frames; i++)
        if (!sf_frame_name(&t->frames[i], SF_GROUP_FUNCTION, req, &names[i]))
            return sf_no_room(why, "the tree");
    *out = names;
    return SF_OK;
}

static uint32_t tree_chain_frame_of(struct sf_tree_builder *b, sf_str name)
{
    const struct sf_frame frame = {.function = name};
    return sf_tree_builder_frame(b, &frame);
}

/* The node of the chain's first function if its last is node `at`; SF_NONE: no match. */
static uint32_t chain_start(const struct sf_tree *t, const struct sf_tree_chain *c,
                            const sf_str *names, uint32_t at)
{
    for (size_t i = c->n; i-- > 0;) {
        if (at == 0 || !sf_str_eq(names[t->nodes[at].frame], c->names[i]))
            return SF_NONE;
        if (i > 0)
            at = t->nodes[at].parent;
    }
    return !c->is_from_root || t->nodes[at].parent == 0 ? at : SF_NONE;
}

enum sf_err sf_tree_chain_callees(const struct sf_tree *t, const struct sf_tree_chain *chain,
                                  struct sf_arena *req, struct sf_tree *out, struct sf_why *why)
{
    struct sf_tree_map m = {0};
    sf_str *names;
    enum sf_err err = tree_chain_name_frames(t, req, &names, why);
    if (!err)
        err = sf_tree_map_init(&m, t, req, why);
    if (!err)
        m.nodes[0] = chain->n ? SF_NONE : 0;
    for (uint32_t i = 1; !err && i < t->n_nodes; i++) {
        uint32_t above = m.nodes[t->nodes[i].parent];
        if (above == SF_NONE && chain_start(t, chain, names, i) != SF_NONE)
            above = 0;
        m.nodes[i] = above == SF_NONE
                         ? SF_NONE
                         : sf_tree_builder_child(
                               &m.to, above, tree_chain_frame_of(&m.to, names[t->nodes[i].frame]));
    }
    if (!err)
        err = sf_tree_map_take(&m, out, why);
    sf_tree_map_done(&m);
    return err;
}

enum sf_err sf_tree_chain_callers(const struct sf_tree *t, const struct sf_tree_chain *chain,
                                  struct sf_arena *req, struct sf_tree *out, struct sf_why *why)
{
    bool *has = sf_arena_new_n(req, t->n_nodes, sizeof(*has));
    struct sf_tree_builder b;
    int64_t *totals = NULL;
    sf_str *names;
    enum sf_err err = has ? tree_chain_name_frames(t, req, &names, why)
                          : sf_no_room(why, "the tree");
    if (!err)
        err = sf_tree_order_totals(t, req, &totals, why);
    if (err)
        return err;
    sf_tree_builder_init(&b, req, 0, SF_TREE_BORROWS);
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        bool was = has[t->nodes[i].parent];
        uint32_t start = was ? SF_NONE : chain_start(t, chain, names, i), at = 0;
        has[i] = was || start != SF_NONE;
        if (start == SF_NONE)
            continue;
        for (uint32_t up = start; up != 0; up = t->nodes[up].parent)
            at = sf_tree_builder_child(&b, at, tree_chain_frame_of(&b, names[t->nodes[up].frame]));
        sf_tree_builder_add(&b, at, totals[i], 0);
    }
    err = sf_tree_builder_take(&b, t->unit, out, why);
    sf_tree_builder_done(&b);
    return err;
}
