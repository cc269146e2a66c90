/* rowset.h - span rows as codes, for memtables and merges; blocks are written from rowsets.
 *
 * Every text is stored once, in a dictionary per attribute name (and one for all other texts), and
 * rows contain its code. Copying rows, from a granule into a rowset or from a rowset into a block,
 * maps codes to codes and processes a text once per dictionary, not once per row. Everything is
 * append-only, so a batch that fails half way is undone by going back to a mark. For use by one
 * thread at a time. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "block/format/dict.h"
#include "block/format/shapes.h"
#include "model/span.h"

struct sf_span_block_writer;

enum { /* sf_mem_row.bits: which of the rare parts a row has */
       SF_ROW_STATUS_MSG = 1,
       SF_ROW_TRACE_STATE = 2,
       SF_ROW_FLAGS = 4,
       SF_ROW_DROPPED = 8,
       SF_ROW_EVENTS = 16,
       SF_ROW_LINKS = 32,
};

struct sf_mem_row {
    uint64_t hash; /* of tenant and trace id */
    sf_trace_id trace_id;
    sf_span_id span_id, parent_id;
    uint64_t start_ns, end_ns;
    int64_t index_ns;
    uint32_t tenant, resource, scope;
    uint32_t data_off; /* of its remaining data, in words */
    uint32_t n_attrs;
    uint8_t kind, status, bits;
};

struct sf_mem_ref { /* a resource or scope, in words */
    uint32_t tenant, off, len;
};

struct sf_mem_table { /* the distinct resources (or scopes), by place */
    struct sf_mem_ref *refs;
    uint32_t n, cap;
    struct sf_table at;
};

struct sf_row_key {              /* one attribute name of one root and type; type NONE: overflow */
    uint32_t name_off, name_len; /* in key_ids.bytes */
    uint8_t root, type;
    uint32_t n_values;
    struct sf_dict texts; /* its values, when they are texts */
};

struct sf_rowset {
    struct sf_mem_row *rows;
    uint32_t *words;
    size_t n_rows, rows_cap;
    size_t keep_len;          /* memory that each of its parts keeps after a reset */
    size_t n_words, data_cap; /* data_cap: in bytes, for words and texts together */
    size_t text_len;          /* size of the dictionaries, about */
    struct sf_mem_table resources, scopes;
    struct sf_row_key *keys;
    uint32_t n_keys, key_cap;
    struct sf_dict key_ids; /* root, type and name of each key */
    struct sf_dict texts;   /* names, messages, states, urls; rows have code + 1, 0: empty */
    struct sf_shapes shapes;
    struct sf_buf pack;     /* scratch */
    int64_t first_index_ns; /* smallest index time; INT64_MAX when empty */
    int64_t last_ns;        /* largest end, limited like the index time; INT64_MIN when empty */
};

/* Reserves address space for `rows_cap` rows and `data_cap` bytes; only used pages cost memory. */
bool sf_rowset_init(struct sf_rowset *r, size_t rows_cap, size_t data_cap);
void sf_rowset_done(struct sf_rowset *r); /* a zeroed one is fine */
void sf_rowset_reset(
    struct sf_rowset *r); /* empties it; frees memory that a memtable does not usually need */
size_t sf_rowset_len(const struct sf_rowset *r); /* bytes in use */
/* The tenant of all rows; 0: several, or none. */
uint32_t sf_rowset_tenant(const struct sf_rowset *r);

struct sf_rowset_mark {
    size_t n_rows, n_words;
    uint32_t n_resources, n_scopes;
    int64_t first_index_ns, last_ns;
};
struct sf_rowset_mark sf_rowset_mark(const struct sf_rowset *r);
/* Texts added after the mark remain in the dictionaries, unused, until the reset. */
void sf_rowset_undo(struct sf_rowset *r, struct sf_rowset_mark to);

/* Indexes of a resource and scope of a tenant; equal ones share one. LIMIT, NOMEM or INPUT (an
 * attribute has no type). */
enum sf_err sf_rowset_resource(struct sf_rowset *r, uint32_t tenant, const struct sf_resource *res,
                               uint32_t *out, struct sf_why *why);
enum sf_err sf_rowset_scope(struct sf_rowset *r, uint32_t tenant, const struct sf_scope *scope,
                            uint32_t *out, struct sf_why *why);
/* `span->resource` and `scope` are indexes in this rowset. `last_ns` is the end for retention. */
enum sf_err sf_rowset_add(struct sf_rowset *r, uint32_t tenant, const struct sf_span *span,
                          int64_t index_ns, int64_t last_ns, struct sf_why *why);

/* Row, resource and scope unpacked: lists in `req`, strings borrowed until the next add. False:
 * arena full. */
bool sf_rowset_get(const struct sf_rowset *r, size_t row, struct sf_arena *req,
                   struct sf_span *out);
bool sf_rowset_get_resource(const struct sf_rowset *r, uint32_t place, struct sf_arena *req,
                            struct sf_resource *out);
bool sf_rowset_get_scope(const struct sf_rowset *r, uint32_t place, struct sf_arena *req,
                         struct sf_scope *out);

/* A reference to a row of several rowsets: number of the set, then index in it. */
enum { SF_ROW_PLACE_BITS = 21, SF_ROWSETS_MAX = 1 << (32 - SF_ROW_PLACE_BITS) };

static inline const struct sf_mem_row *sf_rowsets_row(const struct sf_rowset *const *sets,
                                                      uint32_t row)
{
    return &sets[row >> SF_ROW_PLACE_BITS]->rows[row & ((1u << SF_ROW_PLACE_BITS) - 1)];
}

/* Writes all rows of all sets as if they were one: grouped by tenant and trace, traces by first
 * start, rows by start, without duplicate spans, which are counted. `edges` (or NULL): bits of each
 * set; of many rows, traces that probably continue in another block get granules of their own
 * (row_order.h). */
enum sf_set_edge {
    SF_EDGE_FIRST = 1,
    SF_EDGE_LAST = 2
}; /* rows of other blocks preceded, follow */
enum sf_err sf_rowset_write_all(const struct sf_rowset *const *sets, const uint8_t *edges,
                                size_t n_sets, struct sf_span_block_writer *w,
                                struct sf_arena scratch, uint64_t *out_n_repeats,
                                struct sf_why *why);
enum sf_err sf_rowset_write(const struct sf_rowset *r, struct sf_span_block_writer *w,
                            struct sf_arena scratch, uint64_t *out_n_repeats, struct sf_why *why);
