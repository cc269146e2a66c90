/* filter_stage.c - writes the sections that exclude blocks from a search: filters of attribute
 * values, span ids and trace ids, and the sorted index of traces. */
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

static bool add_filter(struct sf_span_block_writer *w, struct sf_buf *groups,
                       struct sf_buf *filters, const struct sf_buf *hashes, bool may_repeat)
{
    size_t start = filters->len, n = hashes->len / 8, n_distinct = n;
    const uint64_t *list = (const uint64_t *)(const void *)hashes->p;
    enum sf_err err = may_repeat ? count_distinct(list, n, &n_distinct) : SF_OK;

    if (!err)
        err = sf_bloom_build(filters, list, n, n_distinct);
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
    if (!w->has_filters || w->group_first == w->n_granules)
        return true;
    if (!add_filter(w, &w->attr_groups, &w->attr_filters, &w->attr_hashes, true) ||
        !add_filter(w, &w->span_groups, &w->span_filters, &w->span_hashes, false))
        return false;
    sf_buf_reset(&w->attr_hashes);
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
    sf_buf_add_u32le(out, SF_FILTER_BLOOM);
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
