/* tree_sandwich.h - one function with all its callers and callees.
 *
 * Both halves have the function below the root, once. They contain every occurrence, so that a
 * recursive function is shown at each depth: such samples count in a half once for each occurrence.
 * In `total` each sample counts once. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

struct sf_tree_sandwich {
    struct sf_tree callers; /* the nearest caller first; only the root: the function is in no
                             * stack */
    struct sf_tree callees;
    int64_t total, self; /* of the function */
};

/* For the function with the name `name`, as returned by sf_frame_name. Fails with NOMEM or
 * LIMIT. */
enum sf_err sf_tree_sandwich(const struct sf_tree *t, sf_str name, struct sf_arena *req,
                             struct sf_tree_sandwich *out, struct sf_why *why);
