/* row_order.h - the order in which the rows of rowsets are written to a block: by tenant, traces by
 * first start, rows by start; of duplicate spans only the better copy.
 *
 * Traces with one of the first or last rows that were received can be put before and after all
 * others: they probably continue in the block before or behind, and a merge copies granules only
 * where no trace continues. */
#pragma once
#include "block/rows/rowset.h"

enum sf_row_edge { SF_ROWS_FIRST, SF_ROWS_INNER, SF_ROWS_LAST };

struct sf_row_group { /* one trace */
    int64_t first_ns;
    uint32_t tenant, any_row, n, at;
    enum sf_row_edge edge;
};

struct sf_row_order {
    const struct sf_rowset *const *sets; /* borrowed */
    struct sf_row_group *groups;
    uint32_t n_groups;
    uint32_t *rows; /* as arguments of sf_rowsets_row(), trace by trace */
};

/* Groups the rows; both lists are in `req`. `edges`: enum sf_set_edge bits of each set; NULL: no
 * set has any, and all traces are INNER. False: `req` is full. */
bool sf_row_order_init(struct sf_row_order *o, const struct sf_rowset *const *sets,
                       const uint8_t *edges, size_t n_sets, struct sf_arena *req);
/* The rows of a group, sorted and without duplicates; call once per group. */
uint32_t *sf_row_order_trace(struct sf_row_order *o, uint32_t group, uint32_t *out_n);
