/* span_scan.h - traces with matching spans, in the order of their starts.
 *
 * Granules wait in a heap by the latest moment they can speak of; one is examined when no trace
 * found so far is surely newer. A trace is delivered when nothing that was not examined can hold a
 * piece of a newer one, and then it is put together whole. So a search with a limit reads the
 * newest granules only, and its order does not depend on how rows are scattered over parts and
 * blocks. */
#pragma once
#include "store/local/engine.h"

enum sf_err sf_span_scan(struct sf_store *s, const struct sf_span_query *query,
                         struct sf_query_ctx *q, struct sf_span_cursor **out, struct sf_why *why);
