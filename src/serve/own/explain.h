/* explain.h - GET /api/v1/explain: why it took so long. */
#pragma once
#include "serve/call.h"

#define SF_EXPLAIN_PARAMS \
    "trace span q focus split service version against from until format=json|text"
bool sf_explain_handle(struct sf_call *call, struct sf_worker *worker);
