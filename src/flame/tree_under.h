/* tree_under.h - puts one frame above all stacks of a tree. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

/* `name` is a marker, not code. It must outlive the tree. Fails with NOMEM or LIMIT. */
enum sf_err sf_tree_under(const struct sf_tree *t, sf_str name, struct sf_arena *req,
                          struct sf_tree *out, struct sf_why *why);
