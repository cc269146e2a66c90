/* query_print.h - a parsed query as text that parses to the same query, and what "same" means. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "query/ast.h"

/* Parentheses stand only where the grammar needs them, so what is printed is nested little deeper
 * than what was read. */
void query_print(const struct sf_query *q, struct sf_buf *out);
/* The same tree; columns and numbers of nodes aside. NaN is NaN. */
bool query_is_same(const struct sf_query *a, const struct sf_query *b);
/* Prints, parses and compares. A sentence about what went wrong, or NULL; NULL too where the text
 * grew over a limit. */
const char *query_print_fault(const struct sf_query *q, struct sf_arena *req, struct sf_buf *text);
