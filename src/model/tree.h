/* tree.h - stacks as one tree with self values: the answer of every merge.
 *
 * Nodes are in topological order (a parent's place is smaller than its children's), so totals are
 * one backward pass. Node 0 is the root and has no frame. */
#pragma once
#include "model/profile.h"

struct sf_frame { /* a location by value: what a person sees */
    sf_str function, file, module, build_id;
    uint32_t line;
    uint8_t kind; /* enum sf_frame_kind */
    uint64_t file_off;
    bool is_unnamed; /* `function` represents a name: where the function begins in its file */
};

struct sf_tree_node {
    uint32_t parent; /* own place for the root */
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
    bool is_saturated; /* a sum did not fit 64 bits: it stopped at the largest number */
};
