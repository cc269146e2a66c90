/* metrics_columns.h - computes metrics directly from columns: for plain filters, grouped by fields
 * of the span itself.
 *
 * No trace is assembled: a row is counted in the series of the first row with the same by()
 * values. */
#pragma once
#include "exec/metrics_count.h"
#include "exec/pushdown.h"

/* Call after the exemplars are initialized. */
bool sf_metrics_columns_can(const struct sf_metrics_count *c, const struct sf_store *store);
enum sf_err sf_metrics_columns_run(struct sf_metrics_count *c, struct sf_store *store,
                                   const struct sf_pushdown *down, struct sf_why *why);
