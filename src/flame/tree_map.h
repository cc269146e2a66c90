/* tree_map.h - changes the shape of a tree by a map from old nodes to new ones, to which self
 * values are added, so that totals are preserved. For the files of this module. */
#pragma once
#include "flame/owned.h"
#include "flame/tree_builder.h"

struct sf_tree_map {
    const struct sf_tree *from;
    struct sf_tree_builder to;
    uint32_t *nodes;        /* for each node of `from`: the node that gets its self value; SF_NONE:
                             * dropped */
    struct sf_owned *owned; /* moved in the same way; may be NULL */
};

/* Initially all nodes map to the root. NOMEM. */
enum sf_err sf_tree_map_init(struct sf_tree_map *m, const struct sf_tree *from,
                             struct sf_arena *req, struct sf_why *why);
void sf_tree_map_done(struct sf_tree_map *m); /* a zeroed one is fine */
/* The new tree with the moved values. */
enum sf_err sf_tree_map_take(struct sf_tree_map *m, struct sf_tree *out, struct sf_why *why);
