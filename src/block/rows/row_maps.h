/* row_maps.h - maps codes of a rowset to codes of the block that is written from it.
 *
 * Filled on demand: a shape and its keys once per rowset, a text once per granule, since each
 * granule has its own dictionaries. The rowset must not change meanwhile. */
#pragma once
#include "block/rows/rowset.h"

struct sf_span_block_writer;

enum sf_row_text { /* columns with codes of the rowset's `texts` */
                   SF_TEXT_NAME,
                   SF_TEXT_STATUS_MSG,
                   SF_TEXT_TRACE_STATE,
                   SF_TEXT_EVENT_NAME,
                   SF_TEXT_LINK_STATE,
                   SF_TEXTS
};

struct sf_key_map {
    uint64_t *codes; /* by text: number of the staged granule + 1, then code in its dictionary */
    uint32_t key;    /* of the block, or SF_NONE */
    bool is_packed;  /* the block has no column for it: type, name and value as one text */
};

struct sf_shape_map {
    uint32_t node; /* in the block's tree, or SF_NONE */
    uint32_t n;
    const uint32_t *keys; /* of the rowset */
};

struct sf_row_maps {
    const struct sf_rowset *r;
    struct sf_arena *req;
    uint32_t *resources, *scopes; /* index to the block's code */
    uint64_t *texts[SF_TEXTS];
    struct sf_key_map *keys;
    struct sf_shape_map *shapes;
    uint32_t tenant;    /* the tenant of the keys */
    uint64_t shapes_no; /* of the tree that `node` is in */
    bool has_keys;
};

/* A row of the set to which its map belongs, of a list of maps. */
static inline const struct sf_mem_row *sf_row_maps_row(const struct sf_row_maps *maps, uint32_t row)
{
    return &maps[row >> SF_ROW_PLACE_BITS].r->rows[row & ((1u << SF_ROW_PLACE_BITS) - 1)];
}

/* All memory is in `req`. False: it is full. */
bool sf_row_maps_init(struct sf_row_maps *m, const struct sf_rowset *r, uint32_t *resources,
                      uint32_t *scopes, struct sf_arena *req);
/* Call before rows of a tenant are added. */
void sf_row_maps_begin(struct sf_row_maps *m, const struct sf_span_block_writer *w,
                       uint32_t tenant);
/* The map of a shape, with its keys. NULL: no memory; the writer has the error. */
const struct sf_shape_map *sf_row_maps_shape(struct sf_row_maps *m, struct sf_span_block_writer *w,
                                             uint32_t shape);
