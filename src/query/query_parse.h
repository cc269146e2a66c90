/* query_parse.h - TraceQL text to a checked query.
 *
 * Parsing, constant folding and every check that needs no data happen here: what comes out can be
 * evaluated. Text is bounded by SF_LIMIT_QUERY_LEN, nesting by SF_QUERY_DEPTH. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "query/ast.h"

enum { SF_QUERY_DEPTH = 128 };

struct sf_query_fault { /* where a bad query is bad, for an underline; 1-based, 0: nowhere */
    uint32_t line, column;
    uint32_t len; /* characters to mark */
};

/* INPUT: `why` says line, column and what was expected; LIMIT: too long or too deep. The query
 * lives in `req`; strings may point into `text`. `out_fault` may be NULL. */
enum sf_err sf_query_parse(sf_str text, struct sf_arena *req, const struct sf_query **out,
                           struct sf_query_fault *out_fault, struct sf_why *why);

/* Only `{ ... }` or nothing: what tag-value requests carry in `q`. Half-written text is tolerated:
 * conditions that are whole and joined by && are kept, the rest is ignored; NULL when none is. */
const struct sf_expr *sf_query_parse_partial(sf_str text, struct sf_arena *req);
