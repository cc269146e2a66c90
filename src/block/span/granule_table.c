/* granule_table.c - parses and checks section GRAN: granules, chunk descriptors, value hashes, runs
 * of resources. Every index is checked against its table here, so that later code need not. Equal
 * lists of value hashes are stored once. */
#include <stdlib.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/table.h"
#include "block/format/cursor.h"
#include "block/format/encoding.h"
#include "block/span/reader.h"

static enum sf_err granule_table_no_room(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "tables are larger than a block's can be");
}

static enum sf_err granule_table_check_chunks(const struct sf_span_block_reader *r,
                                              uint32_t granule, struct sf_why *why)
{
    const struct sf_granule_place *p = &r->places[granule];
    uint64_t n_hashes = 0;
    uint32_t before = 0;
    bool was_codes = false;

    for (uint32_t i = 0; i < p->n_chunks; i++) {
        struct sf_chunk_desc d = sf_span_block_reader_desc(r, p->first_chunk + i);
        bool is_codes = d.encoding >= SF_ENC_CODE8 && d.encoding <= SF_ENC_CODE32;
        bool is_pair = d.column == before && was_codes && !is_codes;
        if (d.column < before || (d.column == before && !is_pair) || d.encoding >= SF_ENCODINGS ||
            d.off < SF_BLOCK_HEADER_LEN || d.off > r->data_end ||
            d.stored_len > r->data_end - d.off ||
            !sf_chunk_is_plausible(d.codec, d.stored_len, d.raw_len) ||
            sf_span_block_reader_n_hashes(&d) > SF_BLOCK_MAX_HASHES)
            return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: granule %u, column %u: %s", granule,
                           d.column, "its descriptor is inconsistent");
        if (d.column >= SF_BLOCK_FIRST_KEY && d.column - SF_BLOCK_FIRST_KEY >= (int)r->n_typed)
            return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: granule %u, column %u: no such key",
                           granule, d.column);
        n_hashes += sf_span_block_reader_n_hashes(&d);
        before = d.column;
        was_codes = is_codes;
    }
    if (n_hashes != p->n_hashes)
        return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: granule %u: %s", granule,
                       "value hashes do not add up");
    for (uint32_t i = 0; i < p->n_runs; i++) {
        const uint8_t *run = r->runs + (size_t)(p->first_run + i) * 8;
        uint32_t first = sf_load_u32le(run), n = sf_load_u32le(run + 4);
        if (first > r->n_resources || n > r->n_resources - first)
            return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: granule %u: %s", granule,
                           "a resource that does not exist");
    }
    return SF_OK;
}

static bool get_granule(struct sf_cursor *c, struct sf_granule_info *g, struct sf_granule_place *p)
{
    uint32_t flags;
    const uint8_t *sets;

    g->tenant = sf_cursor_u32(c);
    g->n_rows = sf_cursor_u32(c);
    g->n_traces = sf_cursor_u32(c);
    flags = sf_cursor_u32(c);
    g->ts_min_ns = (int64_t)sf_cursor_u64(c);
    g->ts_max_ns = (int64_t)sf_cursor_u64(c);
    g->dur_min_ns = sf_cursor_u64(c);
    g->dur_max_ns = sf_cursor_u64(c);
    sets = sf_cursor_take(c, 4);
    g->statuses = sets ? sets[0] : 0;
    g->kinds = sets ? sets[1] : 0;
    p->n_chunks = sf_cursor_u32(c);
    p->n_hashes = sf_cursor_u32(c);
    p->n_runs = sf_cursor_u32(c);
    g->is_continuation = flags & 1;
    return !c->is_bad && g->n_rows > 0 && g->n_rows <= SF_LIMIT_GRANULE_ROWS && g->n_traces > 0 &&
           g->n_traces <= g->n_rows && flags <= 1;
}

/* Running sums over the granules. */
struct granule_sums {
    uint64_t chunks, hashes, runs, rows, traces;
};

