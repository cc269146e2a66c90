/* tag_scan.c - attribute names and values. The key table of a block answers at once if the query
 * has no condition, no tombstone may hide rows of the block, and the table lists all values.
 * Otherwise its rows are read. */
#include "store/local/read/tag_scan.h"

#include <stdlib.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/num.h"
#include "base/table.h"
#include "store/local/read/conds.h"
#include "store/local/read/run_filter.h"
#include "store/local/write/seal.h"

enum { SET_CAP = 128 << 20, FIRST = 512 };

struct cursor {
    struct sf_str_cursor base;
    struct sf_arena arena; /* of the values */
    struct entry {
        struct sf_value val;
        uint64_t n; /* rows; may wrap temporarily while a table is subtracted */
    } * entries;
    uint32_t n, cap, at;
    struct sf_table set;
};

struct search {
    struct sf_local *l;
    const struct sf_tag_query *query;
    struct sf_query_ctx *q;
    struct cursor *c;
    struct sf_snapshot *snapshot;
    struct sf_granules granules;
    struct sf_conds conds;
    struct sf_run_filter filter;
    bool is_filling;    /* reading rows for values that the tables omit, until there are enough */
    uint32_t fill_from; /* entries from here on are not from tables */
    size_t value_key;   /* index of the requested key in the attributes that are read */
    struct sf_arena scratch;
};

/* ---- the set ---- */

static bool tag_scan_is_full(const struct search *s)
{
    return (s->query->limit && s->c->n >= s->query->limit) ||
           (s->is_filling && s->c->n >= s->query->enough);
}

static enum sf_err set_add(struct search *s, struct sf_value v, uint64_t n, struct sf_why *why)
{
    struct cursor *c = s->c;
    struct sf_table_lookup lookup;
    uint32_t at;
    if (tag_scan_is_full(s))
        return SF_OK;
    if (!sf_list_room(&c->entries, c->n, &c->cap, FIRST) || !sf_table_more(&c->set))
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory for tags");
    lookup = sf_table_lookup(&c->set, sf_value_hash(v));
    while (sf_table_next(&lookup, &at)) {
        struct entry *e = &c->entries[at];
        if (sf_value_eq(e->val, v)) {
            if (!s->is_filling || at >= s->fill_from) /* otherwise a table has counted it */
                e->n += n;
            return SF_OK;
        }
    }
    if ((v.type == SF_VALUE_STR || v.type >= SF_VALUE_BYTES) &&
        !sf_arena_copy(&c->arena, v.str, &v.str))
        return sf_fail(why, SF_ERR_LIMIT, "query: too many tag values; narrow the time range");
    sf_table_keep(&c->set, &lookup, c->n);
    c->entries[c->n++] = (struct entry){v, n};
    return SF_OK;
}

static bool tag_scan_wants_names(const struct search *s)
{
    return s->query->name.len == 0;
}

/* Of spans, instead of an attribute's values. */
static bool wants_span_names(const struct search *s)
{
    return s->query->scope == SF_SCOPE_INTRINSIC;
}

static bool wants_scope(const struct search *s, enum sf_attr_scope scope)
{
    return s->query->scope == SF_SCOPE_ANY || s->query->scope == scope;
}

/* ---- from tables ---- */

static enum sf_err tag_scan_add_key(struct search *s, const struct sf_block_key *k, uint64_t sign,
                                    struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (tag_scan_wants_names(s))
        return set_add(s, (struct sf_value){.type = SF_VALUE_STR, .str = k->name},
                       sign * k->n_spans, why);
    for (uint32_t i = 0; !err && i < k->n_top; i++)
        err = set_add(s, k->top[i], sign * k->top_counts[i], why);
    return err;
}

/* *out_is_whole false: the rows must be read as well; they include what the table counted, so it is
 * subtracted with a `sign` of -1. */
