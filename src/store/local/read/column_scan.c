/* column_scan.c - returns granules as they are stored, except rows of traces that may be in several
 * runs.
 *
 * Of such traces a span may be stored twice. Their rows are left out (is_in) when their granules
 * are read, and their ids are noted with the runs that left them out. At the end each of these
 * traces is read once from these runs, without duplicate spans. A run of a distant time may have
 * returned its rows of such a trace before: none of them is a duplicate, since a repeated span has
 * the same time as the first.
 *
 * Consecutive granules of a block form groups, for which the caller may store one result. It is
 * returned instead of the rows, unless a tombstone applies to the block or a trace of it is also
 * in another run. */
#include "store/local/read/column_scan.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"
#include "base/table.h"
#include "os/clock.h"
#include "store/local/read/column_read.h"
#include "store/local/read/doubles.h"
#include "store/local/read/pace.h"
#include "store/local/read/run_filter.h"
#include "store/local/read/trace_read.h"

enum {
    SCRATCH_CAP = 256 << 20,
    MAX_NOTED = 1 << 22,
    GROUP_GRANULES = 64,
    RECALLED_CAP = 16 << 20, /* bytes of stored results that one query holds */
    COUNTS_LEN = 8,
    GROUP_KEY = (int)(1u << 31) /* added to the first granule: the key of a group's result */
};

struct unit { /* a granule to return, or a group of which nothing is to be read */
    int64_t key_ns;
    size_t place; /* of its run in the snapshot */
    uint32_t granule;
    uint32_t group; /* index of the group, plus one; 0: none */
    bool is_empty;  /* stands for a group without matching granules */
};

struct group {
    int64_t min_ns, max_ns;
    size_t place;
    uint32_t first, tenant;
    uint32_t n_rows, n_traces; /* that were returned, now or when the result was stored */
    uint32_t n_units, n_returned;
    sf_bytes recalled; /* the stored result */
};

struct noted { /* a trace to read at the end */
    sf_trace_id id;
    uint32_t tenant;
    uint32_t first; /* first of the runs that left it out */
};

struct left_out {
    const struct sf_run *run;
    uint32_t next; /* of the same trace; SF_NONE: none */
};

struct cursor {
    struct sf_column_cursor base;
    struct sf_local *l;
    struct sf_query_ctx *q;
    struct sf_run_filter filter;  /* used while the cursor is opened */
    struct sf_snapshot *snapshot; /* owned by the trace reader */
    struct sf_parted parted;
    struct sf_column_read show;
    uint64_t variant; /* identifies which traces are left out */
    struct sf_arena scratch;
    struct unit *units;
    size_t n_units, units_cap, unit;
    sf_bytes question; /* used while the cursor is opened */
    bool is_group_inside;
    struct group *groups;
    size_t n_groups, groups_cap;
    struct sf_arena recalled;
    struct sf_span_columns stored; /* a group without rows: recalled, or empty */
    int64_t began_ns;              /* monotonic: when the first granule was read */

    struct noted *noted;
    uint32_t n_noted, noted_cap, at_noted;
    struct sf_table noted_at;
    struct left_out *left_out;
    size_t n_left_out, left_out_cap;

    struct sf_key *keys;
    size_t n_keys;
    struct sf_trace_read read;
    struct sf_span_columns whole; /* rows of the current trace */
    uint32_t at;                  /* next row of it */
    uint32_t firsts[2];
    uint64_t n_shown;
};

/* ---- which granules ---- */

static enum sf_err column_scan_add_unit(struct cursor *c, struct unit u, struct sf_why *why)
{
    if (!sf_list_room(&c->units, c->n_units, &c->units_cap, 256))
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory for a list of granules");
    c->units[c->n_units++] = u;
    return SF_OK;
}

/* Granules [first, end) of one run. */
struct stretch {
    const struct sf_span_block_reader *reader;
    size_t place;
    uint32_t first, end;
};

/* Does every row of the tenant in this run count where it is stored, and does the run never change?
 */
static bool has_groups(const struct cursor *c, size_t place, uint32_t tenant)
{
    const struct sf_run *run = c->snapshot->runs[place];
    return c->question.len && !sf_run_is_part(run) && !(c->parted.bits && c->parted.bits[place]) &&
           !sf_tombstones_touch(c->snapshot->tombstones, run->row.id, tenant, run->row.ts_min_ns,
                                run->row.ts_max_ns);
}

