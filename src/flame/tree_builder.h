/* tree_builder.h - merges stacks into one tree.
 *
 * Frames are interned by value, nodes by (parent, frame), so a stack costs one lookup per frame. A
 * value can be added to a known stack by its node: callers that number their stacks keep the node
 * of each. Nodes are in the order of first appearance, a parent before its children.
 *
 * The growing tables are on the heap, at most `max_len` bytes of them; the resulting tree is in
 * `req`, and so are copies of strings if requested. After the first error (memory, a limit) calls
 * return SF_NONE, and take reports it. Values that overflow 64 bits are limited to the maximum and
 * mark the tree. One thread at a time. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/table.h"
#include "model/tree.h"

struct sf_tree_builder {
    struct sf_arena *req;
    size_t max_len; /* limit of the tables in bytes; 0: no limit of its own */
    bool is_copying;
    bool is_saturated;
    enum sf_err err;
    uint64_t n_samples;
    struct sf_frame *frames;
    struct sf_tree_node *nodes;
    struct sf_table frame_at, node_at;
    uint32_t n_frames, n_nodes, cap_frames, cap_nodes;
};

enum sf_tree_strings {
    SF_TREE_BORROWS, /* frames' strings outlive the tree */
    SF_TREE_COPIES   /* each new frame's strings are copied to `req` */
};

void sf_tree_builder_init(struct sf_tree_builder *b, struct sf_arena *req, size_t max_len,
                          enum sf_tree_strings strings);
void sf_tree_builder_done(struct sf_tree_builder *b); /* a zeroed one is fine */

/* The frame's index; equal frames have the same. */
uint32_t sf_tree_builder_frame(struct sf_tree_builder *b, const struct sf_frame *frame);
/* The child of `parent` (0: the root) for `frame`; added when new. Both indexes are of this
 * builder; SF_NONE for either gives SF_NONE. */
uint32_t sf_tree_builder_child(struct sf_tree_builder *b, uint32_t parent, uint32_t frame);
/* Adds to a node's self value. SF_NONE is allowed: its error is remembered. */
void sf_tree_builder_add(struct sf_tree_builder *b, uint32_t node, int64_t value,
                         uint64_t n_samples);
/* Adds the nodes of another tree without their values: out_nodes[i] is the index of node i here.
 * `out_nodes` has space for all of them. */
void sf_tree_builder_shape(struct sf_tree_builder *b, const struct sf_tree *t, uint32_t *out_nodes);
/* Adds another tree with its values, in time proportional to its nodes. */
void sf_tree_builder_add_tree(struct sf_tree_builder *b, const struct sf_tree *t);

/* The resulting tree, in `req`. Fails with NOMEM or LIMIT. The builder may be used further. */
enum sf_err sf_tree_builder_take(struct sf_tree_builder *b, sf_str unit, struct sf_tree *out,
                                 struct sf_why *why);
