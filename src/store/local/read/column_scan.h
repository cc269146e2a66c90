/* column_scan.h - returns every span once, as columns, for callers that process spans one by
 * one. */
#pragma once
#include "store/local/engine.h"

enum sf_err sf_column_scan(struct sf_store *s, const struct sf_span_query *query,
                           struct sf_query_ctx *q, struct sf_column_cursor **out,
                           struct sf_why *why);
