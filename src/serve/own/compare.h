/* compare.h - GET /api/v1/compare: what one set of spans spends more time on than another. */
#pragma once
#include "serve/call.h"

bool sf_compare_handle(struct sf_call *call, struct sf_worker *worker);
