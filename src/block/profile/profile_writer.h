/* profile_writer.h - state of a profile block being written; shared by the files that write its
 * parts. Private to this module. */
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
    struct sf_buf out; /* bytes that are not yet in the file */
    uint64_t out_off;  /* their position in the file */
    struct sf_buf table, dir, raw, index_chunks, index_granules, chunks;
    uint32_t n_services, n_chunk_sections, n_granules, n_span_pieces, n_trace_pieces;
    /* of the current service */
    const struct sf_profile_tables *t;
    uint32_t n_chunks, n_own_granules, first_granule, n_alone;
    uint32_t fine_row; /* first row of the last chunk that is not a rollup, or SF_NONE */
    uint64_t n_entries, n_details;
    int64_t ts_min_ns, ts_max_ns;
    struct sf_profile_tags spans, traces;
    struct sf_profile_detail *pending; /* rows of the incomplete granule */
    uint32_t n_pending;
    struct sf_buf steps, runs; /* of a granule, while it is encoded */
    int64_t column[SF_PROFILE_GRANULE_ROWS], picked[SF_PROFILE_GRANULE_ROWS];
    uint32_t series[SF_PROFILE_GRANULE_ROWS]; /* of the granule, increasing */
    struct sf_profile_groups groups;          /* its rows, grouped by series */
    struct sf_bins_work bins;
    bool *is_thread; /* by thread of the service: has rows */
    uint16_t by_stack[2][SF_PROFILE_GRANULE_ROWS];
    uint16_t
        /* Hash table of its ids; 0: empty, otherwise index + 1. */
        id_slots[2 * SF_PROFILE_GRANULE_ROWS];
    uint32_t id_rows[SF_PROFILE_GRANULE_ROWS]; /* the first row of each */
    enum sf_err err;
};

enum sf_err sf_profile_block_writer_no_memory(struct sf_profile_block_writer *w,
                                              struct sf_why *why);
/* Compresses `content` and writes it as a section. */
enum sf_err sf_profile_block_writer_section(struct sf_profile_block_writer *w, uint16_t id,
                                            uint32_t owner, const struct sf_buf *content,
                                            struct sf_why *why);
/* The same, compressed only if that saves a quarter: for frequently read data. */
enum sf_err sf_profile_block_writer_quick_section(struct sf_profile_block_writer *w, uint16_t id,
                                                  uint32_t owner, const struct sf_buf *content,
                                                  struct sf_why *why);

/* Details: writes the incomplete granule; then the ids of all granules, sorted, in pieces. */
enum sf_err sf_profile_details_encode_granule(struct sf_profile_block_writer *w,
                                              struct sf_why *why);
enum sf_err sf_profile_details_encode_index(struct sf_profile_block_writer *w, uint16_t section,
                                            struct sf_profile_tags *tags, size_t id_len,
                                            uint32_t *io_n_pieces, struct sf_buf *pieces,
                                            uint32_t *out_n, struct sf_why *why);
/* Encodes stacks, series and values of the pending rows. */
void sf_profile_stacks_encode(struct sf_profile_block_writer *w, struct sf_buf *out);
/* Encodes their spans and traces, and which row has which. */
void sf_profile_stacks_encode_ids(struct sf_profile_block_writer *w, struct sf_buf *out);
/* Encodes symbols, series and profiles of the current service. */
enum sf_err sf_profile_tables_encode(struct sf_profile_block_writer *w, struct sf_why *why);

/* Writes w->column as bins: of one group of rows; of all groups one after the other. */
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
/* The common divisor of values, and their magnitude. */
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
