/* tree_map.h - every change of a tree's shape is a map from old nodes to new ones: self values go
 * where the map says, so totals are kept by construction. For the files of this module. */
#pragma once
#include "flame/owned.h"
#include "flame/tree_builder.h"

struct sf_tree_map {
    const struct sf_tree *from;
    struct sf_tree_builder to;
    uint32_t *nodes; /* of each node of `from`, the place that takes its self; SF_NONE: left out */
    struct sf_owned *owned; /* moves along; may be NULL */
};

/* All places are the root's at first. NOMEM. */
enum sf_err sf_tree_map_init(struct sf_tree_map *m, const struct sf_tree *from,
                             struct sf_arena *req, struct sf_why *why);
void sf_tree_map_done(struct sf_tree_map *m); /* a zeroed one is fine */
/* The new tree, values moved. */
enum sf_err sf_tree_map_take(struct sf_tree_map *m, struct sf_tree *out, struct sf_why *why);
