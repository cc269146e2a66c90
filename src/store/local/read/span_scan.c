/* span_scan.c - a cursor over traces in the order of their start. It uses two heaps: units (runs
 * and granules, by the newest time they can hold) and candidates (traces with a matching span, by
 * start). A step expands units until none can precede the first candidate, then loads that trace
 * completely and returns its rows. */
#include "store/local/read/span_scan.h"

#include "base/heap.h"
#include "base/heap_queue.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/num.h"
#include "block/span/span_block_reader.h"
#include "os/clock.h"
#include "store/local/read/candidates.h"
#include "store/local/read/column_read.h"
#include "store/local/read/conds.h"
#include "store/local/read/doubles.h"
#include "store/local/read/pace.h"
#include "store/local/read/ruled_out.h"
#include "store/local/read/run_filter.h"
#include "store/local/read/trace_read.h"

enum {
    NO_GRANULE = -1,
    /* After this many loaded traces it pays to find out which are in a single run. */
    MANY_LOADS = 64
};

struct unit { /* something to examine: a run, or one granule of it */
    int64_t key_ns;
    struct sf_run *run; /* borrowed from the snapshot */
    size_t place;       /* index of the run in the snapshot */
    int64_t granule;    /* NO_GRANULE: the run as a whole */
};

struct cursor {
    struct sf_span_cursor base;
    struct sf_local *l;
    struct sf_query_ctx *q;
    struct sf_arena args; /* copies of the query's conditions and keys */
    struct sf_conds conds;
    struct sf_run_filter where;
    const struct sf_key *keys;
    size_t n_keys, n_want;
    uint32_t *tenants;
    size_t n_tenants;
    bool has_whole_traces, is_newest_first;
    uint32_t columns, limit;
    struct sf_span_judge judge; /* used instead of the conditions, if set */

    struct sf_ruled_out ruled_out; /* granules in which earlier executions found nothing */
    struct sf_column_read show;    /* the granule being evaluated */
    struct sf_parted parted;       /* found if the judge needs it, or many traces are loaded */
    bool has_parted;
    bool is_far_known;  /* traces in runs that `parted` did not compare are already candidates */
    bool is_far_listed; /* and so are all whose runs are further apart than SF_PARTED_GAP_NS */
    uint32_t n_loads;
    struct sf_trace_read read;   /* for the trace being returned */
    struct sf_granules searched; /* for the granule being searched */
    struct sf_arena scratch;
    uint32_t at, n_delivered;
    bool is_delivering, is_complete; /* oldest first: all candidates are exact */

    struct sf_pace pace; /* progress in granules; */
    uint64_t n_unopened; /* estimated number in runs that are not opened yet */
    struct unit *units;  /* heap */
    size_t n_units, units_cap;
    struct sf_candidates cands;
    size_t counted_len;
};

/* ---- units ---- */

/* Must a be processed before b? */
static bool unit_before(const void *arg, const void *a, const void *b)
{
    const struct cursor *c = arg;
    const struct unit *x = a, *y = b;
    return c->is_newest_first ? x->key_ns > y->key_ns : x->key_ns < y->key_ns;
}

static enum sf_err push_unit(struct cursor *c, struct unit u, struct sf_why *why)
{
    if (!sf_list_room(&c->units, c->n_units, &c->units_cap, 64))
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory for a list of granules");
    c->units[c->n_units] = u;
    sf_heap_queue_rise(c->units, c->n_units++, sizeof(u), unit_before, c);
    return SF_OK;
}

static struct unit pop_unit(struct cursor *c)
{
    struct unit top = c->units[0];
    sf_heap_queue_pop(c->units, c->n_units--, sizeof(top), unit_before, c);
    return top;
}

/* ---- looking ---- */

static bool span_scan_is_in_range(const struct cursor *c, int64_t min_ns, int64_t max_ns)
{
    return sf_run_filter_overlaps(&c->where, min_ns, max_ns);
}

