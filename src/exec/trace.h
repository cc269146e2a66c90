/* trace.h - all of one trace, put together from wherever its spans are.
 *
 * Spans of all sources joined; one copy of each (span id, kind); a server span that shares its
 * client's id (Zipkin's habit) gets an id of its own below the client; resources, scopes and spans
 * in order of time. */
#pragma once
#include "model/span.h"
#include "store/store.h"

struct sf_trace {
    struct sf_span_batch spans; /* grouped by resource, then scope; each group by start */
    bool is_partial;            /* it did not fit the request's memory: this is what did */
    uint64_t n_repaired;        /* server spans that got an id of their own */
};

/* Lives in q->req. No spans: OK with an empty trace. from = to = 0: everywhere; otherwise a hint
 * where to look, spans are not cut by it. */
enum sf_err sf_trace_get(struct sf_store *store, sf_trace_id id, int64_t from_ns, int64_t to_ns,
                         struct sf_query_ctx *q, struct sf_trace *out, struct sf_why *why);

/* The same for whoever asks what the spans cost and not what they say: without events, links,
 * messages, and attributes that are not about running (exec/span_pool.h). */
enum sf_err sf_trace_get_bare(struct sf_store *store, sf_trace_id id, int64_t from_ns,
                              int64_t to_ns, struct sf_query_ctx *q, struct sf_trace *out,
                              struct sf_why *why);

/* The second half of it, on spans that are already there: merges, repairs, orders in place. */
enum sf_err sf_trace_assemble(struct sf_span *spans, uint32_t n_spans,
                              const struct sf_resource *resources, uint32_t n_resources,
                              const struct sf_scope *scopes, uint32_t n_scopes,
                              struct sf_arena *req, struct sf_trace *out, struct sf_why *why);
