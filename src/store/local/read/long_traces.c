/* long_traces.c - finds traces that last longer than the margin that a search adds to its range.
 * The traces of some runs are listed and sorted by hash; then each other run is probed through its
 * trace filter, or, if the run's sorted index is not much longer than the list, both are merged.
 * Traces found in several runs and far apart are kept in a sorted list. The compact thread does
 * this for new blocks, a query for the remaining runs if that is quick. */
#include "store/local/read/long_traces.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/time_unit.h"
#include "block/format/fuse.h"
#include "block/span/span_block_reader.h"
#include "store/local/read/column_read.h"
#include "store/local/read/granules.h"

enum {
    MAX_LIST = 1 << 18,
    SOME_ROWS = 8 << 20, /* compared in one pass: their traces are listed in memory */
    FEW_ROWS = 1 << 20,  /* soon compared: worth waiting for */
    LOOKUPS_PER_ROW = 4, /* this many lookups in other runs take as long as listing one row */
    AT_ONCE = 8192,      /* entries of an index of traces */
    FILTER_CAP = 1 << 30 /* address space */
};
#define SLACK_NS (SF_LIMIT_SEARCH_SLACK_S * SF_NS_PER_S)

struct piece { /* a trace of the runs being compared */
    uint64_t hash;
    struct sf_long_trace t;
    bool is_parted;
};

struct work {
    struct sf_local *l;
    const struct sf_snapshot *s;
    struct sf_query_ctx *q;
    uint8_t *is_mine; /* by run of the snapshot: is it being compared? */
    struct sf_column_read show;
    struct sf_granules granules;
    struct sf_arena scratch;
    struct piece *list;
    size_t n, cap;
    int64_t min_ns, max_ns; /* time range of these runs */
    struct sf_why *why;
};

void sf_long_traces_init(struct sf_long_traces *s)
{
    sf_mutex_init(&s->lock, SF_LOCK_STORE_LONG_TRACES);
    sf_condvar_init(&s->is_idle);
}

void sf_long_traces_done(struct sf_long_traces *s)
{
    sf_heap_free(s->list);
    sf_mutex_done(&s->lock);
    sf_condvar_done(&s->is_idle);
}

/* ---- times ---- */

static int64_t to_ns(uint64_t ns)
{
    return ns > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)ns;
}

static bool is_long(int64_t a_min, int64_t a_max, int64_t b_min, int64_t b_max)
{
    int64_t low = a_min < b_min ? a_min : b_min, high = a_max > b_max ? a_max : b_max;
    return (uint64_t)high - (uint64_t)low > (uint64_t)SLACK_NS;
}

static void widen(struct sf_long_trace *t, const struct sf_long_trace *by)
{
    t->first_ns = by->first_ns < t->first_ns ? by->first_ns : t->first_ns;
    t->last_ns = by->last_ns > t->last_ns ? by->last_ns : t->last_ns;
    t->min_ns = by->min_ns < t->min_ns ? by->min_ns : t->min_ns;
    t->max_ns = by->max_ns > t->max_ns ? by->max_ns : t->max_ns;
}

/* Extends the range of the trace by rows [from, to) of a granule. */
static void widen_rows(struct sf_long_trace *t, const struct sf_span_rows *rows, uint32_t from,
                       uint32_t to, const struct sf_granule_info *info, const struct sf_run *run)
{
    int64_t last_ns = info->ts_max_ns < run->row.ts_max_ns ? info->ts_max_ns : run->row.ts_max_ns;
    for (uint32_t i = from; i < to; i++) {
        int64_t start = to_ns(rows->start_ns[i]), end = to_ns(rows->end_ns[i]);
        int64_t at = start < info->ts_min_ns ? info->ts_min_ns : start > last_ns ? last_ns : start;
        struct sf_long_trace row = {
            .first_ns = at, .last_ns = at, .min_ns = start, .max_ns = end > start ? end : start};
        widen(t, &row);
    }
}

/* ---- traces of the runs in hand ---- */

static enum sf_err long_traces_no_memory(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_NOMEM, "store: no memory to find long traces");
}