static bool has_tenant(const struct cursor *c, uint32_t tenant)
{
    for (size_t i = 0; i < c->n_tenants; i++) {
        if (c->tenants[i] == tenant)
            return true;
    }
    return false;
}

/* A trace in several granules is in range if one of them is: the matching span may be in
 * another. */
static bool granule_is_in_range(const struct cursor *c, const struct sf_span_block_reader *reader,
                                uint32_t granule)
{
    uint32_t n = sf_span_block_reader_granules(reader), first = granule, end = granule + 1;
    int64_t min_ns = INT64_MAX, max_ns = INT64_MIN;
    while (first > 0 && sf_span_block_reader_granule(reader, first)->is_continuation)
        first--;
    while (end < n && sf_span_block_reader_granule(reader, end)->is_continuation)
        end++;
    for (uint32_t g = first; g < end; g++) {
        const struct sf_granule_info *info = sf_span_block_reader_granule(reader, g);
        min_ns = info->ts_min_ns < min_ns ? info->ts_min_ns : min_ns;
        max_ns = info->ts_max_ns > max_ns ? info->ts_max_ns : max_ns;
    }
    return span_scan_is_in_range(c, min_ns, max_ns);
}

static uint64_t granules_of(const struct sf_run *run)
{
    return run->row.n_rows / SF_LIMIT_GRANULE_ROWS + 1;
}

/* Adds the granules of the run that may hold a match. */
static enum sf_err expand_granules(struct cursor *c, const struct unit *whole,
                                   const struct sf_span_block_reader *reader, struct sf_why *why)
{
    struct sf_match_memo memo = {0};
    uint32_t n = sf_span_block_reader_granules(reader);
    enum sf_err err = SF_OK;
    for (uint32_t g = 0; !err && g < n; g++) {
        const struct sf_granule_info *info = sf_span_block_reader_granule(reader, g);
        struct unit u = {c->is_newest_first ? info->ts_max_ns : info->ts_min_ns, whole->run,
                         whole->place, g};
        bool may = false, is_out = !has_tenant(c, info->tenant);
        if (!is_out && granule_is_in_range(c, reader, g) &&
            !sf_ruled_out_has(&c->ruled_out, whole->place, g)) {
            err = sf_run_filter_may_match(&c->where, reader, g, &memo, c->scratch, &may, why);
            is_out = !may;
        }
        if (!err && is_out)
            sf_ruled_out_add(&c->ruled_out, whole->place, g, n);
        if (!err && may) {
            err = push_unit(c, u, why);
            c->pace.n_all++;
        } else {
            c->q->stats.n_skipped++;
        }
    }
    return err;
}

/* *out_n: number of the run's granules if none can hold a match, else 0. */
static enum sf_err rule_out_run(struct cursor *c, const struct unit *whole, uint32_t *out_n,
                                struct sf_why *why)
{
    enum sf_err err;
    *out_n = sf_ruled_out_all(&c->ruled_out, whole->place);
    if (*out_n)
        return SF_OK;
    err = sf_run_filter_rules_out(&c->where, whole->run, c->tenants, c->n_tenants, c->scratch,
                                  out_n, why);
    for (uint32_t g = 0; g < *out_n; g++)
        sf_ruled_out_add(&c->ruled_out, whole->place, g, *out_n);
    return err;
}

static enum sf_err expand_run(struct cursor *c, const struct unit *whole, struct sf_why *why)
{
    struct sf_run *run = whole->run;
    const struct sf_span_block_reader *reader;
    uint32_t n_out;
    enum sf_err err = rule_out_run(c, whole, &n_out, why);
    if (!err && !n_out)
        err = sf_run_enter(run, SF_TABLES_ROWS, &reader, why);
    if (err)
        return err;
    c->q->stats.n_blocks++;
    c->n_unopened -= granules_of(run);
    c->q->stats.n_skipped += n_out;
    if (n_out)
        return SF_OK;
    err = expand_granules(c, whole, reader, why);
    sf_run_leave(run);
    return err;
}

