/* trace_json.h - a trace in our own shape: flat, in the order a waterfall draws it, with the
 * critical path. docs/api.md describes it. */
#pragma once
#include "base/buf.h"
#include "model/answer/trace_rows.h"

void sf_trace_json(const struct sf_trace_rows *t, struct sf_buf *out);