static bool granule_table_add_up(struct granule_sums *s, struct sf_granule_info *g,
                                 struct sf_granule_place *p, const uint32_t limits[3])
{
    if (p->n_chunks > limits[0] - s->chunks || p->n_hashes > limits[1] - s->hashes ||
        p->n_runs > limits[2] - s->runs)
        return false;
    if (g->is_continuation && s->traces == 0)
        return false;
    p->first_chunk = (uint32_t)s->chunks;
    p->first_run = (uint32_t)s->runs;
    g->first_row = s->rows;
    g->first_trace = s->traces - g->is_continuation;
    s->chunks += p->n_chunks;
    s->hashes += p->n_hashes;
    s->runs += p->n_runs;
    s->rows += g->n_rows;
    s->traces += g->n_traces - g->is_continuation;
    return true;
}

/* Copies borrowed bytes to the arena; NULL: it is full. */
static void granule_table_list_of(struct sf_arena *to, const uint8_t **io, size_t len)
{
    uint8_t *copy = sf_arena_raw(to, len, 16);
    if (copy && len)
        memcpy(copy, *io, len);
    *io = copy;
}

struct hash_lists { /* value hashes of chunks; most granules have the same ones */
    struct sf_arena *to;
    uint32_t *base;          /* start of the first list */
    struct sf_table at;      /* lists, by content */
    uint32_t *firsts, *lens; /* start and length of each list, relative to base */
    uint32_t n, cap;
    uint32_t sorted[SF_BLOCK_MAX_HASHES];
};

static int granule_table_by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Sorts into l->sorted; older writers stored them in the order of appearance. */
static void granule_table_sort_hashes(struct hash_lists *l, const uint8_t *hashes, uint32_t n)
{
    bool is_sorted = true;
    for (uint32_t i = 0; i < n; i++) {
        l->sorted[i] = sf_load_u32le(hashes + (size_t)i * 4);
        is_sorted = is_sorted && (i == 0 || l->sorted[i - 1] <= l->sorted[i]);
    }
    if (!is_sorted)
        qsort(l->sorted, n, sizeof(*l->sorted), granule_table_by_value);
}

/* Returns the position of the list, relative to l->base. NOMEM or LIMIT. */
static enum sf_err share_hashes(struct hash_lists *l, const uint8_t *hashes, uint32_t n,
                                uint32_t *out)
{
    uint64_t hash;
    struct sf_table_lookup lookup;
    uint32_t cap = l->cap, at, *to;

    granule_table_sort_hashes(l, hashes, n);
    hash = sf_key(l->sorted, n * sizeof(*l->sorted));
    if (!sf_table_more(&l->at) || !sf_list_room(&l->firsts, l->n, &cap, 64) ||
        !sf_list_room(&l->lens, l->n, &l->cap, 64))
        return SF_ERR_NOMEM;
    lookup = sf_table_lookup(&l->at, hash);
    while (sf_table_next(&lookup, &at)) {
        if (l->lens[at] == n && memcmp(l->base + l->firsts[at], l->sorted, n * 4) == 0) {
            *out = l->firsts[at];
            return SF_OK;
        }
    }
    to = sf_arena_raw(l->to, n * sizeof(*to), sizeof(*to));
    if (!to)
        return SF_ERR_LIMIT;
    l->base = l->base ? l->base : to;
    memcpy(to, l->sorted, n * sizeof(*to));
    *out = l->firsts[l->n] = (uint32_t)(to - l->base);
    l->lens[l->n] = n;
    sf_table_keep(&l->at, &lookup, l->n++);
    return SF_OK;
}

bool sf_granule_table_is_part(const struct sf_span_block_reader *r)
{
    return r->memory.p && !r->sections[SF_SECTION_AFLT].id;
}

/* Lists that many chunks share are stored once: they would be the largest part of the tables. Those
 * of a part are used in place, in its bytes. */
