/* profile_tree.h - adds a source's stacks to the tree of an answer. */
#pragma once
#include "flame/tree_builder.h"
#include "store/local/profiles/profile_read.h"

struct sf_profile_tree { /* of one source; lives in the walk's scratch */
    struct sf_tree_builder *to;
    const struct sf_profile_symbols *y;
    uint32_t *nodes;  /* by node: node of the answer; SF_NONE: not added yet */
    uint32_t *frames; /* by line, then by location without lines: frame of the answer, likewise */
    uint32_t *path;
};

/* False: the scratch is full. */
bool sf_profile_tree_init(struct sf_profile_tree *t, struct sf_tree_builder *to,
                          const struct sf_profile_symbols *y, struct sf_arena *scratch);
/* The answer's node for a node of the source; created when needed. */
uint32_t sf_profile_tree_node(struct sf_profile_tree *t, uint32_t node);