static int64_t clamp_start(uint64_t start_ns, int64_t min_ns, int64_t max_ns)
{
    int64_t at = start_ns > (uint64_t)INT64_MAX ? INT64_MAX : (int64_t)start_ns;
    return at < min_ns ? min_ns : at > max_ns ? max_ns : at;
}

static struct sf_candidate_spot spot_of(const struct cursor *c, const struct unit *u, uint32_t t)
{
    const struct sf_span_columns *rows = &c->show.base;
    const struct sf_granule_info *info = c->show.view.info;
    uint32_t granule = (uint32_t)u->granule, next = granule + 1;
    bool goes_on = t + 1 == rows->n_traces &&
                   next < sf_span_block_reader_granules(c->show.view.r) &&
                   sf_span_block_reader_granule(c->show.view.r, next)->is_continuation;
    return (struct sf_candidate_spot){.at = {.granule = granule,
                                             .row = rows->firsts[t],
                                             .n_rows = rows->firsts[t + 1] - rows->firsts[t]},
                                      .run = u->place,
                                      .trace = info->first_trace + t,
                                      .is_known = !goes_on && !(t == 0 && info->is_continuation)};
}

static enum sf_err span_scan_add_hits(struct cursor *c, const struct unit *u, const uint8_t *hits,
                                      struct sf_why *why)
{
    const struct sf_run *run = u->run;
    struct sf_span_columns *rows = &c->show.base;
    const struct sf_granule_info *info = c->show.view.info;
    int64_t max_ns = info->ts_max_ns < run->row.ts_max_ns ? info->ts_max_ns : run->row.ts_max_ns;
    enum sf_err err = rows->add(rows, SF_COL_TRACES | SF_COL_START, why);
    for (uint32_t t = 0; !err && t < rows->n_traces; t++) {
        uint64_t first_ns = UINT64_MAX;
        int64_t start_ns;
        if (!hits[t])
            continue;
        for (uint32_t i = rows->firsts[t]; i < rows->firsts[t + 1]; i++)
            first_ns = rows->rows.start_ns[i] < first_ns ? rows->rows.start_ns[i] : first_ns;
        start_ns = clamp_start(first_ns, info->ts_min_ns, max_ns);
        if (span_scan_is_in_range(c, start_ns, INT64_MAX)) /* the granule reaches back far enough */
            err = sf_candidates_add(&c->cands, rows->rows.tenant, rows->trace_ids[t], start_ns,
                                    spot_of(c, u, t), why);
    }
    return err;
}

static enum sf_err judge_granule(struct cursor *c, const struct unit *u, struct sf_why *why)
{
    struct sf_span_columns *rows = &c->show.base;
    uint8_t *hits;
    enum sf_err err = sf_column_read_open(&c->show, c->read.snapshot, u->place,
                                          (uint32_t)u->granule,
                                          c->judge.wants_parts ? &c->parted : NULL, why);
    if (err)
        return err;
    hits = sf_arena_raw(rows->scratch, rows->n_traces, 1);
    if (!hits)
        return sf_no_room(why, "the query");
    memset(hits, 1, rows->n_traces);
    err = c->judge.judge(c->judge.arg, rows, hits, why);
    if (!err && memchr(hits, 1, rows->n_traces))
        err = span_scan_add_hits(c, u, hits, why);
    else if (!err)
        sf_ruled_out_add(&c->ruled_out, u->place, (uint32_t)u->granule,
                         sf_span_block_reader_granules(c->show.view.r));
    sf_column_read_close(&c->show);
    return err;
}

