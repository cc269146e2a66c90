/* span_find.h - the trace of a span of which only the id is known. */
#pragma once
#include "store/store.h"

/* Only spans between the times are looked through (0 and 0: all). Samples that carry the id may say
 * the trace at once; otherwise all spans are looked through, newest first. NOT_FOUND; INPUT names
 * the traces when several have a span of that id. `scratch` is reset. */
enum sf_err sf_span_find(struct sf_store *store, sf_span_id span, int64_t from_ns, int64_t to_ns,
                         struct sf_arena *scratch, struct sf_query_ctx *q, sf_trace_id *out,
                         struct sf_why *why);
