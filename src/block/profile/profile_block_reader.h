/* profile_block_reader.h - reads one immutable block of profiles.
 *
 * A reader checks header, tail, section table and directory once; everything else is read on
 * request, into the caller's arena, and checked there: all codes and numbers that are returned are
 * in range. Nothing is mapped. An open reader never changes: threads may share it. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "block/profile/profile_block.h"

struct sf_file;
struct sf_profile_block_reader;

/* Takes the file over on success. CORRUPT, UNSUPPORTED, IO, NOMEM. */
enum sf_err sf_profile_block_reader_open(struct sf_file *file, struct sf_profile_block_reader **out,
                                         struct sf_why *why);
/* Takes the bytes over on success. */
enum sf_err sf_profile_block_reader_open_memory(struct sf_buf *bytes,
                                                struct sf_profile_block_reader **out,
                                                struct sf_why *why);
/* The same without verifying checksums, so that a fuzzer reaches the code behind them. */
enum sf_err sf_profile_block_reader_open_trusted(struct sf_buf *bytes,
                                                 struct sf_profile_block_reader **out,
                                                 struct sf_why *why);
void sf_profile_block_reader_close(struct sf_profile_block_reader *r); /* NULL is fine */

const struct sf_span_block_info *sf_profile_block_reader_info(
    const struct sf_profile_block_reader *r);
uint64_t sf_profile_block_reader_len(const struct sf_profile_block_reader *r);
size_t sf_profile_block_reader_memory(const struct sf_profile_block_reader *r);
const uint64_t *sf_profile_block_reader_dup_hashes(const struct sf_profile_block_reader *r,
                                                   size_t *out_n);
const uint64_t *sf_profile_block_reader_sources(const struct sf_profile_block_reader *r,
                                                size_t *out_n);
/* Sorted by tenant and name. */
const struct sf_profile_service *sf_profile_block_reader_services(
    const struct sf_profile_block_reader *r, uint32_t *out_n);

/* ---- of one service: LIMIT when the arena is too small, CORRUPT, IO ---- */

enum sf_err sf_profile_tables_decode_symbols(const struct sf_profile_block_reader *r,
                                             uint32_t service, struct sf_arena *req,
                                             struct sf_profile_symbols *out, struct sf_why *why);
/* Uncompressed size of the symbols. */
uint64_t sf_profile_block_reader_symbols_len(const struct sf_profile_block_reader *r,
                                             uint32_t service);
/* As many as the directory states. */
enum sf_err sf_profile_tables_decode_series(const struct sf_profile_block_reader *r,
                                            uint32_t service, struct sf_arena *req,
                                            const struct sf_profile_series **out,
                                            const struct sf_process **out_processes,
                                            struct sf_why *why);
enum sf_err sf_profile_tables_decode_rows(const struct sf_profile_block_reader *r, uint32_t service,
                                          struct sf_arena *req, const struct sf_profile_row **out,
                                          struct sf_why *why);

/* The known threads of its detail rows, sorted by process (none first) and thread; none in a block
 * of format 1. */
enum sf_err sf_profile_tables_decode_threads(const struct sf_profile_block_reader *r,
                                             uint32_t service, struct sf_arena *req,
                                             const struct sf_profile_thread **out, uint32_t *out_n,
                                             struct sf_why *why);

struct sf_profile_chunk { /* samples of a series' rows [first_row, first_row + n_rows) */
    uint32_t series, first_row, n_rows, section;
    uint64_t n_entries, off, len;
    bool is_rollup;
};

struct sf_profile_granule {
    uint32_t n_rows;
    uint32_t first_process, last_process; /* 0: none, otherwise index + 1 */
    int64_t from_ns, to_ns;               /* range of starts and ends */
};

struct sf_profile_piece { /* a piece of an index of ids */
    uint32_t n;
    sf_trace_id first; /* a span's id is in the first eight bytes, big-endian */
};

struct sf_profile_places {
    const struct sf_profile_chunk *chunks;
    const struct sf_profile_granule *granules;
    const struct sf_profile_piece *spans, *traces;
    uint32_t n_chunks, n_granules, n_spans, n_traces;
    uint32_t first_granule, first_span, first_trace; /* numbers of their sections */
};

/* A rollup whose profiles' own samples were deleted: of old slots only the sums are kept. */
static inline bool sf_profile_chunk_is_alone(const struct sf_profile_places *p, uint32_t i)
{
    return p->chunks[i].is_rollup && (i == 0 || p->chunks[i - 1].is_rollup ||
                                      p->chunks[i - 1].first_row != p->chunks[i].first_row);
}

enum sf_err sf_profile_tables_decode_places(const struct sf_profile_block_reader *r,
                                            uint32_t service, struct sf_arena *req,
                                            struct sf_profile_places *out, struct sf_why *why);
/* A section contains many chunks: a caller that reads one after the other holds the section
 * meanwhile. It is the last allocation of its arena until the next one is held. */