/* False: results of these granules cannot be stored together. */
static bool make_group(const struct cursor *c, const struct stretch *s, struct group *out)
{
    uint32_t n = sf_span_block_reader_granules(s->reader);
    *out = (struct group){.min_ns = INT64_MAX, .place = s->place, .first = s->first};
    out->tenant = sf_span_block_reader_granule(s->reader, s->first)->tenant;
    if (!has_groups(c, s->place, out->tenant))
        return false;
    for (uint32_t g = s->first; g < s->end; g++) {
        const struct sf_granule_info *info = sf_span_block_reader_granule(s->reader, g);
        if (info->tenant != out->tenant || info->is_continuation)
            return false;
        out->min_ns = info->ts_min_ns < out->min_ns ? info->ts_min_ns : out->min_ns;
        out->max_ns = info->ts_max_ns > out->max_ns ? info->ts_max_ns : out->max_ns;
    }
    if (s->end < n && sf_span_block_reader_granule(s->reader, s->end)->is_continuation)
        return false;
    if (c->is_group_inside && (out->min_ns < c->filter.from_ns || out->max_ns > c->filter.to_ns))
        return false;
    return sf_granules_query_has_tenant(c->q, out->tenant) &&
           sf_run_filter_overlaps(&c->filter, out->min_ns, out->max_ns);
}

static struct sf_partial_key group_key(const struct cursor *c, const struct group *g,
                                       sf_bytes question)
{
    return (struct sf_partial_key){.tenant = g->tenant,
                                   .block = c->snapshot->runs[g->place]->row.id,
                                   .granule = g->first | (uint32_t)GROUP_KEY,
                                   .question = question};
}

/* Adds units for the granules that have to be read. `*out_is_all`: none was left out because of its
 * time or tenant. */
static enum sf_err add_granules(struct cursor *c, const struct stretch *s,
                                struct sf_match_memo *memo, bool *out_is_all, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    *out_is_all = true;
    for (uint32_t g = s->first; !err && g < s->end; g++) {
        const struct sf_granule_info *info = sf_span_block_reader_granule(s->reader, g);
        bool may = false;
        if (sf_granules_query_has_tenant(c->q, info->tenant) &&
            sf_run_filter_overlaps(&c->filter, info->ts_min_ns, info->ts_max_ns))
            err = sf_run_filter_may_match(&c->filter, s->reader, g, memo, c->scratch, &may, why);
        else
            *out_is_all = false;
        if (!err && may)
            err = column_scan_add_unit(
                c, (struct unit){.key_ns = info->ts_max_ns, .place = s->place, .granule = g}, why);
        else
            c->q->stats.n_skipped++;
    }
    return err;
}

/* Makes the units from `from` on those of a group; without any, adds one that stands for it. */
static enum sf_err add_group(struct cursor *c, struct group *g, size_t from, struct sf_why *why)
{
    struct unit u = {.place = g->place, .granule = g->first, .is_empty = true};
    enum sf_err err = SF_OK;
    if (!sf_list_room(&c->groups, c->n_groups, &c->groups_cap, 16))
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory for a list of granules");
    if (from == c->n_units)
        err = column_scan_add_unit(c, u, why);
    if (err)
        return err;
    g->n_units = sf_u32(c->n_units - from);
    c->groups[c->n_groups++] = *g;
    for (; from < c->n_units; from++) {
        c->units[from].group = sf_u32(c->n_groups);
        c->units[from].key_ns = g->max_ns;
    }
    return SF_OK;
}

/* A stored result is preceded by the numbers of rows and traces it was computed from. */
static void column_scan_take_counts(struct group *g)
{
    SF_ASSERT(g->recalled.len >= COUNTS_LEN); /* written by keep_group() */
    g->n_rows = sf_load_u32le(g->recalled.p);
    g->n_traces = sf_load_u32le(g->recalled.p + 4);
    g->recalled = (sf_bytes){g->recalled.p + COUNTS_LEN, g->recalled.len - COUNTS_LEN};
}