static enum sf_err list_granule(struct work *w, size_t place, uint32_t granule)
{
    struct sf_span_columns *c = &w->show.base;
    enum sf_err err = sf_column_read_open(&w->show, w->s, place, granule, NULL, w->why);
    if (!err)
        err = c->add(c, SF_COL_TRACES | SF_COL_TIMES, w->why);
    for (uint32_t t = 0; !err && t < c->n_traces; t++) {
        struct piece p = {
            sf_trace_id_hash(c->trace_ids[t], c->rows.tenant),
            {c->trace_ids[t], c->rows.tenant, INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN},
            false};
        if (!sf_list_room(&w->list, w->n, &w->cap, 4096))
            return long_traces_no_memory(w->why);
        widen_rows(&p.t, &c->rows, c->firsts[t], c->firsts[t + 1], w->show.view.info,
                   w->s->runs[place]);
        w->min_ns = p.t.min_ns < w->min_ns ? p.t.min_ns : w->min_ns;
        w->max_ns = p.t.max_ns > w->max_ns ? p.t.max_ns : w->max_ns;
        w->list[w->n++] = p;
    }
    return err;
}

static enum sf_err list_run(struct work *w, size_t place)
{
    const struct sf_span_block_reader *reader;
    enum sf_err err = sf_run_enter(w->s->runs[place], SF_TABLES_ROWS, &reader, w->why);
    if (err)
        return err;
    for (uint32_t g = 0; !err && g < sf_span_block_reader_granules(reader); g++)
        err = list_granule(w, place, g);
    sf_column_read_close(&w->show);
    sf_run_leave(w->s->runs[place]);
    return err;
}

static int long_traces_by_hash(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    int id;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    id = sf_trace_id_cmp(x->t.id, y->t.id);
    return id ? id : (x->t.tenant > y->t.tenant) - (x->t.tenant < y->t.tenant);
}

/* Joins pieces of one trace. (Also those of one run, which is harmless.) */
static void long_traces_join(struct work *w)
{
    size_t kept = 0;
    if (w->n > 1)
        qsort(w->list, w->n, sizeof(*w->list), long_traces_by_hash);
    for (size_t i = 0; i < w->n; i++) {
        struct piece *last = kept ? &w->list[kept - 1] : NULL;
        if (last && long_traces_by_hash(last, &w->list[i]) == 0) {
            widen(&last->t, &w->list[i].t);
            last->is_parted = true;
        } else {
            w->list[kept++] = w->list[i];
        }
    }
    w->n = kept;
}

/* ---- the other runs ---- */

static enum sf_err meet(struct work *w, struct sf_run *run,
                        const struct sf_span_block_reader *reader, struct piece *p)
{
    uint32_t n = sf_span_block_reader_granules(reader);
    struct sf_trace_place place;
    bool is_found;
    enum sf_err err = sf_filter_probe_find_trace(reader, p->t.tenant, p->t.id, w->scratch,
                                                 &is_found, &place, w->why);
    while (!err && is_found) {
        const struct sf_granule_info *info = sf_span_block_reader_granule(reader, place.granule);
        const struct sf_span_rows *rows;
        err = sf_granules_part(&w->granules, run, place.granule, place.row,
                               place.row + place.n_rows, SF_COL_TIMES, &rows, w->why);
        if (err)
            break;
        widen_rows(&p->t, rows, 0, rows->n_rows, info, run);
        p->is_parted = true;
        is_found = ++place.granule < n &&
                   sf_span_block_reader_granule(reader, place.granule)->is_continuation;
        place.row = 0;
        place.n_rows = is_found ? sf_span_block_reader_granule(reader, place.granule)->n_rows : 0;
    }
    return err;
}

static bool may_reach(const struct piece *p, const struct sf_run *run)
{
    return is_long(p->t.min_ns, p->t.max_ns, run->row.ts_min_ns, run->row.ts_max_ns);
}

/* Few traces: looks up each of them in the run's filter. */
static enum sf_err probe_run(struct work *w, struct sf_run *run,
                             const struct sf_span_block_reader *reader)
{
    sf_bytes filter = {0};
    enum sf_err err = sf_filter_probe_trace_filter(reader, &w->scratch, &filter, w->why);
    for (size_t i = 0; !err && i < w->n; i++) {
        struct piece *p = &w->list[i];
        if (may_reach(p, run) && sf_fuse_has(filter, p->hash))
            err = meet(w, run, reader, p);
        if (i % 4096 == 0 && !err)
            err = sf_granules_query_check(w->q, w->why);
    }
    return err;
}

