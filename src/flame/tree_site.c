#include "flame/tree_site.h"

#include "flame/frame_name.h"
#include "flame/tree_map.h"

static bool is_called(const struct sf_frame *f, sf_str name, struct sf_arena scratch)
{
    sf_str own;
    return sf_frame_name(f, SF_GROUP_FUNCTION, &scratch, &own) && sf_str_eq(own, name);
}

static void add_node(struct sf_tree_map *m, uint32_t parent, uint32_t i)
{
    const struct sf_frame *f = &m->from->frames[m->from->nodes[i].frame];
    m->nodes[i] = sf_tree_builder_child(&m->to, parent, sf_tree_builder_frame(&m->to, f));
}

struct met {        /* of each node */
    uint32_t n;     /* names met on the way to it */
    bool is_lost;   /* another name came in between */
    bool is_needed; /* it has met all, or is the way to one that has */
};

static void meet(const struct sf_tree *t, const sf_str *names, size_t n, struct sf_arena scratch,
                 struct met *nodes)
{
    nodes[0] = (struct met){.is_needed = n == 0};
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        nodes[i] = nodes[t->nodes[i].parent];
        if (!nodes[i].is_lost && nodes[i].n < n) {
            nodes[i].is_lost = !is_called(&t->frames[t->nodes[i].frame], names[nodes[i].n],
                                          scratch);
            nodes[i].n += !nodes[i].is_lost;
        }
        nodes[i].is_needed = !nodes[i].is_lost && nodes[i].n == n;
    }
    for (uint32_t i = t->n_nodes; i-- > 1;)
        nodes[t->nodes[i].parent].is_needed |= nodes[i].is_needed;
}

enum sf_err sf_tree_call_site(const struct sf_tree *t, const sf_str *names, size_t n,
                              struct sf_arena *req, struct sf_tree *out, struct sf_why *why)
{
    struct sf_arena scratch = *req;
    struct met *nodes = sf_arena_new_n(&scratch, t->n_nodes, sizeof(*nodes));
    struct sf_tree_map m = {0};
    enum sf_err err = nodes ? sf_tree_map_init(&m, t, req, why)
                            : sf_no_room(why, "the flame graph");
    if (!err) {
        meet(t, names, n, scratch, nodes);
        for (uint32_t i = 1; i < t->n_nodes; i++) {
            if (nodes[i].is_needed)
                add_node(&m, m.nodes[t->nodes[i].parent], i);
        }
        for (uint32_t i = 0; i < t->n_nodes; i++) {
            if (nodes[i].is_lost || nodes[i].n < n)
                m.nodes[i] = SF_NONE; /* its value does not belong there */
        }
        err = sf_tree_map_take(&m, out, why);
    }
    sf_tree_map_done(&m);
    return err;
}

/* ---- the ends of stacks ---- */

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
