/* cohort.h - GET /api/v1/cohort: the merged profile of all spans that match a query. */
#pragma once
#include "serve/call.h"

bool sf_cohort_handle(struct sf_call *call, struct sf_worker *worker);
