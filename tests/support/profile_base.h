/* profile_base.h - a small block of profiles, always the same, with one section replaced. */
#pragma once
#include <stdlib.h>

#include "base/hash.h"
#include "base/invariant.h"
#include "block/format/planes.h"
#include "block/format/section.h"
#include "block/profile/profile_block_reader.h"
#include "block/profile/profile_block_writer.h"
#include "block/profile/profile_set.h"
#include "support/profile_make.h"

struct profile_base { /* a block, and where its table begins */
    struct sf_buf bytes;
    struct sf_block_tail tail;
    struct sf_buf stacks, times; /* the first STX and DET as format 2 had them */
};

static inline void profile_base_signed(struct sf_buf *out, int64_t v)
{
    sf_buf_add_varint(out, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

/* Rows as the STX of formats 1 and 2, no shorter than they must be: every row has ids of its own,
 * and nodes are at most 256. */
static inline void profile_base_stacks(const struct sf_profile_detail *d, uint32_t n,
                                       struct sf_buf *out)
{
    uint32_t nodes[256], n_nodes = 0;
    bool is_lent = false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = 0;
        while (at < n_nodes && nodes[at] < d[i].node)
            at++;
        is_lent = is_lent || d[i].is_lent;
        if (at < n_nodes && nodes[at] == d[i].node)
            continue;
        SF_ASSERT(n_nodes < 256);
        memmove(&nodes[at + 1], &nodes[at], (n_nodes++ - at) * sizeof(*nodes));
        nodes[at] = d[i].node;
    }
    sf_buf_add_u8(out, is_lent ? SF_PROFILE_ANY_LENT : 0);
    sf_buf_add_varint(out, 1); /* what values were divided by */
    sf_buf_add_varint(out, n_nodes);
    for (uint32_t i = 0; i < n_nodes; i++)
        sf_buf_add_varint(out, nodes[i] - (i ? nodes[i - 1] : 0));
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t at = 0; at < n_nodes; at++)
            if (nodes[at] == d[i].node)
                sf_buf_add_u8(out, (uint8_t)at);
    for (uint32_t i = 0; i < n; i++)
        sf_buf_add_varint(out, d[i].series);
    for (uint32_t i = 0; i < n; i++)
        profile_base_signed(out, d[i].value);
    sf_buf_add_varint(out, n);
    for (uint32_t i = 0; i < n; i++)
        sf_buf_add_u64le(out, d[i].span_id);
    for (uint32_t i = 0; i < n; i++)
        sf_buf_add_u8(out, 1 << 5);
    for (uint32_t i = 0; i < n; i++) {
        sf_buf_add_u8(out, 0);
        sf_buf_add(out, d[i].trace_id.b, 16);
    }
    SF_ASSERT(sf_buf_ok(out));
}

/* Rows as the DET of format 2: each is a run of its own. */
static inline void profile_base_times(const struct sf_profile_detail *d, uint32_t n,
                                      struct sf_buf *out)
{
    uint64_t steps[SF_PROFILE_GRANULE_ROWS] = {0}, lengths[SF_PROFILE_GRANULE_ROWS];
    for (uint32_t i = 0; i < n; i++) {
        sf_buf_add_varint(out, 1);
        sf_buf_add_varint(out, d[i].process == SF_NONE ? 0 : (uint64_t)d[i].process + 1);
        sf_buf_add_varint(out, d[i].thread);
        profile_base_signed(out, (d[i].start_ns - (i ? d[i - 1].start_ns : 0)) / 1000);
        lengths[i] = (uint64_t)d[i].length_ns / 1000;
    }
    sf_planes_encode(out, steps, n);
    sf_planes_encode(out, lengths, n);
    for (uint32_t i = 0; i < n; i++)
        sf_buf_add_u8(
            out, (uint8_t)(d[i].state << 1 | d[i].has_time | (d[i].is_lent ? SF_PROFILE_LENT : 0)));
    SF_ASSERT(sf_buf_ok(out));
}

static inline void profile_base_read(struct profile_base *b, struct sf_arena a)
{
    struct sf_profile_block_reader *r = NULL;
    const struct sf_profile_detail *rows;
    struct sf_profile_places places;
    struct sf_buf copy = {0};
    uint32_t n;
    sf_buf_add(&copy, b->bytes.p, b->bytes.len);
    if (sf_profile_block_reader_open_memory(&copy, &r, NULL) ||
        sf_profile_tables_decode_places(r, 0, &a, &places, NULL) || places.n_granules != 1 ||
        sf_profile_samples_granule(r, 0, &places, 0, &a, &rows, &n, NULL))
        abort();
    profile_base_stacks(rows, n, &b->stacks);
    profile_base_times(rows, n, &b->times);
    sf_profile_block_reader_close(r);
}

