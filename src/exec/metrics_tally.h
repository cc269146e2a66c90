/* metrics_tally.h - counts the rows of a batch by number, with the first row of each number.
 *
 * Numbers are small: they stand for combinations of values by which rows are grouped. */
#pragma once
#include "base/arena.h"

struct sf_metrics_tally {
    uint32_t *counts; /* by number; all 0 between batches */
    uint32_t *rows;   /* by number: the first row, if the count is not 0 */
    uint32_t *order;  /* numbers in order of appearance */
    uint32_t n_order, cap;
};

/* Reserves space for numbers below n; false: no space. */
static inline bool sf_metrics_tally_room(struct sf_metrics_tally *t, uint32_t n,
                                         struct sf_arena *req)
{
    if (n <= t->cap)
        return true;
    *t = (struct sf_metrics_tally){.counts = sf_arena_new_n(req, n, sizeof(*t->counts)),
                                   .rows = sf_arena_new_n(req, n, sizeof(*t->rows)),
                                   .order = sf_arena_new_n(req, n, sizeof(*t->order))};
    t->cap = t->counts && t->rows && t->order ? n : 0;
    return t->cap > 0;
}

static inline void sf_metrics_tally_add(struct sf_metrics_tally *t, uint32_t number, uint32_t row)
{
    if (t->counts[number]++ == 0) {
        t->rows[number] = row;
        t->order[t->n_order++] = number;
    }
}
