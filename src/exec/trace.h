/* trace.h - all of one trace, put together from wherever its spans are.
 *
 * Spans of all sources joined; one copy of each (span id, kind); a server span that shares its
 * client's id (Zipkin's habit) gets an id of its own below the client; resources, scopes and spans
 * in order of time. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/span.h"

struct sf_trace {
    struct sf_span_batch spans; /* grouped by resource, then scope; each group by start */
    bool is_partial;            /* it did not fit the request's memory: this is what did */
    uint64_t n_repaired;        /* server spans that got an id of their own */
};

/* Of spans that are already there (exec/traces.h reads them): merges, repairs, orders in place. */
enum sf_err sf_trace_assemble(struct sf_span *spans, uint32_t n_spans,
                              const struct sf_resource *resources, uint32_t n_resources,
                              const struct sf_scope *scopes, uint32_t n_scopes,
                              struct sf_arena *req, struct sf_trace *out, struct sf_why *why);
