/* column_read.h - one granule at a time, its columns read as they are asked for. */
#pragma once
#include "block/granule_view.h"
#include "model/span_columns.h"
#include "store/local/engine.h"

struct sf_column_read {
    struct sf_span_columns base;
    struct sf_local *l;
    struct sf_query_ctx *q;
    struct sf_run *run; /* entered while its granule is open; borrowed from the snapshot */
    struct sf_granule_view view;
    struct sf_arena arena;
    size_t counted_len, most_len;
};

void sf_column_read_init(struct sf_column_read *c, struct sf_local *l, struct sf_query_ctx *q);
void sf_column_read_done(struct sf_column_read *c); /* a zeroed one is fine */
/* Shows the granule as c->base until the next open; the snapshot's tombstones hide rows. */
enum sf_err sf_column_read_open(struct sf_column_read *c, struct sf_run *run, uint32_t granule,
                                const struct sf_tombstones *tombstones, struct sf_why *why);
void sf_column_read_close(struct sf_column_read *c);
