/* trace_ledgers.h - GET /api/v1/traces/{trace}/ledgers: the time breakdowns of all spans of a
 * trace. */
#pragma once
#include "serve/call.h"

bool sf_trace_ledgers_handle(struct sf_call *call, struct sf_worker *worker);
