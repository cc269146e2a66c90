/* profile_details_encode.c - encodes detail rows in granules, and the index of their ids. */
#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"
#include "base/radix.h"
#include "base/time_unit.h"
#include "block/profile/profile_writer.h"

static bool profile_details_encode_add_tag(struct sf_profile_tags *tags, sf_trace_id id,
                                           uint32_t granule)
{
    if (tags->n && tags->list[tags->n - 1].granule == granule &&
        sf_trace_id_eq(tags->list[tags->n - 1].id, id))
        return true;
    if (!sf_list_room(&tags->list, tags->n, &tags->cap, 256))
        return false;
    tags->list[tags->n++] = (struct sf_profile_tag){id, granule};
    return true;
}

static sf_trace_id id_of_span(sf_span_id id)
{
    sf_trace_id out = {{0}};
    sf_store_u64be(out.b, id);
    return out;
}

static bool is_same_as_before(const struct sf_profile_detail *d)
{
    return d->span_id == d[-1].span_id && sf_trace_id_eq(d->trace_id, d[-1].trace_id);
}

/* Notes the ids of the granule for the indexes. */
static bool add_tags(struct sf_profile_block_writer *w, uint32_t granule)
{
    const struct sf_profile_detail *d = w->pending;
    for (uint32_t i = 0; i < w->n_pending; i++) {
        if (i && is_same_as_before(&d[i]))
            continue;
        if (d[i].span_id &&
            !profile_details_encode_add_tag(&w->spans, id_of_span(d[i].span_id), granule))
            return false;
        if (!sf_trace_id_is_zero(d[i].trace_id) &&
            !profile_details_encode_add_tag(&w->traces, d[i].trace_id, granule))
            return false;
    }
    return true;
}

static int64_t ms_of(int64_t ns)
{
    return ns / SF_NS_PER_MS - (ns % SF_NS_PER_MS < 0);
}

static int64_t us_of(int64_t ns)
{
    int64_t us = ns / 1000 - (ns % 1000 < 0);
    /* So that it fits when converted back to ns. */
    return us < INT64_MIN / 1000 ? INT64_MIN / 1000 : us;
}

static void mark_thread(struct sf_profile_block_writer *w, const struct sf_profile_detail *d)
{
    struct sf_profile_thread key = {.process = d->process, .t = {.thread = d->thread}};
    const struct sf_profile_thread *found = w->t->n_threads == 0
                                                ? NULL
                                                : bsearch(&key, w->t->threads, w->t->n_threads,
                                                          sizeof(key), sf_profile_threads_cmp);
    if (found)
        w->is_thread[found - w->t->threads] = true;
}

/* Writes process and thread as runs of rows, with the first start of each run. */
static void profile_details_encode_threads(struct sf_profile_block_writer *w)
{
    const struct sf_profile_detail *d = w->pending;
    int64_t before = 0;
    for (uint32_t i = 0, k; i < w->n_pending; i = k) {
        for (k = i + 1;
             k < w->n_pending && d[k].process == d[i].process && d[k].thread == d[i].thread; k++) {
            /* a run of one thread */
        }
        sf_buf_add_varint(&w->raw, k - i);
        sf_buf_add_varint(&w->raw, d[i].process == SF_NONE ? 0 : (uint64_t)d[i].process + 1);
        sf_buf_add_varint(&w->raw, d[i].thread);
        sf_profile_put_signed(&w->raw, us_of(d[i].start_ns) - before);
        before = us_of(d[i].start_ns);
        mark_thread(w, &d[i]);
    }
}

/* The length of a wait equals its value; samples of CPU time have no length and one value. In other
 * series lengths are independent of values. */
static void encode_lengths(struct sf_profile_block_writer *w, uint32_t group)
{
    const struct sf_profile_detail *d = w->pending;
    uint32_t n_same = 0, n = w->groups.sizes[group];
    for (uint32_t i = 0; i < w->n_pending; i++)
        n_same += sf_profile_groups_has(&w->groups, group, i) &&
                  us_of(d[i].value) == us_of(d[i].length_ns);
    bool is_of_values = n_same > n / 2;
    for (uint32_t i = 0; i < w->n_pending; i++)
        w->column[i] = us_of(d[i].length_ns) - (is_of_values ? us_of(d[i].value) : 0);
    sf_buf_add_u8(&w->raw, is_of_values ? SF_PROFILE_LENGTHS_OF_VALUES : SF_PROFILE_LENGTHS_PLAIN);
    sf_profile_writer_bins(w, group, &w->raw);
}

