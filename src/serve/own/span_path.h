/* span_path.h - the TRACE/SPAN of a path, with "-" for an unknown trace. */
#pragma once
#include "serve/call.h"

/* Reads call->arg. INPUT: not ids. With "-": NOT_FOUND when no span has the id; INPUT with the
 * traces when several have it. */
enum sf_err sf_span_path_read(struct sf_call *call, struct sf_query_ctx *q, sf_trace_id *out_trace,
                              sf_span_id *out_span, struct sf_why *why);
