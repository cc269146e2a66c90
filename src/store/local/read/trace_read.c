/* trace_read.c - finds the rows of one trace in memtables, parts and blocks, and returns them in
 * batches.
 *
 * First the positions of the rows are listed (sf_trace_read_load), which needs two columns of a
 * granule, or all of them if the trace is in one granule. Duplicates are dropped from the list.
 * emit() decodes granules again if they are not cached any more, and copies the rows. */
#include "store/local/read/trace_read.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"
#include "block/span/span_block_reader.h"
#include "store/local/read/row_copy.h"
#include "store/local/write/seal.h"

enum { KEEP_CAP = 256 << 20, BATCH_CAP = 1 << 30 };
/* Most rows that are copied from memtables. For a larger trace the memtables are sealed first:
 * parts are read granule by granule, and share their resources. */
enum { FRESH_MAX = 2048, SEAL_TRIES = 200 };

enum sf_err sf_trace_read_init(struct sf_trace_read *t, struct sf_local *l,
                               struct sf_snapshot *snapshot, struct sf_query_ctx *q,
                               uint32_t columns, const struct sf_key *want_keys, size_t n_want,
                               struct sf_why *why)
{
    *t = (struct sf_trace_read){
        .l = l, .snapshot = snapshot, .q = q, .columns = columns, .n_want = n_want};
    sf_granules_init(&t->granules, l, q, want_keys, n_want);
    if (sf_arena_init(&t->keep, KEEP_CAP) && sf_arena_init(&t->batch, BATCH_CAP))
        return SF_OK;
    return sf_fail(why, SF_ERR_NOMEM, "query: no memory to read a trace");
}

void sf_trace_read_done(struct sf_trace_read *t)
{
    if (!t->l)
        return;
    (void)sf_budget_query(&t->l->budget, &t->counted_len, 0, NULL);
    sf_granules_done(&t->granules);
    sf_arena_done(&t->keep);
    sf_arena_done(&t->batch);
    sf_snapshot_unref(t->snapshot);
    *t = (struct sf_trace_read){0};
}

void sf_trace_read_reset(struct sf_trace_read *t)
{
    t->keep.at = 0;
    t->rows = NULL;
    t->sources = NULL;
    t->fresh = NULL;
    t->n_rows = t->rows_cap = t->n_sources = t->sources_cap = t->n_fresh = t->fresh_cap = 0;
    t->fresh_resources = NULL;
    t->fresh_scopes = NULL;
    t->n_fresh_resources = t->fresh_resources_cap = t->n_fresh_scopes = t->fresh_scopes_cap = 0;
}

static enum sf_err too_large(struct sf_why *why)
{
    return sf_fail(why, SF_ERR_LIMIT, "query: the trace is too large to be assembled");
}

static bool trace_read_add_row(struct sf_trace_read *t, struct sf_trace_read_row row)
{
    if (!sf_list_room_in(&t->keep, &t->rows, t->n_rows, &t->rows_cap, 256))
        return false;
    t->rows[t->n_rows++] = row;
    return true;
}

static bool trace_read_add_source(struct sf_trace_read *t, struct sf_trace_source source)
{
    if (!sf_list_room_in(&t->keep, &t->sources, t->n_sources, &t->sources_cap, 8))
        return false;
    t->sources[t->n_sources++] = source;
    return true;
}

/* ---- memtables ---- */

/* For one memtable: maps its resources and scopes to the copies, as index + 1. */
struct fresh_map {
    uint32_t *resources, *scopes;
};

static bool copy_fresh_resource(struct sf_trace_read *t, struct fresh_map *m,
                                const struct sf_rowset *rows, uint32_t place, uint32_t *out)
{
    if (!m->resources)
        m->resources = sf_arena_new_n(&t->keep, rows->resources.n, sizeof(*m->resources));
    if (!m->resources)
        return false;
    if (!m->resources[place]) {
        struct sf_resource *to;
        if (!sf_list_room_in(&t->keep, &t->fresh_resources, t->n_fresh_resources,
                             &t->fresh_resources_cap, 16))
            return false;
        to = &t->fresh_resources[t->n_fresh_resources];
        if (!sf_rowset_get_resource(rows, place, &t->keep, to) ||
            !sf_row_copy_resource(&t->keep, to))
            return false;
        m->resources[place] = ++t->n_fresh_resources;
    }
    *out = m->resources[place] - 1;
    return true;
}

