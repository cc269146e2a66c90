/* querier_calls.h - trees of the callers and callees of a function, to a depth: newer pages load
 * them level by level instead of a whole flame graph. */
#pragma once
#include "model/tree.h"
#include "serve/pyroscope/querier_work.h"

/* Checks that the options of such a query are consistent. INPUT. */
enum sf_err sf_querier_calls_check(const struct sf_querier_ask *ask, struct sf_why *why);
/* Writes the part of a tree that `ask` requests; the tree's frames are functions. */
enum sf_err sf_querier_calls_write(struct sf_querier_work *x, const struct sf_querier_ask *ask,
                                   const struct sf_tree *tree);
/* The same for each of two trees. */
enum sf_err sf_querier_calls_write_diff(struct sf_querier_work *x,
                                        struct sf_querier_ask *const asks[2],
                                        const struct sf_tree trees[2]);
