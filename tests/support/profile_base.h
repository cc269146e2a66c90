/* profile_base.h - a small block of profiles, always the same, with one section replaced. */
#pragma once
#include <stdlib.h>

#include "base/hash.h"
#include "base/invariant.h"
#include "block/format/section.h"
#include "block/profile/profile_block_writer.h"
#include "block/profile/profile_set.h"
#include "support/profile_make.h"

struct profile_base { /* a block, and where its table begins */
    struct sf_buf bytes;
    struct sf_block_tail tail;
};

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
        if (!sf_profile_map_init(&map, &p, &a) ||
            sf_profile_set_add(set, &map, &p, &index, a, NULL))
            abort();
        m.now_ns += 1000000000;
    }
    if (sf_profile_block_writer_new(&o, &w, NULL) ||
        sf_profile_block_writer_set(w, set, INT64_MIN, INT64_MAX, NULL) ||
        sf_profile_block_writer_finish(w, &len, NULL, &b->bytes, NULL) ||
        sf_block_tail_decode(SF_BLOCK_OF_PROFILES, b->bytes.p + b->bytes.len - SF_BLOCK_TAIL_LEN,
                             false, &b->tail, NULL))
        abort();
    sf_profile_block_writer_free(w);
    sf_profile_set_free(set);
    sf_arena_done(&a);
}

/* Header, tail and directory as format 1 had them. */
static inline void profile_base_date_back(struct sf_buf *out, uint8_t tail[SF_BLOCK_TAIL_LEN])
{
    sf_store_u16le(out->p + 4, 1);
    sf_store_u64le(out->p + 120, sf_hash(out->p, 120));
    sf_store_u16le(tail + 40, 1);
    sf_store_u64le(tail + 48, sf_hash(tail, 48));
}

/* The block with other bytes in the first section of its kind. Sections before the table stay where
 * they are; the new one follows them. NULL: as it is. With `without` (0: nothing) it is of format
 * 1, which had no THR, and at first had no section of that kind either. */
static inline void profile_base_put(const struct profile_base *b, uint16_t section,
                                    uint16_t without, const sf_bytes *content, struct sf_buf *out)
{
    struct sf_block_tail tail = b->tail;
    uint8_t raw[SF_BLOCK_TAIL_LEN];
    struct sf_buf table = {0};
    sf_buf_add(out, b->bytes.p, (size_t)b->tail.table_off);
    for (uint64_t at = 0; at < b->tail.table_len; at += SF_SECTION_LEN) {
        struct sf_section s = sf_section_decode(b->bytes.p + b->tail.table_off + at);
        if (content && without && (s.id == without || s.id == SF_PROFILE_THR))
            continue;
        if (content && without && s.id == SF_PROFILE_DIR) {
            s.raw_len = --s.stored_len; /* how many sums are alone was not said: none here */
            s.checksum = sf_hash(b->bytes.p + s.off, s.stored_len);
        }
        if (s.id == section && s.owner == 0 && content) {
            s.off = out->len;
            s.raw_len = s.stored_len = content->len;
            s.codec = 0;
            s.checksum = sf_hash(content->p, content->len);
            sf_buf_add(out, content->p, content->len);
        }
        sf_section_encode(&table, &s);
    }
    tail.table_off = out->len;
    tail.file_len = out->len + table.len + SF_BLOCK_TAIL_LEN;
    tail.table_len = table.len;
    tail.table_checksum = sf_hash(table.p, table.len);
    sf_block_tail_encode(SF_BLOCK_OF_PROFILES, &tail, raw);
    if (content && without)
        profile_base_date_back(out, raw);
    sf_buf_add(out, table.p, table.len);
    sf_buf_add(out, raw, sizeof(raw));
    SF_ASSERT(sf_buf_ok(out) && sf_buf_ok(&table));
    sf_buf_done(&table);
}
