/* balance.h - GET /api/v1/balance: what of a service's samples its spans got, and what none got. */
#pragma once
#include "serve/call.h"

bool sf_balance_handle(struct sf_call *call, struct sf_worker *worker);
