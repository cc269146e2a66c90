/* filter_key.h - the parts of a query as bytes, for keys of cached results: two queries with equal
 * bytes select the same spans. The bytes never leave the process. */
#pragma once
#include "base/buf.h"
#include "query/ast.h"

enum {
    SF_FILTER_KEY_SEARCH = 0xff
}; /* first byte for a search; that of a metrics query is its function */

void sf_filter_key_attr(struct sf_buf *out, const struct sf_query_attr *a);
/* Filters, and filters joined by ||. */
void sf_filter_key_spanset(struct sf_buf *out, const struct sf_spanset *s);
/* Can sf_filter_key_spanset() write it? */
bool sf_filter_key_has(const struct sf_spanset *s);
