/* tree_builder.h - stacks in, one tree out: how every merge is made.
 *
 * Frames are interned by value, nodes by (parent, frame), so a stack costs one look-up per frame
 * and a stack seen before can be added to by its node alone: callers that know their stacks by
 * number keep the node of each and skip the rest. Nodes come out in the order they were first seen,
 * a parent before its children.
 *
 * The growing tables are on the heap, at most `max_len` bytes of them; the tree that is taken at
 * the end lives in `req`, and so do copies of strings when requested. The first fault (memory, a
 * limit) sticks: later calls give SF_NONE and take says why. Values that do not fit 64 bits stop at
 * the largest number and mark the tree. One thread at a time. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "base/table.h"
#include "model/tree.h"

struct sf_tree_builder {
    struct sf_arena *req;
    size_t max_len; /* of the tables, in bytes; 0: no limit of its own */
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

/* The frame's place; equal frames have one. */
uint32_t sf_tree_builder_frame(struct sf_tree_builder *b, const struct sf_frame *frame);
/* The node below `parent` (0: the root) that represents `frame`; made when there is none yet. Both
 * places come from this builder; SF_NONE for either gives SF_NONE. */
uint32_t sf_tree_builder_child(struct sf_tree_builder *b, uint32_t parent, uint32_t frame);
/* Adds to a node's self value. SF_NONE is fine: the fault that gave it is remembered. */
void sf_tree_builder_add(struct sf_tree_builder *b, uint32_t node, int64_t value,
                         uint64_t n_samples);
/* Makes the nodes of another tree here, without their values: out_nodes[i] is node i's place here.
 * `out_nodes` has space for all of them. */
void sf_tree_builder_shape(struct sf_tree_builder *b, const struct sf_tree *t, uint32_t *out_nodes);
/* Adds another tree, node by node: O(its nodes). */
void sf_tree_builder_add_tree(struct sf_tree_builder *b, const struct sf_tree *t);

/* What was built, in `req`. Fails with NOMEM or LIMIT. The builder may continue afterwards. */
enum sf_err sf_tree_builder_take(struct sf_tree_builder *b, sf_str unit, struct sf_tree *out,
                                 struct sf_why *why);