static enum sf_err ask_tables(struct search *s, const struct sf_span_block_reader *reader,
                              uint64_t sign, bool *out_is_whole, struct sf_why *why)
{
    uint32_t n;
    const struct sf_block_key *keys = sf_span_block_reader_keys(reader, &n);
    enum sf_err err = SF_OK;
    *out_is_whole = true;
    for (uint32_t i = 0; !err && i < n; i++) {
        const struct sf_block_key *k = &keys[i];
        if (!sf_granules_query_has_tenant(s->q, k->tenant) || !wants_scope(s, k->scope))
            continue;
        if (k->name.len == 0) { /* names without their own column */
            *out_is_whole = false;
            continue;
        }
        if (!tag_scan_wants_names(s) && !sf_str_eq(k->name, s->query->name))
            continue;
        err = tag_scan_add_key(s, k, sign, why);
        *out_is_whole = *out_is_whole && (tag_scan_wants_names(s) || k->is_complete);
    }
    return err;
}

/* ---- from rows ---- */

static enum sf_err tag_scan_add_attrs(struct search *s, struct sf_attrs attrs, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < attrs.n; i++) {
        const struct sf_attr *a = &attrs.list[i];
        if (tag_scan_wants_names(s))
            err = set_add(s, (struct sf_value){.type = SF_VALUE_STR, .str = a->key}, 1, why);
        else if (sf_str_eq(a->key, s->query->name))
            err = set_add(s, a->val, 1, why);
    }
    return err;
}

static enum sf_err tag_scan_add_row(struct search *s, const struct sf_span_rows *rows, uint32_t i,
                                    struct sf_why *why)
{
    const struct sf_span *span = &rows->spans[i];
    enum sf_err err = SF_OK;
    if (wants_scope(s, SF_SCOPE_SPAN))
        err = tag_scan_add_attrs(s, span->attrs, why);
    if (!err && wants_scope(s, SF_SCOPE_RESOURCE))
        err = tag_scan_add_attrs(s, rows->resources[rows->resource[i]].attrs, why);
    if (!err && wants_scope(s, SF_SCOPE_INSTRUMENTATION))
        err = tag_scan_add_attrs(s, rows->scopes[rows->scope[i]].attrs, why);
    for (uint32_t k = 0; !err && k < span->n_events && wants_scope(s, SF_SCOPE_EVENT); k++)
        err = tag_scan_add_attrs(s, span->events[k].attrs, why);
    for (uint32_t k = 0; !err && k < span->n_links && wants_scope(s, SF_SCOPE_LINK); k++)
        err = tag_scan_add_attrs(s, span->links[k].attrs, why);
    return err;
}

static enum sf_err ask_granule(struct search *s, struct sf_run *run, uint32_t granule,
                               struct sf_why *why)
{
    uint32_t columns = s->conds.columns | SF_COL_TIMES | SF_COL_RESOURCE | SF_COL_SCOPE |
                       SF_COL_ATTRS | SF_COL_EVENTS | SF_COL_LINKS;
    const struct sf_span_rows *rows;
    uint8_t *hits;
    enum sf_err err = sf_granules_get(&s->granules, run, granule, columns, &rows, why);
    if (err)
        return err;
    s->scratch.at = 0;
    hits = sf_arena_raw(&s->scratch, rows->n_rows + 1, 1);
    if (!hits || !sf_conds_judge(&s->conds, rows, 0, rows->n_rows, s->scratch, hits))
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < rows->n_rows && !tag_scan_is_full(s); i++) {
        if (hits[i] && !sf_tombstones_hide(
                           s->snapshot->tombstones, run->row.id, rows->tenant, rows->trace_id[i],
                           rows->resources[rows->resource[i]].service, rows->start_ns[i]))
            err = tag_scan_add_row(s, rows, i, why);
    }
    s->scratch.at = 0;
    return err;
}

/* Can values be counted per column? Only for attributes that a row has at most once. */
static bool can_count(const struct search *s)
{
    return !tag_scan_wants_names(s) &&
           (s->query->scope == SF_SCOPE_SPAN || s->query->scope == SF_SCOPE_RESOURCE ||
            s->query->scope == SF_SCOPE_INSTRUMENTATION || wants_span_names(s));
}

