/* tree.h - stacks merged into one tree with self values.
 *
 * Nodes are in topological order (a parent's index is smaller than its children's), so totals take
 * one backward pass. Node 0 is the root and has no frame. */
#pragma once
#include "model/profile.h"

struct sf_frame { /* a location with its texts */
    sf_str function, file, module, build_id;
    uint32_t line;
    uint8_t kind; /* enum sf_frame_kind */
    uint64_t file_off;
    bool is_unnamed; /* without a name: `function` is the offset in the file where it begins */
};

struct sf_tree_node {
    uint32_t parent; /* the root is its own parent */
    uint32_t frame;
    int64_t self;
};

struct sf_tree {
    const struct sf_frame *frames;
    const struct sf_tree_node *nodes;
    uint32_t n_frames, n_nodes;
    sf_str unit;
    int64_t total;
    uint64_t n_samples;
    bool is_cut;       /* nodes were folded into "other" by max_nodes */
    bool is_saturated; /* a sum overflowed 64 bits and was limited to the maximum */
};
