/* granule_view.h - reads one granule of a block, column by column on request.
 *
 * Columns that exclude most rows are read first; ids and lists of attributes only if rows are left.
 * All memory is in the arena given at open; the block's reader must stay open meanwhile. */
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

/* Initializes the view; reads nothing yet. */
struct sf_granule_view sf_granule_view_init(const struct sf_span_block_reader *r, uint32_t granule,
                                            struct sf_arena *req);
/* Reads those of the columns (enum sf_column) that are not loaded yet. */
enum sf_err sf_granule_view_add(struct sf_granule_view *v, uint32_t columns, struct sf_why *why);
/* Reads one more attribute, which is not added to rows.want. */
enum sf_err sf_granule_view_value(struct sf_granule_view *v, const struct sf_key *key,
                                  struct sf_value_column *out, struct sf_why *why);
/* Reads columns and keys of rows [from, to) only: attributes, events and links of other rows are
 * not assembled. `out` begins with row `from`; rows.spans is not set. */
enum sf_err sf_granule_view_part(struct sf_granule_view *v, uint32_t columns,
                                 const struct sf_key *keys, size_t n_keys, uint32_t from,
                                 uint32_t to, struct sf_span_rows *out, struct sf_why *why);
/* May rows be outside the times of the granule? Rows of senders with wrong clocks are. */
bool sf_granule_view_has_strays(const struct sf_granule_view *v);
/* Index times of all rows. */
enum sf_err sf_granule_view_index(struct sf_granule_view *v, const int64_t **out,
                                  struct sf_why *why);
