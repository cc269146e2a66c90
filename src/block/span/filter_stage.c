/* filter_stage.c - writes the sections that exclude blocks from a search: filters of attribute
 * values, span ids and trace ids, and the sorted index of traces. */
#include "base/hash.h"
#include "base/heap.h"
#include "block/format/fuse.h"
#include "block/span/writer.h"

enum { AHEAD = 16 }; /* hashes prefetched before they are added to the set */

/* Adds a hash; there is space for it. */
static void put_hash(struct sf_hash_set *s, uint64_t hash)
{
    struct sf_table_lookup lookup = sf_table_lookup(&s->at, sf_key_u64(hash));
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        if (s->hashes[at] == hash)
            return;
    }
    sf_table_keep(&s->at, &lookup, s->n);
    s->hashes[s->n++] = hash;
}

static bool reserve_hashes(struct sf_hash_set *s, uint32_t n)
{
    if (s->cap - s->n < n) {
        uint32_t cap = s->cap ? s->cap : 2048;
        uint64_t *hashes;
        while (cap - s->n < n) {
            if (cap > UINT32_MAX / 2)
                return false;
            cap *= 2;
        }
        hashes = sf_heap_grow(s->hashes, cap, sizeof(*hashes));
        if (!hashes)
            return false;
        s->hashes = hashes;
        s->cap = cap;
    }
    return sf_table_reserve(&s->at, n);
}

/* Slots are scattered in memory: each is prefetched well before it is used. */
bool sf_filter_stage_hash_set_add_all(struct sf_hash_set *s, uint64_t key_hash,
                                      const struct sf_text_list *texts, const uint64_t *hashes)
{
    uint32_t n = texts->n;
    uint64_t mixed[AHEAD];

    if (!reserve_hashes(s, n))
        return false;
    for (uint32_t i = 0; i < n + AHEAD; i++) {
        if (i >= AHEAD)
            put_hash(s, mixed[i % AHEAD]);
        if (i < n) {
            uint64_t hash = hashes ? hashes[i] : sf_hash_str(sf_text_list_get(texts, i));
            hash = sf_hash_mix(key_hash, hash);
            /* 0 stands for none, so the hash 0 is stored as 1, as which readers probe it. */
            mixed[i % AHEAD] = hash ? hash : 1;
            sf_table_prefetch(&s->at, sf_key_u64(mixed[i % AHEAD]));
        }
    }
    return true;
}

void sf_filter_stage_hash_set_done(struct sf_hash_set *s)
{
    sf_heap_free(s->hashes);
    sf_table_done(&s->at);
    *s = (struct sf_hash_set){0};
}

static bool add_filter(struct sf_span_block_writer *w, struct sf_buf *groups,
                       struct sf_buf *filters, uint64_t *hashes, size_t n)
{
    size_t start = filters->len;
    enum sf_err err = sf_fuse_build(filters, hashes, n);

    if (err)
        return sf_span_block_writer_fail(w, err);
    sf_buf_add_u32le(groups, w->group_first);
    sf_buf_add_u32le(groups, w->n_granules - w->group_first);
    sf_buf_add_u64le(groups, start);
    sf_buf_add_u64le(groups, filters->len - start);
    return sf_buf_ok(groups) || sf_span_block_writer_fail(w, groups->err);
}

bool sf_filter_stage_close_group(struct sf_span_block_writer *w)
{
    struct sf_hash_set *set = &w->attr_set;

    if (!w->has_filters || w->group_first == w->n_granules)
        return true;
    if (!add_filter(w, &w->attr_groups, &w->attr_filters, set->hashes, set->n) ||
        !add_filter(w, &w->span_groups, &w->span_filters, (uint64_t *)(void *)w->span_hashes.p,
                    w->span_hashes.len / 8))
        return false;
    sf_table_clear(&set->at);
    set->n = 0;
    sf_buf_reset(&w->span_hashes);
    w->group_first = w->n_granules;
    w->group_rows = 0;
    w->n_groups++;
    return true;
}

void sf_filter_stage_encode_groups(const struct sf_buf *groups, const struct sf_buf *filters,
                                   uint32_t n_groups, struct sf_buf *out)
{
    uint64_t base = 8 + (uint64_t)n_groups * SF_BLOCK_GROUP_REC_LEN;
    sf_buf_add_u32le(out, n_groups);
    sf_buf_add_u32le(out, 0);
    for (uint32_t i = 0; i < n_groups; i++) {
        const uint8_t *rec = groups->p + (size_t)i * SF_BLOCK_GROUP_REC_LEN;
        sf_buf_add(out, rec, 8);
        sf_buf_add_u64le(out, sf_load_u64le(rec + 8) + base);
        sf_buf_add(out, rec + 16, 8);
    }
    sf_buf_add(out, filters->p, filters->len);
}

/* Encodes pairs (high half of the hash, number of the trace), sorted; radix sort with four
 * passes. */
bool sf_filter_stage_encode_trace_index(const uint64_t *hashes, size_t n, struct sf_buf *out)
{
    uint64_t *from = sf_heap_new_n(n, sizeof(*from)), *to = sf_heap_new_n(n, sizeof(*to));
    bool is_ok = from && to;

    for (size_t i = 0; is_ok && i < n; i++)
        from[i] = (hashes[i] & 0xffffffff00000000u) | i;
    for (unsigned shift = 32; is_ok && shift < 64; shift += 8) {
        size_t starts[256] = {0}, sum = 0;
        uint64_t *swap = from;
        for (size_t i = 0; i < n; i++)
            starts[from[i] >> shift & 255]++;
        for (int b = 0; b < 256; b++) {
            size_t here = starts[b];
            starts[b] = sum;
            sum += here;
        }
        for (size_t i = 0; i < n; i++)
            to[starts[from[i] >> shift & 255]++] = from[i];
        from = to;
        to = swap;
    }
    for (size_t i = 0; is_ok && i < n; i++) {
        sf_buf_add_u32le(out, (uint32_t)(from[i] >> 32));
        sf_buf_add_u32le(out, (uint32_t)from[i]);
    }
    sf_heap_free(from);
    sf_heap_free(to);
    return is_ok && sf_buf_ok(out);
}
