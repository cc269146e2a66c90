/* expr_text.h - names of attributes, operators and types in answers and errors. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "query/ast.h"

/* "resource.service.name", ".x", "duration", "trace:id": the canonical spelling. Empty when `req`
 * is full. */
sf_str sf_expr_text_attr(const struct sf_query_attr *a, struct sf_arena *req);
const char *sf_expr_text_intrinsic(enum sf_intrinsic i);
const char *sf_expr_text_op(enum sf_expr_op op);
const char *sf_expr_text_static_type(enum sf_static_type t);
bool sf_expr_text_attr_eq(const struct sf_query_attr *a, const struct sf_query_attr *b);
void sf_expr_text(const struct sf_expr *e,
                  struct sf_buf *out); /* canonical, with parentheses where needed */
void sf_expr_text_static(struct sf_static v,
                         struct sf_buf *out);               /* as a literal: "x", 5, 1.5s, error */
void sf_expr_text_duration(int64_t ns, struct sf_buf *out); /* Go's form: 351.666666ms, 1m30s */