struct sf_profile_held { /* zeroed: nothing yet */
    sf_bytes raw;
    size_t mark; /* position in the arena where it begins */
    uint32_t section;
    bool is_held;
};
enum sf_err sf_profile_samples_hold(const struct sf_profile_block_reader *r, uint32_t section,
                                    struct sf_profile_held *held, struct sf_arena *a,
                                    struct sf_why *why);

/* The chunk's entries; in a rollup all rows are first_row. `held` may be NULL or hold another
 * section: then the section is read into `req`. */
enum sf_err sf_profile_samples_chunk(const struct sf_profile_block_reader *r, uint32_t service,
                                     const struct sf_profile_chunk *c,
                                     const struct sf_profile_held *held, struct sf_arena *req,
                                     const struct sf_profile_entry **out, size_t *out_n,
                                     struct sf_why *why);
enum sf_err sf_profile_samples_granule(const struct sf_profile_block_reader *r, uint32_t service,
                                       const struct sf_profile_places *places, uint32_t granule,
                                       struct sf_arena *req, const struct sf_profile_detail **out,
                                       uint32_t *out_n, struct sf_why *why);
/* The same by columns, without threads, processes and lengths: for callers that only compute sums.
 * With `is_node` (by node), a granule without a row of such a node is empty. */
struct sf_profile_run { /* rows that follow each other and carry the same ids */
    sf_span_id span_id;
    sf_trace_id trace_id;
    uint32_t n;
};
struct sf_profile_columns {
    const struct sf_profile_run *runs;
    uint32_t n_runs, n;
    const int64_t *start_ns, *value;
    const uint32_t *series, *node;
    const uint8_t *flags;   /* state << 1, has_time, SF_PROFILE_COARSE (since format 2), _LENT */
    const uint64_t *thread; /* since format 2; NULL: not read */
};
enum sf_err sf_profile_samples_columns(const struct sf_profile_block_reader *r, uint32_t service,
                                       const struct sf_profile_places *places, uint32_t granule,
                                       const bool *is_node, struct sf_arena *req,
                                       struct sf_profile_columns *out, struct sf_why *why);
/* The sums of each span of a granule over rows of the nodes and series, for callers that search for
 * few stacks among many. `out_is_told` false: the granule must be read by columns, since it is of
 * an older block or has rows with inherited ids. Reads only what it returns, no times. */
struct sf_profile_cost {
    sf_span_id span_id;
    int64_t value;
};
enum sf_err sf_profile_stacks_decode_costs(const struct sf_profile_block_reader *r,
                                           uint32_t service, const struct sf_profile_places *places,
                                           uint32_t granule, const bool *is_node,
                                           const bool *is_series, struct sf_arena *req,
                                           const struct sf_profile_cost **out, uint32_t *out_n,
                                           bool *out_is_told, struct sf_why *why);
/* The granules with rows of the span (or trace), in increasing order; n is 0 if there are none. */
enum sf_err sf_profile_samples_find_span(const struct sf_profile_block_reader *r,
                                         const struct sf_profile_places *places, sf_span_id id,
                                         struct sf_arena *req, const uint32_t **out,
                                         uint32_t *out_n, struct sf_why *why);
enum sf_err sf_profile_samples_find_trace(const struct sf_profile_block_reader *r,
                                          const struct sf_profile_places *places, sf_trace_id id,
                                          struct sf_arena *req, const uint32_t **out,
                                          uint32_t *out_n, struct sf_why *why);
/* The same for many ids at once, in increasing order: marks the granules of all of them. Each piece
 * of the index is read once, however many ids are in it. */
enum sf_err sf_profile_samples_mark_spans(const struct sf_profile_block_reader *r,
                                          const struct sf_profile_places *places,
                                          const sf_span_id *ids, size_t n, struct sf_arena scratch,
                                          bool *is_marked, struct sf_why *why);
enum sf_err sf_profile_samples_mark_traces(const struct sf_profile_block_reader *r,
                                           const struct sf_profile_places *places,
                                           const sf_trace_id *ids, size_t n,
                                           struct sf_arena scratch, bool *is_marked,
                                           struct sf_why *why);
/* Up to `cap` span ids in [low, high], in increasing order. */
enum sf_err sf_profile_samples_spans_between(const struct sf_profile_block_reader *r,
                                             const struct sf_profile_places *places, sf_span_id low,
                                             sf_span_id high, struct sf_arena scratch,
                                             sf_span_id *out, size_t cap, size_t *out_n,
                                             struct sf_why *why);

/* Reads everything and compares redundant information; `say` gets a sentence for each finding. */
enum sf_err sf_profile_block_verify(const struct sf_profile_block_reader *r,
                                    struct sf_arena scratch,
                                    void (*say)(void *arg, const char *sentence), void *arg,
                                    uint64_t *out_n_faults, struct sf_why *why);
