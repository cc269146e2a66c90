/* span_find.h - finds the trace of a span by the span's id alone. */
#pragma once
#include "store/store.h"

/* Searches only spans between the times (0 and 0: all). Samples that carry the id may name the
 * trace; otherwise all spans are searched, newest first. NOT_FOUND; INPUT lists the traces if
 * several have a span with that id. `scratch` is reset. */
enum sf_err sf_span_find(struct sf_store *store, sf_span_id span, int64_t from_ns, int64_t to_ns,
                         struct sf_arena *scratch, struct sf_query_ctx *q, sf_trace_id *out,
                         struct sf_why *why);
