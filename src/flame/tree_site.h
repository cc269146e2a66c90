/* tree_site.h - stacks by where they begin, or only their ends: what Pyroscope's stack trace
 * selectors ask for. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

/* Only the stacks that begin with these functions, outermost first; they stay whole. */
enum sf_err sf_tree_call_site(const struct sf_tree *t, const sf_str *names, size_t n,
                              struct sf_arena *req, struct sf_tree *out, struct sf_why *why);
/* Of every stack the `keep` frames nearest to its leaf (0: all). `is_flat` forgets the line of the
 * leaf: how compilers read a profile that guides them. */
enum sf_err sf_tree_leaves(const struct sf_tree *t, uint32_t keep, bool is_flat,
                           struct sf_arena *req, struct sf_tree *out, struct sf_why *why);
