/* querier_calls.h - trees of the callers and callees of a function, to a depth: newer pages load
 * them level by level instead of a whole flame graph. */
#pragma once
#include "model/tree.h"
#include "serve/pyroscope/querier_work.h"

/* Do the parts of such a query go together? INPUT. */
enum sf_err sf_querier_calls_check(const struct sf_querier_ask *ask, struct sf_why *why);
/* Writes what `ask` wants of a tree whose frames are functions. */
enum sf_err sf_querier_calls_write(struct sf_querier_work *x, const struct sf_querier_ask *ask,
                                   const struct sf_tree *tree);
/* Of two trees, each by itself. */
enum sf_err sf_querier_calls_write_diff(struct sf_querier_work *x,
                                        struct sf_querier_ask *const asks[2],
                                        const struct sf_tree trees[2]);
