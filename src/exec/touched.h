/* touched.h - the attributes that a query mentions, which its answers show. */
#pragma once
#include "query/ast.h"

enum { SF_TOUCHED_MAX = 64 };

/* Zero-initialize it; distinct attributes, those beyond the maximum are left out. */
struct sf_touched {
    struct sf_query_attr attrs[SF_TOUCHED_MAX];
    uint32_t n;
};

void sf_touched_add(struct sf_touched *t, const struct sf_query_attr *a);
void sf_touched_add_expr(struct sf_touched *t, const struct sf_expr *e); /* NULL is fine */
void sf_touched_add_pipeline(struct sf_touched *t, const struct sf_pipeline *p);
bool sf_touched_needs_tree(const struct sf_touched *t);
