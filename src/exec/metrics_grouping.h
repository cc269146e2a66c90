/* metrics_grouping.h - which spans a metrics query cannot tell apart, for stores that can count
 * such spans where they are. */
#pragma once
#include "exec/column_batch.h"
#include "exec/metrics_count.h"

/* `needs`: what the query reads of a span. False: it may tell any two spans apart. Lists are in
 * c->q->req. */
bool sf_metrics_grouping_make(const struct sf_metrics_count *c, const struct sf_row_needs *needs,
                              struct sf_span_grouping *out);
