/* filter_stage.c - writes the sections that exclude blocks from a search: filters of attribute
 * values, and the sorted index of traces. */
#include <stdlib.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/radix.h"
#include "block/format/bloom.h"
#include "block/span/writer.h"

/* Hashes of values are appended once per granule and repeat from one to the next. Beyond MANY they
 * are sorted and repeats removed, which bounds the memory of a group with many columns. */
enum { MANY = 1 << 19, FEW = 8192, SAMPLED = 16 };

static int filter_stage_cmp_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void drop_repeats(struct sf_buf *b)
{
    uint64_t *hashes = (uint64_t *)(void *)b->p;
    size_t n = b->len / 8, n_kept = 0;

    qsort(hashes, n, sizeof(*hashes), filter_stage_cmp_u64);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || hashes[i] != hashes[n_kept - 1])
            hashes[n_kept++] = hashes[i];
    }
    b->len = n_kept * 8;
}

bool sf_filter_stage_add_all(struct sf_buf *b, uint64_t key_hash, const struct sf_text_list *texts,
                             const uint64_t *hashes)
{
    uint64_t *to;

    if (b->len / 8 >= MANY && b->len / 8 + texts->n > b->cap / 8)
        drop_repeats(b);
    to = (uint64_t *)(void *)sf_buf_take(b, (size_t)texts->n * 8);
    if (!to)
        return false;
    for (uint32_t i = 0; i < texts->n; i++) {
        uint64_t hash = hashes ? hashes[i] : sf_hash_str(sf_text_list_get(texts, i));
        hash = sf_hash_mix(key_hash, hash);
        /* 0 stands for none, so the hash 0 is stored as 1, as which readers probe it. */
        to[i] = hash ? hash : 1;
    }
    return true;
}

/* How many hashes are distinct: exact for few, otherwise estimated from those that end in four zero
 * bits, with some to spare. */
static enum sf_err count_distinct(const uint64_t *hashes, size_t n, size_t *out)
{
    uint64_t mask = n > FEW ? SAMPLED - 1 : 0;
    uint64_t *list = sf_heap_new_n(2 * n + 1, sizeof(*list));
    size_t n_list = 0, n_distinct = 0;

    if (!list)
        return SF_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        list[n_list] = hashes[i];
        n_list += (hashes[i] & mask) == 0;
    }
    sf_radix_sort(list, list + n_list, n_list);
    for (size_t i = 0; i < n_list; i++)
        n_distinct += i == 0 || list[i] >> 32 != list[i - 1] >> 32;
    sf_heap_free(list);
    *out = mask ? (n_distinct + SAMPLED) * SAMPLED : n_distinct;
    return SF_OK;
}

/* Stores the filters of the open set side by side: block 0 of each, then block 1 of each. */
static bool close_set(struct sf_span_block_writer *w)
{
    uint32_t n = w->n_groups - w->set_first;
    size_t start = w->attr_filters.len, filter_len = (size_t)w->set_blocks * SF_BLOOM_BLOCK_LEN;
    uint8_t *to;

    if (n == 0)
        return true;
    to = sf_buf_take(&w->attr_filters, n * filter_len);
    if (!to)
        return sf_span_block_writer_fail(w, w->attr_filters.err);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *from = w->attr_set.p + i * filter_len;
        uint8_t *rec = w->attr_groups.p + (size_t)(w->set_first + i) * SF_BLOCK_GROUP_REC_LEN;
        for (size_t k = 0; k < w->set_blocks; k++)
            memcpy(to + (k * n + i) * SF_BLOOM_BLOCK_LEN, from + k * SF_BLOOM_BLOCK_LEN,
                   SF_BLOOM_BLOCK_LEN);
        sf_store_u64le(rec + 8, start + (size_t)i * SF_BLOOM_BLOCK_LEN);
        sf_store_u32le(rec + 16, w->set_blocks);
        sf_store_u32le(rec + 20, n);
    }
    sf_buf_reset(&w->attr_set);
    w->set_first = w->n_groups;
    return true;
}

/* Filters of a set have the same number of blocks, which is decided by its first: enough for a
 * group with as many rows as a group may have. A filter that needs a sixteenth more than that
 * begins the next set; also one that needs less than half, unless the set is so large that this
 * wastes less than an eighth of it. */
static bool fits_set(const struct sf_span_block_writer *w, uint32_t n_blocks)
{
    uint64_t n = w->n_groups - w->set_first, blocks = w->set_blocks;
    if (n == 0 || n_blocks > blocks + blocks / 16)
        return false;
    return n_blocks >= blocks / 2 || blocks - n_blocks <= n * blocks / 8;
}

/* A group that ended because the next granule did not fit has more than three quarters of the rows.
 * Others are the last of a level-0 block or of a whole block. */
static uint32_t blocks_of_set(const struct sf_span_block_writer *w, uint32_t n_blocks)
{
    if (w->group_rows <= SF_BLOCK_GROUP_ROWS / 4 * 3)
        return n_blocks;
    return (uint32_t)((uint64_t)n_blocks * SF_BLOCK_GROUP_ROWS / w->group_rows);
}

static bool add_filter(struct sf_span_block_writer *w)
{
    static const uint8_t NO_PLACE[SF_BLOCK_GROUP_REC_LEN - 8] = {0}; /* known when the set ends */
    const uint64_t *list = (const uint64_t *)(const void *)w->attr_hashes.p;
    size_t n = w->attr_hashes.len / 8, n_distinct;
    uint32_t n_blocks;
    enum sf_err err = count_distinct(list, n, &n_distinct);

    if (!err)
        err = sf_bloom_size(n_distinct, &n_blocks);
    if (err)
        return sf_span_block_writer_fail(w, err);
    if (!fits_set(w, n_blocks)) {
        if (!close_set(w))
            return false;
        w->set_blocks = blocks_of_set(w, n_blocks);
    }
    err = sf_bloom_add(&w->attr_set, list, n, w->set_blocks);
    sf_buf_add_u32le(&w->attr_groups, w->group_first);
    sf_buf_add_u32le(&w->attr_groups, w->n_granules - w->group_first);
    sf_buf_add(&w->attr_groups, NO_PLACE, sizeof(NO_PLACE));
    if (!err && !sf_buf_ok(&w->attr_groups))
        err = w->attr_groups.err;
    return !err || sf_span_block_writer_fail(w, err);
}

bool sf_filter_stage_close_group(struct sf_span_block_writer *w)
{
    if (!w->has_filters || w->group_first == w->n_granules)
        return true;
    if (!add_filter(w))
        return false;
    sf_buf_reset(&w->attr_hashes);
    w->group_first = w->n_granules;
    w->group_rows = 0;
    w->n_groups++;
    return true;
}

bool sf_filter_stage_encode_groups(struct sf_span_block_writer *w, struct sf_buf *out)
{
    uint64_t base = 8 + (uint64_t)w->n_groups * SF_BLOCK_GROUP_REC_LEN;

    if (!close_set(w))
        return false;
    sf_buf_add_u32le(out, w->n_groups);
    sf_buf_add_u32le(out, SF_FILTER_BESIDE);
    for (uint32_t i = 0; i < w->n_groups; i++) {
        const uint8_t *rec = w->attr_groups.p + (size_t)i * SF_BLOCK_GROUP_REC_LEN;
        sf_buf_add(out, rec, 8);
        sf_buf_add_u64le(out, sf_load_u64le(rec + 8) + base);
        sf_buf_add(out, rec + 16, 8);
    }
    sf_buf_add(out, w->attr_filters.p, w->attr_filters.len);
    return true; /* the caller checks `out` */
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
