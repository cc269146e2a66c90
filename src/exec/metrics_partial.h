/* metrics_partial.h - what one granule adds to a metrics query, as bytes that can be kept.
 *
 * A range query cuts time at multiples of its step, whatever its range is; so what a granule holds
 * of each step does not depend on the range, and a query of another range takes the steps it wants.
 * An instant query is one step: it takes only granules that lie in it whole.
 *
 * The bytes: number of the first step, spans counted, keys of series; then pages of cells, each
 * with its series, its place and the cells that are not empty; then spans for exemplars. They never
 * leave the process. */
#pragma once
#include "exec/metrics_count.h"

enum { SF_PARTIAL_STEPS = 4096 }; /* of one granule; with more it is not worth to be kept */

/* Bytes that differ whenever two queries could make different partials of the same rows: filters,
 * what is measured, by(), the step, and what exemplars show. */
void sf_metrics_partial_question(const struct sf_metrics_count *c, struct sf_buf *out);
/* The steps that rows starting in [min, max] fall into. False: there are too many, or the granule
 * has to be counted in `w` itself. */
bool sf_metrics_partial_window(const struct sf_metrics_window *w, int64_t min_ns, int64_t max_ns,
                               struct sf_metrics_window *out);
/* What was counted in such a window. */
void sf_metrics_partial_write(const struct sf_metrics_count *part, struct sf_buf *out);
/* Adds the steps that c->window has. Errors are c->err and c->table.is_full, as while counting. */
void sf_metrics_partial_add(struct sf_metrics_count *c, sf_bytes partial, struct sf_arena scratch);
