/* writer.h - what the files of the span block writer share; nobody else includes it. */
#pragma once
#include "base/buf.h"
#include "base/limits.h"
#include "base/num.h"
#include "block/format/chunk.h"
#include "block/format/dict.h"
#include "block/format/shapes.h"
#include "block/rows/rowset.h"
#include "block/span/layout.h"
#include "block/span/span_block_writer.h"

struct sf_row_maps; /* row_maps.h */

struct sf_key_stage {      /* one attribute name of one scope and type */
    uint32_t tenant, name; /* name: code in `strings` */
    uint8_t scope, type;
    uint64_t hash, n_spans;
    uint64_t shape_stamp; /* last shape that counted it */
    /* values in the granule that is being filled: codes of dict for texts, bits for the rest */
    struct sf_dict dict;
    uint32_t *codes;
    uint64_t *nums;
    uint32_t n, cap;
    /* frequent values of the whole block */
    struct sf_dict top;
    uint32_t *top_counts;
    uint32_t top_cap;
    bool is_partial; /* some value is not in `top` */
};

struct sf_operation_stage {
    uint32_t tenant, service, name; /* codes in `strings` */
    struct sf_call_count all;
    uint32_t entry_plus_1; /* its place in `entries`; 0: no request entered by it */
};

struct sf_entry_stage { /* of the spans of an operation by which requests enter */
    uint32_t op;
    struct sf_call_count count;
};

struct sf_resource_stage {
    uint32_t tenant, service;
    uint64_t n_spans;
    uint32_t granule; /* last one that used it, + 1 */
};

struct sf_hash_set {
    uint64_t *hashes; /* in order of appearance: the file is the same in each run */
    uint32_t n, cap;
    struct sf_table at;
};

/* A granule decoded has to fit the memory of one query: it ends before this many bytes, and no new
 * trace begins in one that is nearly there. */
#define SF_GRANULE_FULL_LEN ((size_t)14 << 20)
#define SF_GRANULE_MAX_LEN  ((size_t)16 << 20)

struct sf_granule_stage {
    uint32_t tenant, n_rows, n_traces;
    bool is_continuation;
    size_t len; /* bytes when decoded, about */
    int64_t ts_min_ns, ts_max_ns;
    uint64_t dur_min_ns, dur_max_ns;
    uint8_t statuses, kinds;
    /* which optional columns say anything */
    uint32_t any_flags, any_dropped_attrs, any_dropped_events, any_dropped_links;
    uint8_t any_high_kind;
    bool has_index, has_status_msg, has_trace_state;
    /* per trace */
    sf_trace_id *trace_ids;
    uint32_t *trace_rows;
    uint64_t *trace_starts;
    /* per row; one allocation */
    uint64_t *span_ids, *starts, *durations, *index;
    uint32_t *resources, *scopes, *names, *status_msgs, *trace_states, *flags, *dropped_attrs,
        *dropped_events, *dropped_links, *shapes, *n_events, *n_links;
    uint8_t *kinds_col, *status_col, *parents;
    struct sf_buf parent_rows, parent_ids; /* u32, u64 */
    struct sf_dict name_dict, msg_dict, state_dict;
    /* per event, per link */
    struct sf_buf event_times, event_names, event_shapes, event_dropped;
    uint32_t n_events_all, any_event_dropped;
    struct sf_dict event_name_dict;
    struct sf_buf link_trace_ids, link_span_ids, link_states, link_shapes, link_dropped, link_flags;
    uint32_t n_links_all, any_link_dropped, any_link_flags;
    struct sf_dict link_state_dict;
    struct sf_table row_at; /* rows by span id, for the newest trace */
    void *memory;
};

struct sf_span_block_writer {
    struct sf_span_block_options options;
    struct sf_span_block_info info;
    enum sf_err err; /* the first fault sticks: the block is lost */
    struct sf_packer *packer;
    struct sf_buf out; /* bytes from out_off on that are not in the file yet */
    uint64_t out_off;
    struct sf_buf raw, nums, codes; /* scratch of the encoders */

