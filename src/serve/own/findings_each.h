/* findings_each.h - GET /api/v1/findings?each=service: the findings of each of the busiest services
 * in one call. */
#pragma once
#include "join/findings.h"
#include "serve/call.h"

/* Writes JSON to `out` as services are done. A service whose findings fail has `error` instead;
 * services for which no time is left are counted. `want` provides range, type, limits and scratch
 * memory. */
enum sf_err sf_findings_each(struct sf_call *call, struct sf_findings_want *want,
                             struct sf_query_ctx *q, struct sf_buf *out, struct sf_why *why);