/* Steps from the end of the previous row: after waiting, a thread runs, and waits again. */
static void encode_steps(struct sf_profile_block_writer *w, uint32_t group)
{
    const struct sf_profile_detail *d = w->pending;
    for (uint32_t i = 0; i < w->n_pending; i++) {
        bool is_first = i == 0 || d[i].process != d[i - 1].process ||
                        d[i].thread != d[i - 1].thread;
        w->column[i] = is_first ? 0
                                : us_of(d[i].start_ns) - us_of(d[i - 1].start_ns) -
                                      us_of(d[i - 1].length_ns);
    }
    sf_profile_writer_bins(w, group, &w->raw);
}

static uint8_t profile_details_encode_flags_of(const struct sf_profile_detail *d)
{
    return (uint8_t)(d->state << 1 | d->has_time | (d->is_coarse ? SF_PROFILE_COARSE : 0) |
                     (d->is_lent ? SF_PROFILE_LENT : 0));
}

/* The stack of a waiting thread mostly determines its state: then few rows differ from the last one
 * with the same node. */
static void encode_flags(struct sf_profile_block_writer *w, uint32_t group)
{
    uint8_t last[SF_PROFILE_GRANULE_ROWS] = {0};
    uint32_t counts[256] = {0}, n_changes = 0, most = 0;
    for (uint32_t i = 0; i < w->n_pending; i++) {
        uint8_t flags = profile_details_encode_flags_of(&w->pending[i]),
                *before = &last[w->groups.codes[i]];
        if (!sf_profile_groups_has(&w->groups, group, i))
            continue;
        w->column[i] = flags ^ *before;
        n_changes += flags != *before;
        *before = flags;
        counts[flags]++;
        most = counts[flags] > most ? counts[flags] : most;
    }
    bool is_of_nodes = n_changes < w->groups.sizes[group] - most;
    for (uint32_t i = 0; !is_of_nodes && i < w->n_pending; i++)
        w->column[i] = profile_details_encode_flags_of(&w->pending[i]);
    sf_buf_add_u8(&w->raw, is_of_nodes ? SF_PROFILE_FLAGS_OF_NODES : SF_PROFILE_FLAGS_PLAIN);
    sf_profile_writer_bins(w, group, &w->raw);
}

/* Encodes the columns that do not depend on stacks; times are in microseconds. */
static void encode_columns(struct sf_profile_block_writer *w)
{
    profile_details_encode_threads(w);
    for (uint32_t group = 0; group < w->groups.n; group++) {
        encode_lengths(w, group);
        encode_steps(w, group);
        encode_flags(w, group);
    }
}

enum sf_err sf_profile_details_encode_granule(struct sf_profile_block_writer *w, struct sf_why *why)
{
    uint32_t granule = w->n_granules - w->first_granule;
    int64_t from = INT64_MAX, to = INT64_MIN;
    struct sf_buf *x = &w->index_granules;
    enum sf_err err;
    if (w->n_pending == 0)
        return SF_OK;
    for (uint32_t i = 0; i < w->n_pending; i++) {
        int64_t start = w->pending[i].start_ns;
        int64_t end = sf_profile_detail_end(&w->pending[i]);
        from = start < from ? start : from;
        to = end > to ? end : to;
    }
    sf_buf_reset(&w->raw);
    if (!add_tags(w, granule))
        return sf_profile_block_writer_no_memory(w, why);
    sf_profile_stacks_encode(w, &w->raw);
    sf_profile_stacks_encode_ids(w, &w->raw);
    err = sf_profile_block_writer_quick_section(w, SF_PROFILE_STX, w->n_granules, &w->raw, why);
    if (err)
        return err;
    sf_buf_reset(&w->raw);
    encode_columns(w);
    sf_buf_add_varint(x, w->n_pending);
    sf_buf_add_varint(x,
                      w->pending[0].process == SF_NONE ? 0 : (uint64_t)w->pending[0].process + 1);
    sf_buf_add_varint(x, w->pending[w->n_pending - 1].process == SF_NONE
                             ? 0
                             : (uint64_t)w->pending[w->n_pending - 1].process + 1);
    sf_profile_put_signed(x, ms_of(from));
    sf_profile_put_signed(x, ms_of(to));
    if (!sf_buf_ok(x))
        return sf_profile_block_writer_no_memory(w, why);
    err = sf_profile_block_writer_section(w, SF_PROFILE_DET, w->n_granules, &w->raw, why);
    w->n_granules++;
    w->n_own_granules++;
    w->n_details += w->n_pending;
    w->n_pending = 0;
    return err;
}

