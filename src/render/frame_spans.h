/* frame_spans.h - the spans that ran a function, most expensive first, as JSON and text. */
#pragma once
#include "base/buf.h"
#include "model/answer/frame_spans.h"

void sf_frame_spans_json(const struct sf_frame_spans *f, struct sf_buf *out);
void sf_frame_spans_text(const struct sf_frame_spans *f, struct sf_buf *out);
