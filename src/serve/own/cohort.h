/* cohort.h - GET /api/v1/cohort: the code of all spans a query picks. */
#pragma once
#include "serve/call.h"

bool sf_cohort_handle(struct sf_call *call, struct sf_worker *worker);
