/* doubles.c - finds traces that have rows, or the same span, in more than one run. Results for
 * pairs of blocks are remembered as lists of trace numbers, because blocks do not change; parts in
 * memory are compared again for every query. When not all results fit into memory, all runs are
 * compared for the query instead. */
#include "store/local/read/doubles.h"

#include <string.h>

#include "base/account.h"
#include "base/heap.h"
#include "base/list.h"
#include "block/format/fuse.h"
#include "block/span/span_block_reader.h"
#include "store/local/read/column_read.h"
#include "store/local/read/copies.h"
#include "store/local/read/granules.h"

enum {
    MAX_TRACES = 1 << 18, /* for each kind; when exceeded, all results of that kind are dropped and
                             computed again */
    FILTER_CAP = 64 << 20
};

void sf_doubles_init(struct sf_doubles *d, struct sf_budget *budget)
{
    *d = (struct sf_doubles){.budget = budget};
    sf_mutex_init(&d->lock, SF_LOCK_STORE_DOUBLES);
}

/* ---- what is remembered ---- */

static void doubles_count(struct sf_doubles *d)
{
    size_t len = d->cap * sizeof(*d->list);
    for (uint32_t i = 0; i < d->n; i++) {
        for (unsigned k = 0; k < SF_DOUBLES_KINDS; k++)
            len += d->list[i].lists[k].cap * sizeof(*d->list[i].lists[k].traces);
    }
    sf_budget_sub(d->budget, SF_LINE_PARTIALS, d->counted_len);
    sf_budget_add(d->budget, SF_LINE_PARTIALS, len);
    d->counted_len = len;
}

static void forget_list(struct sf_doubles *d, uint32_t at, unsigned kind)
{
    struct sf_doubled_list *list = &d->list[at].lists[kind];
    d->n_traces[kind] -= list->n;
    sf_heap_free(list->traces);
    *list = (struct sf_doubled_list){0};
}

static void doubles_drop(struct sf_doubles *d, uint32_t at)
{
    for (unsigned k = 0; k < SF_DOUBLES_KINDS; k++)
        forget_list(d, at, k);
    d->list[at] = d->list[--d->n];
}

void sf_doubles_done(struct sf_doubles *d)
{
    if (!d->budget)
        return;
    while (d->n)
        doubles_drop(d, d->n - 1);
    sf_heap_free(d->list);
    sf_budget_sub(d->budget, SF_LINE_PARTIALS, d->counted_len);
    sf_mutex_done(&d->lock);
    *d = (struct sf_doubles){0};
}

static struct sf_doubled *doubles_find(const struct sf_doubles *d, uint64_t block)
{
    for (uint32_t i = 0; i < d->n; i++) {
        if (d->list[i].block == block)
            return &d->list[i];
    }
    return NULL;
}

void sf_doubles_drop_block(struct sf_doubles *d, uint64_t block)
{
    struct sf_account *paused = sf_account_pause();
    struct sf_doubled *one;
    sf_mutex_lock(&d->lock);
    one = doubles_find(d, block);
    if (one) {
        doubles_drop(d, (uint32_t)(one - d->list));
        doubles_count(d);
    }
    memset(d->is_over, 0, sizeof(d->is_over)); /* the remaining ones may fit */
    sf_mutex_unlock(&d->lock);
    sf_account_resume(paused);
}

static struct sf_doubled *doubles_find_or_add(struct sf_doubles *d, uint64_t block)
{
    struct sf_doubled *one = doubles_find(d, block);
    if (one)
        return one;
    if (!sf_list_room(&d->list, d->n, &d->cap, 64))
        return NULL;
    d->list[d->n] = (struct sf_doubled){.block = block};
    return &d->list[d->n++];
}

/* Adds traces to the list that it does not have yet. */
static bool add_bits(struct sf_doubles *d, enum sf_doubles_kind kind, uint64_t block,
                     const uint8_t *bits, size_t len)
{
    struct sf_doubled *one = doubles_find_or_add(d, block);
    struct sf_doubled_list *list = one ? &one->lists[kind] : NULL;
    uint8_t *had = list ? sf_heap_new(len + 1) : NULL;
    bool has_room = had != NULL;
    for (uint32_t i = 0; has_room && i < list->n; i++) {
        if (list->traces[i] / 8 < len)
            had[list->traces[i] / 8] |= (uint8_t)(1u << list->traces[i] % 8);
    }
    for (size_t i = 0; has_room && i < len; i++) {
        uint8_t more = bits[i] & (uint8_t)~had[i];
        for (unsigned bit = 0; has_room && more >> bit; bit++) {
            if (!(more >> bit & 1))
                continue;
            has_room = d->n_traces[kind] < MAX_TRACES &&
                       sf_list_room(&list->traces, list->n, &list->cap, 16);
            if (!has_room)
                break;
            list->traces[list->n++] = (uint32_t)(i * 8 + bit);
            d->n_traces[kind]++;
        }
    }
    sf_heap_free(had);
    return has_room;
}