static inline void profile_base_make(struct profile_base *b)
{
    static const uint64_t HASHES[] = {1, 2, 3};
    struct sf_profile_block_options o = {.info = {.block_id = 1, .tenant = 1},
                                         .dup_hashes = HASHES,
                                         .n_dup_hashes = 3,
                                         .source_ids = HASHES,
                                         .n_source_ids = 3};
    struct sf_profile_make m = {
        .rng = 3, .now_ns = INT64_C(1763200000) * 1000000000, .n_stacks = 12, .span_percent = 40};
    struct sf_profile_index index = {.recv_ns = m.now_ns};
    struct sf_profile_set *set = sf_profile_set_new(1, SF_STR("service-0"));
    struct sf_profile_block_writer *w = NULL;
    struct sf_arena a;
    uint64_t len;
    if (!set || !sf_arena_init(&a, 64 << 20))
        abort();
    for (int i = 0; i < 5; i++) {
        struct sf_profile_batch p;
        struct sf_profile_map map;
        sf_profile_make_one(&m, 0, 15, &a, &p);
        if (!sf_profile_set_map_init(&map, &p, &a) ||
            sf_profile_set_add(set, &map, &p, &index, a, NULL))
            abort();
        m.now_ns += 1000000000;
    }
    if (sf_profile_block_writer_new(&o, &w, NULL) ||
        sf_profile_set_write(w, set, INT64_MIN, INT64_MAX, NULL) ||
        sf_profile_block_writer_finish(w, &len, NULL, &b->bytes, NULL) ||
        sf_section_block_tail_decode(SF_BLOCK_OF_PROFILES,
                                     b->bytes.p + b->bytes.len - SF_BLOCK_TAIL_LEN, false, &b->tail,
                                     NULL))
        abort();
    profile_base_read(b, a);
    sf_profile_block_writer_free(w);
    sf_profile_set_free(set);
    sf_arena_done(&a);
}

static inline void profile_base_done(struct profile_base *b)
{
    sf_buf_done(&b->bytes);
    sf_buf_done(&b->stacks);
    sf_buf_done(&b->times);
}

/* Header and tail as an earlier format had them. */
static inline void profile_base_date_back(struct sf_buf *out, uint8_t tail[SF_BLOCK_TAIL_LEN],
                                          uint16_t format)
{
    sf_store_u16le(out->p + 4, format);
    sf_store_u64le(out->p + 120, sf_hash(out->p, 120));
    sf_store_u16le(tail + 40, format);
    sf_store_u64le(tail + 48, sf_hash(tail, 48));
}

static inline void profile_base_replace(struct sf_section *s, sf_bytes content, struct sf_buf *out)
{
    s->off = out->len;
    s->raw_len = s->stored_len = content.len;
    s->codec = 0;
    s->checksum = sf_hash(content.p, content.len);
    sf_buf_add(out, content.p, content.len);
}

/* The block with other bytes in the first section of its kind. Sections before the table stay where
 * they are; the new one follows them. NULL: as it is. With `without` (0: nothing) it is of an
 * earlier format: SF_PROFILE_SECTIONS of format 2, which had them all; others of format 1, which
 * had no THR, and at first had no section of that kind either. */
static inline void profile_base_put(const struct profile_base *b, uint16_t section,
                                    uint16_t without, const sf_bytes *content, struct sf_buf *out)
{
    struct sf_block_tail tail = b->tail;
    uint8_t raw[SF_BLOCK_TAIL_LEN];
    struct sf_buf table = {0};
    bool is_first_format = content && without && without != SF_PROFILE_SECTIONS;
    sf_buf_add(out, b->bytes.p, (size_t)b->tail.table_off);
    for (uint64_t at = 0; at < b->tail.table_len; at += SF_SECTION_LEN) {
        struct sf_section s = sf_section_decode(b->bytes.p + b->tail.table_off + at);
        if (is_first_format && (s.id == without || s.id == SF_PROFILE_THR))
            continue;
        if (is_first_format && s.id == SF_PROFILE_DIR) {
            s.raw_len = --s.stored_len; /* how many sums are alone was not given: none here */
            s.checksum = sf_hash(b->bytes.p + s.off, s.stored_len);
        }
        if (s.id == section && s.owner == 0 && content)
            profile_base_replace(&s, *content, out);
        else if (s.id == SF_PROFILE_STX && content && without)
            profile_base_replace(&s, sf_buf_bytes(&b->stacks), out);
        else if (s.id == SF_PROFILE_DET && content && without)
            profile_base_replace(&s, sf_buf_bytes(&b->times), out);
        sf_section_encode(&table, &s);
    }
    tail.table_off = out->len;
    tail.file_len = out->len + table.len + SF_BLOCK_TAIL_LEN;
    tail.table_len = table.len;
    tail.table_checksum = sf_hash(table.p, table.len);
    sf_section_block_tail_encode(SF_BLOCK_OF_PROFILES, &tail, raw);
    if (content && without)
        profile_base_date_back(out, raw, is_first_format ? 1 : 2);
    sf_buf_add(out, table.p, table.len);
    sf_buf_add(out, raw, sizeof(raw));
    SF_ASSERT(sf_buf_ok(out) && sf_buf_ok(&table));
    sf_buf_done(&table);
}
