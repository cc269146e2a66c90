/* granule_copy.h - copies rows of a granule into a rowset, codes to codes.
 *
 * A text is looked up in the rowset when the first row that has it is copied; later rows need one
 * table lookup. All memory is in the arena given at open; meanwhile the block's reader must stay
 * open, and the rowset must not be reset. */
#pragma once
#include "block/rows/rowset.h"
#include "block/span/granule_view.h"

struct sf_granule_copy;

/* Fails with IO, CORRUPT or LIMIT (arena). */
enum sf_err sf_granule_copy_open(const struct sf_span_block_reader *r, uint32_t granule,
                                 struct sf_rowset *to, struct sf_arena *req,
                                 struct sf_granule_copy **out, struct sf_why *why);
/* The columns that every row has, for choosing rows. */
const struct sf_span_rows *sf_granule_copy_rows(const struct sf_granule_copy *g);
const int64_t *sf_granule_copy_index(const struct sf_granule_copy *g);
/* Appends one row, which must come after the one copied last. Resource and scope are indexes in the
 * rowset; `last_ns` as in sf_rowset_add(). LIMIT or NOMEM: the rowset is unchanged. */
enum sf_err sf_granule_copy_row(struct sf_granule_copy *g, uint32_t row, uint32_t resource,
                                uint32_t scope, int64_t last_ns, struct sf_why *why);
