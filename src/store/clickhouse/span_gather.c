/* span_gather.c - asks all shards for rows of `spans`, then each for the resources and scopes that
 * its rows refer to, and adds the spans to a view. A query that needs no attributes, or only some,
 * has columns of its own, in the form of sf_span_answer_columns with the other lists empty. */
#include "store/clickhouse/span_gather.h"

#include <inttypes.h>
#include <string.h>

#include "base/heap.h"
#include "model/profile.h"
#include "model/span_rows.h"
#include "store/local/view.h"

enum { ANSWER_LEN = 64 << 20, ARENA_LEN = 256 << 20, KINDS = 2 };

enum sf_err sf_span_gather_init(struct sf_span_gather *g, const struct sf_remote_source *source,
                                struct sf_query_ctx *q, struct sf_why *why)
{
    *g = (struct sf_span_gather){.source = source, .q = q, .tenants = q};
    g->queries = sf_remote_source_queries(source, KINDS, ANSWER_LEN);
    if (!g->queries || !sf_arena_init(&g->arena, ARENA_LEN)) {
        sf_remote_source_queries_free(source, g->queries, KINDS);
        g->queries = NULL;
        return sf_no_memory(why, "the answers of shards");
    }
    g->found.req = &g->arena;
    return SF_OK;
}

static void span_gather_forget(struct sf_span_gather *g)
{
    sf_span_answer_done(&g->found);
    sf_arena_reset(&g->arena);
    g->found = (struct sf_span_answer){.req = &g->arena,
                                       .has_groups = g->found.has_groups,
                                       .keys = g->found.keys,
                                       .n_keys = g->found.n_keys};
    g->is_cut = false;
}

void sf_span_gather_done(struct sf_span_gather *g)
{
    if (!g->queries)
        return;
    sf_remote_source_queries_free(g->source, g->queries, KINDS);
    sf_span_answer_done(&g->found);
    sf_arena_done(&g->arena);
    *g = (struct sf_span_gather){0};
}

/* ---- columns of the rows ---- */

/* Most bytes of a span are its attributes, and many queries read only one or two of them. */
static bool span_gather_is_narrow(const struct sf_span_query *query)
{
    return !(query->columns & (SF_COL_ATTRS | SF_COL_EVENTS | SF_COL_LINKS | SF_COL_REST));
}

static bool is_of_span(const struct sf_cond *c)
{
    return c->scope == SF_SCOPE_SPAN || c->scope == SF_SCOPE_ANY;
}

bool sf_span_gather_needs_attrs(const struct sf_span_query *query)
{
    bool needs_any = query->n_want || !span_gather_is_narrow(query);
    for (size_t i = 0; i < query->n_conds; i++) {
        enum sf_attr_scope scope = query->conds[i].scope;
        needs_any = needs_any || (scope != SF_SCOPE_INTRINSIC && scope != SF_SCOPE_RESOURCE);
    }
    return needs_any;
}

static void span_gather_put_keys(const struct sf_span_query *query, struct sf_buf *out)
{
    bool has_any = false;
    for (size_t i = 0; i < query->n_want; i++) {
        sf_buf_print(out, "%s", has_any ? "," : "");
        sf_remote_source_quote(out, query->want_keys[i].name);
        has_any = true;
    }
    for (size_t i = 0; i < query->n_conds; i++) {
        if (!is_of_span(&query->conds[i]))
            continue;
        sf_buf_print(out, "%s", has_any ? "," : "");
        sf_remote_source_quote(out, query->conds[i].key);
        has_any = true;
    }
}

/* Like sf_span_answer_columns, but only with the attributes that the query reads, by type, and
 * without the content of `rest`. */
void sf_span_gather_put_narrow(const struct sf_span_query *query, struct sf_buf *out)
{
    static const char letters[] = "sidx";
    static const char *const none[] = {"emptyArrayInt64()", "emptyArrayFloat64()"};
    struct sf_buf keys = {0};
    if (!span_gather_is_narrow(query))
        return;
    span_gather_put_keys(query, &keys);
    sf_buf_print(out, "tenant, service, name, start_ns, duration_ns, trace_id, span_id, parent_id, "
                      "kind, status, status_message, resource, scope");
    for (const char *l = letters; *l; l++) {
        if (!keys.len) {
            sf_buf_print(out, ", emptyArrayString(), %s",
                         *l == 'i'   ? none[0]
                         : *l == 'd' ? none[1]
                                     : "emptyArrayString()");
            continue;
        }
        sf_buf_print(out, ", arrayFilter(k -> k IN (");
        sf_buf_add_str(out, sf_buf_str(&keys));
        sf_buf_print(out, "), %ck) AS got_%ck, arrayFilter((v, k) -> k IN (", *l, *l);
        sf_buf_add_str(out, sf_buf_str(&keys));
        sf_buf_print(out, "), %cv, %ck)", *l, *l);
    }
    if (keys.len)
        sf_buf_print(out, ", concat(repeat('s', length(got_sk)), repeat('i', length(got_ik)), "
                          "repeat('d', length(got_dk)), repeat('x', length(got_xk)))");
    else
        sf_buf_print(out, ", ''");
    sf_buf_print(out, ", flags, '', emptyArrayUInt64(), emptyArrayString(), ''");
    if (keys.err && !out->err)
        out->err = keys.err;
    sf_buf_done(&keys);
}

