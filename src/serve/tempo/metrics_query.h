/* metrics_query.h - GET /api/metrics/query_range and /api/metrics/query, and the streaming calls.
 */
#pragma once
#include "serve/call.h"

bool sf_metrics_query_range(struct sf_call *call, struct sf_worker *worker);
bool sf_metrics_query_instant(struct sf_call *call, struct sf_worker *worker);
bool sf_metrics_query_stream_range(struct sf_call *call, struct sf_worker *worker);
bool sf_metrics_query_stream_instant(struct sf_call *call, struct sf_worker *worker);