/* Reads one column instead of whole rows: each value once, with the number of its rows. */
static enum sf_err tag_scan_count_granule(struct search *s, struct sf_run *run, uint32_t granule,
                                          struct sf_why *why)
{
    const struct sf_span_rows *rows;
    const struct sf_value_column *column;
    const uint32_t *code;
    uint8_t *hits;
    uint32_t *counts, n_vals;
    uint32_t columns = s->conds.columns | SF_COL_TIMES | SF_COL_RESOURCE |
                       (wants_span_names(s) ? SF_COL_NAME : 0);
    enum sf_err err = sf_granules_get(&s->granules, run, granule, columns, &rows, why);
    if (err)
        return err;
    column = wants_span_names(s) ? NULL : &rows->want[s->value_key];
    code = column ? column->code : rows->name.code;
    n_vals = column ? column->n_vals : rows->name.n_dict;
    s->scratch.at = 0;
    hits = sf_arena_raw(&s->scratch, rows->n_rows + 1, 1);
    counts = sf_arena_new_n(&s->scratch, (size_t)n_vals + 1, sizeof(*counts));
    if (!hits || !counts || !sf_conds_judge(&s->conds, rows, 0, rows->n_rows, s->scratch, hits))
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        if (hits[i] && code[i] != SF_NONE &&
            !sf_tombstones_hide(s->snapshot->tombstones, run->row.id, rows->tenant,
                                rows->trace_id[i], rows->resources[rows->resource[i]].service,
                                rows->start_ns[i]))
            counts[code[i]]++;
    }
    for (uint32_t i = 0; !err && i < n_vals && !tag_scan_is_full(s); i++) {
        if (counts[i])
            err = set_add(s,
                          column
                              ? column->vals[i]
                              : (struct sf_value){.type = SF_VALUE_STR, .str = rows->name.dict[i]},
                          counts[i], why);
    }
    s->scratch.at = 0;
    return err;
}

static enum sf_err ask_rows(struct search *s, struct sf_run *run, struct sf_why *why)
{
    const struct sf_span_block_reader *reader;
    struct sf_match_memo memo = {0};
    uint32_t n;
    enum sf_err err = sf_run_enter(run, SF_TABLES_ROWS, &reader, why);
    if (err)
        return err;
    n = sf_span_block_reader_granules(reader);
    for (uint32_t g = 0; !err && g < n && !tag_scan_is_full(s); g++) {
        const struct sf_granule_info *info = sf_span_block_reader_granule(reader, g);
        bool may = false;
        if (sf_granules_query_has_tenant(s->q, info->tenant) &&
            sf_run_filter_overlaps(&s->filter, info->ts_min_ns, info->ts_max_ns))
            err = sf_run_filter_may_match(&s->filter, reader, g, &memo, s->scratch, &may, why);
        if (!err && may)
            err = can_count(s) ? tag_scan_count_granule(s, run, g, why)
                               : ask_granule(s, run, g, why);
    }
    sf_run_leave(run);
    return err;
}

static enum sf_err ask_run(void *arg, size_t place, bool *out_is_done, struct sf_why *why)
{
    struct search *s = arg;
    struct sf_run *run = s->snapshot->runs[place];
    const struct sf_span_block_reader *reader;
    bool is_whole = false;
    bool has_tables = s->query->n_conds == 0 && !wants_span_names(s) &&
                      !sf_tombstones_touch(s->snapshot->tombstones, run->row.id, run->row.tenant,
                                           run->row.ts_min_ns, run->row.ts_max_ns);
    enum sf_err err = sf_run_enter(run, has_tables ? SF_TABLES_VALUES : SF_TABLES_NONE, &reader,
                                   why);
    if (err)
        return err;
    s->q->stats.n_blocks++;
    if (has_tables)
        err = ask_tables(s, reader, 1, &is_whole, why);
    if (!err && has_tables && !is_whole && s->query->enough) {
        /* The tables have the most frequent values; any of the others are added until there are
         * enough. */
        s->is_filling = true;
        s->fill_from = s->c->n;
        if (!tag_scan_is_full(s))
            err = ask_rows(s, run, why);
        s->c->base.has_more = s->c->base.has_more || tag_scan_is_full(s);
        s->is_filling = false;
    } else if (!err && !is_whole && !tag_scan_is_full(s)) {
        if (has_tables)
            err = ask_tables(s, reader, UINT64_MAX, &is_whole, why);
        if (!err)
            err = ask_rows(s, run, why);
    }
    sf_run_leave(run);
    *out_is_done = tag_scan_is_full(s);
    return err;
}

