/* granule_view.h - one granule of a block, column by column as the reader gets to it.
 *
 * What rules most rows out is read first; ids and lists of attributes only when rows are left. All
 * of it lives in the arena given at open; the block's reader must stay open meanwhile. */
#pragma once
#include "block/span/span_block_reader.h"

struct sf_granule_view {
    const struct sf_span_block_reader *r;
    const struct sf_granule_info *info;
    uint32_t granule;
    struct sf_arena *req;
    uint32_t columns;             /* read so far */
    struct sf_span_rows rows;     /* of the whole granule; n_rows may exceed SF_ROWS_MAX */
    const sf_trace_id *trace_ids; /* SF_COL_TRACES: info->n_traces of them */
    const uint32_t *firsts;       /* first row of each trace; one more at the end */
    const uint32_t *trace_rows;
};

/* Reads nothing yet. */
struct sf_granule_view sf_granule_view_init(const struct sf_span_block_reader *r, uint32_t granule,
                                            struct sf_arena *req);
/* Reads the columns (enum sf_column) that are not there. */
enum sf_err sf_granule_view_add(struct sf_granule_view *v, uint32_t columns, struct sf_why *why);
/* One more attribute, which rows.want does not show. */
enum sf_err sf_granule_view_value(struct sf_granule_view *v, const struct sf_key *key,
                                  struct sf_value_column *out, struct sf_why *why);
/* Columns and keys of rows [from, to) alone: attributes, events and links of the others are not put
 * together. `out` begins with row `from`; rows.spans is not set. */
enum sf_err sf_granule_view_part(struct sf_granule_view *v, uint32_t columns,
                                 const struct sf_key *keys, size_t n_keys, uint32_t from,
                                 uint32_t to, struct sf_span_rows *out, struct sf_why *why);
/* May rows lie outside the times of the granule? Those of senders with absurd clocks do. */
bool sf_granule_view_has_strays(const struct sf_granule_view *v);
/* Index times of all rows. */
enum sf_err sf_granule_view_index(struct sf_granule_view *v, const int64_t **out,
                                  struct sf_why *why);