static enum sf_err span_scan_look_at(struct cursor *c, const struct unit *u, struct sf_why *why)
{
    const struct sf_tombstones *tombstones = c->read.snapshot->tombstones;
    bool has_tombstones = sf_tombstones_touch(tombstones, u->run->row.id, u->run->row.tenant,
                                              u->run->row.ts_min_ns, u->run->row.ts_max_ns);
    const struct sf_span_block_reader *reader;
    struct sf_granule_info info;
    const struct sf_span_rows *rows;
    uint8_t *hits;
    enum sf_err err = sf_run_enter(u->run, SF_TABLES_ROWS, &reader, why);
    if (err)
        return err;
    info = *sf_span_block_reader_granule(reader, (uint32_t)u->granule);
    if (info.ts_max_ns > u->run->row.ts_max_ns)
        info.ts_max_ns = u->run->row.ts_max_ns;
    sf_run_leave(u->run);
    err = sf_granules_get(&c->searched, u->run, (uint32_t)u->granule,
                          c->conds.columns | (has_tombstones ? SF_COL_RESOURCE : 0), &rows, why);
    if (err)
        return err;
    c->scratch.at = 0;
    hits = sf_arena_raw(&c->scratch, rows->n_rows + 1, 1);
    if (!hits || !sf_conds_judge(&c->conds, rows, 0, rows->n_rows, c->scratch, hits))
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < rows->n_rows; i++) {
        if (!hits[i] ||
            (has_tombstones &&
             sf_tombstones_hide(tombstones, u->run->row.id, rows->tenant, rows->trace_id[i],
                                rows->resources[rows->resource[i]].service, rows->start_ns[i])))
            continue;
        err = sf_candidates_add(&c->cands, rows->tenant, rows->trace_id[i],
                                clamp_start(rows->start_ns[i], info.ts_min_ns, info.ts_max_ns),
                                (struct sf_candidate_spot){0}, why);
        while (i + 1 < rows->n_rows && hits[i + 1] &&
               sf_trace_id_eq(rows->trace_id[i], rows->trace_id[i + 1]) &&
               rows->start_ns[i + 1] >= rows->start_ns[i] && !has_tombstones)
            i++; /* the trace is a candidate already, with an earlier span */
    }
    c->scratch.at = 0;
    return err;
}

/* Opens all runs, so that the number of remaining granules is exact. */
static enum sf_err expand_all(struct cursor *c, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    struct unit *runs = NULL;
    size_t n = 0, cap = 0, n_kept = 0;
    for (size_t i = 0; !err && i < c->n_units; i++) {
        if (c->units[i].granule != NO_GRANULE)
            continue;
        if (sf_list_room(&runs, n, &cap, 64))
            runs[n++] = c->units[i];
        else
            err = sf_fail(why, SF_ERR_NOMEM, "query: no memory for a list of blocks");
    }
    for (size_t i = 0; !err && i < c->n_units; i++) {
        if (c->units[i].granule != NO_GRANULE)
            c->units[n_kept++] = c->units[i];
    }
    if (!err) {
        c->n_units = n_kept;
        sf_heap_queue_make(c->units, n_kept, sizeof(*c->units), unit_before, c);
    }
    for (size_t i = 0; !err && i < n; i++) {
        err = sf_granules_query_check(c->q, why);
        if (!err)
            err = expand_run(c, &runs[i], why);
        if (err && sf_granules_query_skips(c->q, runs[i].run, err, why))
            err = SF_OK;
    }
    sf_heap_free(runs);
    return err;
}

/* A search that has found something continues until its deadline: a partial answer is useful. */
static enum sf_err span_scan_check_pace(struct cursor *c, struct sf_why *why)
{
    int64_t now_ns = sf_clock_mono_ns();
    bool has_found = c->cands.n || c->n_delivered;
    struct sf_pace guess = c->pace;
    enum sf_err err;
    guess.n_all += c->n_unopened;
    if (has_found || !sf_pace_is_hopeless(&guess, now_ns, c->q->deadline_ns))
        return SF_OK;
    err = expand_all(c, why);
    now_ns = sf_clock_mono_ns();
    if (!err && sf_pace_is_hopeless(&c->pace, now_ns, c->q->deadline_ns))
        err = sf_pace_fail(&c->pace, now_ns, c->q->deadline_ns, why);
    return err;
}