enum sf_err sf_profile_details_encode_row(struct sf_profile_block_writer *w,
                                          const struct sf_profile_detail *rows, size_t n,
                                          struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < n; i++) {
        w->pending[w->n_pending++] = rows[i];
        if (w->n_pending == SF_PROFILE_GRANULE_ROWS)
            err = sf_profile_details_encode_granule(w, why);
    }
    return err;
}

static int profile_details_encode_by_id(const void *a, const void *b)
{
    const struct sf_profile_tag *x = a, *y = b;
    int order = sf_trace_id_cmp(x->id, y->id);
    if (order)
        return order;
    return x->granule < y->granule ? -1 : x->granule > y->granule;
}

/* Sorts by id, then granule. Ids are nearly random, so a radix sort by their first four bytes
 * orders nearly all of them; runs with equal first bytes are then sorted by comparison. */
static bool sort_tags(struct sf_profile_tags *tags)
{
    size_t n = tags->n;
    uint64_t *order = sf_heap_new_n(n + 1, sizeof(*order)),
             *space = sf_heap_new_n(n + 1, sizeof(*space));
    struct sf_profile_tag *list = sf_heap_new_n(n + 1, sizeof(*list));
    bool is_ok = order && space && list;
    for (size_t i = 0; is_ok && i < n; i++)
        order[i] = (uint64_t)sf_load_u32be(tags->list[i].id.b) << 32 | i;
    if (is_ok)
        sf_radix_sort(order, space, n);
    for (size_t i = 0, end; is_ok && i < n; i = end) {
        for (end = i; end < n && order[end] >> 32 == order[i] >> 32; end++)
            list[end] = tags->list[(uint32_t)order[end]];
        if (end - i > 1)
            qsort(list + i, end - i, sizeof(*list), profile_details_encode_by_id);
    }
    sf_heap_free(order);
    sf_heap_free(space);
    if (is_ok) {
        sf_heap_free(tags->list);
        tags->list = list;
        tags->cap = n + 1;
    } else {
        sf_heap_free(list);
    }
    return is_ok;
}

/* Writes ids in pieces: the ids, then the granules of each. A search for an id reads a whole piece,
 * and random ids do not compress, so pieces are small (bench/link_bench.c). */
enum sf_err sf_profile_details_encode_index(struct sf_profile_block_writer *w, uint16_t section,
                                            struct sf_profile_tags *tags, size_t id_len,
                                            uint32_t *io_n_pieces, struct sf_buf *pieces,
                                            uint32_t *out_n, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    size_t at = 0;
    *out_n = 0;
    if (tags->n && !sort_tags(tags))
        return sf_profile_block_writer_no_memory(w, why);
    while (!err && at < tags->n) {
        struct sf_buf granules = {0};
        size_t first = at;
        uint32_t n = 0;
        sf_buf_reset(&w->raw);
        while (at < tags->n && n < SF_PROFILE_INDEX_ROWS) {
            size_t end = at, n_granules = 0;
            uint32_t before = 0;
            for (; end < tags->n && sf_trace_id_eq(tags->list[end].id, tags->list[at].id); end++)
                n_granules += end == at || tags->list[end].granule != tags->list[end - 1].granule;
            sf_buf_add(&w->raw, tags->list[at].id.b, id_len);
            sf_buf_add_varint(&granules, n_granules);
            for (; at < end; at++) {
                bool is_repeat = at > first && at && n_granules &&
                                 sf_trace_id_eq(tags->list[at].id, tags->list[at - 1].id) &&
                                 tags->list[at].granule == tags->list[at - 1].granule;
                if (is_repeat)
                    continue;
                sf_buf_add_varint(&granules, tags->list[at].granule - before);
                before = tags->list[at].granule;
            }
            n++;
        }
        sf_buf_add_varint(pieces, n);
        sf_buf_add(pieces, tags->list[first].id.b, id_len);
        sf_buf_add(&w->raw, granules.p, granules.len);
        err = !sf_buf_ok(&granules) || !sf_buf_ok(pieces)
                  ? sf_profile_block_writer_no_memory(w, why)
                  : sf_profile_block_writer_quick_section(w, section, *io_n_pieces, &w->raw, why);
        sf_buf_done(&granules);
        (*io_n_pieces)++;
        (*out_n)++;
    }
    return err;
}
