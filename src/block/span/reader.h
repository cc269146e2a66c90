/* reader.h - definitions shared by the files of the span block reader; otherwise included only by
 * tests. */
#pragma once
#include <stdatomic.h>

#include "base/num.h"
#include "block/format/chunk.h"
#include "block/format/section.h"
#include "block/span/layout.h"
#include "block/span/span_block_reader.h"
#include "os/file.h"

struct sf_typed_key { /* index k has column 64 + k */
    uint32_t tenant;
    uint8_t scope, type; /* type NONE: attributes without their own column */
    sf_str name;
    uint64_t n_spans;
};

struct sf_granule_place { /* where the descriptors of a granule begin in GRAN */
    uint32_t first_chunk, n_chunks, n_hashes, first_run, n_runs;
};

struct sf_span_block_reader {
    struct sf_file file;    /* or: */
    struct sf_buf memory;   /* a block in memory */
    uint64_t len, data_end; /* chunks and sections lie below data_end */
    bool is_trusted;        /* fuzzing: checksums are not verified */
    struct sf_span_block_info info;
    struct sf_section sections[SF_SECTIONS]; /* by id; id 0: absent */
    atomic_uint loaded;                      /* enum sf_block_tables; each set has its own arena */
    struct sf_arena tables[SF_BLOCK_TABLE_SETS];
    const sf_str *strings; /* SF_TABLES_NAMES */
    uint32_t n_strings;
    const struct sf_resource *resources; /* SF_TABLES_ROWS, to the runs */
    const uint32_t *resource_tenants;
    uint32_t n_resources;
    const struct sf_scope *scopes;
    uint32_t n_scopes;
    const struct sf_typed_key *typed;
    const uint32_t *by_name; /* indexes of `typed`, sorted by tenant, scope, name and type */
    uint32_t n_typed;
    const struct sf_granule_info *granules;
    const struct sf_granule_place *places;
    uint32_t n_granules;
    const uint8_t *descs, *hashes, *runs; /* of GRAN */
    const uint32_t *hash_places;          /* by chunk: where its hashes begin in `hashes` */
    const struct sf_block_key *keys;      /* SF_TABLES_VALUES */
    uint32_t n_keys;
    const struct sf_block_operation *ops; /* SF_TABLES_OPERATIONS */
    uint32_t n_ops;
    struct sf_block_entry *entries;
    uint32_t n_entries;
    const uint64_t *dups, *sources; /* SF_TABLES_LISTS */
    size_t n_dups, n_sources;
};

/* Opens without verifying checksums, so that a fuzzer reaches the code behind them. */
enum sf_err sf_span_block_reader_open_trusted(struct sf_buf *bytes,
                                              struct sf_span_block_reader **out,
                                              struct sf_why *why);

/* span_block_reader.c: bytes */
enum sf_err sf_span_block_reader_bytes(const struct sf_span_block_reader *r, uint64_t off,
                                       size_t len, struct sf_arena *req, const uint8_t **out,
                                       struct sf_why *why);
/* The uncompressed content of a section that is read at once. */
enum sf_err sf_span_block_reader_section(const struct sf_span_block_reader *r, uint16_t id,
                                         struct sf_arena *req, sf_bytes *out, struct sf_why *why);
/* `len` bytes from `off` of a section stored in pages. */
enum sf_err sf_span_block_reader_paged(const struct sf_span_block_reader *r, uint16_t id,
                                       uint64_t off, void *to, size_t len, struct sf_arena scratch,
                                       struct sf_why *why);
/* Reads three single bytes of such a section. */
enum sf_err sf_span_block_reader_three(const struct sf_span_block_reader *r, uint16_t id,
                                       const uint64_t off[3], uint8_t out[3],
                                       struct sf_arena scratch, struct sf_why *why);
/* Chunk descriptors of a column in a granule: 0, 1, or 2 (codes, then their dictionary). */
unsigned sf_span_block_reader_find_chunk(const struct sf_span_block_reader *r, uint32_t granule,
                                         uint32_t column, uint32_t *out_first,
                                         struct sf_chunk_desc out[2]);
