/* metrics_query.h - GET /api/metrics/query_range and /api/metrics/query. */
#pragma once
#include "serve/call.h"

bool sf_metrics_query_range(struct sf_call *call, struct sf_worker *worker);
bool sf_metrics_query_instant(struct sf_call *call, struct sf_worker *worker);