/* Many traces: the list and the run's index are both sorted by hash, and are merged. */
static enum sf_err walk_run(struct work *w, struct sf_run *run,
                            const struct sf_span_block_reader *reader)
{
    uint64_t n_traces = sf_span_block_reader_info(reader)->n_traces;
    uint64_t *entries = sf_arena_raw(&w->scratch, AT_ONCE * sizeof(*entries), 16);
    enum sf_err err = entries ? SF_OK : long_traces_no_memory(w->why);
    size_t at = 0;
    for (uint64_t first = 0; !err && first < n_traces && at < w->n; first += AT_ONCE) {
        uint32_t n = n_traces - first < AT_ONCE ? (uint32_t)(n_traces - first) : AT_ONCE;
        err = sf_filter_probe_trace_index(reader, first, n, w->scratch, entries, w->why);
        for (uint32_t i = 0; !err && i < n; i++) {
            uint64_t half = entries[i] >> 32;
            while (at < w->n && w->list[at].hash >> 32 < half)
                at++;
            for (size_t k = at; !err && k < w->n && w->list[k].hash >> 32 == half; k++) {
                if (may_reach(&w->list[k], run))
                    err = meet(w, run, reader, &w->list[k]);
            }
        }
        if (!err)
            err = sf_granules_query_check(w->q, w->why);
    }
    return err;
}

static enum sf_err compare_run(struct work *w, struct sf_run *run)
{
    const struct sf_span_block_reader *reader;
    enum sf_err err = sf_run_enter(run, SF_TABLES_ROWS, &reader, w->why);
    if (err)
        return err;
    w->scratch.at = 0;
    err = w->n < sf_span_block_reader_info(reader)->n_traces / 4 ? probe_run(w, run, reader)
                                                                 : walk_run(w, run, reader);
    sf_run_leave(run);
    return err;
}

/* ---- what was found ---- */

static int compare_traces(const struct sf_long_trace *a, const struct sf_long_trace *b)
{
    if (a->tenant != b->tenant)
        return a->tenant < b->tenant ? -1 : 1;
    return sf_trace_id_cmp(a->id, b->id);
}

static int by_tenant(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return compare_traces(&x->t, &y->t);
}

/* Is the trace in several runs, or will it be after merges into hours? */
static bool is_far_apart(const struct piece *p)
{
    return is_long(p->t.min_ns, p->t.max_ns, p->t.min_ns, p->t.max_ns) &&
           (p->is_parted || sf_local_hour_of(p->t.first_ns) != sf_local_hour_of(p->t.last_ns));
}

static enum sf_err long_traces_keep(struct work *w)
{
    struct sf_long_traces *to = &w->l->long_traces;
    struct sf_long_trace *list;
    size_t n = 0, at = 0, kept = 0;
    for (size_t i = 0; i < w->n; i++) {
        if (is_far_apart(&w->list[i]))
            w->list[n++] = w->list[i];
    }
    if (n == 0)
        return SF_OK;
    qsort(w->list, n, sizeof(*w->list), by_tenant);
    sf_mutex_lock(&to->lock);
    list = sf_heap_new_n(to->n + n, sizeof(*list));
    for (size_t i = 0; list && (i < n || at < to->n);) {
        int c = i == n ? -1 : at == to->n ? 1 : compare_traces(&to->list[at], &w->list[i].t);
        if (kept == MAX_LIST) {
            to->is_full = true;
            break;
        }
        list[kept] = c > 0 ? w->list[i].t : to->list[at];
        if (c == 0)
            widen(&list[kept], &w->list[i].t);
        i += c >= 0;
        at += c <= 0;
        kept++;
    }
    if (list) {
        sf_heap_free(to->list);
        to->list = list;
        to->n = kept;
    }
    sf_mutex_unlock(&to->lock);
    return list ? SF_OK : long_traces_no_memory(w->why);
}

/* ---- comparing ---- */

