/* pushdown.h - what a trace must have for a query to be able to match it, in the store's words.
 *
 * A necessary condition, never a sufficient one: whatever is not certain is left out, and the
 * evaluator judges what comes back. */
#pragma once
#include "base/arena.h"
#include "query/ast.h"

struct sf_pushdown {
    const struct sf_cond
        *conds; /* is_all: some one span satisfies all; else: some span satisfies one */
    size_t n;   /* 0: any trace may match */
    bool is_all;
    bool is_never; /* { false }: nothing can match */
};

struct sf_pushdown sf_pushdown_make(const struct sf_pipeline *p, struct sf_arena *req);
/* Columns that evaluating the pipeline (and selecting from it) reads: enum sf_column bits. */
uint32_t sf_pushdown_columns(const struct sf_pipeline *p);
uint32_t sf_pushdown_expr_columns(const struct sf_expr *e);
uint32_t sf_pushdown_attr_columns(const struct sf_query_attr *a);
