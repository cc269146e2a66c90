/* tree_chain.h - callees and callers of a chain of calls: below its last function, above its first.
 *
 * A chain is a list of functions that call each other, the outermost first. If it occurs several
 * times on a stack, the outermost occurrence is used, so the total of both trees is the value of
 * the samples with the chain, each counted once. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

struct sf_tree_chain {
    const sf_str *names; /* as returned by sf_frame_name */
    size_t n;
    bool is_from_root; /* only at the beginning of a stack; then it may be empty */
};

/* One function below the root, the chain's last, with its callees; only the root if the chain does
 * not occur. An empty chain gives the tree itself. Fails with NOMEM or LIMIT. */
enum sf_err sf_tree_chain_callees(const struct sf_tree *t, const struct sf_tree_chain *chain,
                                  struct sf_arena *req, struct sf_tree *out, struct sf_why *why);
/* One function below the root, the chain's first, with its callers. */
enum sf_err sf_tree_chain_callers(const struct sf_tree *t, const struct sf_tree_chain *chain,
                                  struct sf_arena *req, struct sf_tree *out, struct sf_why *why);