static enum sf_err long_traces_compare(struct work *w)
{
    const struct sf_snapshot *s = w->s;
    enum sf_err err = SF_OK;
    w->min_ns = INT64_MAX;
    w->max_ns = INT64_MIN;
    for (size_t i = 0; !err && i < s->n; i++) {
        if (!w->is_mine[i])
            continue;
        err = list_run(w, i);
        if (err && sf_granules_query_skips(w->q, s->runs[i], err, w->why))
            err = SF_OK;
    }
    long_traces_join(w);
    for (size_t i = 0; !err && w->n && i < s->n; i++) {
        struct sf_run *run = s->runs[i];
        if (w->is_mine[i] || atomic_load(&run->is_bad) ||
            !is_long(w->min_ns, w->max_ns, run->row.ts_min_ns, run->row.ts_max_ns))
            continue;
        err = compare_run(w, run);
        if (err && sf_granules_query_skips(w->q, run, err, w->why))
            err = SF_OK;
    }
    if (!err)
        err = long_traces_keep(w);
    for (size_t i = 0; !err && i < s->n; i++) {
        if (w->is_mine[i])
            atomic_store(&s->runs[i]->is_compared, true);
    }
    return err;
}

static enum sf_err begin_work(struct sf_long_traces *s, const struct sf_query_ctx *q,
                              struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_mutex_lock(&s->lock);
    while (!err && s->is_working)
        err = sf_granules_query_wait(q, &s->is_idle, &s->lock, why);
    s->is_working = s->is_working || !err;
    sf_mutex_unlock(&s->lock);
    return err;
}

static void end_work(struct sf_long_traces *s)
{
    sf_mutex_lock(&s->lock);
    s->is_working = false;
    sf_condvar_wake_all(&s->is_idle);
    sf_mutex_unlock(&s->lock);
}

static enum sf_err compare_marked(struct sf_local *l, const struct sf_snapshot *s, uint8_t *is_mine,
                                  struct sf_query_ctx *q, struct sf_why *why)
{
    struct work w = {.l = l, .s = s, .q = q, .is_mine = is_mine, .why = why};
    enum sf_err err;
    if (!sf_arena_init(&w.scratch, FILTER_CAP))
        return long_traces_no_memory(why);
    sf_column_read_init(&w.show, l, q);
    sf_granules_init(&w.granules, l, q, NULL, 0);
    err = long_traces_compare(&w);
    sf_granules_done(&w.granules);
    sf_column_read_done(&w.show);
    sf_arena_done(&w.scratch);
    sf_heap_free(w.list);
    return err;
}

/* Marks runs to compare, the newest first, with up to `max_rows` rows; returns their number. */
static size_t long_traces_mark(const struct sf_snapshot *s, bool has_parts, uint64_t max_rows,
                               uint8_t *is_mine)
{
    uint64_t n_rows = 0;
    size_t n = 0;
    for (size_t i = s->n; i > 0 && n_rows < max_rows; i--) {
        struct sf_run *run = s->runs[i - 1];
        if (atomic_load(&run->is_compared) || atomic_load(&run->is_bad) ||
            (!has_parts && sf_run_is_part(run)))
            continue;
        is_mine[i - 1] = 1;
        n_rows += run->row.n_rows;
        n++;
    }
    return n;
}

static void long_traces_forget_old(struct sf_local *l, const struct sf_snapshot *s)
{
    struct sf_long_traces *list = &l->long_traces;
    int64_t oldest_ns = INT64_MAX;
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        oldest_ns = s->runs[i]->row.ts_min_ns < oldest_ns ? s->runs[i]->row.ts_min_ns : oldest_ns;
    sf_mutex_lock(&list->lock);
    for (size_t i = 0; i < list->n; i++) {
        if (list->list[i].max_ns >= oldest_ns)
            list->list[kept++] = list->list[i];
    }
    list->is_full = list->is_full && kept == list->n;
    list->n = kept;
    sf_mutex_unlock(&list->lock);
}

enum sf_err sf_long_traces_compare(struct sf_local *l, struct sf_why *why)
{
    struct sf_query_ctx q = {.cancel = &l->is_stopping};
    enum sf_err err = SF_OK;
    bool is_over = false;
    while (!err && !is_over && !atomic_load(&l->is_stopping)) {
        struct sf_snapshot *s = sf_snapshot_take(&l->snapshots);
        uint8_t *is_mine = sf_heap_new_n(s->n + 1, 1);
        err = is_mine ? begin_work(&l->long_traces, &q, why) : long_traces_no_memory(why);
        if (!err) {
            is_over = long_traces_mark(s, false, SOME_ROWS, is_mine) == 0;
            if (!is_over)
                err = compare_marked(l, s, is_mine, &q, why);
            else
                long_traces_forget_old(l, s);
            end_work(&l->long_traces);
        }
        sf_heap_free(is_mine);
        sf_snapshot_unref(s);
    }
    return err == SF_ERR_CANCELLED ? SF_OK : err;
}

