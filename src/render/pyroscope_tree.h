/* pyroscope_tree.h - a tree in Pyroscope's own binary format, for command-line tools and old
 * clients. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/tree.h"

/* Records parent first: length of the name, name, self, number of children; the first one is the
 * root, without a name. Writes nothing for a tree without values. For trees grouped by function. */
enum sf_err sf_pyroscope_tree_render(const struct sf_tree *t, struct sf_arena scratch,
                                     struct sf_buf *out, struct sf_why *why);