/* Searches all units that may contain a trace that precedes the first candidate. */
static enum sf_err span_scan_look_ahead(struct cursor *c, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    while (!err && c->n_units) {
        struct unit u;
        if (c->is_newest_first && c->cands.n &&
            c->units[0].key_ns < sf_candidates_first(&c->cands)->start_ns)
            break;
        err = sf_granules_query_check(c->q, why);
        if (!err)
            err = span_scan_check_pace(c, why);
        if (err || !c->n_units)
            break;
        u = pop_unit(c);
        if (atomic_load(&u.run->is_bad)) {
            sf_granules_query_misses(c->q, u.run);
            continue;
        }
        if (u.granule == NO_GRANULE)
            err = expand_run(c, &u, why);
        else
            err = c->judge.judge ? judge_granule(c, &u, why) : span_scan_look_at(c, &u, why);
        c->pace.n_done += u.granule != NO_GRANULE;
        if (err && sf_granules_query_skips(c->q, u.run, err, why))
            err = SF_OK;
    }
    return err;
}

/* ---- delivering ---- */

static int64_t span_scan_start_of(const struct cursor *c)
{
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < c->read.n_rows; i++) {
        const struct sf_trace_source *s = &c->read.sources[c->read.rows[i].source];
        int64_t at = clamp_start(c->read.rows[i].start_ns, s->ts_min_ns, s->ts_max_ns);
        first = at < first ? at : first;
    }
    return first;
}

static enum sf_err find_parted(struct cursor *c, struct sf_why *why)
{
    c->has_parted = true;
    return sf_doubles_find(&c->parted, c->read.snapshot, c->l, SF_DOUBLES_TRACES, c->where.from_ns,
                           c->where.to_ns, c->q, c->scratch, why);
}

static void span_scan_find_around(const struct sf_block_row *row, int64_t *out_from,
                                  int64_t *out_to)
{
    int64_t low = row->ts_min_ns, high = row->ts_max_ns;
    *out_from = low > INT64_MIN + SF_PARTED_GAP_NS ? low - SF_PARTED_GAP_NS : INT64_MIN;
    *out_to = high < INT64_MAX - SF_PARTED_GAP_NS ? high + SF_PARTED_GAP_NS : INT64_MAX;
}

static enum sf_err span_scan_load(struct cursor *c, const struct sf_candidate *cand,
                                  struct sf_why *why)
{
    const struct sf_candidate_spot *spot = &cand->spot;
    struct sf_trace_read_known known = {.at = spot->at};
    int64_t from_ns = 0, to_ns = 0; /* all runs */
    enum sf_err err = SF_OK;
    sf_trace_read_reset(&c->read);
    if (!c->has_parted && c->is_far_known && ++c->n_loads == MANY_LOADS)
        err = find_parted(c, why);
    if (err || !spot->is_known)
        return err ? err : sf_trace_read_load(&c->read, cand->tenant, cand->id, 0, 0, NULL, why);
    known.run = c->read.snapshot->runs[spot->run];
    if (c->has_parted && c->is_far_known && !sf_parted_has(&c->parted, spot->run, spot->trace) &&
        !atomic_load(&known.run->is_bad))
        return sf_trace_read_load_at(&c->read, cand->tenant, cand->id, known.run, known.at, why);
    /* Its other rows are near in time: fewer runs to read. */
    if (c->is_far_listed)
        span_scan_find_around(&known.run->row, &from_ns, &to_ns);
    return sf_trace_read_load(&c->read, cand->tenant, cand->id, from_ns, to_ns, &known, why);
}

static void span_scan_leave_out(struct cursor *c, sf_trace_id id)
{
    if (c->base.n_left_out++ == 0)
        c->base.left_out = id;
}