/* Stores all results, or none. */
static void doubles_remember(struct sf_doubles *d, enum sf_doubles_kind kind,
                             const struct sf_parted *found, const struct sf_snapshot *s,
                             const uint8_t *is_new)
{
    struct sf_account *paused = sf_account_pause();
    bool has_room = true;
    sf_mutex_lock(&d->lock);
    for (size_t i = 0; has_room && i < s->n; i++) {
        if (found->bits[i])
            has_room = add_bits(d, kind, s->runs[i]->row.id, found->bits[i], found->lens[i]);
    }
    for (size_t i = 0; has_room && i < s->n; i++) {
        struct sf_doubled *one = is_new[i] ? doubles_find_or_add(d, s->runs[i]->row.id) : NULL;
        if (one)
            one->lists[kind].is_compared = true;
        else
            has_room = !is_new[i];
    }
    for (uint32_t i = 0; !has_room && i < d->n; i++)
        forget_list(d, i, kind);
    d->is_over[kind] = !has_room;
    d->n_compared++;
    doubles_count(d);
    sf_mutex_unlock(&d->lock);
    sf_account_resume(paused);
}

/* ---- blocks with blocks ---- */

static enum sf_err doubles_no_memory(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_NOMEM, "query: no memory to find duplicate spans");
}

static bool doubles_overlaps(const struct sf_run *run, int64_t from_ns, int64_t to_ns)
{
    return (from_ns == 0 && to_ns == 0) ||
           (run->row.ts_min_ns <= to_ns && run->row.ts_max_ns >= from_ns);
}

/* Can traces of that time range have spans in the run? */
static bool is_around(const struct sf_run *run, int64_t from_ns, int64_t to_ns)
{
    int64_t low = from_ns > INT64_MIN + SF_PARTED_GAP_NS ? from_ns - SF_PARTED_GAP_NS : INT64_MIN;
    int64_t high = to_ns < INT64_MAX - SF_PARTED_GAP_NS ? to_ns + SF_PARTED_GAP_NS : INT64_MAX;
    return run->row.ts_min_ns <= high && run->row.ts_max_ns >= low;
}

/* A snapshot with only the blocks, or only the parts, of `s`; borrowed from it. NULL: no memory. */
static struct sf_snapshot *only(const struct sf_snapshot *s, bool is_parts)
{
    struct sf_snapshot *some = sf_heap_new(sizeof(*some) + s->n * sizeof(struct sf_run *));
    if (!some)
        return NULL;
    some->tombstones = s->tombstones;
    for (size_t i = 0; i < s->n; i++) {
        if (sf_run_is_part(s->runs[i]) == is_parts)
            some->runs[some->n++] = s->runs[i];
    }
    return some;
}

/* Marks blocks that were not compared yet; returns their number and time range. */
static size_t mark_new(struct sf_doubles *d, enum sf_doubles_kind kind,
                       const struct sf_snapshot *blocks, int64_t from_ns, int64_t to_ns,
                       uint8_t *is_new, int64_t *out_low, int64_t *out_high)
{
    size_t n = 0;
    *out_low = INT64_MAX;
    *out_high = INT64_MIN;
    sf_mutex_lock(&d->lock);
    for (size_t i = 0; !d->is_over[kind] && i < blocks->n; i++) {
        const struct sf_run *run = blocks->runs[i];
        const struct sf_doubled *one = doubles_find(d, run->row.id);
        is_new[i] = doubles_overlaps(run, from_ns, to_ns) &&
                    !(one && one->lists[kind].is_compared) && !atomic_load(&run->is_bad);
        if (!is_new[i])
            continue;
        n++;
        *out_low = run->row.ts_min_ns < *out_low ? run->row.ts_min_ns : *out_low;
        *out_high = run->row.ts_max_ns > *out_high ? run->row.ts_max_ns : *out_high;
    }
    sf_mutex_unlock(&d->lock);
    return n;
}