static enum sf_err read_hashes(struct sf_span_block_reader *r, const uint8_t *hashes,
                               uint32_t n_chunks, struct sf_why *why)
{
    struct sf_arena *rows = &r->tables[__builtin_ctz(SF_TABLES_ROWS)];
    uint32_t *places = sf_arena_raw(rows, (size_t)n_chunks * sizeof(*places), 16), at = 0;
    struct hash_lists l = {.to = rows};
    enum sf_err err = places ? SF_OK : SF_ERR_LIMIT;

    for (uint32_t i = 0; !err && i < n_chunks; i++) {
        struct sf_chunk_desc d = sf_span_block_reader_desc(r, i);
        uint32_t n = sf_span_block_reader_n_hashes(&d);
        places[i] = at;
        if (n && !sf_granule_table_is_part(r))
            err = share_hashes(&l, hashes + (size_t)at * 4, n, &places[i]);
        at += n;
    }
    r->hash_places = places;
    r->hashes = sf_granule_table_is_part(r) ? hashes : (const uint8_t *)l.base;
    sf_table_done(&l.at);
    sf_heap_free(l.firsts);
    sf_heap_free(l.lens);
    if (err == SF_ERR_NOMEM)
        return sf_no_memory(why, "tables");
    return err ? granule_table_no_room(why) : SF_OK;
}

enum sf_err sf_granule_table_read(struct sf_span_block_reader *r, sf_bytes raw, struct sf_why *why)
{
    struct sf_cursor c = sf_cursor_of(raw);
    struct sf_granule_info *list;
    struct sf_granule_place *places;
    struct granule_sums sums = {0};
    uint32_t n = sf_cursor_u32(&c), limits[3];
    struct sf_arena *rows = &r->tables[__builtin_ctz(SF_TABLES_ROWS)];
    const uint8_t *hashes;
    size_t descs_len, runs_len;
    enum sf_err err = SF_OK;

    for (int i = 0; i < 3; i++)
        limits[i] = sf_cursor_u32(&c);
    if (c.is_bad || sf_cursor_left(&c) != (uint64_t)n * SF_BLOCK_GRANULE_REC_LEN +
                                              (uint64_t)limits[0] * SF_CHUNK_DESC_LEN +
                                              (uint64_t)limits[1] * 4 + (uint64_t)limits[2] * 8)
        return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: lengths do not fit");
    list = sf_arena_new_n(rows, n, sizeof(*list));
    places = sf_arena_new_n(rows, n, sizeof(*places));
    if (!list || !places)
        return granule_table_no_room(why);
    for (uint32_t i = 0; i < n; i++) {
        if (!get_granule(&c, &list[i], &places[i]) ||
            !granule_table_add_up(&sums, &list[i], &places[i], limits))
            return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: granule %u cannot be right", i);
        if (list[i].is_continuation && list[i].tenant != list[i - 1].tenant)
            return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: granule %u cannot go on", i);
    }
    if (sums.chunks != limits[0] || sums.hashes != limits[1] || sums.runs != limits[2] ||
        sums.rows != r->info.n_rows || sums.traces != r->info.n_traces)
        return sf_fail(why, SF_ERR_CORRUPT, "section GRAN: granules do not add up");
    r->granules = list;
    r->places = places;
    r->n_granules = n;
    descs_len = (size_t)limits[0] * SF_CHUNK_DESC_LEN;
    runs_len = (size_t)limits[2] * 8;
    r->descs = c.at;
    hashes = c.at + descs_len;
    r->runs = hashes + (size_t)limits[1] * 4;
    for (uint32_t i = 0; i < n && !err; i++)
        err = granule_table_check_chunks(r, i, why);
    if (!err)
        err = read_hashes(r, hashes, limits[0], why);
    if (err || sf_granule_table_is_part(r))
        return err;
    granule_table_list_of(rows, &r->descs, descs_len);
    granule_table_list_of(rows, &r->runs, runs_len);
    return r->descs && r->runs ? SF_OK : granule_table_no_room(why);
}
