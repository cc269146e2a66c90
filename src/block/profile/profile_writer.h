/* profile_writer.h - one profile block being written; shared by the files that write its parts.
 * Private to this module. */
#pragma once
#include "block/format/chunk.h"
#include "block/profile/profile_block_writer.h"
#include "block/profile/profile_groups.h"

struct sf_profile_tag { /* a span or trace in a granule */
    sf_trace_id id;     /* a span's id lies in the first eight bytes, big-endian */
    uint32_t granule;
};

struct sf_profile_tags {
    struct sf_profile_tag *list;
    size_t n, cap;
};

struct sf_profile_block_writer {
    struct sf_profile_block_options options;
    struct sf_span_block_info info;
    struct sf_chunk_packer *packer;
    struct sf_buf out; /* not yet in the file */
    uint64_t out_off;  /* where it goes */
    struct sf_buf table, dir, raw, index_chunks, index_granules, chunks;
    uint32_t n_services, n_chunk_sections, n_granules, n_span_pieces, n_trace_pieces;
    /* of the service in hand */
    const struct sf_profile_tables *t;
    uint32_t n_chunks, n_own_granules, first_granule, n_alone;
    uint32_t fine_row; /* the first one of the last chunk that is not a rollup, or SF_NONE */
    uint64_t n_entries, n_details;
    int64_t ts_min_ns, ts_max_ns;
    struct sf_profile_tags spans, traces;
    struct sf_profile_detail *pending; /* rows of a granule that is not full */
    uint32_t n_pending;
    struct sf_buf steps, runs; /* of a granule, while it is encoded */
    int64_t column[SF_PROFILE_GRANULE_ROWS], picked[SF_PROFILE_GRANULE_ROWS];
    uint32_t series[SF_PROFILE_GRANULE_ROWS]; /* of the granule, rising */
    struct sf_profile_groups groups;          /* its rows by them */
    struct sf_bins_work bins;
    bool *is_thread; /* of the service's threads: has rows */
    uint16_t by_stack[2][SF_PROFILE_GRANULE_ROWS];
    uint16_t
        id_slots[2 * SF_PROFILE_GRANULE_ROWS]; /* a table of its ids; 0: empty, else place + 1 */
    uint32_t id_rows[SF_PROFILE_GRANULE_ROWS]; /* the row in which each was first */
    enum sf_err err;
};

enum sf_err sf_profile_block_writer_no_memory(struct sf_profile_block_writer *w,
                                              struct sf_why *why);
/* Compresses `content` and puts it into the file as a section of its own. */
enum sf_err sf_profile_block_writer_section(struct sf_profile_block_writer *w, uint16_t id,
                                            uint32_t owner, const struct sf_buf *content,
                                            struct sf_why *why);
/* The same, compressed only when that saves a quarter: for what is read more often than the rest.
 */
enum sf_err sf_profile_block_writer_quick_section(struct sf_profile_block_writer *w, uint16_t id,
                                                  uint32_t owner, const struct sf_buf *content,
                                                  struct sf_why *why);

/* Details: the granule that is not full; then the ids that granules have, sorted, in pieces. */
enum sf_err sf_profile_details_encode_granule(struct sf_profile_block_writer *w,
                                              struct sf_why *why);
enum sf_err sf_profile_details_encode_index(struct sf_profile_block_writer *w, uint16_t section,
                                            struct sf_profile_tags *tags, size_t id_len,
                                            uint32_t *io_n_pieces, struct sf_buf *pieces,
                                            uint32_t *out_n, struct sf_why *why);
/* Of the pending rows: those of each stack, with their series and values. */
void sf_profile_stacks_encode(struct sf_profile_block_writer *w, struct sf_buf *out);
/* Their spans and traces, and which row has which. */
void sf_profile_stacks_encode_ids(struct sf_profile_block_writer *w, struct sf_buf *out);
/* Symbols, series and profiles of the service in hand. */
enum sf_err sf_profile_tables_encode(struct sf_profile_block_writer *w, struct sf_why *why);

/* w->column as bins: of one group of rows, of all groups one after the other. */
static inline void sf_profile_writer_bins(struct sf_profile_block_writer *w, uint32_t group,
                                          struct sf_buf *out)
{
    uint32_t n = sf_profile_groups_pick(&w->groups, group, w->column, w->picked);
    sf_bins_encode(out, w->picked, n, &w->bins);
}
static inline void sf_profile_put_signed(struct sf_buf *b, int64_t v)
{
    sf_buf_add_varint(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}
static inline void sf_profile_put_text(struct sf_buf *b, sf_str s)
{
    sf_buf_add_varint(b, s.len);
    sf_buf_add_str(b, s);
}
/* The common divisor of values; their size without the sign. */
static inline uint64_t sf_profile_gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}
static inline uint64_t sf_profile_size_of(int64_t v)
{
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}