static enum sf_err add_stretch(struct cursor *c, const struct stretch *s,
                               struct sf_match_memo *memo, struct sf_why *why)
{
    struct group group;
    size_t from = c->n_units;
    bool is_all, is_group = make_group(c, s, &group);
    enum sf_err err;
    if (is_group) {
        struct sf_partial_key key = group_key(c, &group, c->question);
        if (sf_partials_get(&c->l->partials, &key, &c->recalled, &group.recalled)) {
            column_scan_take_counts(&group);
            return add_group(c, &group, from, why);
        }
    }
    err = add_granules(c, s, memo, &is_all, why);
    return !err && is_group && is_all ? add_group(c, &group, from, why) : err;
}

static enum sf_err column_scan_add_run(void *arg, size_t place, bool *out_is_done,
                                       struct sf_why *why)
{
    struct cursor *c = arg;
    struct sf_run *run = c->snapshot->runs[place];
    struct stretch s = {.place = place};
    struct sf_match_memo memo = {0};
    enum sf_err err = sf_run_enter(run, SF_TABLES_ROWS, &s.reader, why);
    uint32_t n;
    if (err)
        return err;
    *out_is_done = false;
    c->q->stats.n_blocks++;
    n = sf_span_block_reader_granules(s.reader);
    while (!err && s.end < n) {
        s.first = s.end;
        s.end = n - s.first > GROUP_GRANULES ? s.first + GROUP_GRANULES : n;
        err = add_stretch(c, &s, &memo, why);
    }
    sf_run_leave(run);
    return err;
}

/* Units of a group have the same time, so that they are returned one after another. */
static int column_scan_newest_first(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    if (x->key_ns != y->key_ns)
        return x->key_ns > y->key_ns ? -1 : 1;
    if (x->place != y->place)
        return x->place > y->place ? -1 : 1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return (x->granule > y->granule) - (x->granule < y->granule);
}

/* ---- traces in parts ---- */

/* Granules are sorted by age, so those of one run are not consecutive. */
static bool has_left_out(const struct cursor *c, const struct noted *n, const struct sf_run *run)
{
    for (uint32_t i = n->first; i != SF_NONE; i = c->left_out[i].next)
        if (c->left_out[i].run == run)
            return true;
    return false;
}

static enum sf_err column_scan_note(struct cursor *c, uint32_t tenant, sf_trace_id id,
                                    struct sf_why *why)
{
    const struct sf_run *run = c->show.run;
    uint32_t at;
    struct sf_table_lookup lookup;
    if (c->n_noted >= MAX_NOTED)
        return sf_fail(why, SF_ERR_LIMIT,
                       "query: more than %d traces lie in several blocks; narrow the time range",
                       MAX_NOTED);
    if (!sf_list_room(&c->noted, c->n_noted, &c->noted_cap, 256) || !sf_table_more(&c->noted_at) ||
        !sf_list_room(&c->left_out, c->n_left_out, &c->left_out_cap, 256))
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory for traces in several blocks");
    lookup = sf_table_lookup(&c->noted_at, sf_trace_id_key(id, tenant));
    while (sf_table_next(&lookup, &at)) {
        struct noted *n = &c->noted[at];
        if (n->tenant != tenant || !sf_trace_id_eq(n->id, id))
            continue;
        if (!has_left_out(c, n, run)) {
            c->left_out[c->n_left_out] = (struct left_out){run, n->first};
            n->first = (uint32_t)c->n_left_out++;
        }
        return SF_OK;
    }
    sf_table_keep(&c->noted_at, &lookup, c->n_noted);
    c->left_out[c->n_left_out] = (struct left_out){run, SF_NONE};
    c->noted[c->n_noted++] = (struct noted){id, tenant, (uint32_t)c->n_left_out++};
    return SF_OK;
}

/* Leaves the rows of split traces out. */
static enum sf_err column_scan_set_aside(struct cursor *c, struct sf_why *why)
{
    struct sf_span_columns *rows = &c->show.base;
    uint8_t *is_in;
    enum sf_err err;
    c->variant = 0;
    if (!memchr(rows->is_parted, 1, rows->n_traces))
        return SF_OK;
    c->variant = sf_key(rows->is_parted, rows->n_traces) | 1;
    err = rows->add(rows, SF_COL_TRACES, why);
    is_in = err ? NULL : sf_arena_raw(rows->scratch, rows->rows.n_rows, 1);
    if (!is_in)
        return err ? err : sf_no_room(why, "the query");
    if (rows->rows.is_in)
        memcpy(is_in, rows->rows.is_in, rows->rows.n_rows);
    else
        memset(is_in, 1, rows->rows.n_rows);
    for (uint32_t t = 0; !err && t < rows->n_traces; t++) {
        if (!rows->is_parted[t])
            continue;
        memset(is_in + rows->firsts[t], 0, rows->firsts[t + 1] - rows->firsts[t]);
        err = column_scan_note(c, rows->rows.tenant, rows->trace_ids[t], why);
    }
    rows->rows.is_in = is_in;
    return err;
}

