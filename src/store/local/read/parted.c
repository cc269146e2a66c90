/* parted.c - compares the sorted trace indexes of the runs, window by window of the hash.
 *
 * A window has about WINDOW entries. A bit per slot says that an entry was seen, another that a
 * second one was: only entries of slots with two are sorted and compared. This costs a few
 * nanoseconds for each trace, however many runs there are. */
#include "store/local/read/parted.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"
#include "block/span/span_block_reader.h"
#include "store/local/read/granules.h"

enum {
    CHUNK = 511 * 4,       /* entries read at once: four pages */
    WINDOW = 1 << 14,      /* entries of a window, on average */
    WINDOW_MOST = 1 << 17, /* a window with more: hashes are chosen by someone */
    MAX_WINDOW_BITS = 12,
    SLOTS_PER_ENTRY_BITS = 6,
    MIN_SLOT_BITS = 10
};

struct stream { /* one run's index, in order */
    struct sf_run *run;
    const struct sf_span_block_reader *reader;
    uint32_t place; /* of the run in the snapshot */
    uint64_t next, n;
    uint32_t at, n_chunk;
    uint64_t *chunk;
};

struct entry {
    uint32_t hash, place, trace;
};

struct merge {
    struct sf_parted *p;
    struct stream *streams;
    size_t n_streams;
    struct sf_query_ctx *q;
    struct sf_arena scratch;
    uint64_t n_all; /* entries of all streams */
    unsigned window_bits, slot_bits;
    uint32_t low; /* first hash of the window */
    struct entry *entries;
    uint32_t n_entries, entries_cap;
    uint64_t *once, *twice; /* a bit per slot */
};

/* ---- streams ---- */

static uint32_t parted_hash_of(const struct stream *s)
{
    return (uint32_t)(s->chunk[s->at] >> 32);
}

/* Reads the next entries; none: the run has no more. */
static enum sf_err parted_fill(struct merge *m, struct stream *s, struct sf_why *why)
{
    uint64_t left = s->n - s->next;
    enum sf_err err = sf_granules_query_check(m->q, why);
    s->at = 0;
    s->n_chunk = left < CHUNK ? (uint32_t)left : CHUNK;
    if (!err && s->n_chunk)
        err = sf_filter_probe_trace_index(s->reader, s->next, s->n_chunk, m->scratch, s->chunk,
                                          why);
    s->next += s->n_chunk;
    if (err && sf_granules_query_skips(m->q, s->run, err, why)) {
        s->n_chunk = 0; /* its traces are not needed any more */
        s->next = s->n;
        err = SF_OK;
    }
    return err;
}

/* ---- windows ---- */

static void parted_mark(struct merge *m, const struct entry *e)
{
    m->p->bits[e->place][e->trace / 8] |= (uint8_t)(1u << e->trace % 8);
}

/* Slots of a damaged index, which is not sorted, are wrong but in bounds. */
static uint32_t parted_slot_of(const struct merge *m, uint32_t hash)
{
    unsigned shift = 32 - m->window_bits - m->slot_bits;
    return (hash - m->low) >> shift & ((1u << m->slot_bits) - 1);
}

static void parted_see(struct merge *m, uint32_t hash)
{
    uint32_t slot = parted_slot_of(m, hash);
    uint64_t bit = UINT64_C(1) << slot % 64;
    m->twice[slot / 64] |= m->once[slot / 64] & bit;
    m->once[slot / 64] |= bit;
}

/* Takes the stream's entries with hashes up to `last`. */
static enum sf_err parted_take(struct merge *m, struct stream *s, uint32_t last, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    while (!err && s->n_chunk && parted_hash_of(s) <= last) {
        struct entry e = {parted_hash_of(s), s->place, (uint32_t)s->chunk[s->at]};
        if (m->n_entries == WINDOW_MOST)
            parted_mark(m, &e); /* and all of the window, at its end */
        else if (!sf_list_room(&m->entries, m->n_entries, &m->entries_cap, WINDOW))
            return sf_fail(why, SF_ERR_NOMEM, "query: no memory to find traces in several blocks");
        else
            m->entries[m->n_entries++] = e;
        parted_see(m, e.hash);
        if (++s->at == s->n_chunk)
            err = parted_fill(m, s, why);
    }
    return err;
}

