/* services.h - calls, errors and quantiles per service and operation in a time range. */
#pragma once
#include "model/answer/services.h"
#include "store/store.h"

/* The duration that the share `q` of all spans does not exceed. Within a bucket durations are
 * assumed to be evenly distributed on the logarithmic scale; a single one is assumed in its middle.
 * The error is below a fifth if all durations are equal, and below a tenth for a single one in its
 * bucket. 0 if there are none. */
uint64_t sf_services_sketch_quantile(const uint64_t buckets[SF_SKETCH_BUCKETS], double q);

/* Sums rows (sorted by service and name) into `req`. `service` not empty: that one only. LIMIT. */
enum sf_err sf_services_sum(const struct sf_operation_rows *rows, sf_str service,
                            struct sf_arena *req, struct sf_services *out, struct sf_why *why);
enum sf_err sf_services_get(struct sf_store *store, int64_t from_ns, int64_t until_ns,
                            sf_str service, struct sf_query_ctx *q, struct sf_services *out,
                            struct sf_why *why);
