#include "flame/runtime_frame.h"

#include <string.h>

#include "base/num.h"

enum sf_runtime_reach sf_runtime_frame_of(const struct sf_frame *frame)
{
    sf_str name = frame->function;
    size_t at;
    for (uint32_t i = 0; name.len > 0 && i < sf_runtime_n_rules; i++) {
        const struct sf_runtime_rule *r = &sf_runtime_rules[i];
        size_t len = strlen(r->text);
        bool is_asked = frame->kind == SF_FRAME_UNKNOWN || r->kinds >> frame->kind & 1;
        if (is_asked && name.len >= len && (!r->is_whole || name.len == len) &&
            memcmp(name.p, r->text, len) == 0 &&
            (!r->is_cxx || sf_str_find(name, SF_STR("::"), &at)))
            return r->reach;
    }
    return SF_RUNTIME_NOT;
}

const uint32_t *sf_runtime_frame_owners(const struct sf_tree *tree, struct sf_arena *req)
{
    uint32_t *owners = sf_arena_new_n(req, tree->n_nodes + 1u, sizeof(*owners));
    uint8_t *reach = sf_arena_new_n(req, tree->n_frames + 1u, 1);
    bool *is_below = sf_arena_new_n(req, tree->n_nodes + 1u, sizeof(*is_below));
    if (!owners || !reach || !is_below)
        return NULL;
    for (uint32_t i = 0; i < tree->n_frames; i++)
        reach[i] = (uint8_t)sf_runtime_frame_of(&tree->frames[i]);
    for (uint32_t i = 1; i < tree->n_nodes; i++) { /* parents come first */
        uint32_t up = tree->nodes[i].parent;
        uint8_t r = reach[tree->nodes[i].frame];
        is_below[i] = is_below[up] || r == SF_RUNTIME_BELOW;
        owners[i] = is_below[i] || r != SF_RUNTIME_NOT ? owners[up] : i;
    }
    return owners;
}

enum sf_err sf_runtime_frame_give(const struct sf_tree *tree, struct sf_arena *req,
                                  struct sf_tree *out, struct sf_why *why)
{
    struct sf_tree_node *nodes = sf_arena_new_n(req, tree->n_nodes + 1u, sizeof(*nodes));
    const uint32_t *owners = sf_runtime_frame_owners(tree, req);
    if (!nodes || !owners)
        return sf_no_room(why, "the flame graph");
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        nodes[i] = tree->nodes[i];
        nodes[i].self = 0;
    }
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        struct sf_tree_node *to = &nodes[owners[i]];
        to->self = sf_add_sat_i64(to->self, tree->nodes[i].self);
    }
    *out = *tree;
    out->nodes = nodes;
    return SF_OK;
}