static enum sf_err compare_blocks(struct sf_local *l, const struct sf_snapshot *s,
                                  enum sf_doubles_kind kind, int64_t from_ns, int64_t to_ns,
                                  struct sf_query_ctx *q, struct sf_arena scratch,
                                  struct sf_why *why)
{
    struct sf_snapshot *blocks = only(s, false);
    uint8_t *is_new = blocks ? sf_heap_new(blocks->n + 1) : NULL;
    struct sf_parted found = {0};
    int64_t low, high;
    enum sf_err err = is_new ? SF_OK : doubles_no_memory(why);
    if (!err && mark_new(&l->doubles, kind, blocks, from_ns, to_ns, is_new, &low, &high)) {
        err = sf_parted_find(&found, blocks, low, high, q, scratch, why);
        if (!err)
            err = kind == SF_DOUBLES_SPANS ? sf_copies_keep(&found, blocks, l, q, 1, why)
                                           : sf_copies_keep_traces(&found, blocks, l, q, 1, why);
        if (!err)
            doubles_remember(&l->doubles, kind, &found, blocks, is_new);
        sf_parted_done(&found);
    }
    sf_heap_free(is_new);
    sf_heap_free(blocks);
    return err;
}

enum sf_err sf_doubles_prepare(struct sf_local *l, struct sf_why *why)
{
    struct sf_query_ctx q = {.cancel = &l->is_stopping};
    struct sf_snapshot *s = sf_snapshot_take(&l->snapshots);
    struct sf_arena scratch = {0};
    enum sf_err err = sf_arena_init(&scratch, FILTER_CAP) ? SF_OK : doubles_no_memory(why);

    if (!err)
        err = compare_blocks(l, s, SF_DOUBLES_SPANS, 0, 0, &q, scratch, why);
    sf_arena_done(&scratch);
    sf_snapshot_unref(s);
    return err == SF_ERR_CANCELLED ? SF_OK : err;
}

/* ---- the query's own list ---- */

struct search {
    struct sf_parted *p;
    enum sf_doubles_kind kind;
    const struct sf_snapshot *s;
    struct sf_query_ctx *q;
    struct sf_column_read show;
    struct sf_arena filters;
    struct {
        uint64_t hash;
        sf_trace_id id;
        uint32_t tenant, number;
        size_t place;
    } * traces; /* of parts */
    size_t n, cap;
    int64_t min_ns, max_ns; /* time range of these parts */
};

static uint8_t *doubles_bits_of(struct search *w, size_t place, uint64_t n_traces)
{
    if (!w->p->bits[place]) {
        w->p->lens[place] = (size_t)n_traces / 8 + 1;
        w->p->bits[place] = sf_heap_new(w->p->lens[place]);
    }
    return w->p->bits[place];
}

static bool doubles_mark(struct search *w, size_t place, uint64_t n_traces, uint32_t trace)
{
    uint8_t *bits = trace < n_traces ? doubles_bits_of(w, place, n_traces) : NULL;
    if (bits)
        bits[trace / 8] |= (uint8_t)(1u << trace % 8);
    return bits != NULL;
}

/* Adds the stored list of a block. False: the list is incomplete, or no memory. */
static bool recall_block(struct search *w, struct sf_doubles *d, size_t place, uint64_t n_traces)
{
    const struct sf_doubled *one;
    const struct sf_doubled_list *list;
    bool is_known;
    sf_mutex_lock(&d->lock);
    one = doubles_find(d, w->s->runs[place]->row.id);
    list = one ? &one->lists[w->kind] : NULL;
    is_known = list && list->is_compared;
    for (uint32_t i = 0; list && i < list->n; i++)
        is_known = doubles_mark(w, place, n_traces, list->traces[i]) && is_known;
    sf_mutex_unlock(&d->lock);
    return is_known;
}

