/* writer.h - definitions shared by the files of the span block writer; no other code includes
 * it. */
#pragma once
#include "base/buf.h"
#include "base/limits.h"
#include "base/num.h"
#include "block/format/chunk.h"
#include "block/format/dict.h"
#include "block/format/shapes.h"
#include "block/rows/rowset.h"
#include "block/span/granule_carry.h"
#include "block/span/layout.h"
#include "block/span/span_block_writer.h"

struct sf_row_maps; /* row_maps.h */

struct sf_key_stage {      /* one attribute name of one scope and type */
    uint32_t tenant, name; /* name: code in `strings` */
    uint8_t scope, type;
    uint64_t hash, n_spans;
    uint64_t shape_stamp; /* last shape that was counted for it */
    /* values in the current granule: codes of dict for texts, bits for other types */
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
    uint32_t entry_plus_1; /* index in `entries` + 1; 0: no request entered by it */
};

struct sf_entry_stage { /* counts of the spans of an operation by which requests enter */
    uint32_t op;
    struct sf_call_count count;
};

struct sf_resource_stage {
    uint32_t tenant, service;
    uint64_t n_spans;
    uint32_t granule; /* last granule that used it, + 1 */
};

/* A decoded granule has to fit the memory of one query, and of a merge: it ends before this many
 * bytes, and no new trace begins in one that is nearly full. */
enum { SF_GRANULE_MAX_LEN = 16 << 20 };

struct sf_granule_stage {
    uint32_t tenant, n_rows, n_traces;
    bool is_continuation;
    size_t len; /* estimated size when decoded */
    int64_t ts_min_ns, ts_max_ns;
    uint64_t dur_min_ns, dur_max_ns;
    uint8_t statuses, kinds;
    /* nonzero if the optional column has a value */
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
    struct sf_span_block_options options; /* with a granule_len and max_ops */
    struct sf_span_block_info info;
    enum sf_err err; /* the first error is kept: the block cannot be finished */
    struct sf_chunk_packer *packer;
    struct sf_buf out; /* bytes that are not in the file yet; they begin at out_off */
    uint64_t out_off;
    struct sf_buf raw, nums, codes; /* scratch of the encoders */

    struct sf_dict strings, resources, scopes, key_ids;
    struct sf_resource_stage *resource_stages;
    uint32_t resource_cap;
    struct sf_resource_stage *scope_stages; /* service unused */
    uint32_t scope_cap;
    struct sf_key_stage *keys;
    uint32_t n_keys, key_cap;
    uint32_t *active_keys; /* keys with values in this granule */
    uint32_t n_active;
    struct sf_shapes shapes;
    uint64_t shapes_no; /* counts resets of `shapes` */
    uint64_t shape_stamp;
    struct sf_operation_stage *ops;
    uint32_t n_ops, op_cap;
    size_t op_names_len; /* bytes of their names */
    struct sf_entry_stage *entries;
    uint32_t n_entries, entry_cap;
    struct sf_dict op_ids;

    struct sf_granule_stage g;
    struct sf_dict spare;  /* texts of a granule that is copied */
    struct sf_rowset *own; /* for spans that are not given as a rowset */
    struct sf_arena own_maps;
    sf_trace_id newest_trace;
    uint32_t newest_tenant;
    bool has_newest;

    uint32_t n_granules;
    uint32_t stage_no; /* number of granules encoded so far; others were copied */
    struct sf_buf granules, descs, hashes, runs; /* of section GRAN */
    uint32_t n_chunks_here, n_hashes_here, n_runs_here;
    struct sf_buf trace_hashes; /* u64 per trace */
    bool has_filters;
    uint32_t group_rows, group_first; /* of the current filter group */
    struct sf_buf attr_hashes;        /* u64 each, of the current group */
    struct sf_buf attr_groups, attr_filters;
    struct sf_buf attr_set; /* filters that will be stored side by side: one after the other */
    uint32_t n_groups, set_first, set_blocks; /* group of the set's first filter; blocks of each */
};

/* Most functions return false and set w->err when memory ran out or a limit was exceeded. */
bool sf_span_block_writer_fail(struct sf_span_block_writer *w, enum sf_err err);

/* key_stage.c: keys and their frequent values */
enum { SF_WRITER_MAX_KEYS = 8192 }; /* names with columns of their own; later ones share one */
enum sf_err sf_key_stage_get(struct sf_span_block_writer *w, uint32_t tenant, uint8_t scope,
                             uint8_t type, sf_str name, uint32_t *out_key);
bool sf_key_stage_count_value(struct sf_span_block_writer *w, struct sf_key_stage *k, sf_str bytes,
                              uint32_t count);
void sf_key_stage_done(struct sf_key_stage *k);

/* granule_stage.c: the open granule's columns */
bool sf_granule_stage_init(struct sf_granule_stage *g);
void sf_granule_stage_done(struct sf_granule_stage *g);
void sf_granule_stage_reset(struct sf_granule_stage *g);
size_t sf_granule_stage_memory(const struct sf_granule_stage *g);

/* row_stage.c: adds rows of one trace to them, as many as fit. `rows` are arguments of
 * sf_rowsets_row(), with a map for each set. */
bool sf_row_stage_rows(struct sf_span_block_writer *w, struct sf_row_maps *maps, bool is_new,
                       const uint32_t *rows, uint32_t n, uint32_t *out_taken);

