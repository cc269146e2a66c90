/* trace_json.h - a trace in the JSON of our own API: a flat list in the order of a waterfall, with
 * the critical path. docs/api.md describes it. */
#pragma once
#include "base/buf.h"
#include "model/answer/trace_rows.h"

void sf_trace_json(const struct sf_trace_rows *t, struct sf_buf *out);