static enum sf_err list_part(struct search *w, size_t place, struct sf_why *why)
{
    struct sf_span_columns *c = &w->show.base;
    struct sf_run *run = w->s->runs[place];
    const struct sf_span_block_reader *reader;
    enum sf_err err = sf_run_enter(run, SF_TABLES_ROWS, &reader, why);
    if (err)
        return err;
    for (uint32_t g = 0; !err && g < sf_span_block_reader_granules(reader); g++) {
        err = sf_column_read_open(&w->show, w->s, place, g, NULL, why);
        if (!err)
            err = c->add(c, SF_COL_TRACES, why);
        for (uint32_t t = 0; !err && t < c->n_traces; t++) {
            if (!sf_list_room(&w->traces, w->n, &w->cap, 4096)) {
                err = doubles_no_memory(why);
                break;
            }
            w->traces[w->n].hash = sf_trace_id_hash(c->trace_ids[t], c->rows.tenant);
            w->traces[w->n].id = c->trace_ids[t];
            w->traces[w->n].tenant = c->rows.tenant;
            w->traces[w->n].number = (uint32_t)w->show.view.info->first_trace + t;
            w->traces[w->n++].place = place;
        }
    }
    sf_column_read_close(&w->show);
    sf_run_leave(run);
    return err;
}

/* Finds traces of parts in memory that the block has, too. */
static enum sf_err meet_block(struct search *w, size_t place, struct sf_why *why)
{
    struct sf_run *run = w->s->runs[place];
    const struct sf_span_block_reader *reader;
    sf_bytes filter = {0};
    enum sf_err err = sf_run_enter(run, SF_TABLES_ROWS, &reader, why);
    if (err)
        return err;
    w->filters.at = 0;
    err = sf_filter_probe_trace_filter(reader, &w->filters, &filter, why);
    for (size_t i = 0; !err && i < w->n; i++) {
        struct sf_trace_place at;
        bool is_there = false;
        if (i % 4096 == 0)
            err = sf_granules_query_check(w->q, why);
        if (!err && sf_fuse_has(filter, w->traces[i].hash))
            err = sf_filter_probe_find_trace(reader, w->traces[i].tenant, w->traces[i].id,
                                             w->filters, &is_there, &at, why);
        if (err || !is_there)
            continue;
        if (!doubles_mark(w, place, sf_span_block_reader_info(reader)->n_traces, at.trace) ||
            !doubles_mark(w, w->traces[i].place, UINT32_MAX, w->traces[i].number))
            err = doubles_no_memory(why);
    }
    sf_run_leave(run);
    return err;
}

/* Compares parts with parts: their indexes are in memory, and short. */
static enum sf_err meet_parts(struct search *w, struct sf_arena scratch, struct sf_why *why)
{
    struct sf_snapshot *parts = only(w->s, true);
    struct sf_parted found = {0};
    enum sf_err err = parts
                          ? sf_parted_find(&found, parts, w->min_ns, w->max_ns, w->q, scratch, why)
                          : doubles_no_memory(why);
    for (size_t i = 0, at = 0; !err && i < w->s->n; i++) {
        if (!sf_run_is_part(w->s->runs[i]))
            continue;
        w->p->bits[i] = found.bits[at]; /* now owned by `p` */
        w->p->lens[i] = found.lens[at];
        found.bits[at++] = NULL;
    }
    sf_parted_done(&found);
    sf_heap_free(parts);
    return err;
}

static enum sf_err doubles_add_parts(struct search *w, struct sf_arena scratch, struct sf_why *why)
{
    enum sf_err err = meet_parts(w, scratch, why);
    for (size_t i = 0; !err && i < w->s->n; i++) {
        if (w->p->bits[i] && sf_run_is_part(w->s->runs[i]))
            err = list_part(w, i, why);
    }
    for (size_t i = 0; !err && w->n && i < w->s->n; i++) {
        struct sf_run *run = w->s->runs[i];
        if (sf_run_is_part(run) || atomic_load(&run->is_bad) ||
            !is_around(run, w->min_ns, w->max_ns))
            continue;
        err = meet_block(w, i, why);
        if (err && sf_granules_query_skips(w->q, run, err, why))
            err = SF_OK;
    }
    return err;
}

/* The time range of the selected runs: a trace in one of them may be anywhere in it. */
static void find_extent(const struct sf_snapshot *s, int64_t from_ns, int64_t to_ns,
                        int64_t *out_low, int64_t *out_high)
{
    *out_low = INT64_MAX;
    *out_high = INT64_MIN;
    for (size_t i = 0; i < s->n; i++) {
        const struct sf_block_row *row = &s->runs[i]->row;
        if (!doubles_overlaps(s->runs[i], from_ns, to_ns))
            continue;
        *out_low = row->ts_min_ns < *out_low ? row->ts_min_ns : *out_low;
        *out_high = row->ts_max_ns > *out_high ? row->ts_max_ns : *out_high;
    }
}

