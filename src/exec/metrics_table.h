/* metrics_table.h - numbers by series and step, while they are counted.
 *
 * Series are identified by a key of bytes. Most series have values in few of the steps, so cells
 * are in short pages that exist only where something was counted. All memory is in one arena; when
 * that is full, the table sets a flag and adds no more series or pages. */
#pragma once
#include "base/arena.h"
#include "base/table.h"
#include "model/metrics_result.h"

struct sf_metrics_cell {
    double value;
    double n; /* how often it was counted, weighted; 0: never */
};

struct sf_kept_exemplar {
    struct sf_metric_exemplar is;
    struct sf_kept_exemplar *next;
};

struct sf_table_series {
    sf_str key;
    uint32_t number;
    struct sf_attrs labels; /* set by the caller; has_labels tells whether the series is new */
    bool has_labels;
    uint32_t page_no; /* of the page used last */
    struct sf_metrics_cell *page;
    double n;          /* sum of cells' n */
    uint32_t n_values; /* compare: number of distinct values of this total */
    struct sf_table_series *owner;
    struct sf_kept_exemplar *exemplars;
    uint8_t *exemplar_counts; /* per exemplar bucket of time */
};

enum { SF_METRICS_PAGE_CELLS = 16 };

struct sf_metrics_page {
    uint64_t key; /* number of the series << 32 | page: its first step / SF_METRICS_PAGE_CELLS */
    struct sf_metrics_cell *cells;
};

struct sf_metrics_table { /* zero-initialize it and set `req` */
    struct sf_arena *req;
    struct sf_table_series **series; /* in order of appearance */
    uint32_t n_series, cap_series;
    struct sf_table series_at;
    struct sf_metrics_page *pages;
    uint32_t n_pages, cap_pages;
    struct sf_table page_at;
    bool is_full;
};

/* The series with that key, or NULL. */
struct sf_table_series *sf_metrics_table_find(const struct sf_metrics_table *t, sf_str key);
/* The same, created if it is new; NULL if the table is full. */
struct sf_table_series *sf_metrics_table_series(struct sf_metrics_table *t, sf_str key);
struct sf_metrics_cell *sf_metrics_table_cell(struct sf_metrics_table *t, struct sf_table_series *s,
                                              uint32_t step);
/* All series in a list that the caller may sort: the table uses its own. NULL: no space in
 * `req`. */
struct sf_table_series **sf_metrics_table_list(const struct sf_metrics_table *t,
                                               struct sf_arena *req);
/* The counted cell; a zeroed one if nothing was counted. */
struct sf_metrics_cell sf_metrics_table_get(const struct sf_metrics_table *t,
                                            const struct sf_table_series *s, uint32_t step);
