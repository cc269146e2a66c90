/* tree_cut.h - reduces a tree to a size that can be drawn, without losing values.
 *
 * Pyroscope's rule, so that answers agree: the N-th largest total is the threshold; children below
 * it, and children that are called "other" already, become one leaf "other" under their parent.
 * Nodes that share the threshold all stay, so slightly more than N may be left. Totals of what
 * stays, and of the tree, do not change. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

/* The leaf "other" that cutting adds. */
bool sf_tree_cut_is_other(const struct sf_frame *f);

/* `t` with about `max_nodes` nodes below the root (0: no limit); in `req`, strings are not
 * copied. */
enum sf_err sf_tree_cut(const struct sf_tree *t, uint32_t max_nodes, struct sf_arena *req,
                        struct sf_tree *out, struct sf_why *why);

/* The same by weights given by the caller; out_nodes[i] is the node that gets node i's values. */
enum sf_err sf_tree_cut_shape(const struct sf_tree *t, const uint64_t *weights, uint32_t max_nodes,
                              struct sf_arena *req, struct sf_tree *out, uint32_t *out_nodes,
                              struct sf_why *why);
