/* querier_functions.h - tables of functions instead of flame graphs: newer pages request them,
 * because they are complete: a flame graph is limited to a number of nodes. */
#pragma once
#include "model/tree.h"
#include "serve/pyroscope/querier_work.h"

/* Checks the limits of a query for a table. INPUT. */
enum sf_err sf_querier_functions_check(const struct sf_querier_ask *ask, struct sf_why *why);
/* Writes the table of a tree whose frames are functions. */
enum sf_err sf_querier_functions_write(struct sf_querier_work *x, const struct sf_tree *tree);
/* The same for two trees: the functions of both, the largest of either side first. `is_apart`: as
 * two tables with the same rows, otherwise as one with the numbers of both. */
enum sf_err sf_querier_functions_write_diff(struct sf_querier_work *x,
                                            const struct sf_querier_ask *ask,
                                            const struct sf_tree trees[2], bool is_apart);
