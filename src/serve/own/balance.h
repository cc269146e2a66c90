/* balance.h - GET /api/v1/balance: which part of a service's samples is attributed to spans, and
 * which is not. */
#pragma once
#include "serve/call.h"

bool sf_balance_handle(struct sf_call *call, struct sf_worker *worker);
