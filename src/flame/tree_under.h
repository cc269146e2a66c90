/* tree_under.h - a tree whose stacks all begin with one frame more. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

/* `name` is a marker: no code of anybody. It outlives the tree. Fails with NOMEM or LIMIT. */
enum sf_err sf_tree_under(const struct sf_tree *t, sf_str name, struct sf_arena *req,
                          struct sf_tree *out, struct sf_why *why);
