/* metrics_filter.h - the filters of a metrics query, compiled for columns: which rows count? */
#pragma once
#include "exec/column_filter.h"
#include "query/ast.h"

enum { SF_METRICS_FILTERS = 16 };

struct sf_metrics_filter {
    /* A row must satisfy one filter of each stage. */
    struct sf_column_filter *filters[SF_METRICS_FILTERS];
    uint32_t ends[SF_METRICS_FILTERS]; /* end of each stage's filters */
    uint32_t n_filters, n_stages;
};

/* Does the pipeline consist of at most so many filters, and of nothing else that drops spans? */
bool sf_metrics_filter_can(const struct sf_pipeline *p);
/* False: no space. */
bool sf_metrics_filter_init(struct sf_metrics_filter *f, struct sf_eval *eval,
                            const struct sf_pipeline *p, struct sf_arena *req);
/* `*out_mask` has a byte per row, 1 for rows that count, in the columns' scratch memory. */
enum sf_err sf_metrics_filter_rows(struct sf_metrics_filter *f, struct sf_column_batch *batch,
                                   uint8_t **out_mask, bool *out_has_any, struct sf_why *why);
