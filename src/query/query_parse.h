/* query_parse.h - parses TraceQL text to a checked query.
 *
 * Parsing, constant folding and every check that needs no data happen here: the result can be
 * evaluated. Text is limited to SF_LIMIT_QUERY_LEN, nesting to SF_QUERY_DEPTH, and the height of
 * the tree from nesting and long chains of operators to SF_QUERY_HEIGHT, so that it can be walked
 * recursively. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "query/ast.h"

enum { SF_QUERY_DEPTH = 128, SF_QUERY_HEIGHT = 1000 };

struct sf_query_fault { /* position of an error in a query, for underlining; from 1, 0: unknown */
    uint32_t line, column;
    uint32_t len; /* characters to mark */
};

/* INPUT: `why` has line, column and what was expected; LIMIT: too long or too deep. The query is in
 * `req`; strings may point into `text`. `out_fault` may be NULL. */
enum sf_err sf_query_parse(sf_str text, struct sf_arena *req, const struct sf_query **out,
                           struct sf_query_fault *out_fault, struct sf_why *why);

/* Parses the parameter `q` of completion: one `{ ... }`, possibly incomplete. Incomplete conditions
 * count as true, so conditions joined to them by && are kept. The result is one stage, a filter;
 * NULL when nothing is left of it, and for text of any other form: then there is no filter. */
const struct sf_query *sf_query_parse_partial(sf_str text, struct sf_arena *req);

/* One attribute or intrinsic as a query spells it: `span.a`, `.a`, `span."a b"`, `name`. INPUT. */
enum sf_err sf_query_parse_attr(sf_str text, struct sf_arena *req, struct sf_query_attr *out,
                                struct sf_why *why);
