/* trace.h - assembles one trace from the spans of all sources.
 *
 * Keeps one copy of each (span id, kind); a server span that shares its client's id (as in Zipkin)
 * gets a new id below the client; resources, scopes and spans are sorted by time. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/span.h"

struct sf_trace {
    struct sf_span_batch spans; /* grouped by resource, then scope; each group by start */
    bool is_partial;            /* it exceeded the request's memory: this is the part that fitted */
    uint64_t n_repaired;        /* server spans that got a new id */
};

/* For spans that are already loaded (by exec/traces.h): merges, repairs and sorts in place. */
enum sf_err sf_trace_assemble(struct sf_span *spans, uint32_t n_spans,
                              const struct sf_resource *resources, uint32_t n_resources,
                              const struct sf_scope *scopes, uint32_t n_scopes,
                              struct sf_arena *req, struct sf_trace *out, struct sf_why *why);
