/* coverage_time.h - a service's profiles over time: how many, how often, and when there were none.
 */
#pragma once
#include "model/answer/coverage.h"
#include "store/store.h"

/* Fills `types`: each type that the service has in that time. In q->req. */
enum sf_err sf_coverage_time_make(struct sf_store *store, sf_str service, int64_t from_ns,
                                  int64_t until_ns, struct sf_query_ctx *q, struct sf_coverage *out,
                                  struct sf_why *why);
