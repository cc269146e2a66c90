/* otlp_trace.h - a trace in Tempo's formats: protobuf and JSON, v1 and v2.
 *
 * Clients access resource, scope and status without checks, so these are written even when empty,
 * and a resource without attributes gets its service's name. Ids in the JSON are base64, as in
 * Tempo, unlike OTLP. The buffer keeps errors. */
#pragma once
#include "base/buf.h"
#include "model/span.h"
#include "wire/json_write.h"

struct sf_otlp_trace {
    const struct sf_span_batch *spans; /* grouped by resource, then scope */
    bool is_v2;                        /* with metrics and status around it */
    sf_str partial;                    /* v2: why the trace is incomplete; empty: it is complete */
    uint64_t inspected_len;            /* v2: bytes read to find it */
};

void sf_otlp_trace_pb(const struct sf_otlp_trace *t, struct sf_buf *out);
void sf_otlp_trace_json(const struct sf_otlp_trace *t, struct sf_buf *out);
/* OTLP's own JSON (ids in hexadecimal, enums as numbers): the members of a resourceSpans list. */
void sf_otlp_trace_resource_spans_json(const struct sf_span_batch *b, struct sf_json_writer *w);
