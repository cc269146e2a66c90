/* span_scan.h - traces with matching spans, in the order of their starts.
 *
 * A heap holds the granules by the latest time they may contain; a granule is examined while it may
 * contain a newer trace than those found. A trace is returned when no unexamined granule can
 * contain a piece of a newer one; then it is loaded completely. So a search with a limit reads only
 * the newest granules, and the order does not depend on how rows are distributed over parts and
 * blocks. */
#pragma once
#include "store/local/engine.h"

enum sf_err sf_span_scan(struct sf_store *s, const struct sf_span_query *query,
                         struct sf_query_ctx *q, struct sf_span_cursor **out, struct sf_why *why);
