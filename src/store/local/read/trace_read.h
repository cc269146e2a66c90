/* trace_read.h - assembles one trace from all places where its rows are stored.
 *
 * load() finds the rows in memtables (on request), parts and blocks, drops hidden and duplicate
 * ones and sorts them by start, using about 50 bytes per row; emit() then copies the rows in
 * batches, so that a trace of a million spans needs only memory for its list. */
#pragma once
#include "block/span/span_block_reader.h"
#include "store/local/read/granules.h"

struct sf_trace_read_row {
    uint64_t start_ns, end_ns;
    sf_span_id span_id;
    uint32_t source, row;
    uint32_t n_attrs;
    uint8_t kind;
};

struct sf_trace_source { /* a granule, or (run NULL) the copies from memtables */
    struct sf_run *run;  /* borrowed from the snapshot */
    uint32_t granule;
    uint32_t from, to;            /* rows of the granule that are read, */
    bool is_part;                 /* if true; otherwise all are */
    int64_t ts_min_ns, ts_max_ns; /* of the granule */
};

struct sf_trace_read {
    struct sf_local *l;
    struct sf_snapshot *snapshot; /* owned */
    struct sf_query_ctx *q;
    uint32_t columns;
    size_t n_want;
    /* At first only the trace's rows of a granule are read; when a second trace needs rows of it,
     * the whole granule is decoded and cached. */
    bool has_parts;
    struct sf_granules granules;
    struct sf_arena keep;  /* of the trace loaded now */
    struct sf_arena batch; /* of the rows emitted last */
    sf_trace_id id;
    uint32_t tenant;
    struct sf_trace_read_row *rows;
    uint32_t n_rows, rows_cap;
    struct sf_trace_source *sources;
    uint32_t n_sources, sources_cap;
    struct sf_span *fresh;               /* rows from memtables, with their tables */
    struct sf_resource *fresh_resources; /* each once per memtable */
    struct sf_scope *fresh_scopes;
    uint32_t n_fresh, fresh_cap, n_fresh_resources, fresh_resources_cap, n_fresh_scopes,
        fresh_scopes_cap;
    uint32_t fresh_max; /* at most this many rows are copied from memtables */
    bool has_many;      /* there are more than that */
    size_t counted_len;
};

/* Takes the snapshot. `columns` and `want_keys` (borrowed) are what emit() returns; loading may
 * read more. */
enum sf_err sf_trace_read_init(struct sf_trace_read *t, struct sf_local *l,
                               struct sf_snapshot *snapshot, struct sf_query_ctx *q,
                               uint32_t columns, const struct sf_key *want_keys, size_t n_want,
                               struct sf_why *why);
void sf_trace_read_done(struct sf_trace_read *t); /* a zeroed one is fine */

/* Copies the trace's rows from the memtables, or seals these if there are many. Call before load()
 * and before its snapshot is taken. */
enum sf_err sf_trace_read_fresh(struct sf_trace_read *t, uint32_t tenant, sf_trace_id id,
                                struct sf_why *why);
/* Where the rows of a trace are in one of the runs: all in one granule. */
struct sf_trace_read_known {
    struct sf_run *run;
    struct sf_trace_place at;
};
/* Loads all other rows, from blocks that may overlap [from, to] (0 and 0: all). In the run of
 * `known`, which may be NULL, the trace is not looked up. */
enum sf_err sf_trace_read_load(struct sf_trace_read *t, uint32_t tenant, sf_trace_id id,
                               int64_t from_ns, int64_t to_ns,
                               const struct sf_trace_read_known *known, struct sf_why *why);
/* The same for a trace that is completely in one granule of one run. */
enum sf_err sf_trace_read_load_at(struct sf_trace_read *t, uint32_t tenant, sf_trace_id id,
                                  struct sf_run *run, struct sf_trace_place place,
                                  struct sf_why *why);
/* Drops the trace. */
void sf_trace_read_reset(struct sf_trace_read *t);
/* Returns up to SF_ROWS_MAX rows from index `at` on; borrowed until the next call. */
enum sf_err sf_trace_read_emit(struct sf_trace_read *t, uint32_t at, struct sf_span_rows *out,
                               struct sf_why *why);
/* Shows row `i` as stored in its granule; false for rows from memtables. */
enum sf_err sf_trace_read_peek(struct sf_trace_read *t, uint32_t i, uint32_t columns,
                               const struct sf_span_rows **out, uint32_t *out_row,
                               struct sf_why *why);