static int parted_by_hash(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

/* Marks entries with a hash that another run has, too. */
static void parted_end_window(struct merge *m)
{
    bool is_over = m->n_entries == WINDOW_MOST;
    uint32_t n = 0, end;
    for (uint32_t i = 0; i < m->n_entries; i++) {
        uint32_t slot = parted_slot_of(m, m->entries[i].hash);
        if (is_over)
            parted_mark(m, &m->entries[i]);
        else if (m->twice[slot / 64] >> slot % 64 & 1)
            m->entries[n++] = m->entries[i];
    }
    if (n > 1)
        qsort(m->entries, n, sizeof(*m->entries), parted_by_hash);
    for (uint32_t i = 0; i < n; i = end) {
        bool is_shared = false;
        for (end = i + 1; end < n && m->entries[end].hash == m->entries[i].hash; end++)
            is_shared = is_shared || m->entries[end].place != m->entries[i].place;
        for (uint32_t k = i; is_shared && k < end; k++)
            parted_mark(m, &m->entries[k]);
    }
    m->n_entries = 0;
}

static enum sf_err parted_size_windows(struct merge *m, struct sf_why *why)
{
    size_t n_words;
    while (m->window_bits < MAX_WINDOW_BITS && m->n_all >> m->window_bits > WINDOW)
        m->window_bits++;
    m->slot_bits = MIN_SLOT_BITS;
    while (m->slot_bits + m->window_bits < 32 &&
           m->n_all >> m->window_bits > UINT64_C(1) << (m->slot_bits - SLOTS_PER_ENTRY_BITS))
        m->slot_bits++;
    n_words = (size_t)1 << (m->slot_bits - 6);
    m->once = sf_heap_new_n(n_words, sizeof(*m->once));
    m->twice = sf_heap_new_n(n_words, sizeof(*m->twice));
    return m->once && m->twice
               ? SF_OK
               : sf_fail(why, SF_ERR_NOMEM, "query: no memory to find traces in several blocks");
}

static enum sf_err parted_merge(struct merge *m, struct sf_why *why)
{
    enum sf_err err = parted_size_windows(m, why);
    size_t len = (size_t)1 << (m->slot_bits - 3);
    for (uint64_t w = 0; !err && w < UINT64_C(1) << m->window_bits; w++) {
        uint64_t width = UINT64_C(1) << (32 - m->window_bits);
        m->low = (uint32_t)(w * width);
        if (w) {
            memset(m->once, 0, len);
            memset(m->twice, 0, len);
        }
        for (size_t i = 0; !err && i < m->n_streams; i++)
            err = parted_take(m, &m->streams[i], (uint32_t)((w + 1) * width - 1), why);
        parted_end_window(m);
    }
    return err;
}

/* ---- which runs ---- */

static bool parted_overlaps(const struct sf_run *run, int64_t from_ns, int64_t to_ns)
{
    return run->row.ts_min_ns <= to_ns && run->row.ts_max_ns >= from_ns;
}

static enum sf_err open_stream(struct merge *m, struct sf_run *run, size_t place,
                               struct sf_why *why)
{
    struct stream *s = &m->streams[m->n_streams];
    enum sf_err err = sf_run_enter(run, SF_TABLES_NONE, &s->reader, why);
    if (err)
        return sf_granules_query_skips(m->q, run, err, why) ? SF_OK : err;
    s->run = run;
    s->place = sf_u32(place);
    s->n = sf_span_block_reader_info(s->reader)->n_traces;
    m->n_streams++;
    m->p->lens[place] = (size_t)s->n / 8 + 1;
    m->p->bits[place] = sf_heap_new(m->p->lens[place]);
    s->chunk = sf_heap_new_n(CHUNK, sizeof(*s->chunk));
    if (!m->p->bits[place] || !s->chunk)
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory to find traces in several blocks");
    m->n_all += s->n;
    return parted_fill(m, s, why);
}

static enum sf_err parted_open_streams(struct merge *m, const struct sf_snapshot *s,
                                       int64_t from_ns, int64_t to_ns, struct sf_why *why)
{
    bool is_all = from_ns == 0 && to_ns == 0;
    int64_t low = INT64_MAX, high = INT64_MIN;
    enum sf_err err = SF_OK;
    for (size_t i = 0; i < s->n; i++) {
        const struct sf_block_row *row = &s->runs[i]->row;
        if (!is_all && !parted_overlaps(s->runs[i], from_ns, to_ns))
            continue;
        low = row->ts_min_ns < low ? row->ts_min_ns : low;
        high = row->ts_max_ns > high ? row->ts_max_ns : high;
    }
    low = low > INT64_MIN + SF_PARTED_GAP_NS ? low - SF_PARTED_GAP_NS : INT64_MIN;
    high = high < INT64_MAX - SF_PARTED_GAP_NS ? high + SF_PARTED_GAP_NS : INT64_MAX;
    for (size_t i = 0; !err && i < s->n; i++) {
        if (parted_overlaps(s->runs[i], low, high) && !atomic_load(&s->runs[i]->is_bad))
            err = open_stream(m, s->runs[i], i, why);
    }
    return err;
}

enum sf_err sf_parted_find(struct sf_parted *p, const struct sf_snapshot *s, int64_t from_ns,
                           int64_t to_ns, struct sf_query_ctx *q, struct sf_arena scratch,
                           struct sf_why *why)
{
    struct merge *m = sf_heap_new(sizeof(*m));
    enum sf_err err = m ? SF_OK
                        : sf_fail(why, SF_ERR_NOMEM,
                                  "query: no memory to find traces in several blocks");
    *p = (struct sf_parted){.n = s->n};
    if (m) {
        *m = (struct merge){.p = p, .q = q, .scratch = scratch};
        p->bits = sf_heap_new_n(s->n + 1, sizeof(*p->bits));
        p->lens = sf_heap_new_n(s->n + 1, sizeof(*p->lens));
        m->streams = sf_heap_new_n(s->n + 1, sizeof(*m->streams));
        if (!p->bits || !p->lens || !m->streams)
            err = sf_fail(why, SF_ERR_NOMEM, "query: no memory to find traces in several blocks");
        if (!err)
            err = parted_open_streams(m, s, from_ns, to_ns, why);
        if (!err && m->n_streams > 1)
            err = parted_merge(m, why);
        for (size_t i = 0; i < m->n_streams; i++) {
            sf_run_leave(m->streams[i].run);
            sf_heap_free(m->streams[i].chunk);
        }
        sf_heap_free(m->streams);
        sf_heap_free(m->entries);
        sf_heap_free(m->once);
        sf_heap_free(m->twice);
        sf_heap_free(m);
    }
    if (err)
        sf_parted_done(p);
    return err;
}

void sf_parted_done(struct sf_parted *p)
{
    for (size_t i = 0; p->bits && i < p->n; i++)
        sf_heap_free(p->bits[i]);
    sf_heap_free(p->bits);
    sf_heap_free(p->lens);
    *p = (struct sf_parted){0};
}
