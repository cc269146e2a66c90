/* jaeger.h - Jaeger's query API: the classic JSON below /api and its successor below /api/v3.
 *
 * One path of it belongs to Tempo too, GET /api/traces/{id}. There a client that came to Jaeger's
 * own port gets Jaeger's answer; everywhere else Jaeger's form is at /jaeger/api/traces/{id}. */
#pragma once
#include "serve/call.h"

enum { SF_JAEGER_PORT = 16686 };

bool sf_jaeger_services(struct sf_call *call, struct sf_worker *worker);
bool sf_jaeger_service_operations(struct sf_call *call, struct sf_worker *worker);
bool sf_jaeger_operations(struct sf_call *call, struct sf_worker *worker);
bool sf_jaeger_traces(struct sf_call *call, struct sf_worker *worker);
bool sf_jaeger_trace(struct sf_call *call, struct sf_worker *worker);
bool sf_jaeger_dependencies(struct sf_call *call, struct sf_worker *worker);
bool sf_jaeger_v3_services(struct sf_call *call, struct sf_worker *worker);
bool sf_jaeger_v3_operations(struct sf_call *call, struct sf_worker *worker);
bool sf_jaeger_v3_traces(struct sf_call *call, struct sf_worker *worker);
bool sf_jaeger_v3_trace(struct sf_call *call, struct sf_worker *worker);
