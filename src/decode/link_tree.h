/* link_tree.h - stacks given as links from each frame to the one that called it: V8's nodes,
 * Gecko's stacks, trace frames. Links are not trusted: they may form cycles. Private to this
 * module. */
#pragma once
#include "decode/profile_build.h"

struct sf_link_tree {
    struct sf_profile_build *b;
    struct sf_link {       /* as many as requested by init; the caller sets parent and location */
        uint32_t parent;   /* index, or SF_NONE */
        uint32_t location; /* SF_NONE: a node without a frame of its own */
        uint32_t depth;    /* of a root: 0; SF_NONE: part of a cycle, or below one */
        uint32_t top; /* the ancestor (or itself) at the depth where the root part of a cut stack
                       * ends */
    } * links;
    uint32_t n, n_bad;
    uint32_t *path; /* scratch */
};

/* False: the arena is full. Parents and locations are SF_NONE. */
bool sf_link_tree_init(struct sf_link_tree *t, struct sf_profile_build *b, uint32_t n);
/* Computes depths in one pass; `n_bad` links lead into a cycle. */
void sf_link_tree_close(struct sf_link_tree *t);
/* The stack from this link to its root, or SF_NONE: a cycle. The cost is bounded by the number of
 * frames that the builder keeps. */
uint32_t sf_link_tree_stack(struct sf_link_tree *t, uint32_t place);