static bool copy_fresh_scope(struct sf_trace_read *t, struct fresh_map *m,
                             const struct sf_rowset *rows, uint32_t place, uint32_t *out)
{
    if (!m->scopes)
        m->scopes = sf_arena_new_n(&t->keep, rows->scopes.n, sizeof(*m->scopes));
    if (!m->scopes)
        return false;
    if (!m->scopes[place]) {
        struct sf_scope *to;
        if (!sf_list_room_in(&t->keep, &t->fresh_scopes, t->n_fresh_scopes, &t->fresh_scopes_cap,
                             16))
            return false;
        to = &t->fresh_scopes[t->n_fresh_scopes];
        if (!sf_rowset_get_scope(rows, place, &t->keep, to) || !sf_row_copy_scope(&t->keep, to))
            return false;
        m->scopes[place] = ++t->n_fresh_scopes;
    }
    *out = m->scopes[place] - 1;
    return true;
}

static bool copy_fresh(struct sf_trace_read *t, struct fresh_map *m, const struct sf_rowset *rows,
                       size_t i)
{
    struct sf_span *s;
    if (!sf_list_room_in(&t->keep, &t->fresh, t->n_fresh, &t->fresh_cap, 64))
        return false;
    s = &t->fresh[t->n_fresh];
    if (!sf_rowset_get(rows, i, &t->keep, s) || !sf_row_copy_span(&t->keep, s) ||
        !copy_fresh_resource(t, m, rows, s->resource, &s->resource) ||
        !copy_fresh_scope(t, m, rows, s->scope, &s->scope))
        return false;
    t->n_fresh++;
    return true;
}

static bool trace_read_find_fresh(struct sf_trace_read *t, const struct sf_memtable_body *body,
                                  uint64_t hash)
{
    const struct sf_rowset *rows = &body->rows;
    struct fresh_map m = {0};
    if (!sf_memtable_body_may_have(body, hash))
        return true;
    for (size_t i = 0; i < rows->n_rows && !t->has_many; i++) {
        const struct sf_mem_row *row = &rows->rows[i];
        if (row->hash != hash || row->tenant != t->tenant || !sf_trace_id_eq(row->trace_id, t->id))
            continue;
        if (t->n_fresh >= t->fresh_max) {
            t->has_many = true;
            return true;
        }
        if (!copy_fresh(t, &m, rows, i))
            return false;
    }
    return true;
}

/* Copies at most `max` rows; has_many: there are more. */
static enum sf_err read_fresh(struct sf_trace_read *t, uint32_t tenant, sf_trace_id id,
                              uint32_t max, struct sf_why *why)
{
    uint64_t hash = sf_trace_id_hash(id, tenant);
    t->tenant = tenant;
    t->id = id;
    t->fresh_max = max;
    t->has_many = false;
    for (unsigned i = 0; i < t->l->n_memtables && !t->has_many; i++) {
        struct sf_memtable *m = &t->l->memtables[i];
        bool ok;
        sf_mutex_lock(&m->lock);
        ok = trace_read_find_fresh(t, m->active, hash);
        for (struct sf_memtable_body *b = m->cut; ok && b; b = b->next)
            ok = trace_read_find_fresh(t, b, hash);
        sf_mutex_unlock(&m->lock);
        if (!ok)
            return too_large(why);
    }
    return SF_OK;
}

enum sf_err sf_trace_read_fresh(struct sf_trace_read *t, uint32_t tenant, sf_trace_id id,
                                struct sf_why *why)
{
    enum sf_err err = read_fresh(t, tenant, id, FRESH_MAX, why);
    /* A memtable that was just sealed is not sealed again at once, and one that a flush is writing
     * stays in memory: retry. */
    for (unsigned i = 0; !err && t->has_many && i < SEAL_TRIES; i++) {
        sf_trace_read_reset(t);
        if (i > 0) {
            sf_mutex_lock(&t->l->wake_lock);
            err = sf_granules_query_wait(t->q, &t->l->sealed, &t->l->wake_lock, why);
            sf_mutex_unlock(&t->l->wake_lock);
        }
        if (!err)
            err = sf_seal_for_reader(t->l, t->q, why);
        if (!err)
            err = read_fresh(t, tenant, id, FRESH_MAX, why); /* rows received since then */
    }
    if (err || !t->has_many)
        return err;
    sf_trace_read_reset(t);
    return read_fresh(t, tenant, id, UINT32_MAX, why);
}

