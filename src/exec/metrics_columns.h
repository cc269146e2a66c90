/* metrics_columns.h - metrics straight from columns: of plain filters, by what a span itself says.
 *
 * No trace is put together: a row is counted in the series that the first row with the same values
 * of by() was counted in. */
#pragma once
#include "exec/metrics_count.h"
#include "exec/pushdown.h"

/* After the exemplars are prepared. */
bool sf_metrics_columns_can(const struct sf_metrics_count *c, const struct sf_store *store);
enum sf_err sf_metrics_columns_run(struct sf_metrics_count *c, struct sf_store *store,
                                   const struct sf_pushdown *down, struct sf_why *why);
