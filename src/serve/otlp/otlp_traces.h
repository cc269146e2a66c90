/* otlp_traces.h - OTLP trace exports: HTTP (protobuf, JSON) and gRPC.
 *
 * An ingest thread converts the body to a batch and gives it to the store; the answer is sent when
 * the batch is durable in the log. The thread does not wait for the disk. */
#pragma once
#include "serve/call.h"

/* For both protocols: the call's form says how to answer. */
bool sf_otlp_traces_export(struct sf_call *call, struct sf_worker *worker);

/* An ExportTraceServiceResponse: empty when nothing was left out or cut. */
void sf_otlp_traces_answer(const struct sf_otlp_rejects *rejects, bool is_json, struct sf_buf *out);
/* The same for spans of Zipkin v2, answered as Zipkin does: 202 and an empty body. */
bool sf_otlp_traces_take_zipkin(struct sf_call *call, struct sf_worker *worker);