/* ---- the cursor ---- */

static int tag_scan_by_value(const void *a, const void *b)
{
    return sf_value_cmp(((const struct entry *)a)->val, ((const struct entry *)b)->val);
}

static bool tag_scan_cursor_next(struct sf_str_cursor *base, struct sf_value *out)
{
    struct cursor *c = (struct cursor *)base;
    if (c->at >= c->n)
        return false;
    c->base.n = c->entries[c->at].n;
    *out = c->entries[c->at++].val;
    return true;
}

static void tag_scan_cursor_close(struct sf_str_cursor *base)
{
    struct cursor *c = (struct cursor *)base;
    if (!c)
        return;
    sf_arena_done(&c->arena);
    sf_heap_free(c->entries);
    sf_table_done(&c->set);
    sf_heap_free(c);
}

enum sf_err sf_tag_scan(struct sf_store *store, const struct sf_tag_query *query,
                        struct sf_query_ctx *q, struct sf_str_cursor **out, struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)store;
    struct search s = {.l = l, .query = query, .q = q};
    struct sf_key *keys = sf_heap_new_n(query->n_conds + 2, sizeof(*keys));
    uint32_t *want = sf_heap_new_n(query->n_conds + 1, sizeof(*want));
    enum sf_err err = sf_seal_for_reader(l, q, why);

    q->is_exact = true;
    s.c = sf_heap_new(sizeof(*s.c));
    if (!err && (!keys || !want || !s.c || !sf_arena_init(&s.c->arena, SET_CAP) ||
                 !sf_arena_init(&s.scratch, SET_CAP)))
        err = sf_fail(why, SF_ERR_NOMEM, "query: no memory for tags");
    if (!err) {
        size_t n_keys;
        s.c->base = (struct sf_str_cursor){.next = tag_scan_cursor_next,
                                           .close = tag_scan_cursor_close};
        s.conds = (struct sf_conds){.list = query->conds,
                                    .n = query->n_conds,
                                    .is_all = true,
                                    .from_ns = query->from_ns,
                                    .to_ns = query->to_ns};
        n_keys = sf_conds_prepare(&s.conds, keys, 0, want);
        s.value_key = n_keys;
        if (can_count(&s) && !wants_span_names(&s))
            keys[n_keys++] = (struct sf_key){query->scope, query->name};
        s.filter = (struct sf_run_filter){.q = q,
                                          .from_ns = query->from_ns,
                                          .to_ns = query->to_ns,
                                          .conds = query->conds,
                                          .n_conds = query->n_conds,
                                          .is_all = true};
        s.snapshot = sf_snapshot_take(&l->snapshots);
        sf_granules_init(&s.granules, l, q, keys, n_keys);
        err = sf_run_filter_each(&s.filter, s.snapshot, true, ask_run, &s, why);
        if (s.c->n)
            qsort(s.c->entries, s.c->n, sizeof(*s.c->entries), tag_scan_by_value);
    }
    sf_granules_done(&s.granules);
    sf_snapshot_unref(s.snapshot);
    sf_arena_done(&s.scratch);
    sf_heap_free(keys);
    sf_heap_free(want);
    if (err) {
        tag_scan_cursor_close(s.c ? &s.c->base : NULL);
        return err;
    }
    *out = &s.c->base;
    return SF_OK;
}