/* ---- asking ---- */

static void span_gather_put_ids(struct sf_buf *sql, const uint64_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        sf_buf_print(sql, "%s%" PRIu64, i ? "," : "", ids[i]);
}

static void span_gather_put_entries(const struct sf_span_gather *g, struct sf_buf *sql)
{
    const struct sf_span_answer *a = &g->found;
    sf_buf_print(sql, "SELECT toUInt8(0), resource, any(body) FROM %s.resources WHERE ",
                 g->source->database);
    sf_remote_source_tenants(g->source, g->tenants, sql);
    sf_buf_print(sql, " AND resource IN (");
    span_gather_put_ids(sql, a->resource_ids, a->n_resources);
    sf_buf_print(sql,
                 ") GROUP BY resource UNION ALL SELECT toUInt8(1), scope, any(body) FROM %s.scopes "
                 "WHERE ",
                 g->source->database);
    sf_remote_source_tenants(g->source, g->tenants, sql);
    sf_buf_print(sql, " AND scope IN (");
    span_gather_put_ids(sql, a->scope_ids, a->n_scopes);
    sf_buf_print(sql, ") GROUP BY scope FORMAT RowBinary");
}

/* The table of traces tells in which buckets a trace has spans, since it is sorted by trace and
 * `spans` is not: otherwise a piece of each bucket would be read for each trace. Rows of older
 * nodes tell the first day of the spans of a request, and their length in time; no span is farther
 * than 32 days from it (sf_remote_outbox_time). */
void sf_span_gather_put_traces(const struct sf_remote_source *source, sf_str which, sf_str starts,
                               struct sf_buf *sql)
{
    sf_buf_add_str(sql, which);
    sf_buf_print(
        sql,
        " AND (day, bucket, trace_id) IN (SELECT toDate(toUInt16(intDiv(b, 86400))), toUInt32(b), "
        "trace_id FROM (SELECT trace_id, arrayJoin(range(min(toUInt32(if(last_bucket = 0, "
        "toUInt16(day) * 86400, first_bucket))), max(toUInt32(if(last_bucket = 0, (toUInt16(day) + "
        "2 + least(32, intDiv(greatest(end_ns, start_ns) - start_ns, 86400000000000))) * 86400, "
        "last_bucket))) + 1, 300)) AS b FROM %s.traces WHERE ",
        source->database);
    sf_buf_add_str(sql, which);
    sf_buf_print(sql, " GROUP BY trace_id)");
    if (starts.len) {
        sf_buf_print(sql, " UNION ALL SELECT toDate(toUInt16(intDiv(x.1, 86400))), toUInt32(x.1), "
                          "toFixedString(x.2, 16) FROM "
                          "(SELECT arrayJoin([");
        sf_buf_add_str(sql, starts);
        sf_buf_print(sql, "]) AS x)");
    }
    sf_buf_print(sql, ")");
}

struct part { /* the rows of one shard */
    uint32_t first, n;
};

/* Removes the rows of a shard whose entries could not be read. */
static void span_gather_drop(struct sf_span_gather *g, struct part *parts, uint32_t shard)
{
    struct sf_span_answer *a = &g->found;
    struct part gone = parts[shard];
    uint32_t end = gone.first + gone.n;
    if (gone.n)
        memmove(&a->rows[gone.first], &a->rows[end], (a->n_rows - end) * sizeof(*a->rows));
    a->n_rows -= gone.n;
    for (uint32_t i = shard + 1; i < g->source->n_shards; i++)
        parts[i].first -= gone.n;
    parts[shard].n = 0;
}

