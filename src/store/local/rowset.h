/* rowset.h - span rows copied out of whatever held them: what memtables and merges are made of.
 *
 * A row is a fixed part (ids, times) and a run of packed bytes (name, attributes, events, links) in
 * two reserved ranges of memory; attribute keys, resources and scopes are kept once. Everything is
 * append-only, so a batch that fails half way is undone by going back to a mark. One thread at a
 * time. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/span.h"

struct sf_span_block_writer;

struct sf_mem_row {
    uint64_t hash; /* of tenant and trace id */
    sf_trace_id trace_id;
    sf_span_id span_id, parent_id;
    uint64_t start_ns, end_ns;
    int64_t index_ns;
    uint32_t tenant, resource, scope;
    uint32_t data_off; /* of the packed rest */
    uint32_t n_attrs;
    uint8_t kind, status;
};

struct sf_mem_ref { /* a resource or scope, packed */
    uint64_t hash;
    uint32_t tenant, off, len;
};

struct sf_mem_table { /* the distinct resources (or scopes), by place */
    struct sf_mem_ref *refs;
    uint32_t n, cap;
    uint32_t *slots; /* open addressing: place + 1, 0 free */
    uint32_t n_slots;
};

struct sf_rowset {
    struct sf_mem_row *rows;
    uint8_t *data;
    size_t n_rows, rows_cap;
    size_t data_len, data_cap;
    size_t keys_off; /* bytes of keys grow down from the end of `data` to here */
    struct sf_mem_table resources, scopes, keys;
    int64_t first_index_ns; /* smallest index time; INT64_MAX when empty */
    int64_t last_ns;        /* largest end, cut as the index time rule says; INT64_MIN when empty */
};

/* Reserves room for `rows_cap` rows and `data_cap` packed bytes; only touched pages cost memory. */
bool sf_rowset_init(struct sf_rowset *r, size_t rows_cap, size_t data_cap);
void sf_rowset_done(struct sf_rowset *r);  /* a zeroed one is fine */
void sf_rowset_reset(struct sf_rowset *r); /* empties; gives back what is far above a memtable */
size_t sf_rowset_len(const struct sf_rowset *r); /* bytes in use */

struct sf_rowset_mark {
    size_t n_rows, data_len, keys_off;
    uint32_t n_resources, n_scopes, n_keys;
    int64_t first_index_ns, last_ns;
};
struct sf_rowset_mark sf_rowset_mark(const struct sf_rowset *r);
void sf_rowset_undo(struct sf_rowset *r, struct sf_rowset_mark to);

/* Places of a resource and scope of a tenant; equal ones share one. LIMIT or NOMEM. */
enum sf_err sf_rowset_resource(struct sf_rowset *r, uint32_t tenant, const struct sf_resource *res,
                               uint32_t *out, struct sf_why *why);
enum sf_err sf_rowset_scope(struct sf_rowset *r, uint32_t tenant, const struct sf_scope *scope,
                            uint32_t *out, struct sf_why *why);
/* `span->resource` and `scope` are places in this rowset. `last_ns` is the end as retention shall
 * see it. */
enum sf_err sf_rowset_add(struct sf_rowset *r, uint32_t tenant, const struct sf_span *span,
                          int64_t index_ns, int64_t last_ns, struct sf_why *why);
/* A whole batch received at `recv_ns`; the index time rule needs the retention (0: no limit). On
 * failure the rowset is as before. */
enum sf_err sf_rowset_add_batch(struct sf_rowset *r, uint32_t tenant, int64_t recv_ns,
                                int64_t retention_ns, const struct sf_span_batch *batch,
                                struct sf_why *why);

/* Row, resource and scope unpacked: lists in `req`, strings borrowed from the rowset. False: arena
 * full. */
bool sf_rowset_get(const struct sf_rowset *r, size_t row, struct sf_arena *req,
                   struct sf_span *out);
bool sf_rowset_get_resource(const struct sf_rowset *r, uint32_t place, struct sf_arena *req,
                            struct sf_resource *out);
bool sf_rowset_get_scope(const struct sf_rowset *r, uint32_t place, struct sf_arena *req,
                         struct sf_scope *out);

/* Writes all rows: grouped by tenant and trace, traces by first start, rows by start, of repeated
 * spans the better copy. Counts what was left out. */
enum sf_err sf_rowset_write(const struct sf_rowset *r, struct sf_span_block_writer *w,
                            struct sf_arena scratch, uint64_t *out_n_repeats, struct sf_why *why);

/* When a row counts as having happened: its start, unless the sender's clock is absurd. */
int64_t sf_index_time(uint64_t start_ns, int64_t recv_ns, int64_t retention_ns);
/* Its end as retention sees it. */
int64_t sf_index_end(uint64_t end_ns, int64_t index_ns, int64_t recv_ns);
