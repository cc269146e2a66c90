/* tree_leaves.h - keeps only the innermost frames of stacks, for Pyroscope's selector for compilers
 * (PGO). */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

/* Keeps the `keep` innermost frames of every stack (0: all). `is_flat` drops the leaf's line. */
enum sf_err sf_tree_leaves(const struct sf_tree *t, uint32_t keep, bool is_flat,
                           struct sf_arena *req, struct sf_tree *out, struct sf_why *why);
