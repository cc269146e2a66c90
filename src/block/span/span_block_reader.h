/* span_block_reader.h - reads one immutable span block, from a file or from memory.
 *
 * A reader checks header, tail and section table once. Granules are read with pread and decoded
 * into the caller's arena; nothing is mapped, so a disk error is an error code and not a signal.
 * Tables are decoded in sets, when they are first needed: when a trace is searched in many blocks,
 * most of them are excluded by a probe of their filter, without tables. Loaded tables never change:
 * threads may share a reader and use what they loaded while another loads more; the caller must
 * serialize the loading. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "block/span/span_block.h"
#include "model/select.h"

struct sf_file;
struct sf_span_block_reader;

enum sf_block_tables { /* bits */
                       SF_TABLES_NONE =
                           0, /* header, section table: info, filters and index of traces */
                       SF_TABLES_NAMES = 1, /* strings; needed by all but the lists */
                       SF_TABLES_ROWS =
                           2, /* resources, scopes, keys, granules: needed to read rows */
                       SF_TABLES_VALUES = 4, /* keys with their frequent values */
                       SF_TABLES_OPERATIONS = 8,
                       SF_TABLES_LISTS = 16, /* request hashes, replaced blocks */
                       SF_TABLES_ALL = 31,
};
#define SF_BLOCK_TABLE_SETS 5

/* Takes the file over on success. Fails with IO, CORRUPT or UNSUPPORTED (format number); `why`
 * names the section. `tables`: those to decode at once. */
enum sf_err sf_span_block_reader_open(struct sf_file *file, unsigned tables,
                                      struct sf_span_block_reader **out, struct sf_why *why);
/* Reads a block in memory; takes the bytes over on success. */
enum sf_err sf_span_block_reader_open_memory(struct sf_buf *bytes, unsigned tables,
                                             struct sf_span_block_reader **out, struct sf_why *why);
/* Decodes those of the tables that are not loaded. One thread at a time. */
enum sf_err sf_span_block_reader_load(struct sf_span_block_reader *r, unsigned tables,
                                      struct sf_why *why);
void sf_span_block_reader_close(struct sf_span_block_reader *r); /* NULL is fine */

const struct sf_span_block_info *sf_span_block_reader_info(const struct sf_span_block_reader *r);
uint64_t sf_span_block_reader_len(const struct sf_span_block_reader *r); /* bytes of the block */
size_t sf_span_block_reader_memory(
    const struct sf_span_block_reader *r); /* bytes of memory that the open reader uses */
/* Bytes of its tables of texts, resources and scopes when they are decoded, about. */
uint64_t sf_span_block_reader_texts_len(const struct sf_span_block_reader *r);
/* Needs ROWS, like all functions below unless stated otherwise. */
uint32_t sf_span_block_reader_granules(const struct sf_span_block_reader *r);
const struct sf_granule_info *sf_span_block_reader_granule(const struct sf_span_block_reader *r,
                                                           uint32_t granule);
/* The block's tables: row columns `resource` and `scope` are indexes into them. Borrowed until
 * close. */
const struct sf_resource *sf_span_block_reader_resources(const struct sf_span_block_reader *r,
                                                         uint32_t *out_n);
uint32_t sf_span_block_reader_resource_tenant(const struct sf_span_block_reader *r,
                                              uint32_t resource);
const struct sf_scope *sf_span_block_reader_scopes(const struct sf_span_block_reader *r,
                                                   uint32_t *out_n);

/* The position of a trace: its first granule, and its rows there. */
struct sf_trace_place {
    uint32_t granule, row, n_rows;
    uint32_t trace; /* its number in the block */
};
/* May the block contain the trace? Probes the filter and the index; needs no tables. *out_at: where
 * sf_filter_probe_find_trace_at() continues. */
enum sf_err sf_filter_probe_may_have_trace(const struct sf_span_block_reader *r, uint32_t tenant,
                                           sf_trace_id id, struct sf_arena scratch, bool *out,
                                           uint64_t *out_at, struct sf_why *why);
enum sf_err sf_filter_probe_find_trace_at(const struct sf_span_block_reader *r, uint32_t tenant,
                                          sf_trace_id id, uint64_t at, struct sf_arena scratch,
                                          bool *out_found, struct sf_trace_place *out,
                                          struct sf_why *why);
/* Does the block contain this trace? The filter excludes most blocks with one probe. */
enum sf_err sf_filter_probe_find_trace(const struct sf_span_block_reader *r, uint32_t tenant,
                                       sf_trace_id id, struct sf_arena scratch, bool *out_found,
                                       struct sf_trace_place *out, struct sf_why *why);
/* The filter itself (fuse.h), for callers that look up many traces; in `req`. Needs no tables. */
enum sf_err sf_filter_probe_trace_filter(const struct sf_span_block_reader *r, struct sf_arena *req,
                                         sf_bytes *out, struct sf_why *why);
