/* operations.c - a block completely inside the range, to which no tombstone applies, is answered
 * from its sketches; for the others, the rows that start in the range are counted. A span that was
 * sent twice counts twice until a merge removes the copy. */
#include "store/local/read/operations.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"
#include "base/table.h"
#include "store/local/read/run_filter.h"
#include "store/local/write/seal.h"

struct sums {
    struct sf_local *l;
    struct sf_query_ctx *q;
    struct sf_snapshot *snapshot;
    struct sf_granules granules;
    struct sf_run_filter filter;
    struct sf_operation_row **rows; /* in the request's arena; sorted at the end */
    uint32_t n, cap;
    struct sf_table at;
};

static enum sf_err operations_find(struct sums *s, sf_str service, sf_str name,
                                   struct sf_operation_row **out, struct sf_why *why)
{
    struct sf_table_lookup lookup;
    struct sf_operation_row *row;
    uint32_t at;
    if (!sf_list_room(&s->rows, s->n, &s->cap, 256) || !sf_table_more(&s->at))
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory for operations");
    lookup = sf_table_lookup(&s->at, sf_key_mix(sf_key_str(service), sf_key_str(name)));
    while (sf_table_next(&lookup, &at)) {
        row = s->rows[at];
        if (sf_str_eq(row->service, service) && sf_str_eq(row->name, name)) {
            *out = row;
            return SF_OK;
        }
    }
    row = sf_arena_new(s->q->req, sizeof(*row));
    if (!row || !sf_arena_copy(s->q->req, service, &row->service) ||
        !sf_arena_copy(s->q->req, name, &row->name))
        return sf_fail(why, SF_ERR_LIMIT, "query: more operations than fit into memory");
    sf_table_keep(&s->at, &lookup, s->n);
    s->rows[s->n++] = row;
    *out = row;
    return SF_OK;
}

static void operations_add_count(struct sf_call_count *to, const struct sf_call_count *from)
{
    to->n_spans += from->n_spans;
    to->n_errors += from->n_errors;
    to->sum_ns = sf_add_sat_u64(to->sum_ns, from->sum_ns);
    for (unsigned k = 0; k < SF_SKETCH_BUCKETS; k++)
        to->buckets[k] += from->buckets[k];
}

static enum sf_err add_sketches(struct sums *s, const struct sf_span_block_reader *reader,
                                struct sf_why *why)
{
    uint32_t n, n_entries, at = 0;
    const struct sf_block_operation *list = sf_span_block_reader_operations(reader, &n);
    const struct sf_block_entry *entries = sf_span_block_reader_entries(reader, &n_entries);
    for (uint32_t i = 0; i < n; i++) {
        struct sf_operation_row *row;
        enum sf_err err;
        while (at < n_entries && entries[at].op < i)
            at++;
        if (!sf_granules_query_has_tenant(s->q, list[i].tenant))
            continue;
        err = operations_find(s, list[i].service, list[i].name, &row, why);
        if (err)
            return err;
        operations_add_count(&row->all, &list[i].all);
        if (at < n_entries && entries[at].op == i)
            operations_add_count(&row->entries, &entries[at].count);
    }
    return SF_OK;
}

static bool operations_is_counted(const struct sums *s, uint64_t start_ns)
{
    return (s->filter.from_ns == 0 && s->filter.to_ns == 0) ||
           (start_ns <= (uint64_t)INT64_MAX &&
            sf_run_filter_overlaps(&s->filter, (int64_t)start_ns, (int64_t)start_ns));
}

static enum sf_err operations_add_granule(struct sums *s, struct sf_run *run, uint32_t granule,
                                          struct sf_why *why)
{
    uint32_t columns = SF_COL_TIMES | SF_COL_KIND | SF_COL_NAME | SF_COL_RESOURCE | SF_COL_PARENT |
                       SF_COL_REST;
    const struct sf_span_rows *rows;
    enum sf_err err = sf_granules_get(&s->granules, run, granule, columns, &rows, why);
    for (uint32_t i = 0; !err && i < rows->n_rows; i++) {
        sf_str service = rows->resources[rows->resource[i]].service;
        struct sf_operation_row *row;
        uint64_t ns = rows->end_ns[i] > rows->start_ns[i] ? rows->end_ns[i] - rows->start_ns[i] : 0;
        if (!operations_is_counted(s, rows->start_ns[i]) ||
            sf_tombstones_hide(s->snapshot->tombstones, run->row.id, rows->tenant,
                               rows->trace_id[i], service, rows->start_ns[i]))
            continue;
        err = operations_find(s, service, rows->name.dict[rows->name.code[i]], &row, why);
        if (err)
            return err;
        sf_granule_count_call(&row->all, rows->status[i] == SF_STATUS_ERROR, ns);
        if (sf_span_is_entry(rows->kind[i], rows->parent_id[i] == 0, rows->spans[i].flags))
            sf_granule_count_call(&row->entries, rows->status[i] == SF_STATUS_ERROR, ns);
    }
    return err;
}

