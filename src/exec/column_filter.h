/* column_filter.h - a filter of TraceQL over columns: a value that many rows share is judged once.
 *
 * Of an AND the part that reads least comes first, and the others see only the rows it left; a
 * column is not read when no row is left. What a row alone cannot answer (its tree, events, links)
 * counts as true. */
#pragma once
#include "exec/column_batch.h"
#include "exec/eval.h"

struct sf_column_filter;

/* `expr` NULL: every row. Lives in `req`, which it also uses while it runs; the evaluator and the
 * query must outlive it. NULL: no space. */
struct sf_column_filter *sf_column_filter_new(struct sf_eval *eval, const struct sf_expr *expr,
                                              struct sf_arena *req);
/* Takes the rows that do not match out of `mask`, a byte per row. */
enum sf_err sf_column_filter_run(struct sf_column_filter *f, struct sf_column_batch *b,
                                 uint8_t *mask, struct sf_why *why);
