/* tree_sandwich.h - one function with all its callers and all it called.
 *
 * Both halves have the function below the root, once. They are made of every occurrence, so that
 * a function which called itself is seen at each depth: such samples weigh in a half once for each
 * occurrence. `total` has each sample once. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

struct sf_tree_sandwich {
    struct sf_tree callers; /* the nearest first; without nodes but the root: it is in no stack */
    struct sf_tree callees;
    int64_t total, self; /* of the function */
};

/* Of the function called `name`, as sf_frame_name gives it. Fails with NOMEM or LIMIT. */
enum sf_err sf_tree_sandwich(const struct sf_tree *t, sf_str name, struct sf_arena *req,
                             struct sf_tree_sandwich *out, struct sf_why *why);
