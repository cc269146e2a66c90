/* services.h - what ran in a range of time: calls, errors, quantiles per service and operation. */
#pragma once
#include "model/answer/services.h"
#include "store/store.h"

/* The duration that the share `q` of all spans do not exceed; inside a bucket durations are taken
 * to be spread evenly on the logarithmic scale, one alone to lie in its middle. So it is wrong by
 * less than a fifth, where all are equal; of one in its bucket by less than a tenth. 0 when there
 * are none. */
uint64_t sf_services_sketch_quantile(const uint64_t buckets[SF_SKETCH_BUCKETS], double q);

/* Sums rows (sorted by service and name) into `req`. `service` not empty: that one only. LIMIT. */
enum sf_err sf_services_sum(const struct sf_operation_rows *rows, sf_str service,
                            struct sf_arena *req, struct sf_services *out, struct sf_why *why);
enum sf_err sf_services_get(struct sf_store *store, int64_t from_ns, int64_t until_ns,
                            sf_str service, struct sf_query_ctx *q, struct sf_services *out,
                            struct sf_why *why);
