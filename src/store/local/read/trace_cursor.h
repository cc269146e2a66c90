/* trace_cursor.h - implements traces_get of store.h for the local store. */
#pragma once
#include "store/store.h"

enum sf_err sf_trace_cursor_open(struct sf_store *s, const struct sf_trace_ask *asks, size_t n_asks,
                                 struct sf_query_ctx *q, struct sf_span_cursor **out,
                                 struct sf_why *why);
