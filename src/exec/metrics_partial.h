/* metrics_partial.h - what one granule contributes to a metrics query, as bytes that can be cached.
 *
 * A range query divides time at multiples of its step, whatever its range is; so the contribution
 * of a granule to each step does not depend on the range, and a query with another range uses the
 * steps it needs. An instant query is one step: it uses only granules that are completely in it.
 *
 * The bytes: number of the first step, spans counted, keys of series; then pages of cells, each
 * with its series, its position and the cells that are not empty; then spans for exemplars. They
 * never leave the process. */
#pragma once
#include "exec/metrics_count.h"

enum { SF_PARTIAL_STEPS = 4096 }; /* a granule with more steps is not worth caching */

/* Writes bytes that differ whenever two queries could have different partials for the same rows:
 * filters, measured value, by(), the step, and what exemplars show. */
void sf_metrics_partial_question(const struct sf_metrics_count *c, struct sf_buf *out);
/* The window of steps for rows that start in [min, max]. False: there are too many, or the granule
 * has to be counted in `w` itself. */
bool sf_metrics_partial_window(const struct sf_metrics_window *w, int64_t min_ns, int64_t max_ns,
                               struct sf_metrics_window *out);
/* Writes what was counted in such a window. */
void sf_metrics_partial_write(const struct sf_metrics_count *part, struct sf_buf *out);
/* Adds the steps that are in c->window. Errors are set in c->err and c->table.is_full, as while
 * counting. */
void sf_metrics_partial_add(struct sf_metrics_count *c, sf_bytes partial, struct sf_arena scratch);