/* ---- parts and blocks ---- */

/* Rows of the source, from source->from on. */
static enum sf_err source_rows(struct sf_trace_read *t, const struct sf_trace_source *source,
                               uint32_t columns, const struct sf_span_rows **out,
                               struct sf_why *why)
{
    if (source->is_part)
        return sf_granules_part(&t->granules, source->run, source->granule, source->from,
                                source->to, columns, out, why);
    return sf_granules_get(&t->granules, source->run, source->granule, columns, out, why);
}

/* Lists the rows of the trace in one granule. */
static enum sf_err trace_read_add_granule(struct sf_trace_read *t, struct sf_run *run,
                                          const struct sf_granule_info *info,
                                          struct sf_trace_place place, bool is_long,
                                          struct sf_why *why)
{
    /* A trace in several granules is listed from two columns and read again when it is emitted; the
     * usual trace is read once with all columns. */
    uint32_t columns = (is_long ? 0 : t->columns) | SF_COL_TIMES | SF_COL_KIND;
    bool has_tombstones = sf_tombstones_touch(t->snapshot->tombstones, run->row.id, t->tenant,
                                              run->row.ts_min_ns, run->row.ts_max_ns);
    struct sf_trace_source source = {
        .run = run,
        .granule = place.granule,
        .to = info->n_rows,
        .ts_min_ns = info->ts_min_ns,
        .ts_max_ns = info->ts_max_ns < run->row.ts_max_ns ? info->ts_max_ns : run->row.ts_max_ns};
    const struct sf_span_rows *rows;
    enum sf_err err;

    if (has_tombstones)
        columns |= SF_COL_RESOURCE;
    source.is_part = t->has_parts && !sf_granules_has(&t->granules, run, place.granule);
    if (source.is_part) {
        source.from = place.row;
        source.to = place.row + place.n_rows;
    }
    err = source_rows(t, &source, columns, &rows, why);
    if (err)
        return err;
    if (!trace_read_add_source(t, source))
        return too_large(why);
    for (uint32_t i = 0; i < place.n_rows; i++) {
        uint32_t at = place.row + i - source.from;
        struct sf_trace_read_row one = {
            .start_ns = rows->start_ns[at],
            .end_ns = rows->end_ns[at],
            .span_id = rows->span_id[at],
            .kind = rows->kind[at],
            .n_attrs = rows->spans ? rows->spans[at].attrs.n : 0,
            .source = t->n_sources - 1,
            .row = place.row + i,
        };
        if (has_tombstones &&
            sf_tombstones_hide(t->snapshot->tombstones, run->row.id, t->tenant, t->id,
                               rows->resources[rows->resource[at]].service, one.start_ns))
            continue;
        if (!trace_read_add_row(t, one))
            return too_large(why);
    }
    return SF_OK;
}

/* Checks the filter first, so that the tables of blocks without the trace are not loaded. */
static enum sf_err may_have_trace(struct sf_trace_read *t, struct sf_run *run, bool *out,
                                  uint64_t *out_at, struct sf_why *why)
{
    const struct sf_span_block_reader *reader;
    enum sf_err err = sf_run_enter(run, SF_TABLES_NONE, &reader, why);
    if (err)
        return err;
    err = sf_filter_probe_may_have_trace(reader, t->tenant, t->id, t->batch, out, out_at, why);
    sf_run_leave(run);
    return err;
}