/* The cost of comparing the marked runs, in rows that could be listed in the same time. */
static uint64_t long_traces_cost_of(const struct sf_snapshot *s, const uint8_t *is_mine)
{
    int64_t min_ns = INT64_MAX, max_ns = INT64_MIN;
    uint64_t n_rows = 0, n_far = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct sf_block_row *row = &s->runs[i]->row;
        if (!is_mine[i])
            continue;
        n_rows += row->n_rows;
        min_ns = row->ts_min_ns < min_ns ? row->ts_min_ns : min_ns;
        max_ns = row->ts_max_ns > max_ns ? row->ts_max_ns : max_ns;
    }
    for (size_t i = 0; i < s->n; i++) {
        const struct sf_block_row *row = &s->runs[i]->row;
        n_far += !is_mine[i] && is_long(min_ns, max_ns, row->ts_min_ns, row->ts_max_ns);
    }
    return n_rows + n_rows * n_far / LOOKUPS_PER_ROW;
}

/* A query does not wait for the compact thread, which needs a while for this after a start. */
static bool would_take_long(struct sf_local *l, uint64_t cost)
{
    uint64_t most = l->tune.compare_rows;
    sf_mutex_lock(&l->long_traces.lock);
    if (l->long_traces.is_working && most > FEW_ROWS)
        most = FEW_ROWS;
    sf_mutex_unlock(&l->long_traces.lock);
    return cost > most;
}

enum sf_err sf_long_traces_for_query(struct sf_local *l, struct sf_snapshot *s,
                                     struct sf_query_ctx *q, bool *out_is_known, struct sf_why *why)
{
    uint8_t *is_mine = sf_heap_new_n(s->n + 1, 1);
    enum sf_err err = SF_OK;
    bool is_known;
    if (!is_mine)
        return long_traces_no_memory(why);
    is_known = long_traces_mark(s, true, UINT64_MAX, is_mine) == 0 ||
               !would_take_long(l, long_traces_cost_of(s, is_mine));
    if (is_known)
        err = begin_work(&l->long_traces, q, why);
    if (is_known && !err) {
        memset(is_mine, 0, s->n);
        /* Another thread may have done it meanwhile. */
        if (long_traces_mark(s, true, UINT64_MAX, is_mine))
            err = compare_marked(l, s, is_mine, q, why);
        end_work(&l->long_traces);
    }
    if (!err) {
        sf_mutex_lock(&l->long_traces.lock);
        *out_is_known = is_known && !l->long_traces.is_full;
        sf_mutex_unlock(&l->long_traces.lock);
    }
    sf_heap_free(is_mine);
    return err;
}

enum sf_err sf_long_traces_each(struct sf_local *l, const struct sf_snapshot *s,
                                struct sf_query_ctx *q, int64_t from_ns, int64_t to_ns,
                                enum sf_err (*see)(void *arg, const struct sf_long_trace *t,
                                                   int64_t start_ns, struct sf_why *why),
                                void *arg, struct sf_why *why)
{
    struct sf_long_traces *list = &l->long_traces;
    int64_t oldest_ns = INT64_MAX;
    enum sf_err err = SF_OK;
    for (size_t i = 0; i < s->n; i++)
        oldest_ns = s->runs[i]->row.ts_min_ns < oldest_ns ? s->runs[i]->row.ts_min_ns : oldest_ns;
    sf_mutex_lock(&list->lock);
    for (size_t i = 0; !err && i < list->n; i++) {
        const struct sf_long_trace *t = &list->list[i];
        /* Its beginning may have been erased or deleted by age. */
        bool is_sure = t->first_ns >= oldest_ns && s->erase_version == 0;
        if (t->min_ns <= to_ns && t->max_ns >= from_ns &&
            sf_granules_query_has_tenant(q, t->tenant))
            err = see(arg, t, is_sure ? t->first_ns : t->max_ns, why);
    }
    sf_mutex_unlock(&list->lock);
    return err;
}
