/* pyroscope_tree.h - a tree as Pyroscope's own bytes, which command lines and old clients read. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/tree.h"

/* Records parent first: length of the name, name, self, number of children; the first one is the
 * root, without a name. Nothing at all for a tree without values. Of trees grouped by function. */
enum sf_err sf_pyroscope_tree_render(const struct sf_tree *t, struct sf_arena scratch,
                                     struct sf_buf *out, struct sf_why *why);
