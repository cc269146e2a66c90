/* stack_tree.h - the stacks of one service as a tree: a node is a location under its caller.
 *
 * Twelve to twenty bytes a node, because a busy service has a hundred thousand of them and they
 * decide how often profiles must be flushed: the node itself, and its number in an open table that
 * is looked up by the node's own content. In front of that lies a table of whole stacks: most are
 * known, and then one look and a walk up the tree to be sure do for a look per frame. */
#pragma once
#include "base/buf.h"
#include "base/table.h"
#include "block/profile/profile_block.h"

struct sf_stack_tree {
    struct sf_profile_node *nodes; /* the first is the root */
    uint32_t n, cap;
    struct sf_table at;     /* nodes, by parent and location */
    struct sf_table stacks; /* their leaves */
};

bool sf_stack_tree_init(struct sf_stack_tree *t); /* false: no memory; then done is fine */
void sf_stack_tree_done(struct sf_stack_tree *t); /* a zeroed one is fine */
size_t sf_stack_tree_memory(const struct sf_stack_tree *t);

/* The node of `location` under `parent`, made when there is none. False: no memory. */
bool sf_stack_tree_add(struct sf_stack_tree *t, uint32_t parent, uint32_t location, uint32_t *out);
/* The leaf of a stack, leaf first; the root when it has no frames. False: no memory. */
bool sf_stack_tree_add_stack(struct sf_stack_tree *t, const uint32_t *locations, uint32_t n,
                             uint32_t *out);
