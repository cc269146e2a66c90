/* coverage.h - GET /api/v1/coverage and /api/v1/spans/TRACE/SPAN/coverage: how well traces and
 * profiles are joined, and what is missing. */
#pragma once
#include "serve/call.h"

bool sf_coverage_handle(struct sf_call *call, struct sf_worker *worker);
bool sf_coverage_span(struct sf_call *call, struct sf_worker *worker);
