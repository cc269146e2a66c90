/* querier_sandwich.h - all callers and all callees of one function, complete even when the drawn
 * flame graph is truncated. */
#pragma once
#include "model/tree.h"
#include "serve/pyroscope/querier_work.h"

/* Checks that the function is given, and only with this format. INPUT. */
enum sf_err sf_querier_sandwich_check(const struct sf_querier_ask *ask, struct sf_why *why);
/* Writes both halves of a tree whose frames are functions, each with about `max_nodes` nodes. */
enum sf_err sf_querier_sandwich_write(struct sf_querier_work *x, const struct sf_tree *tree,
                                      uint32_t max_nodes);
