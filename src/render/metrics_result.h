/* metrics_result.h - the answer of a metrics query, as Tempo's clients read it. Zero values are
 * left out, as protobuf's JSON does; no field of ours: clients refuse those. */
#pragma once
#include "base/buf.h"
#include "model/metrics_result.h"

void sf_metrics_result_range_json(const struct sf_metrics_result *r, struct sf_buf *out);
void sf_metrics_result_instant_json(const struct sf_metrics_result *r, struct sf_buf *out);
/* Either in several messages: series from number `from` on until `out` holds about `max_len` bytes.
 * Gives the number to continue with; all are written when it is n_series. */
uint32_t sf_metrics_result_pb_part(const struct sf_metrics_result *r, bool is_instant,
                                   uint32_t from, size_t max_len, struct sf_buf *out);