static enum sf_err span_gather_take_rows(struct sf_span_gather *g, struct part *parts,
                                         uint64_t limit, struct sf_why *why)
{
    for (uint32_t i = 0; i < g->source->n_shards; i++) {
        struct part *p = &parts[i];
        enum sf_err err = sf_remote_source_result(&g->queries[i], why);
        p->first = g->found.n_rows;
        if (!err)
            err = sf_span_answer_add(&g->found, sf_buf_bytes(&g->queries[i].out), why);
        if (err) {
            g->found.n_rows = p->first;
            if (!sf_remote_source_goes_on(g->source, i, g->q, err))
                return err;
        }
        p->n = g->found.n_rows - p->first;
        g->is_cut = g->is_cut || (limit && p->n >= limit);
    }
    return SF_OK;
}

static enum sf_err span_gather_read_entries(struct sf_span_gather *g, struct part *parts,
                                            struct sf_why *why)
{
    struct sf_remote_query *list = g->queries + g->source->n_shards;
    for (uint32_t i = 0; i < g->source->n_shards; i++) {
        sf_buf_reset(&list[i].sql);
        sf_buf_reset(&list[i].out);
        if (parts[i].n)
            span_gather_put_entries(g, &list[i].sql);
    }
    sf_remote_source_ask_all(g->source, g->q, list, g->source->n_shards);
    for (uint32_t i = 0; i < g->source->n_shards; i++) {
        enum sf_err err = sf_remote_source_result(&list[i], why);
        if (!err)
            err = sf_span_answer_add_entries(&g->found, sf_buf_bytes(&list[i].out), why);
        if (!err)
            continue;
        if (!sf_remote_source_goes_on(g->source, i, g->q, err))
            return err;
        span_gather_drop(g, parts, i);
    }
    return SF_OK;
}

enum sf_err sf_span_gather_ask(struct sf_span_gather *g, const struct sf_buf *sql, uint64_t limit,
                               struct sf_why *why)
{
    struct part *parts = sf_heap_new_n(g->source->n_shards, sizeof(*parts));
    enum sf_err err;
    span_gather_forget(g);
    if (!parts)
        return sf_no_memory(why, "the answers of shards");
    sf_remote_source_ask_each(g->source, g->q, sql, g->queries);
    err = span_gather_take_rows(g, parts, limit, why);
    if (!err && g->found.n_rows)
        err = span_gather_read_entries(g, parts, why);
    g->q->stats.n_rows += err ? 0 : g->found.n_rows;
    sf_heap_free(parts);
    return err;
}

enum sf_err sf_span_gather_read(struct sf_span_gather *g, sf_str where, uint64_t limit,
                                struct sf_why *why)
{
    struct sf_buf sql = {0};
    enum sf_err err;
    sf_buf_print(&sql, "SELECT ");
    sf_buf_add_str(&sql, g->columns.len ? g->columns : sf_str_from(sf_span_answer_columns));
    sf_buf_print(&sql, " FROM %s.spans WHERE ", g->source->database);
    sf_buf_add_str(&sql, where);
    if (limit)
        sf_buf_print(&sql, " LIMIT %" PRIu64, limit);
    sf_buf_print(&sql, " FORMAT RowBinary");
    err = sf_span_gather_ask(g, &sql, limit, why);
    sf_buf_done(&sql);
    return err;
}

/* ---- into the view ---- */

enum sf_err sf_span_gather_add(const struct sf_span_gather *g, struct sf_store *view,
                               struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_str name = SF_STR_NONE;
    uint32_t tenant = SF_NONE;
    sf_view_begin_tables(view);
    for (uint32_t i = 0; !err && i < g->found.n_rows; i++) {
        const struct sf_span_answer_row *row = &g->found.rows[i];
        if (i == 0 || !sf_str_eq(name, row->tenant)) {
            name = row->tenant;
            tenant = sf_remote_source_tenant(g->source, g->q, name);
        }
        if (tenant != SF_NONE)
            err = sf_view_add_span(view, tenant, &row->span,
                                   &g->found.resources[row->span.resource],
                                   &g->found.scopes[row->span.scope], why);
    }
    return err;
}

enum sf_err sf_span_gather_own(struct sf_span_cursor *c, struct sf_store *view,
                               void (*see)(void *arg, sf_trace_id id, uint64_t start_ns), void *arg,
                               struct sf_why *why)
{
    struct sf_span_rows rows;
    while (c->next(c, &rows)) {
        sf_view_begin_tables(view);
        for (uint32_t i = 0; i < rows.n_rows; i++) {
            struct sf_span s = sf_span_rows_get(&rows, i);
            enum sf_err err;
            if (rows.is_in && !rows.is_in[i])
                continue;
            err = sf_view_add_span(view, rows.tenant, &s, &rows.resources[rows.resource[i]],
                                   &rows.scopes[rows.scope[i]], why);
            if (err)
                return err;
            if (see)
                see(arg, s.trace_id, s.start_ns);
        }
    }
    if (c->err)
        *why = c->why;
    return c->err;
}