/* *out false: a result is not stored after all. */
static enum sf_err add_blocks(struct search *w, struct sf_doubles *d, int64_t from_ns,
                              int64_t to_ns, bool *out, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    int64_t low, high;
    *out = true;
    find_extent(w->s, from_ns, to_ns, &low, &high);
    for (size_t i = 0; !err && *out && i < w->s->n; i++) {
        struct sf_run *run = w->s->runs[i];
        const struct sf_span_block_reader *reader;
        bool is_asked = doubles_overlaps(run, from_ns, to_ns);
        if (!(is_asked || is_around(run, low, high)) || atomic_load(&run->is_bad))
            continue;
        if (sf_run_is_part(run)) {
            w->min_ns = run->row.ts_min_ns < w->min_ns ? run->row.ts_min_ns : w->min_ns;
            w->max_ns = run->row.ts_max_ns > w->max_ns ? run->row.ts_max_ns : w->max_ns;
            continue;
        }
        err = sf_run_enter(run, SF_TABLES_NONE, &reader, why);
        if (!err) {
            *out = recall_block(w, d, i, sf_span_block_reader_info(reader)->n_traces) || !is_asked;
            sf_run_leave(run);
        } else if (sf_granules_query_skips(w->q, run, err, why)) {
            err = SF_OK;
        }
    }
    return err;
}

static enum sf_err find_by_memory(struct search *w, struct sf_local *l, int64_t from_ns,
                                  int64_t to_ns, struct sf_arena scratch, bool *out,
                                  struct sf_why *why)
{
    struct sf_parted *p = w->p;
    enum sf_err err;
    *p = (struct sf_parted){.n = w->s->n};
    p->bits = sf_heap_new_n(w->s->n + 1, sizeof(*p->bits));
    p->lens = sf_heap_new_n(w->s->n + 1, sizeof(*p->lens));
    if (!p->bits || !p->lens)
        return doubles_no_memory(why);
    err = add_blocks(w, &l->doubles, from_ns, to_ns, out, why);
    if (err || !*out || w->min_ns > w->max_ns)
        return err;
    if (!sf_arena_init(&w->filters, FILTER_CAP))
        return doubles_no_memory(why);
    sf_column_read_init(&w->show, l, w->q);
    err = doubles_add_parts(w, scratch, why);
    sf_column_read_done(&w->show);
    sf_arena_done(&w->filters);
    sf_heap_free(w->traces);
    return err || w->kind != SF_DOUBLES_SPANS
               ? err
               : sf_copies_keep(p, w->s, l, w->q, SF_COPIES_LEAST, why);
}

/* The same without stored results: compares all runs. */
static enum sf_err find_anew(struct search *w, struct sf_local *l, int64_t from_ns, int64_t to_ns,
                             struct sf_arena scratch, struct sf_why *why)
{
    enum sf_err err;
    sf_parted_done(w->p);
    err = sf_parted_find(w->p, w->s, from_ns, to_ns, w->q, scratch, why);
    if (err)
        return err;
    return w->kind == SF_DOUBLES_SPANS
               ? sf_copies_keep(w->p, w->s, l, w->q, SF_COPIES_LEAST, why)
               : sf_copies_keep_traces(w->p, w->s, l, w->q, SF_COPIES_LEAST, why);
}

enum sf_err sf_doubles_find(struct sf_parted *p, const struct sf_snapshot *s, struct sf_local *l,
                            enum sf_doubles_kind kind, int64_t from_ns, int64_t to_ns,
                            struct sf_query_ctx *q, struct sf_arena scratch, struct sf_why *why)
{
    struct search w = {
        .p = p, .kind = kind, .s = s, .q = q, .min_ns = INT64_MAX, .max_ns = INT64_MIN};
    bool is_known = false;
    enum sf_err err = compare_blocks(l, s, kind, from_ns, to_ns, q, scratch, why);
    if (!err)
        err = find_by_memory(&w, l, from_ns, to_ns, scratch, &is_known, why);
    if (!err && !is_known) /* too many to store */
        err = find_anew(&w, l, from_ns, to_ns, scratch, why);
    if (err)
        sf_parted_done(p);
    return err;
}
