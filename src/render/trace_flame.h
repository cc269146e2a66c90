/* trace_flame.h - a whole request as one flame graph, as JSON. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "model/answer/trace_flame.h"

/* One or two lines above a drawing. */
void sf_trace_flame_words(const struct sf_trace_flame_view *v, struct sf_buf *out);
enum sf_err sf_trace_flame_json(const struct sf_trace_flame_view *v, struct sf_buf *out,
                                struct sf_why *why);
