/* explain.h - GET /api/v1/explain: explains the duration of a span, a trace or a set of spans, or
 * the difference between two sets. */
#pragma once
#include "serve/call.h"

#define SF_EXPLAIN_PARAMS \
    "trace span q focus split service version against from until format=json|text"
bool sf_explain_handle(struct sf_call *call, struct sf_worker *worker);
