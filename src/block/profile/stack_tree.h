/* stack_tree.h - the stacks of one service as a tree: a node is a location under its caller.
 *
 * Twelve to sixteen bytes per node (the node itself, and for a third of them a number in a hash
 * table), because a busy service has a hundred thousand of them and their size decides how often
 * profiles must be flushed.
 *
 * A node is looked up by the hash of the whole path from the root to it: a known stack takes one
 * lookup, and a walk up the tree to verify it. For a new stack, the known callers are searched by
 * steps and halves at every eighth depth, since all callers of a known node are known, and then
 * frame by frame; all frames below are new. */
#pragma once
#include "base/arena.h"
#include "base/limits.h"
#include "base/table.h"
#include "block/profile/profile_block.h"

struct sf_stack_tree {
    struct sf_profile_node *nodes; /* the first is the root */
    uint32_t n, cap;
    struct sf_table paths; /* some nodes by all locations from the root to them */
};

bool sf_stack_tree_init(struct sf_stack_tree *t); /* false: no memory; done may be called then */
void sf_stack_tree_done(struct sf_stack_tree *t); /* a zeroed one is fine */
size_t sf_stack_tree_memory(const struct sf_stack_tree *t);

/* The leaf node of a stack, given leaf first; the root if it has no frames. False: no memory, or
 * more than SF_LIMIT_FRAMES, which no decoder returns. */
bool sf_stack_tree_add_stack(struct sf_stack_tree *t, const uint32_t *locations, uint32_t n,
                             uint32_t *out);

/* The same in steps, so that the cache misses of several stacks overlap: init, which borrows the
 * locations, fetch, then add. */
struct sf_stack_path {
    const uint32_t *locations; /* leaf first */
    uint32_t n;
    uint64_t hashes[SF_LIMIT_FRAMES + 1]; /* of the outermost 1, 2, 3, ... frames; the first is
                                           * not used */
};
bool sf_stack_tree_path(const struct sf_stack_tree *t, const uint32_t *locations, uint32_t n,
                        struct sf_stack_path *out); /* false: more than SF_LIMIT_FRAMES */
void sf_stack_tree_fetch(const struct sf_stack_tree *t, const struct sf_stack_path *p);
bool sf_stack_tree_add_path(struct sf_stack_tree *t, const struct sf_stack_path *p, uint32_t *out);

/* Adds all stacks of another tree, for merges: out[i] is what its node `i` is here, locations[i]
 * what its location `i` is. Parents have smaller numbers. False: no memory. */
bool sf_stack_tree_join(struct sf_stack_tree *t, const struct sf_profile_node *nodes, uint32_t n,
                        const uint32_t *locations, uint32_t *out, struct sf_arena scratch);