/* Adds the rows of the trace from `place` on, with its further granules. */
static enum sf_err trace_read_add_place(struct sf_trace_read *t, struct sf_run *run,
                                        const struct sf_span_block_reader *reader,
                                        struct sf_trace_place place, struct sf_why *why)
{
    uint32_t n_granules = sf_span_block_reader_granules(reader);
    bool is_found = true,
         is_long = place.granule + 1 < n_granules &&
                   sf_span_block_reader_granule(reader, place.granule + 1)->is_continuation;
    enum sf_err err = SF_OK;
    while (!err && is_found) {
        err = trace_read_add_granule(t, run, sf_span_block_reader_granule(reader, place.granule),
                                     place, is_long, why);
        place.row = 0;
        place.granule++;
        is_found = place.granule < n_granules &&
                   sf_span_block_reader_granule(reader, place.granule)->is_continuation;
        place.n_rows = is_found ? sf_span_block_reader_granule(reader, place.granule)->n_rows : 0;
    }
    return err;
}

static enum sf_err trace_read_add_run(struct sf_trace_read *t, struct sf_run *run,
                                      struct sf_why *why)
{
    const struct sf_span_block_reader *reader;
    struct sf_trace_place place = {0};
    bool is_found = false;
    uint64_t at;
    enum sf_err err;
    t->q->stats.n_blocks++;
    t->batch.at = 0;
    err = may_have_trace(t, run, &is_found, &at, why);
    if (err || !is_found) {
        t->q->stats.n_skipped += !err;
        return err;
    }
    err = sf_run_enter(run, SF_TABLES_ROWS, &reader, why);
    if (err)
        return err;
    err = sf_filter_probe_find_trace_at(reader, t->tenant, t->id, at, t->batch, &is_found, &place,
                                        why);
    if (!err && !is_found)
        t->q->stats.n_skipped++;
    if (!err && is_found)
        err = trace_read_add_place(t, run, reader, place, why);
    sf_run_leave(run);
    return err;
}

/* The same for a run in which the trace was found before, in one granule. */
static enum sf_err trace_read_add_known(struct sf_trace_read *t, struct sf_run *run,
                                        struct sf_trace_place place, struct sf_why *why)
{
    const struct sf_span_block_reader *reader;
    enum sf_err err = sf_run_enter(run, SF_TABLES_ROWS, &reader, why);
    if (err)
        return err;
    t->q->stats.n_blocks++;
    err = trace_read_add_granule(t, run, sf_span_block_reader_granule(reader, place.granule), place,
                                 false, why);
    sf_run_leave(run);
    return err;
}