static enum sf_err operations_add_rows(struct sums *s, struct sf_run *run,
                                       const struct sf_span_block_reader *reader,
                                       struct sf_why *why)
{
    uint32_t n = sf_span_block_reader_granules(reader);
    enum sf_err err = SF_OK;
    for (uint32_t g = 0; !err && g < n; g++) {
        const struct sf_granule_info *info = sf_span_block_reader_granule(reader, g);
        if (sf_granules_query_has_tenant(s->q, info->tenant) &&
            sf_run_filter_overlaps(&s->filter, info->ts_min_ns, info->ts_max_ns))
            err = operations_add_granule(s, run, g, why);
    }
    return err;
}

static enum sf_err operations_add_run(void *arg, size_t place, bool *out_is_done,
                                      struct sf_why *why)
{
    struct sums *s = arg;
    struct sf_run *run = s->snapshot->runs[place];
    const struct sf_span_block_reader *reader;
    bool is_inside = (s->filter.from_ns == 0 && s->filter.to_ns == 0) ||
                     (run->row.ts_min_ns >= s->filter.from_ns &&
                      run->row.ts_max_ns <= s->filter.to_ns);
    bool is_touched = sf_tombstones_touch(s->snapshot->tombstones, run->row.id, run->row.tenant,
                                          run->row.ts_min_ns, run->row.ts_max_ns);
    bool has_sketches;
    enum sf_err err = sf_run_enter(run, SF_TABLES_NONE, &reader, why);
    if (err)
        return err;
    /* Older blocks do not count entry spans: their rows are read. */
    has_sketches = is_inside && !is_touched && sf_span_block_reader_has_entries(reader);
    sf_run_leave(run);
    *out_is_done = false;
    s->q->stats.n_blocks++;
    err = sf_run_enter(run, has_sketches ? SF_TABLES_OPERATIONS : SF_TABLES_ROWS, &reader, why);
    if (err)
        return err;
    err = has_sketches ? add_sketches(s, reader, why) : operations_add_rows(s, run, reader, why);
    sf_run_leave(run);
    return err;
}

static int operations_by_name(const void *a, const void *b)
{
    const struct sf_operation_row *x = a, *y = b;
    int c = sf_str_cmp(x->service, y->service);
    return c ? c : sf_str_cmp(x->name, y->name);
}

enum sf_err sf_operations_read(struct sf_store *store, int64_t from_ns, int64_t to_ns,
                               struct sf_query_ctx *q, struct sf_operation_rows *out,
                               struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)store;
    struct sums s = {.l = l, .q = q, .filter = {.q = q, .from_ns = from_ns, .to_ns = to_ns}};
    struct sf_operation_row *rows = NULL;
    enum sf_err err;

    q->is_exact = true;
    err = sf_seal_for_reader(l, q, why);
    if (err)
        return err;
    s.snapshot = sf_snapshot_take(&l->snapshots);
    sf_granules_init(&s.granules, l, q, NULL, 0);
    err = sf_run_filter_each(&s.filter, s.snapshot, false, operations_add_run, &s, why);
    if (!err) {
        rows = sf_arena_new_n(q->req, s.n + 1, sizeof(*rows));
        if (!rows)
            err = sf_fail(why, SF_ERR_LIMIT, "query: more operations than fit into memory");
    }
    for (uint32_t i = 0; !err && i < s.n; i++)
        rows[i] = *s.rows[i];
    if (!err) {
        if (s.n)
            qsort(rows, s.n, sizeof(*rows), operations_by_name);
        *out = (struct sf_operation_rows){rows, s.n};
    }
    sf_granules_done(&s.granules);
    sf_snapshot_unref(s.snapshot);
    sf_heap_free(s.rows);
    sf_table_done(&s.at);
    return err;
}
