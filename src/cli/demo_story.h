/* demo_story.h - a shop's checkout as OTLP traces: what `spanflame demo` sends.
 *
 * Four services behind one another; most requests are quick, some are slow in one place, a few
 * fail. The same seed tells the same story. */
#pragma once
#include "base/buf.h"
#include "model/ids.h"

struct sf_demo_story {
    uint64_t random;     /* state; set to the seed */
    uint64_t slowest_ns; /* of the traces told so far */
    sf_trace_id slowest;
    uint32_t n_traces, n_spans, n_errors;
};

/* Appends one request of `n_traces` checkouts that end around `end_ns`, spread over `spread_ns`
 * before it, as an OTLP ExportTraceServiceRequest. */
void sf_demo_story_tell(struct sf_demo_story *s, uint32_t n_traces, uint64_t end_ns,
                        uint64_t spread_ns, struct sf_buf *out);
