/* metrics_result.h - the answer of a metrics query in Tempo's formats. Zero values are left out, as
 * in protobuf's JSON; no additional fields, because clients reject them. */
#pragma once
#include "base/buf.h"
#include "model/metrics_result.h"

void sf_metrics_result_range_json(const struct sf_metrics_result *r, struct sf_buf *out);
void sf_metrics_result_instant_json(const struct sf_metrics_result *r, struct sf_buf *out);
/* The same in several messages: series from number `from` on until `out` has about `max_len` bytes.
 * Returns the number to continue with; n_series: all are written. */
uint32_t sf_metrics_result_pb_part(const struct sf_metrics_result *r, bool is_instant,
                                   uint32_t from, size_t max_len, struct sf_buf *out);
