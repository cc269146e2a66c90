/* tree_chain.h - what lies around a chain of calls: below its last function, above its first.
 *
 * A chain is functions that call each other, the outermost first. Where it occurs several times on
 * a stack its outermost occurrence counts, so the total of both trees is what the samples with the
 * chain weigh, each once. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/tree.h"

struct sf_tree_chain {
    const sf_str *names; /* as sf_frame_name gives them */
    size_t n;
    bool is_from_root; /* only where the stack begins with it; then it may be empty */
};

/* One function below the root, the chain's last, with what it called; no nodes but the root when
 * the chain is nowhere. An empty chain gives the tree itself. Fails with NOMEM or LIMIT. */
enum sf_err sf_tree_chain_callees(const struct sf_tree *t, const struct sf_tree_chain *chain,
                                  struct sf_arena *req, struct sf_tree *out, struct sf_why *why);
/* One function below the root, the chain's first, with its callers. */
enum sf_err sf_tree_chain_callers(const struct sf_tree *t, const struct sf_tree_chain *chain,
                                  struct sf_arena *req, struct sf_tree *out, struct sf_why *why);
