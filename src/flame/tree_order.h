/* tree_order.h - totals of a tree, and display order. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

/* The total of each node: self and everything below; in `req`. One backward pass, because children
 * come after their parents. Sums are limited to the maximum. LIMIT when `req` is full. */
enum sf_err sf_tree_order_totals(const struct sf_tree *t, struct sf_arena *req, int64_t **out,
                                 struct sf_why *why);
/* The same for other self values of the same shape, such as one side of a comparison. */
void sf_tree_order_sum(const struct sf_tree *t, const int64_t *self, int64_t *out_totals);

enum sf_tree_by {
    SF_TREE_BY_NAME,  /* bytes of the function's name, then its other fields */
    SF_TREE_BY_TOTAL, /* largest first, by magnitude; then by name */
    SF_TREE_AS_SEEN   /* in the order in which stacks were added */
};

struct sf_tree_order {
    const uint32_t *places; /* every node, a parent right before its first child */
    const uint32_t *depths; /* of places[i]; the root's is 0 */
    uint32_t max_depth;
};

/* Display order. "other", added by max_nodes, comes last among its siblings. */
enum sf_err sf_tree_order(const struct sf_tree *t, const int64_t *totals, enum sf_tree_by by,
                          struct sf_arena *req, struct sf_tree_order *out, struct sf_why *why);
/* The rank of each frame by name: rank[a] < rank[b] if a sorts before b. In `req`. */
enum sf_err sf_tree_order_frame_ranks(const struct sf_tree *t, struct sf_arena *req, uint32_t **out,
                                      struct sf_why *why);
/* |v|, also for the smallest number. */
uint64_t sf_tree_order_magnitude(int64_t v);
