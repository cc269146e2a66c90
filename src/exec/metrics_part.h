/* metrics_part.h - counts some rows of a metrics query separately, for a partial result that is
 * cached: the rows of one granule, or of a group of granules. */
#pragma once
#include "exec/metrics_count.h"

struct sf_metrics_part {
    struct sf_metrics_count count; /* empty after sf_metrics_part_begin() */
    struct sf_metrics_window window;
    struct sf_arena room;
};

/* `whole` is the query; it must outlive the part. */
void sf_metrics_part_init(struct sf_metrics_part *p, const struct sf_metrics_count *whole);
void sf_metrics_part_done(struct sf_metrics_part *p);
/* Begins to count rows that start in [min, max]. False: they have to be counted in `whole` itself,
 * or there is no memory. */
bool sf_metrics_part_begin(struct sf_metrics_part *p, const struct sf_metrics_count *whole,
                           int64_t min_ns, int64_t max_ns);
