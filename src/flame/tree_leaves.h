/* tree_leaves.h - only the ends of stacks: what Pyroscope's selector for compilers requests. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

/* Of every stack the `keep` frames nearest to its leaf (0: all). `is_flat` drops the line of the
 * leaf. */
enum sf_err sf_tree_leaves(const struct sf_tree *t, uint32_t keep, bool is_flat,
                           struct sf_arena *req, struct sf_tree *out, struct sf_why *why);
