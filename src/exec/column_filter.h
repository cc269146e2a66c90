/* column_filter.h - evaluates a TraceQL filter over columns: a value that many rows share is
 * evaluated once.
 *
 * In an AND the part that reads least comes first, and the following parts process only the
 * remaining rows; a column is not read if no row is left. Conditions that a single row cannot
 * decide (its tree, events, links) count as true. */
#pragma once
#include "exec/column_batch.h"
#include "exec/eval.h"

struct sf_column_filter;

/* `expr` NULL: every row. Allocated in `req`, which it also uses while it runs; the evaluator and
 * the query must outlive it. NULL: no space. */
struct sf_column_filter *sf_column_filter_new(struct sf_eval *eval, const struct sf_expr *expr,
                                              struct sf_arena *req);
/* Clears rows that do not match in `mask`, a byte per row. */
enum sf_err sf_column_filter_run(struct sf_column_filter *f, struct sf_column_batch *b,
                                 uint8_t *mask, struct sf_why *why);