/* ---- rows of a trace that was put together ---- */

static enum sf_err add_nothing(struct sf_span_columns *s, uint32_t columns, struct sf_why *why)
{
    (void)s, (void)columns, (void)why; /* all columns are already loaded */
    return SF_OK;
}

static enum sf_err column_scan_find_value(struct sf_span_columns *s, const struct sf_key *key,
                                          struct sf_value_column *out, struct sf_why *why)
{
    const struct cursor *c = (const struct cursor *)((const char *)s -
                                                     offsetof(struct cursor, whole));
    for (size_t i = 0; i < c->n_keys; i++) {
        if (c->keys[i].scope == key->scope && sf_str_eq(c->keys[i].name, key->name)) {
            *out = s->rows.want[i];
            return SF_OK;
        }
    }
    return sf_fail(why, SF_ERR_INPUT,
                   "query: an attribute that was not requested when the scan was opened");
}

static enum sf_err show_whole(struct cursor *c, struct sf_why *why)
{
    struct sf_span_columns *w = &c->whole;
    uint64_t *durations;
    enum sf_err err = sf_trace_read_emit(&c->read, c->at, &w->rows, why);
    if (err)
        return err;
    c->at += w->rows.n_rows;
    c->scratch.at = 0;
    durations = sf_arena_raw(&c->scratch, w->rows.n_rows * sizeof(*durations), 16);
    if (!durations)
        return sf_fail(why, SF_ERR_LIMIT, "query: no memory to read a trace");
    for (uint32_t i = 0; i < w->rows.n_rows; i++) {
        uint64_t start = w->rows.start_ns[i], end = w->rows.end_ns[i];
        uint64_t ns = end > start ? end - start : 0;
        durations[i] = ns > (uint64_t)INT64_MAX ? (uint64_t)INT64_MAX : ns;
    }
    w->rows.duration_ns = durations;
    c->firsts[1] = w->rows.n_rows;
    w->trace_ids = w->rows.trace_id;
    w->tables = ++c->n_shown * 2 + 1; /* odd, so that it never equals a run's address */
    return SF_OK;
}

static void column_scan_leave_out(struct cursor *c)
{
    if (c->base.n_left_out++ == 0)
        c->base.left_out = c->read.id;
    c->read.n_rows = 0;
}

/* Drops rows that another run has already returned. */
static void take_left_out(struct cursor *c, const struct noted *of)
{
    struct sf_trace_read *r = &c->read;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_rows; i++) {
        const struct sf_run *run = r->sources[r->rows[i].source].run;
        if (!run || has_left_out(c, of, run))
            r->rows[n++] = r->rows[i];
    }
    r->n_rows = n;
}

/* Reads the next trace; *out false: none left. */
static enum sf_err next_whole(struct cursor *c, bool *out, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    *out = false;
    while (!err) {
        if (c->at < c->read.n_rows) {
            err = show_whole(c, why);
            *out = err == SF_OK;
        } else if (c->at_noted == c->n_noted) {
            return SF_OK;
        } else {
            const struct noted *n = &c->noted[c->at_noted++];
            c->at = 0;
            sf_trace_read_reset(&c->read);
            err = sf_trace_read_load(&c->read, n->tenant, n->id, 0, 0, NULL, why);
            if (!err)
                take_left_out(c, n);
        }
        if (*out)
            return SF_OK;
        if (err == SF_ERR_LIMIT) {
            column_scan_leave_out(c);
            err = SF_OK;
        }
    }
    return err;
}

/* ---- what was made of the granule before ---- */

static struct sf_partial_key column_scan_key_of(const struct cursor *c, sf_bytes question)
{
    return (struct sf_partial_key){.tenant = c->show.base.rows.tenant,
                                   .block = c->show.run->row.id,
                                   .granule = c->show.view.granule,
                                   .variant = c->variant,
                                   .question = question};
}