    struct sf_dict strings, resources, scopes, key_ids;
    struct sf_resource_stage *resource_stages;
    uint32_t resource_cap;
    struct sf_resource_stage *scope_stages; /* service unused */
    uint32_t scope_cap;
    struct sf_key_stage *keys;
    uint32_t n_keys, key_cap;
    uint32_t *active_keys; /* those with values in this granule */
    uint32_t n_active;
    struct sf_shapes shapes;
    uint64_t shapes_no; /* counts their resets */
    uint64_t shape_stamp;
    struct sf_operation_stage *ops;
    uint32_t n_ops, op_cap;
    struct sf_entry_stage *entries;
    uint32_t n_entries, entry_cap;
    struct sf_dict op_ids;

    struct sf_granule_stage g;
    struct sf_rowset *own; /* of spans that are given as such */
    struct sf_arena own_maps;
    sf_trace_id newest_trace;
    uint32_t newest_tenant;
    bool has_newest;

    uint32_t n_granules;
    struct sf_buf granules, descs, hashes, runs; /* of section GRAN */
    uint32_t n_chunks_here, n_hashes_here, n_runs_here;
    struct sf_buf trace_hashes; /* u64 per trace */
    bool has_filters;
    uint32_t group_rows, group_first; /* of the filter group that is being filled */
    struct sf_hash_set attr_set;
    struct sf_buf span_hashes;
    struct sf_buf attr_groups, attr_filters, span_groups, span_filters;
    uint32_t n_groups;
};

/* Each returns false and sets w->err when memory ran out (or a limit was met). */
bool sf_writer_fail(struct sf_span_block_writer *w, enum sf_err err);

/* key_stage.c: keys and their frequent values */
enum sf_err sf_writer_key(struct sf_span_block_writer *w, uint32_t tenant, uint8_t scope,
                          uint8_t type, sf_str name, uint32_t *out_key);
bool sf_writer_count_value(struct sf_span_block_writer *w, struct sf_key_stage *k, sf_str bytes,
                           uint32_t count);
void sf_key_stage_done(struct sf_key_stage *k);

/* granule_stage.c: the open granule's columns */
bool sf_granule_stage_init(struct sf_granule_stage *g);
void sf_granule_stage_done(struct sf_granule_stage *g);
void sf_granule_stage_reset(struct sf_granule_stage *g);
size_t sf_granule_stage_memory(const struct sf_granule_stage *g);

/* row_stage.c: rows of one trace into them, as many as fit. `rows` are as sf_rowsets_row() takes
 * them, with a map for each set. */
bool sf_granule_stage_rows(struct sf_span_block_writer *w, struct sf_row_maps *maps, bool is_new,
                           const uint32_t *rows, uint32_t n, uint32_t *out_taken);

/* span_block_writer.c: rows of one trace, cut into granules */
enum sf_err sf_writer_rows(struct sf_span_block_writer *w, struct sf_row_maps *maps,
                           const uint32_t *rows, uint32_t n, struct sf_why *why);

/* granule_encode.c: the open granule into chunks */
bool sf_granule_encode(struct sf_span_block_writer *w);

/* table_encode.c: sections of tables */
bool sf_table_resource(struct sf_span_block_writer *w, uint32_t tenant, const struct sf_resource *r,
                       struct sf_buf *out, uint32_t *out_service);
bool sf_table_scope(struct sf_span_block_writer *w, uint32_t tenant, const struct sf_scope *s,
                    struct sf_buf *out);
void sf_table_encode_strings(const struct sf_span_block_writer *w, struct sf_buf *out);
void sf_table_encode_records(const struct sf_dict *records, struct sf_buf *out);
bool sf_table_encode_keys(struct sf_span_block_writer *w, struct sf_buf *out);
void sf_table_encode_operations(const struct sf_span_block_writer *w, struct sf_buf *out);
void sf_table_encode_entries(const struct sf_span_block_writer *w, struct sf_buf *out);
void sf_table_encode_granules(const struct sf_span_block_writer *w, struct sf_buf *out);

/* filter_stage.c: filters of groups of granules */
/* Adds the hashes of all entries, each mixed into that of the key. */
bool sf_hash_set_add_all(struct sf_hash_set *s, uint64_t key_hash, const struct sf_dict *d);
void sf_hash_set_done(struct sf_hash_set *s);
bool sf_writer_close_group(struct sf_span_block_writer *w);
void sf_filter_groups_encode(const struct sf_buf *groups, const struct sf_buf *filters,
                             uint32_t n_groups, struct sf_buf *out);
bool sf_trace_index_encode(const uint64_t *hashes, size_t n, struct sf_buf *out);