static int trace_read_by_identity(const void *a, const void *b)
{
    const struct sf_trace_read_row *x = a, *y = b;
    if (x->span_id != y->span_id)
        return x->span_id < y->span_id ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static int trace_read_by_start(const void *a, const void *b)
{
    const struct sf_trace_read_row *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return trace_read_by_identity(a, b);
}

static void trace_read_drop_repeats(struct sf_trace_read *t)
{
    uint32_t kept = t->n_rows ? 1 : 0;
    if (t->n_rows > 1)
        qsort(t->rows, t->n_rows, sizeof(*t->rows), trace_read_by_identity);
    for (uint32_t i = 1; i < t->n_rows; i++) {
        struct sf_trace_read_row *last = &t->rows[kept - 1], *row = &t->rows[i];
        struct sf_span x = {.end_ns = last->end_ns, .attrs = {.n = last->n_attrs}};
        struct sf_span y = {.end_ns = row->end_ns, .attrs = {.n = row->n_attrs}};
        if (last->span_id != row->span_id || last->kind != row->kind)
            t->rows[kept++] = *row;
        else if (sf_span_is_better(&x, &y))
            *last = *row;
    }
    t->n_rows = kept;
    if (kept > 1)
        qsort(t->rows, kept, sizeof(*t->rows), trace_read_by_start);
}

static bool trace_read_may_overlap(const struct sf_run *run, int64_t from_ns, int64_t to_ns)
{
    return (from_ns == 0 && to_ns == 0) ||
           (run->row.ts_min_ns <= to_ns && run->row.ts_max_ns >= from_ns);
}

static enum sf_err trace_read_count_memory(struct sf_trace_read *t, struct sf_why *why)
{
    return sf_budget_query(&t->l->budget, &t->counted_len, t->keep.at + t->batch.at, why);
}

enum sf_err sf_trace_read_load(struct sf_trace_read *t, uint32_t tenant, sf_trace_id id,
                               int64_t from_ns, int64_t to_ns,
                               const struct sf_trace_read_known *known, struct sf_why *why)
{
    struct sf_snapshot *s = t->snapshot;
    struct sf_why own;
    enum sf_err err = SF_OK;

    if (!why)
        why = &own;
    t->tenant = tenant;
    t->id = id;
    for (size_t i = 0; !err && i < s->n; i++) {
        struct sf_run *run = s->runs[i];
        if ((run->row.tenant && run->row.tenant != tenant) ||
            !trace_read_may_overlap(run, from_ns, to_ns))
            continue;
        if (atomic_load(&run->is_bad)) {
            sf_granules_query_misses(t->q, run);
            continue;
        }
        err = known && known->run == run ? trace_read_add_known(t, run, known->at, why)
                                         : trace_read_add_run(t, run, why);
        if (err && sf_granules_query_skips(t->q, run, err, why))
            err = SF_OK;
        if (!err)
            err = trace_read_count_memory(t, why);
    }
    /* Copies from memtables come last: an identical copy in a part is preferred. */
    if (!err && t->n_fresh &&
        !trace_read_add_source(t, (struct sf_trace_source){.ts_max_ns = INT64_MAX}))
        err = too_large(why);
    for (uint32_t i = 0; !err && i < t->n_fresh; i++) {
        const struct sf_span *f = &t->fresh[i];
        struct sf_trace_read_row row = {.start_ns = f->start_ns,
                                        .end_ns = f->end_ns,
                                        .span_id = f->span_id,
                                        .kind = f->kind,
                                        .n_attrs = f->attrs.n,
                                        .source = t->n_sources - 1,
                                        .row = i};
        if (!trace_read_add_row(t, row))
            err = too_large(why);
    }
    if (!err)
        trace_read_drop_repeats(t);
    return err ? err : trace_read_count_memory(t, why);
}

enum sf_err sf_trace_read_load_at(struct sf_trace_read *t, uint32_t tenant, sf_trace_id id,
                                  struct sf_run *run, struct sf_trace_place place,
                                  struct sf_why *why)
{
    const struct sf_span_block_reader *reader;
    struct sf_why own;
    enum sf_err err;

    why = why ? why : &own;
    t->tenant = tenant;
    t->id = id;
    err = sf_run_enter(run, SF_TABLES_ROWS, &reader, why);
    if (!err) {
        err = trace_read_add_granule(t, run, sf_span_block_reader_granule(reader, place.granule),
                                     place, false, why);
        sf_run_leave(run);
    }
    if (err && sf_granules_query_skips(t->q, run, err, why))
        err = SF_OK;
    if (!err)
        trace_read_drop_repeats(t);
    return err ? err : trace_read_count_memory(t, why);
}

/* ---- emit ---- */

struct emit { /* the batch being filled */
    uint32_t n;
    struct sf_span *spans;
    struct sf_value_column *want;
    struct sf_resource *resources;
    struct sf_scope *scopes;
    const struct sf_resource **seen_resources; /* the originals of resources[i] */
    const struct sf_scope **seen_scopes;
    uint32_t n_resources, n_scopes;
};

static bool trace_read_place_resource(struct sf_trace_read *t, struct emit *e,
                                      const struct sf_resource *r, uint32_t *out)
{
    uint32_t i = e->n_resources;
    while (i > 0 && e->seen_resources[i - 1] != r)
        i--;
    if (i == 0) {
        e->resources[e->n_resources] = *r;
        e->seen_resources[e->n_resources] = r;
        if (!sf_row_copy_resource(&t->batch, &e->resources[e->n_resources]))
            return false;
        i = ++e->n_resources;
    }
    *out = i - 1;
    return true;
}

static bool trace_read_place_scope(struct sf_trace_read *t, struct emit *e,
                                   const struct sf_scope *s, uint32_t *out)
{
    uint32_t i = e->n_scopes;
    while (i > 0 && e->seen_scopes[i - 1] != s)
        i--;
    if (i == 0) {
        e->scopes[e->n_scopes] = *s;
        e->seen_scopes[e->n_scopes] = s;
        if (!sf_row_copy_scope(&t->batch, &e->scopes[e->n_scopes]))
            return false;
        i = ++e->n_scopes;
    }
    *out = i - 1;
    return true;
}

static bool emit_want(struct sf_trace_read *t, struct emit *e, const struct sf_span_rows *rows,
                      uint32_t row, uint32_t to)
{
    for (size_t k = 0; k < t->n_want; k++) {
        const struct sf_value_column *from = &rows->want[k];
        uint32_t *code = (uint32_t *)(uintptr_t)e->want[k].code;
        struct sf_value *vals = (struct sf_value *)(uintptr_t)e->want[k].vals;
        code[to] = SF_NONE;
        if (from->code[row] == SF_NONE)
            continue;
        code[to] = to;
        vals[to] = from->vals[from->code[row]];
        if (!sf_row_copy_value(&t->batch, &vals[to]))
            return false;
    }
    return true;
}

static bool emit_row(struct sf_trace_read *t, struct emit *e, const struct sf_span_rows *rows,
                     uint32_t row, uint32_t to)
{
    struct sf_span *s = &e->spans[to];
    *s = sf_span_rows_get(rows, row);
    if (rows->resource &&
        !trace_read_place_resource(t, e, &rows->resources[s->resource], &s->resource))
        return false;
    if (rows->scope && !trace_read_place_scope(t, e, &rows->scopes[s->scope], &s->scope))
        return false;
    return sf_row_copy_span(&t->batch, s) && emit_want(t, e, rows, row, to);
}

static bool emit_fresh(struct sf_trace_read *t, struct emit *e, uint32_t row, uint32_t to)
{
    struct sf_span *s = &e->spans[to];
    *s = t->fresh[row]; /* the copies are valid as long as the trace is loaded */
    return trace_read_place_resource(t, e, &t->fresh_resources[s->resource], &s->resource) &&
           trace_read_place_scope(t, e, &t->fresh_scopes[s->scope], &s->scope);
}

static bool trace_read_prepare(struct sf_trace_read *t, struct emit *e, uint32_t n)
{
    struct sf_arena *a = &t->batch;
    *e = (struct emit){.n = n};
    e->spans = sf_arena_new_n(a, n, sizeof(*e->spans));
    e->resources = sf_arena_raw(a, n * sizeof(*e->resources), 16);
    e->scopes = sf_arena_raw(a, n * sizeof(*e->scopes), 16);
    e->seen_resources = sf_arena_raw(a, n * sizeof(*e->seen_resources), 16);
    e->seen_scopes = sf_arena_raw(a, n * sizeof(*e->seen_scopes), 16);
    e->want = sf_arena_new_n(a, t->n_want, sizeof(*e->want));
    if (!e->spans || !e->resources || !e->scopes || !e->seen_resources || !e->seen_scopes ||
        !e->want)
        return false;
    for (size_t k = 0; k < t->n_want; k++) {
        e->want[k].code = sf_arena_raw(a, n * sizeof(uint32_t), 16);
        e->want[k].vals = sf_arena_new_n(a, n, sizeof(struct sf_value));
        e->want[k].n_vals = n;
        if (!e->want[k].code || !e->want[k].vals)
            return false;
    }
    return true;
}

/* Processes one source at a time, so that a granule is decoded at most once per batch. */
static enum sf_err trace_read_fill(struct sf_trace_read *t, struct emit *e, uint32_t at,
                                   struct sf_why *why)
{
    uint8_t *is_done = sf_arena_new(&t->batch, e->n);
    if (!is_done)
        return too_large(why);
    for (uint32_t i = 0; i < e->n; i++) {
        uint32_t source = t->rows[at + i].source;
        const struct sf_trace_source *from = &t->sources[source];
        const struct sf_span_rows *rows = NULL;
        if (is_done[i])
            continue;
        if (from->run) {
            enum sf_err err = source_rows(t, from, t->columns, &rows, why);
            if (err)
                return err;
        }
        for (uint32_t k = i; k < e->n; k++) {
            uint32_t row = t->rows[at + k].row - from->from;
            if (t->rows[at + k].source != source)
                continue;
            is_done[k] = 1;
            if (rows ? !emit_row(t, e, rows, row, k) : !emit_fresh(t, e, row, k))
                return too_large(why);
        }
    }
    return SF_OK;
}

static bool trace_read_make_columns(struct sf_trace_read *t, const struct emit *e,
                                    struct sf_span_rows *out)
{
    struct sf_arena *a = &t->batch;
    uint32_t n = e->n;
    sf_trace_id *trace_id = sf_arena_raw(a, n * sizeof(*trace_id), 16);
    sf_span_id *span_id = sf_arena_raw(a, n * sizeof(*span_id), 16);
    sf_span_id *parent_id = sf_arena_raw(a, n * sizeof(*parent_id), 16);
    uint64_t *start_ns = sf_arena_raw(a, n * sizeof(*start_ns), 16);
    uint64_t *end_ns = sf_arena_raw(a, n * sizeof(*end_ns), 16);
    uint8_t *kind = sf_arena_raw(a, n, 16), *status = sf_arena_raw(a, n, 16);
    uint32_t *resource = sf_arena_raw(a, n * sizeof(*resource), 16);
    uint32_t *scope = sf_arena_raw(a, n * sizeof(*scope), 16);
    uint32_t *own = sf_arena_raw(a, n * sizeof(*own), 16);
    sf_str *names = sf_arena_raw(a, n * sizeof(*names), 16);
    sf_str *msgs = sf_arena_raw(a, n * sizeof(*msgs), 16);

    if (!trace_id || !span_id || !parent_id || !start_ns || !end_ns || !kind || !status ||
        !resource || !scope || !own || !names || !msgs)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_span *s = &e->spans[i];
        trace_id[i] = s->trace_id;
        span_id[i] = s->span_id;
        parent_id[i] = s->parent_id;
        start_ns[i] = s->start_ns;
        end_ns[i] = s->end_ns;
        kind[i] = s->kind;
        status[i] = s->status;
        resource[i] = s->resource;
        scope[i] = s->scope;
        names[i] = s->name;
        msgs[i] = s->status_msg;
        own[i] = i;
    }
    *out = (struct sf_span_rows){.n_rows = n,
                                 .tenant = t->tenant,
                                 .trace_id = trace_id,
                                 .span_id = span_id,
                                 .want = e->want};
    if (t->columns & SF_COL_PARENT)
        out->parent_id = parent_id;
    if (t->columns & SF_COL_TIMES) {
        out->start_ns = start_ns;
        out->end_ns = end_ns;
    }
    if (t->columns & SF_COL_KIND) {
        out->kind = kind;
        out->status = status;
    }
    if (t->columns & SF_COL_NAME)
        out->name = (struct sf_str_column){own, names, n};
    if (t->columns & SF_COL_STATUS_MSG)
        out->status_msg = (struct sf_str_column){own, msgs, n};
    if (t->columns & SF_COL_RESOURCE) {
        out->resource = resource;
        out->resources = e->resources;
        out->n_resources = e->n_resources;
    }
    if (t->columns & SF_COL_SCOPE) {
        out->scope = scope;
        out->scopes = e->scopes;
        out->n_scopes = e->n_scopes;
    }
    if (t->columns & (SF_COL_ATTRS | SF_COL_EVENTS | SF_COL_LINKS | SF_COL_REST))
        out->spans = e->spans;
    return true;
}

enum sf_err sf_trace_read_emit(struct sf_trace_read *t, uint32_t at, struct sf_span_rows *out,
                               struct sf_why *why)
{
    uint32_t n = t->n_rows - at < SF_ROWS_MAX ? t->n_rows - at : SF_ROWS_MAX;
    struct emit e;
    enum sf_err err;

    sf_arena_reset(&t->batch);
    if (!trace_read_prepare(t, &e, n))
        return too_large(why);
    err = trace_read_fill(t, &e, at, why);
    if (!err && !trace_read_make_columns(t, &e, out))
        err = too_large(why);
    return err ? err : trace_read_count_memory(t, why);
}

enum sf_err sf_trace_read_peek(struct sf_trace_read *t, uint32_t i, uint32_t columns,
                               const struct sf_span_rows **out, uint32_t *out_row,
                               struct sf_why *why)
{
    const struct sf_trace_source *from = &t->sources[t->rows[i].source];
    *out_row = t->rows[i].row - from->from;
    return source_rows(t, from, columns, out, why);
}