unsigned sf_span_block_reader_descs(const struct sf_span_block_reader *r, uint32_t granule,
                                    uint32_t column, struct sf_chunk_desc out[2]);
struct sf_chunk_desc sf_span_block_reader_desc(const struct sf_span_block_reader *r,
                                               uint32_t place);
uint32_t sf_span_block_reader_n_hashes(const struct sf_chunk_desc *d);
enum sf_err sf_span_block_reader_chunk(const struct sf_span_block_reader *r, uint32_t granule,
                                       const struct sf_chunk_desc *d, struct sf_arena *req,
                                       sf_bytes *out, struct sf_why *why);
enum sf_err sf_span_block_reader_corrupt(const struct sf_span_block_reader *r, uint32_t granule,
                                         uint32_t column, struct sf_why *why);
enum sf_err sf_span_block_reader_limit(struct sf_why *why);

/* table_decode.c: decodes one set, whose arena is ready and whose prerequisites are loaded. */
enum sf_err sf_table_decode_set(struct sf_span_block_reader *r, enum sf_block_tables set,
                                struct sf_why *why);

/* granule_table.c. Is the block a part in memory? Parts are uncompressed and lack the filters of
 * files; tables borrow from their bytes. */
bool sf_granule_table_is_part(const struct sf_span_block_reader *r);
/* `raw` is the content of GRAN. What is kept of it has the lifetime of the tables. */
enum sf_err sf_granule_table_read(struct sf_span_block_reader *r, sf_bytes raw, struct sf_why *why);

/* Range of indexes in by_name for (tenant, scope, name). */
void sf_table_decode_find_keys(const struct sf_span_block_reader *r, uint32_t tenant, uint8_t scope,
                               sf_str name, uint32_t *out_first, uint32_t *out_n);

/* granule_column.c: columns of one granule */
struct sf_granule_ctx {
    const struct sf_span_block_reader *r;
    uint32_t granule, n_rows, tenant;
    struct sf_arena *req;
    struct sf_why *why;
};

struct sf_shape_column {  /* item i has keys [ends[code[i] - 1], ends[code[i]]) */
    const uint32_t *code; /* NULL: all are shape 0 */
    const uint32_t *ends, *keys;
    uint32_t n_shapes, n_items;
};

struct sf_values { /* values of one key: occurrence i is vals[code[i]] */
    const struct sf_value *vals;
    const struct sf_attr *packed; /* used instead of `vals` for a key of type NONE */
    const uint32_t *code;         /* NULL: i itself, or 0 when n_vals is 1 */
    uint32_t n_vals, n;
};

/* NULL if the column is missing: all values are zero. */
enum sf_err sf_granule_column_numbers(struct sf_granule_ctx *c, uint32_t column, uint32_t n,
                                      const uint64_t **out);
enum sf_err sf_granule_column_u32s(struct sf_granule_ctx *c, uint32_t column, uint32_t n,
                                   uint32_t limit, const uint32_t **out);
enum sf_err sf_granule_column_fixed(struct sf_granule_ctx *c, uint32_t column, uint8_t encoding,
                                    uint32_t n, const uint8_t **out);
enum sf_err sf_granule_column_texts(struct sf_granule_ctx *c, uint32_t column, uint32_t n,
                                    struct sf_str_column *out);
enum sf_err sf_granule_column_shapes(struct sf_granule_ctx *c, uint32_t column, uint8_t scope,
                                     uint32_t n, struct sf_shape_column *out);
enum sf_err sf_granule_column_values(struct sf_granule_ctx *c, uint32_t key, uint32_t n,
                                     struct sf_values *out);
/* Counts how often each key occurs: n_typed counters in the arena. */
enum sf_err sf_granule_column_count_shapes(struct sf_granule_ctx *c,
                                           const struct sf_shape_column *s, struct sf_arena *req,
                                           uint32_t **out);
