/* frame_spans.h - GET /api/v1/frames/spans: from a function to the spans that ran it. */
#pragma once
#include "serve/call.h"

bool sf_frame_spans_handle(struct sf_call *call, struct sf_worker *worker);