static bool column_scan_recall(struct sf_span_columns *s, sf_bytes question, sf_bytes *out)
{
    struct cursor *c = (struct cursor *)((char *)s - offsetof(struct cursor, show.base));
    struct sf_partial_key key = column_scan_key_of(c, question);
    return sf_partials_get(&c->l->partials, &key, s->scratch, out);
}

static void column_scan_keep(struct sf_span_columns *s, sf_bytes question, sf_bytes result)
{
    struct cursor *c = (struct cursor *)((char *)s - offsetof(struct cursor, show.base));
    struct sf_partial_key key = column_scan_key_of(c, question);
    sf_partials_put(&c->l->partials, &key, result);
}

/* Lets the caller cache results of the rows of a block; called if no tombstone hides any. */
static void offer_to_keep(struct cursor *c)
{
    struct sf_span_columns *rows = &c->show.base;
    if (sf_run_is_part(c->show.run))
        return;
    rows->recall = column_scan_recall;
    rows->keep = column_scan_keep;
    rows->min_ns = c->show.view.info->ts_min_ns;
    rows->max_ns = c->show.view.info->ts_max_ns;
    rows->has_strays = sf_granule_view_has_strays(&c->show.view);
}

static void keep_group(struct sf_span_columns *s, sf_bytes question, sf_bytes result)
{
    const struct cursor *c = s->recall
                                 ? (struct cursor *)((char *)s - offsetof(struct cursor, show.base))
                                 : (struct cursor *)((char *)s - offsetof(struct cursor, stored));
    const struct group *g = &c->groups[s->group.number - 1];
    struct sf_partial_key key = group_key(c, g, question);
    uint8_t *bytes = sf_arena_raw(s->scratch, COUNTS_LEN + result.len, 1);
    if (!bytes)
        return; /* it is computed again next time */
    sf_store_u32le(bytes, g->n_rows);
    sf_store_u32le(bytes + 4, g->n_traces);
    memcpy(bytes + COUNTS_LEN, result.p, result.len);
    sf_partials_put(&c->l->partials, &key, (sf_bytes){bytes, COUNTS_LEN + result.len});
}

/* ---- groups ---- */

/* Describes the group of unit `u` in `s`, which shows that unit. */
static void show_group(struct cursor *c, const struct unit *u, struct sf_span_columns *s)
{
    struct group *g = u->group ? &c->groups[u->group - 1] : NULL;
    bool is_end;
    if (!g)
        return;
    is_end = c->unit == c->n_units || c->units[c->unit].group != u->group;
    g->n_returned++;
    g->n_rows += s->rows.n_rows;
    g->n_traces += s->n_traces;
    s->group = (struct sf_column_group){
        .number = u->group, .min_ns = g->min_ns, .max_ns = g->max_ns, .is_end = is_end};
    if (is_end && g->n_returned == g->n_units)
        s->group.keep = keep_group;
}

/* A group of which nothing has to be read. */
static struct sf_span_columns *next_stored(struct cursor *c)
{
    const struct unit *u = &c->units[c->unit++];
    const struct group *g = &c->groups[u->group - 1];
    c->scratch.at = 0;
    c->stored = (struct sf_span_columns){
        .tables = ++c->n_shown * 2 + 1, .scratch = &c->scratch, .recalled = g->recalled};
    if (g->recalled.len) {
        c->stored.rows.n_rows = g->n_rows;
        c->stored.n_traces = g->n_traces;
    } else {
        show_group(c, u, &c->stored);
    }
    return &c->stored;
}

/* ---- the cursor ---- */

static enum sf_err next_granule(struct cursor *c, struct sf_why *why)
{
    struct sf_pace pace = {c->began_ns, c->unit, c->n_units};
    const struct unit *u = &c->units[c->unit++];
    int64_t now_ns = sf_clock_mono_ns();
    bool has_hidden;
    enum sf_err err = sf_granules_query_check(c->q, why);
    if (!err && sf_pace_is_hopeless(&pace, now_ns, c->q->deadline_ns))
        err = sf_pace_fail(&pace, now_ns, c->q->deadline_ns, why);
    if (!err)
        err = sf_column_read_open(&c->show, c->snapshot, u->place, u->granule, &c->parted, why);
    has_hidden = c->show.base.rows.is_in != NULL;
    if (!err)
        err = column_scan_set_aside(c, why);
    if (!err && !has_hidden) {
        offer_to_keep(c);
        if (!c->variant)
            show_group(c, u, &c->show.base);
    }
    return err;
}

