/* column_read.h - reads one granule at a time, and its columns on request. */
#pragma once
#include "block/span/granule_view.h"
#include "model/span_columns.h"
#include "store/local/engine.h"
#include "store/local/read/parted.h"

struct sf_column_read {
    struct sf_span_columns base;
    struct sf_local *l;
    struct sf_query_ctx *q;
    struct sf_run *run; /* in use while its granule is open; borrowed from the snapshot */
    struct sf_granule_view view;
    struct sf_arena arena;
    size_t counted_len;
};

void sf_column_read_init(struct sf_column_read *c, struct sf_local *l, struct sf_query_ctx *q);
void sf_column_read_done(struct sf_column_read *c); /* a zeroed one is fine */
/* Opens granule `granule` of run `place` of the snapshot, as c->base, until the next open;
 * tombstones hide rows. With `parted` (found for this snapshot) base.is_parted is set. */
enum sf_err sf_column_read_open(struct sf_column_read *c, const struct sf_snapshot *snapshot,
                                size_t place, uint32_t granule, const struct sf_parted *parted,
                                struct sf_why *why);
void sf_column_read_close(struct sf_column_read *c);
