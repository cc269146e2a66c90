/* jaeger_trace.h - a trace in the JSON of Jaeger's query API. Properties that Jaeger does not have
 * (kind, status, scope, links) become tags and references by Jaeger's own rules. */
#pragma once
#include "model/span.h"
#include "wire/json_write.h"

/* One member of `data`. `warning` not empty: a problem of the whole trace. */
void sf_jaeger_trace_json(const struct sf_span_batch *b, sf_str warning, struct sf_json_writer *w);
/* 32 digits, or 16 when the upper half is zero. */
sf_str sf_jaeger_trace_id(sf_trace_id id, char text[33]);
const char *sf_jaeger_trace_kind(uint8_t kind); /* "server"; "" for none */
