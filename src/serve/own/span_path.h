/* span_path.h - the TRACE/SPAN of a path, with - for a trace that is not known. */
#pragma once
#include "serve/call.h"

/* Reads call->arg. INPUT: not ids. NOT_FOUND: with -, no span is called so; several: INPUT with
 * their traces. */
enum sf_err sf_span_path_read(struct sf_call *call, struct sf_query_ctx *q, sf_trace_id *out_trace,
                              sf_span_id *out_span, struct sf_why *why);
