/* frame_spans.h - GET /api/v1/frames/spans: the spans that ran a function. */
#pragma once
#include "serve/call.h"

bool sf_frame_spans_handle(struct sf_call *call, struct sf_worker *worker);