/* `n` entries of the sorted index of traces from entry `first` on (n_traces of the block in all):
 * high half of sf_trace_id_hash() << 32 | number of the trace in the block. Needs no tables. */
enum sf_err sf_filter_probe_trace_index(const struct sf_span_block_reader *r, uint64_t first,
                                        uint32_t n, struct sf_arena scratch, uint64_t *out,
                                        struct sf_why *why);

/* Cached results of filters for the last granules; zeroed at first. For one reader. */
enum { SF_MATCH_ASKED = 4, SF_MATCH_GROUPS = 32 };
struct sf_filter_group { /* granules [first, first + n) share the filter that begins at `off` */
    uint32_t first, n;
    uint64_t off, len; /* len 0: no filter */
    uint32_t kind;     /* enum sf_filter_kind of its section */
    uint32_t beside;   /* number of filters whose blocks alternate; 1: its bytes are together */
};
struct sf_match_memo {
    struct sf_filter_group groups[SF_MATCH_GROUPS]; /* the current group, and following ones */
    uint32_t at, n_groups;
    struct {
        uint64_t probe;
        bool is_yes;
    } asked[SF_MATCH_ASKED];
    uint32_t n_asked;
    uint32_t n_searched, n_contained; /* searches for the part of a text, and hits */
};
/* Can this granule contain a row for which all conditions are true? False is certain; true is an
 * estimate from zone maps, dictionary hashes and attribute filters. With a memo (may be NULL),
 * granules should be queried in order. */
enum sf_err sf_granule_match_may_hold(const struct sf_span_block_reader *r, uint32_t granule,
                                      uint32_t tenant, const struct sf_cond *conds, size_t n_conds,
                                      struct sf_match_memo *memo, struct sf_arena scratch,
                                      bool *out, struct sf_why *why);
/* Decodes columns of a whole granule into `req`. `rows->n_rows` may exceed SF_ROWS_MAX here. */
enum sf_err sf_granule_view_read(const struct sf_span_block_reader *r, uint32_t granule,
                                 uint32_t columns, const struct sf_key *want_keys, size_t n_want,
                                 struct sf_arena *req, struct sf_span_rows *out,
                                 struct sf_why *why);

/* Index times of a granule's rows, as given to the writer (a merge passes them on). */
enum sf_err sf_granule_view_index_times(const struct sf_span_block_reader *r, uint32_t granule,
                                        struct sf_arena *req, const int64_t **out,
                                        struct sf_why *why);

/* Attribute names with scope, type and counts, from section KEY, without reading columns. Needs
 * VALUES. */
struct sf_block_key {
    uint32_t tenant;
    enum sf_attr_scope scope;
    sf_str name;
    uint32_t types;             /* bit set of enum sf_value_type */
    uint64_t n_spans;           /* rows having it */
    const struct sf_value *top; /* most frequent values */
    const uint32_t *top_counts;
    uint32_t n_top;
    bool is_complete; /* `top` holds every value that occurs */
};
const struct sf_block_key *sf_span_block_reader_keys(const struct sf_span_block_reader *r,
                                                     uint32_t *out_n);

/* Counts per tenant, service and operation, from section SVC. Buckets as in store.h. Needs
 * OPERATIONS. */
struct sf_block_operation {
    uint32_t tenant;
    sf_str service, name;
    struct sf_call_count all;
};
const struct sf_block_operation *sf_span_block_reader_operations(
    const struct sf_span_block_reader *r, uint32_t *out_n);

/* The same for the spans by which requests enter a service (section ENTRY), in the same order.
 * Needs OPERATIONS. */
struct sf_block_entry {
    uint32_t op; /* index in the list of operations */
    struct sf_call_count count;
};
const struct sf_block_entry *sf_span_block_reader_entries(const struct sf_span_block_reader *r,
                                                          uint32_t *out_n);
/* False: the block is older than that section. Needs no tables. */
bool sf_span_block_reader_has_entries(const struct sf_span_block_reader *r);

/* Request hashes (DUP) and replaced blocks (SRC); borrowed until close. Needs LISTS. */
const uint64_t *sf_span_block_reader_dup_hashes(const struct sf_span_block_reader *r,
                                                size_t *out_n);
const uint64_t *sf_span_block_reader_sources(const struct sf_span_block_reader *r, size_t *out_n);

/* Checks every checksum, every column of every granule, and every index against the rows; `say`
 * gets one sentence per finding. Needs all tables. */
enum sf_err sf_span_block_verify(const struct sf_span_block_reader *r, struct sf_arena scratch,
                                 void (*say)(void *arg, const char *sentence), void *arg,
                                 uint64_t *out_n_faults, struct sf_why *why);
