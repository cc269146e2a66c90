#include "store/local/read/parted.h"

#include <string.h>

#include "base/heap.h"
#include "base/heap_queue.h"
#include "block/span/span_block_reader.h"
#include "store/local/read/granules.h"

/* Entries read at once (a few pages); most traces with one hash. */
enum { CHUNK = 511 * 4, MAX_GROUP = 256 };

struct stream { /* one run's index, in order */
    struct sf_run *run;
    const struct sf_span_block_reader *reader;
    size_t place; /* of the run in the snapshot */
    uint64_t next, n;
    uint32_t at, n_chunk;
    uint64_t *chunk;
};

struct merge {
    struct sf_parted *p;
    struct stream *streams;
    struct stream **heap; /* smallest hash first */
    size_t n_streams, n_heap;
    struct sf_query_ctx *q;
    struct sf_arena scratch;
    struct {
        size_t place;
        uint32_t trace;
    } group[MAX_GROUP]; /* entries with the current hash */
    uint32_t n_group, hash;
    bool is_shared; /* entries of two runs have it */
};

/* ---- streams ---- */

static uint32_t parted_hash_of(const struct stream *s)
{
    return (uint32_t)(s->chunk[s->at] >> 32);
}

/* *out_has false: the run has no more entries. */
static enum sf_err parted_fill(struct merge *m, struct stream *s, bool *out_has, struct sf_why *why)
{
    uint64_t left = s->n - s->next;
    enum sf_err err = sf_granules_query_check(m->q, why);
    s->at = 0;
    s->n_chunk = left < CHUNK ? (uint32_t)left : CHUNK;
    *out_has = s->n_chunk > 0;
    if (!err && s->n_chunk)
        err = sf_filter_probe_trace_index(s->reader, s->next, s->n_chunk, m->scratch, s->chunk,
                                          why);
    if (err && sf_granules_query_skips(m->q, s->run, err, why)) {
        *out_has = false; /* its traces are not needed any more */
        err = SF_OK;
    }
    s->next += s->n_chunk;
    return err;
}

static bool is_earlier(const void *arg, const void *a, const void *b)
{
    (void)arg;
    return parted_hash_of(*(struct stream *const *)a) < parted_hash_of(*(struct stream *const *)b);
}

/* ---- groups of one hash ---- */

static void parted_mark(struct merge *m, size_t place, uint32_t trace)
{
    m->p->bits[place][trace / 8] |= (uint8_t)(1u << trace % 8);
}

static void end_group(struct merge *m)
{
    for (uint32_t i = 0; m->is_shared && i < m->n_group; i++)
        parted_mark(m, m->group[i].place, m->group[i].trace);
    m->n_group = 0;
    m->is_shared = false;
}

static void parted_add_entry(struct merge *m, const struct stream *s)
{
    uint32_t trace = (uint32_t)s->chunk[s->at];
    if (m->n_group && parted_hash_of(s) != m->hash)
        end_group(m);
    m->hash = parted_hash_of(s);
    if (m->n_group == MAX_GROUP) { /* too many collisions: treat all as split */
        m->is_shared = true;
        parted_mark(m, s->place, trace);
        return;
    }
    m->is_shared = m->is_shared || (m->n_group && m->group[0].place != s->place);
    m->group[m->n_group].place = s->place;
    m->group[m->n_group++].trace = trace;
}

static enum sf_err merge_all(struct merge *m, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    struct stream *s;
    sf_heap_queue_make(m->heap, m->n_heap, sizeof(s), is_earlier, NULL);
    while (!err && m->n_heap) {
        bool has = true;
        s = m->heap[0];
        parted_add_entry(m, s);
        if (++s->at == s->n_chunk)
            err = parted_fill(m, s, &has, why);
        if (has)
            sf_heap_queue_sink(m->heap, m->n_heap, 0, sizeof(s), is_earlier, NULL);
        else
            sf_heap_queue_pop(m->heap, m->n_heap--, sizeof(s), is_earlier, NULL);
    }
    end_group(m);
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
    bool has = false;
    enum sf_err err = sf_run_enter(run, SF_TABLES_NONE, &s->reader, why);
    if (err)
        return sf_granules_query_skips(m->q, run, err, why) ? SF_OK : err;
    s->run = run;
    s->place = place;
    s->n = sf_span_block_reader_info(s->reader)->n_traces;
    m->n_streams++;
    m->p->lens[place] = (size_t)s->n / 8 + 1;
    m->p->bits[place] = sf_heap_new(m->p->lens[place]);
    s->chunk = sf_heap_new_n(CHUNK, sizeof(*s->chunk));
    if (!m->p->bits[place] || !s->chunk)
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory to find traces in several blocks");
    err = parted_fill(m, s, &has, why);
    if (!err && has)
        m->heap[m->n_heap++] = s;
    return err;
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
        m->heap = sf_heap_new_n(s->n + 1, sizeof(struct stream *));
        if (!p->bits || !p->lens || !m->streams || !m->heap)
            err = sf_fail(why, SF_ERR_NOMEM, "query: no memory to find traces in several blocks");
        if (!err)
            err = parted_open_streams(m, s, from_ns, to_ns, why);
        if (!err && m->n_heap > 1)
            err = merge_all(m, why);
        for (size_t i = 0; i < m->n_streams; i++) {
            sf_run_leave(m->streams[i].run);
            sf_heap_free(m->streams[i].chunk);
        }
        sf_heap_free(m->streams);
        sf_heap_free(m->heap);
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
