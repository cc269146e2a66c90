/* findings.h - GET /api/v1/findings: noteworthy observations about a span, a trace or a service. */
#pragma once
#include "serve/call.h"

bool sf_findings_handle(struct sf_call *call, struct sf_worker *worker);