static inline uint32_t sf_shape_start(const struct sf_shape_column *s, uint32_t shape)
{
    return shape ? s->ends[shape - 1] : 0;
}
static inline uint32_t sf_values_at(const struct sf_values *v, uint32_t i)
{
    return v->code ? v->code[i] : v->n_vals == 1 ? 0 : i;
}

/* granule_spans.c: assembles attributes, events and links of rows [from, to): the first of `out` is
 * row `from` */
enum sf_err sf_granule_spans(struct sf_granule_ctx *c, uint32_t columns, const uint64_t *start_ns,
                             uint32_t from, uint32_t to, const struct sf_span **out);
/* granule_want.c: single attributes */
enum sf_err sf_granule_want(struct sf_granule_ctx *c, const struct sf_key *keys, size_t n,
                            const struct sf_value_column **out);
enum sf_err sf_granule_starts(struct sf_granule_ctx *c, const uint32_t *trace_rows,
                              const uint64_t **out);
enum sf_err sf_granule_trace_rows(struct sf_granule_ctx *c, const uint32_t **out);
/* granule.c: the columns every row has */
enum sf_err sf_granule_traces(struct sf_granule_ctx *c, const uint32_t *trace_rows,
                              const sf_trace_id **out_ids, const uint32_t **out_firsts);
enum sf_err sf_granule_ids(struct sf_granule_ctx *c, const sf_trace_id *trace_ids,
                           const uint32_t *trace_rows, struct sf_span_rows *out);
enum sf_err sf_granule_parents(struct sf_granule_ctx *c, const uint32_t *trace_rows,
                               struct sf_span_rows *out);
enum sf_err sf_granule_ends(struct sf_granule_ctx *c, struct sf_span_rows *out);
enum sf_err sf_granule_kinds(struct sf_granule_ctx *c, struct sf_span_rows *out);
enum sf_err sf_granule_codes(struct sf_granule_ctx *c, uint32_t columns, struct sf_span_rows *out);

/* granule_match.c: 32-bit hashes of a column's distinct values; NULL: not stored, use AFLT */
const uint8_t *sf_granule_match_hashes(const struct sf_span_block_reader *r, uint32_t granule,
                                       uint32_t column, uint32_t *out_n);
bool sf_granule_match_hashes_have(const uint8_t *hashes, uint32_t n, uint64_t hash);

/* filter_probe.c */
enum sf_err sf_filter_probe(const struct sf_span_block_reader *r, uint16_t section, uint64_t base,
                            uint64_t len, uint64_t hash, struct sf_arena scratch, bool *out,
                            struct sf_why *why);
/* The same for the filter of a group, which has one. */
enum sf_err sf_filter_probe_group(const struct sf_span_block_reader *r, uint16_t section,
                                  const struct sf_filter_group *group, uint64_t hash,
                                  struct sf_arena scratch, bool *out, struct sf_why *why);
/* Is the hash in any of these filters? Those that are stored side by side are read at once. */
enum sf_err sf_filter_probe_any(const struct sf_span_block_reader *r, uint16_t section,
                                const struct sf_filter_group *groups, uint32_t n_groups,
                                uint64_t hash, struct sf_arena scratch, bool *out,
                                struct sf_why *why);
/* The bytes of a group's filter, for: */
enum sf_err sf_filter_probe_load(const struct sf_span_block_reader *r, uint16_t section,
                                 const struct sf_filter_group *group, struct sf_arena *req,
                                 sf_bytes *out, struct sf_why *why);
/* Tests the filter of a group that is completely in memory. */
bool sf_filter_probe_group_has(const struct sf_filter_group *group, sf_bytes filter, uint64_t hash);
/* The group of a granule, and following ones that are in the same read, at most `cap` in all;
 * *out_n at least 1. */
enum sf_err sf_filter_probe_groups(const struct sf_span_block_reader *r, uint16_t section,
                                   uint32_t granule, struct sf_arena scratch,
                                   struct sf_filter_group *out, uint32_t cap, uint32_t *out_n,
                                   struct sf_why *why);