/* Keeps only the matching rows of the trace. */
static enum sf_err keep_matches(struct cursor *c, struct sf_why *why)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < c->read.n_rows; i++) {
        const struct sf_span_rows *rows;
        uint32_t row;
        uint8_t hit = 0;
        enum sf_err err = sf_trace_read_peek(&c->read, i, c->conds.columns, &rows, &row, why);
        if (err)
            return err;
        if (!sf_conds_judge(&c->conds, rows, row, row + 1, c->scratch, &hit))
            return sf_fail(why, SF_ERR_LIMIT, "query: no memory to read a trace");
        if (hit)
            c->read.rows[kept++] = c->read.rows[i];
    }
    c->read.n_rows = kept;
    return SF_OK;
}

/* Oldest first: the start of a trace is known only when it is loaded, so all are loaded once. */
static enum sf_err complete_all(struct cursor *c, struct sf_why *why)
{
    for (uint32_t i = 0; i < c->cands.n; i++) {
        struct sf_candidate *cand = &c->cands.list[c->cands.heap[i]];
        enum sf_err err = span_scan_load(c, cand, why);
        if (err == SF_ERR_LIMIT) /* too large for now; loaded again when it is returned */
            continue;
        if (err)
            return err;
        cand->start_ns = span_scan_start_of(c);
        cand->is_exact = true;
    }
    sf_candidates_sort(&c->cands);
    c->is_complete = true;
    return SF_OK;
}

/* Loads the next trace; *out_found false at the end. */
static enum sf_err span_scan_next_trace(struct cursor *c, bool *out_found, struct sf_why *why)
{
    *out_found = false;
    if (c->limit && c->n_delivered == c->limit)
        return SF_OK;
    for (;;) {
        struct sf_candidate *top;
        int64_t start_ns;
        enum sf_err err = span_scan_look_ahead(c, why);
        if (!err && !c->is_newest_first && !c->is_complete)
            err = complete_all(c, why);
        if (err || c->cands.n == 0)
            return err;
        top = sf_candidates_first(&c->cands);
        err = span_scan_load(c, top, why);
        if (err == SF_ERR_LIMIT) {
            span_scan_leave_out(c, top->id);
            sf_candidates_drop(&c->cands);
            continue;
        }
        if (err)
            return err;
        start_ns = span_scan_start_of(c);
        if (!top->is_exact && c->read.n_rows && start_ns != top->start_ns) {
            top->start_ns = start_ns; /* it began earlier than known: reinsert it */
            top->is_exact = true;
            sf_candidates_moved(&c->cands);
            continue;
        }
        sf_candidates_drop(&c->cands);
        if (!c->has_whole_traces)
            err = keep_matches(c, why);
        if (err)
            return err;
        if (c->read.n_rows) {
            c->n_delivered++;
            *out_found = true;
            return SF_OK;
        }
    }
}

static bool span_scan_cursor_next(struct sf_span_cursor *base, struct sf_span_rows *out)
{
    struct cursor *c = (struct cursor *)base;
    if (c->base.err)
        return false;
    for (;;) {
        if (!c->is_delivering || c->at >= c->read.n_rows) {
            c->base.err = span_scan_next_trace(c, &c->is_delivering, &c->base.why);
            c->at = 0;
            if (c->base.err || !c->is_delivering)
                return false;
        }
        c->base.err = sf_trace_read_emit(&c->read, c->at, out, &c->base.why);
        if (c->base.err != SF_ERR_LIMIT)
            break;
        c->base.err = SF_OK;
        span_scan_leave_out(c, c->read.id);
        if (c->at) {
            c->base.cut = c->read.id;
            c->base.has_cut = true;
        }
        c->at = c->read.n_rows;
    }
    if (c->base.err)
        return false;
    c->at += out->n_rows;
    return true;
}

