/* otlp_trace.h - a trace in the shapes Tempo's clients read: protobuf and JSON, v1 and v2.
 *
 * Clients dereference resource, scope and status without asking, so these are written even when
 * empty, and a resource without attributes gets its service's name. Ids in the JSON are base64:
 * Tempo's habit, not OTLP's. Faults stick in the buffer. */
#pragma once
#include "base/buf.h"
#include "model/span.h"
#include "wire/json_write.h"

struct sf_otlp_trace {
    const struct sf_span_batch *spans; /* grouped by resource, then scope */
    bool is_v2;                        /* with metrics and status around it */
    sf_str partial;                    /* v2: why the trace is not whole; empty: it is */
    uint64_t inspected_len;            /* v2: bytes read to find it */
};

void sf_otlp_trace_pb(const struct sf_otlp_trace *t, struct sf_buf *out);
void sf_otlp_trace_json(const struct sf_otlp_trace *t, struct sf_buf *out);
/* OTLP's own JSON (ids in hexadecimal, enums as numbers): the members of a resourceSpans list. */
void sf_otlp_trace_resource_spans_json(const struct sf_span_batch *b, struct sf_json_writer *w);
