/* pushdown.h - conditions that a trace must satisfy for a query to match it, in the form of the
 * store.
 *
 * They are necessary, never sufficient: everything uncertain is left out, and the evaluator decides
 * about the returned traces. */
#pragma once
#include "base/arena.h"
#include "query/ast.h"

struct sf_pushdown {
    const struct sf_cond
        *conds; /* is_all: one span satisfies all; otherwise: some span satisfies one */
    size_t n;   /* 0: any trace may match */
    bool is_all;
    bool is_never; /* { false }: nothing can match */
};

struct sf_pushdown sf_pushdown_make(const struct sf_pipeline *p, struct sf_arena *req);
/* Columns that evaluating the pipeline (and selecting from it) reads: enum sf_column bits. */
uint32_t sf_pushdown_columns(const struct sf_pipeline *p);
uint32_t sf_pushdown_expr_columns(const struct sf_expr *e);
uint32_t sf_pushdown_attr_columns(const struct sf_query_attr *a);