static void span_scan_cursor_close(struct sf_span_cursor *base)
{
    struct cursor *c = (struct cursor *)base;
    if (!c)
        return;
    sf_ruled_out_keep(&c->ruled_out);
    sf_granules_done(&c->searched);
    sf_column_read_done(&c->show);
    sf_parted_done(&c->parted);
    sf_trace_read_done(&c->read);
    sf_arena_done(&c->args);
    sf_arena_done(&c->scratch);
    sf_heap_free(c->tenants);
    sf_heap_free(c->units);
    sf_candidates_done(&c->cands);
    sf_heap_free(c);
}

/* ---- open ---- */

static bool copy_conds(struct cursor *c, const struct sf_span_query *query)
{
    struct sf_cond *list = sf_arena_new_n(&c->args, query->n_conds + 1, sizeof(*list));
    if (!list)
        return false;
    for (size_t i = 0; i < query->n_conds; i++) {
        struct sf_value *vals = sf_arena_new_n(&c->args, query->conds[i].n_vals + 1, sizeof(*vals));
        list[i] = query->conds[i];
        if (!vals || !sf_arena_copy(&c->args, list[i].key, &list[i].key) ||
            !sf_arena_copy(&c->args, list[i].part, &list[i].part))
            return false;
        for (uint32_t k = 0; k < list[i].n_vals; k++) {
            vals[k] = list[i].vals[k];
            if ((vals[k].type == SF_VALUE_STR || vals[k].type >= SF_VALUE_BYTES) &&
                !sf_arena_copy(&c->args, vals[k].str, &vals[k].str))
                return false;
        }
        list[i].vals = vals;
    }
    c->conds.list = list;
    c->conds.n = query->n_conds;
    return true;
}

static bool copy_query(struct cursor *c, const struct sf_span_query *query)
{
    struct sf_key *keys;
    uint32_t *want;
    if (!copy_conds(c, query))
        return false;
    keys = sf_arena_new_n(&c->args, query->n_want + query->n_conds + 1, sizeof(*keys));
    want = sf_arena_new_n(&c->args, query->n_conds + 1, sizeof(*want));
    if (!keys || !want)
        return false;
    for (size_t i = 0; i < query->n_want; i++) {
        keys[i] = query->want_keys[i];
        if (!sf_arena_copy(&c->args, keys[i].name, &keys[i].name))
            return false;
    }
    c->conds.is_all = query->is_all;
    c->conds.from_ns = query->from_ns;
    c->conds.to_ns = query->to_ns;
    c->conds.process = query->process;
    c->n_keys = sf_conds_prepare(&c->conds, keys, query->n_want, want);
    c->where = (struct sf_run_filter){.q = c->q,
                                      .from_ns = query->from_ns,
                                      .to_ns = query->to_ns,
                                      .conds = c->conds.list,
                                      .n_conds = c->conds.n,
                                      .is_all = c->conds.is_all};
    c->keys = keys;
    c->n_want = query->n_want;
    c->has_whole_traces = query->has_whole_traces;
    c->is_newest_first = c->cands.is_newest_first = query->is_newest_first;
    c->columns = query->columns;
    c->limit = query->limit_traces;
    if (query->judge) {
        c->judge = *query->judge;
        c->n_keys = c->n_want; /* the conditions' keys are not read */
        c->conds.columns = 0;
    }
    return true;
}

static enum sf_err push_runs(struct cursor *c, struct sf_why *why)
{
    const struct sf_snapshot *s = c->read.snapshot;
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < s->n; i++) {
        const struct sf_block_row *row = &s->runs[i]->row;
        if ((row->tenant && !has_tenant(c, row->tenant)) ||
            !span_scan_is_in_range(c, row->ts_min_ns, row->ts_max_ns))
            continue;
        /* The time range of a whole run is coarse; its granules have exact ones. The newest runs
         * are opened first, the others when the search reaches their time. */
        err = push_unit(c,
                        (struct unit){c->is_newest_first ? row->ts_max_ns : row->ts_min_ns,
                                      s->runs[i], i, NO_GRANULE},
                        why);
        c->n_unopened += granules_of(s->runs[i]);
    }
    c->pace.began_ns = sf_clock_mono_ns();
    return err;
}