static struct sf_span_columns *column_scan_cursor_next(struct sf_column_cursor *base)
{
    struct cursor *c = (struct cursor *)base;
    bool has = false;
    while (!c->base.err && c->unit < c->n_units) {
        struct sf_run *run = c->snapshot->runs[c->units[c->unit].place];
        if (atomic_load(&run->is_bad)) {
            sf_granules_query_misses(c->q, run);
            c->unit++;
            continue;
        }
        if (c->units[c->unit].is_empty)
            return next_stored(c);
        c->base.err = next_granule(c, &c->base.why);
        if (!c->base.err)
            return &c->show.base;
        if (sf_granules_query_skips(c->q, run, c->base.err, &c->base.why))
            c->base.err = SF_OK;
    }
    sf_column_read_close(&c->show);
    if (!c->base.err)
        c->base.err = next_whole(c, &has, &c->base.why);
    return has && !c->base.err ? &c->whole : NULL;
}

static void column_scan_cursor_close(struct sf_column_cursor *base)
{
    struct cursor *c = (struct cursor *)base;
    if (!c)
        return;
    sf_column_read_done(&c->show);
    sf_trace_read_done(&c->read);
    sf_parted_done(&c->parted);
    sf_arena_done(&c->scratch);
    sf_arena_done(&c->recalled);
    sf_heap_free(c->units);
    sf_heap_free(c->groups);
    sf_heap_free(c->noted);
    sf_heap_free(c->left_out);
    sf_table_done(&c->noted_at);
    sf_heap_free(c->keys);
    sf_heap_free(c);
}

static enum sf_err open_cursor(struct cursor *c, const struct sf_span_query *query,
                               struct sf_why *why)
{
    uint32_t columns = query->columns | SF_COL_TIMES | SF_COL_IDS;
    enum sf_err err;
    c->keys = sf_heap_new_n(query->n_want + 1, sizeof(*c->keys));
    if (!c->keys || !sf_arena_init(&c->scratch, SCRATCH_CAP) ||
        !sf_arena_init(&c->recalled, RECALLED_CAP))
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory for a cursor");
    if (query->n_want)
        memcpy(c->keys, query->want_keys, query->n_want * sizeof(*c->keys));
    c->n_keys = query->n_want;
    c->whole = (struct sf_span_columns){
        .n_traces = 1, .scratch = &c->scratch, .add = add_nothing, .value = column_scan_find_value};
    c->whole.firsts = c->firsts;
    sf_column_read_init(&c->show, c->l, c->q);
    c->snapshot = sf_snapshot_take(&c->l->snapshots);
    err = sf_trace_read_init(&c->read, c->l, c->snapshot, c->q, columns, c->keys, c->n_keys, why);
    if (!err)
        err = sf_doubles_find(&c->parted, c->snapshot, c->l, SF_DOUBLES_SPANS, query->from_ns,
                              query->to_ns, c->q, c->scratch, why);
    c->filter = (struct sf_run_filter){.q = c->q,
                                       .from_ns = query->from_ns,
                                       .to_ns = query->to_ns,
                                       .conds = query->conds,
                                       .n_conds = query->n_conds,
                                       .is_all = query->is_all};
    c->question = query->question;
    c->is_group_inside = query->is_group_inside;
    if (!err)
        err = sf_run_filter_each(&c->filter, c->snapshot, false, column_scan_add_run, c, why);
    if (!err && c->n_units)
        qsort(c->units, c->n_units, sizeof(*c->units), column_scan_newest_first);
    c->began_ns = sf_clock_mono_ns();
    return err;
}

enum sf_err sf_column_scan(struct sf_store *s, const struct sf_span_query *query,
                           struct sf_query_ctx *q, struct sf_column_cursor **out,
                           struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)s;
    struct cursor *c;
    void *memory;
    enum sf_err err;

    err = sf_granules_query_open(l, q, true, sizeof(*c), &memory, why);
    if (err)
        return err;
    c = memory;
    c->base = (struct sf_column_cursor){.next = column_scan_cursor_next,
                                        .close = column_scan_cursor_close};
    c->l = l;
    c->q = q;
    err = open_cursor(c, query, why);
    if (err) {
        column_scan_cursor_close(&c->base);
        return err;
    }
    *out = &c->base;
    return SF_OK;
}
