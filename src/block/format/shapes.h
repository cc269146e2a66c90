/* shapes.h - lists of attribute keys (shapes), as a tree.
 *
 * A node stands for its parent's keys and one more. The attributes of a span lead down from the
 * root of their scope, and the node where they end is the span's shape: spans of one operation
 * share it. Keys are numbers that the owner of the tree assigns. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"

enum {
    SF_ROOT_SPAN,
    SF_ROOT_EVENT,
    SF_ROOT_LINK,
    SF_ROOT_RESOURCE, /* in rowsets only: blocks have tables for these two */
    SF_ROOT_SCOPE,
    SF_ROOTS
};

struct sf_shape_node {
    uint32_t parent, key, n_keys;
    uint32_t first_child, next_sibling; /* 0: none (a root is never a child) */
    uint32_t granule, local; /* used by a writer: code assigned in granule number `granule` - 1 */
};

struct sf_shapes {
    struct sf_shape_node *nodes;
    uint32_t n, cap;
    struct sf_table at; /* nodes, by parent and key */
};

bool sf_shapes_reset(struct sf_shapes *s); /* keeps only the roots; false: no memory */
void sf_shapes_done(struct sf_shapes *s);  /* a zeroed one is fine */
size_t sf_shapes_memory(const struct sf_shapes *s);
/* The node below `parent` for `key`, created if necessary. False: no memory. */
bool sf_shapes_step(struct sf_shapes *s, uint32_t parent, uint32_t key, uint32_t *out);
/* Writes the keys of a node, in order, to `out` (n_keys entries). */
void sf_shapes_keys(const struct sf_shapes *s, uint32_t node, uint32_t *out);
