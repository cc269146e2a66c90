/* touched.h - which attributes a query mentions: what its answers carry along. */
#pragma once
#include "query/ast.h"

enum { SF_TOUCHED_MAX = 64 };

struct sf_touched { /* zero it; each attribute once, those above the maximum are left out */
    struct sf_query_attr attrs[SF_TOUCHED_MAX];
    uint32_t n;
};

void sf_touched_add(struct sf_touched *t, const struct sf_query_attr *a);
void sf_touched_add_expr(struct sf_touched *t, const struct sf_expr *e); /* NULL is fine */
void sf_touched_add_pipeline(struct sf_touched *t, const struct sf_pipeline *p);
bool sf_touched_needs_tree(const struct sf_touched *t);