/* span_block_writer.c: adds rows of one trace, split into granules */
enum sf_err sf_span_block_writer_rows(struct sf_span_block_writer *w, struct sf_row_maps *maps,
                                      const uint32_t *rows, uint32_t n, struct sf_why *why);

/* Ends the open granule and its filter group: the next trace begins new ones. */
enum sf_err sf_span_block_writer_cut(struct sf_span_block_writer *w, struct sf_why *why);

/* granule_encode.c: encodes the open granule as chunks */
bool sf_granule_encode(struct sf_span_block_writer *w);
bool sf_granule_encode_u32s(struct sf_span_block_writer *w, uint16_t column, const uint32_t *vals,
                            uint32_t n);
bool sf_granule_encode_shapes(struct sf_span_block_writer *w, uint16_t column, const uint64_t *lens,
                              uint32_t n, const uint64_t *keys, size_t n_keys);
/* Called before the first chunk of a granule, and after its last. */
bool sf_granule_encode_begin(struct sf_span_block_writer *w, uint32_t n_rows);
bool sf_granule_encode_end(struct sf_span_block_writer *w, const struct sf_granule_info *g);

/* granule_count.c: adds a granule's statistics to the block's tables */
struct sf_text_list { /* texts by code, in one of two forms */
    const struct sf_dict *dict;
    const sf_str *list;
    uint32_t n;
};
static inline sf_str sf_text_list_get(const struct sf_text_list *t, uint32_t code)
{
    return t->dict ? sf_dict_get(t->dict, code) : t->list[code];
}
/* Not an sf_table: at most a quarter full, and small enough for the stack. */
struct sf_few { /* up to 256 distinct numbers */
    uint64_t vals[SF_BLOCK_MAX_HASHES];
    uint32_t counts[SF_BLOCK_MAX_HASHES];
    uint16_t slots[1024]; /* place + 1 */
    uint32_t n;
};
/* False: there are more than 256. */
bool sf_granule_count_find_few(struct sf_few *s, const uint64_t *vals, uint32_t n, uint32_t *codes);
/* How often one of `n_texts` distinct texts of a granule must occur to count as frequent: any
 * number in a small dictionary, repeatedly in a large one. */
uint32_t sf_granule_count_key_least(struct sf_key_stage *k, uint32_t n_texts, uint32_t n);
bool sf_granule_count_texts(struct sf_span_block_writer *w, struct sf_key_stage *k,
                            const struct sf_text_list *texts, const uint32_t *codes, uint32_t n);
/* Counts rows per key: `counts[i]` rows have shape i, which consists of the next lens[i] keys. */
void sf_granule_count_shapes(struct sf_span_block_writer *w, const uint64_t *lens,
                             const uint64_t *keys, const uint32_t *counts, uint32_t n);
struct sf_call_columns {
    uint32_t tenant, n_rows;
    struct sf_text_list names;
    const uint32_t *name, *resource, *flags; /* resources: codes of the block that is written */
    const uint64_t *start_ns, *duration_ns;  /* starts NULL: no end exceeds 2^64 */
    const uint8_t *kind, *status, *parent;
};
bool sf_granule_count_calls(struct sf_span_block_writer *w, const struct sf_call_columns *c);
bool sf_granule_count_hash_traces(struct sf_span_block_writer *w, uint32_t tenant,
                                  const sf_trace_id *ids, uint32_t n);
bool sf_granule_count_add_runs(struct sf_span_block_writer *w, const uint32_t *resources,
                               uint32_t n_rows);

/* granule_carry.c: copies a granule of another block as it is stored. If w->err is not set, the
 * error is in the other block. */
enum sf_err sf_granule_carry(struct sf_span_block_writer *w, const struct sf_span_block_reader *r,
                             uint32_t granule, const struct sf_block_codes *codes,
                             struct sf_arena scratch, struct sf_why *why);

/* table_encode.c: sections of tables */
bool sf_table_encode_resource(struct sf_span_block_writer *w, uint32_t tenant,
                              const struct sf_resource *r, struct sf_buf *out,
                              uint32_t *out_service);
bool sf_table_encode_scope(struct sf_span_block_writer *w, uint32_t tenant,
                           const struct sf_scope *s, struct sf_buf *out);
void sf_table_encode_strings(const struct sf_span_block_writer *w, struct sf_buf *out);
void sf_table_encode_records(const struct sf_dict *records, struct sf_buf *out);
bool sf_table_encode_keys(struct sf_span_block_writer *w, struct sf_buf *out);
void sf_table_encode_operations(const struct sf_span_block_writer *w, struct sf_buf *out);
void sf_table_encode_entries(const struct sf_span_block_writer *w, struct sf_buf *out);
void sf_table_encode_granules(const struct sf_span_block_writer *w, struct sf_buf *out);

/* filter_stage.c: filters of groups of granules */
/* Adds the hashes of all texts (`hashes`, or NULL: not known yet), each mixed into that of the key.
 */
bool sf_filter_stage_add_all(struct sf_buf *b, uint64_t key_hash, const struct sf_text_list *texts,
                             const uint64_t *hashes);
bool sf_filter_stage_close_group(struct sf_span_block_writer *w);
/* Encodes the filters of all groups, which are closed. */
bool sf_filter_stage_encode_groups(struct sf_span_block_writer *w, struct sf_buf *out);
bool sf_filter_stage_encode_trace_index(const uint64_t *hashes, size_t n, struct sf_buf *out);