static enum sf_err add_long_trace(void *arg, const struct sf_long_trace *t, int64_t start_ns,
                                  struct sf_why *why)
{
    struct cursor *c = arg;
    return sf_candidates_add(&c->cands, t->tenant, t->id, start_ns, (struct sf_candidate_spot){0},
                             why);
}

/* Are all runs in range? Then all of them are checked for shared traces. */
static bool is_everywhere(const struct cursor *c)
{
    const struct sf_snapshot *s = c->read.snapshot;
    for (size_t i = 0; i < s->n; i++) {
        if (!span_scan_is_in_range(c, s->runs[i]->row.ts_min_ns, s->runs[i]->row.ts_max_ns))
            return false;
    }
    return true;
}

/* Adds traces that overlap the range and last so long that matching spans may be outside the
 * scanned blocks. */
static enum sf_err add_long_traces(struct cursor *c, struct sf_why *why)
{
    enum sf_err err;
    c->is_far_known = true;
    if (c->where.from_ns == 0 && (c->where.to_ns == 0 || c->where.to_ns == INT64_MAX))
        return SF_OK; /* all runs are scanned anyway */
    err = sf_long_traces_for_query(c->l, c->read.snapshot, c->q, &c->is_far_listed, why);
    c->is_far_known = c->is_far_listed || is_everywhere(c);
    c->q->may_miss_far = c->q->may_miss_far || !c->is_far_known;
    return err ? err
               : sf_long_traces_each(c->l, c->read.snapshot, c->q, c->where.from_ns, c->where.to_ns,
                                     add_long_trace, c, why);
}

enum sf_err sf_span_scan(struct sf_store *s, const struct sf_span_query *query,
                         struct sf_query_ctx *q, struct sf_span_cursor **out, struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)s;
    struct cursor *c;
    void *memory;
    enum sf_err err;

    err = sf_granules_query_open(l, q, true, sizeof(*c), &memory, why);
    if (err)
        return err;
    c = memory;
    c->base = (struct sf_span_cursor){.next = span_scan_cursor_next,
                                      .close = span_scan_cursor_close};
    c->l = l;
    c->q = q;
    c->tenants = sf_heap_new_n(q->n_tenants, sizeof(*c->tenants));
    if (!c->tenants || !sf_arena_init(&c->args, 64 << 20) ||
        !sf_arena_init(&c->scratch, 256 << 20) || !copy_query(c, query)) {
        span_scan_cursor_close(&c->base);
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory for a cursor");
    }
    memcpy(c->tenants, q->tenants, q->n_tenants * sizeof(*c->tenants));
    c->n_tenants = q->n_tenants;
    err = sf_trace_read_init(&c->read, l, sf_snapshot_take(&l->snapshots), q,
                             c->columns | c->conds.columns, c->keys, c->n_keys, why);
    if (!err && c->judge.judge)
        err = add_long_traces(c, why);
    c->read.n_want = c->n_want;
    sf_granules_init(&c->searched, l, q, c->keys, c->n_keys);
    sf_column_read_init(&c->show, l, q);
    if (!err && c->judge.wants_parts)
        err = find_parted(c, why);
    if (!err && c->judge.question.len && q->n_tenants == 1 &&
        !sf_ruled_out_init(&c->ruled_out, &l->partials, c->read.snapshot, q->tenants[0],
                           c->judge.question, &c->args))
        err = sf_no_room(why, "the query");
    if (!err)
        err = push_runs(c, why);
    if (err) {
        span_scan_cursor_close(&c->base);
        return err;
    }
    *out = &c->base;
    return SF_OK;
}
