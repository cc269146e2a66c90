/* unsupported.h - operations of store.h that the embedded store does not implement: they return an
 * error, and the caller computes the result from a scan. */
#pragma once
#include "store/store.h"

enum sf_err sf_unsupported_span_series(struct sf_store *s, const struct sf_span_query *query,
                                       const struct sf_group *group, int64_t step_ns,
                                       struct sf_query_ctx *q, struct sf_point_cursor **out,
                                       struct sf_why *why);

#define SF_LOCAL_UNSUPPORTED .span_series = sf_unsupported_span_series
