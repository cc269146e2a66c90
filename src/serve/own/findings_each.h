/* findings_each.h - GET /api/v1/findings?each=service: what stands out in each of the busiest
 * services, by one call. */
#pragma once
#include "join/findings.h"
#include "serve/call.h"

/* Writes JSON to `out` as services are done. A service whose findings fail has `error` in place of
 * them; what no time is left for is counted. `want` has range, type, limits and scratch. */
enum sf_err sf_findings_each(struct sf_call *call, struct sf_findings_want *want,
                             struct sf_query_ctx *q, struct sf_buf *out, struct sf_why *why);
