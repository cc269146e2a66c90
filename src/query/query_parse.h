/* query_parse.h - TraceQL text to a checked query.
 *
 * Parsing, constant folding and every check that needs no data happen here: what comes out can be
 * evaluated. Text is bounded by SF_LIMIT_QUERY_LEN, nesting by SF_QUERY_DEPTH,
 * and what nesting and long chains of operators build together by SF_QUERY_HEIGHT: a tree can be
 * walked recursively. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "query/ast.h"

enum { SF_QUERY_DEPTH = 128, SF_QUERY_HEIGHT = 1000 };

struct sf_query_fault { /* where a bad query is bad, for an underline; 1-based, 0: nowhere */
    uint32_t line, column;
    uint32_t len; /* characters to mark */
};

/* INPUT: `why` says line, column and what was expected; LIMIT: too long or too deep. The query
 * lives in `req`; strings may point into `text`. `out_fault` may be NULL. */
enum sf_err sf_query_parse(sf_str text, struct sf_arena *req, const struct sf_query **out,
                           struct sf_query_fault *out_fault, struct sf_why *why);

/* What completion carries in `q`: one `{ ... }`, perhaps half-written. Conditions that are not
 * whole count as true, so those joined to them by && are kept. The query is one stage, a filter;
 * NULL when nothing is left of it, and for text of any other form: then nothing is filtered. */
const struct sf_query *sf_query_parse_partial(sf_str text, struct sf_arena *req);

/* One attribute or intrinsic as a query spells it: `span.a`, `.a`, `span."a b"`, `name`. INPUT. */
enum sf_err sf_query_parse_attr(sf_str text, struct sf_arena *req, struct sf_query_attr *out,
                                struct sf_why *why);
