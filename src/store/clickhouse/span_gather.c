#include "store/clickhouse/span_gather.h"

#include <inttypes.h>

#include "base/heap.h"
#include "model/profile.h"
#include "model/span_rows.h"
#include "store/local/view.h"

enum { ANSWER_LEN = 64 << 20, ARENA_LEN = 256 << 20 };

enum sf_err sf_span_gather_init(struct sf_span_gather *g, const struct sf_remote_source *source,
                                struct sf_query_ctx *q, struct sf_why *why)
{
    *g = (struct sf_span_gather){.source = source, .q = q};
    g->answers = sf_heap_new_n(2u * source->n_shards, sizeof(*g->answers));
    if (!g->answers || !sf_arena_init(&g->arena, ARENA_LEN)) {
        sf_heap_free(g->answers);
        g->answers = NULL;
        return sf_no_memory(why, "the answers of shards");
    }
    g->found.req = &g->arena;
    return SF_OK;
}

static void span_gather_forget(struct sf_span_gather *g)
{
    sf_span_answer_done(&g->found);
    sf_arena_reset(&g->arena);
    g->found = (struct sf_span_answer){.req = &g->arena};
    g->is_cut = false;
}

void sf_span_gather_done(struct sf_span_gather *g)
{
    if (!g->answers)
        return;
    for (uint32_t i = 0; i < 2 * g->source->n_shards; i++)
        sf_buf_done(&g->answers[i]);
    sf_heap_free(g->answers);
    sf_span_answer_done(&g->found);
    sf_arena_done(&g->arena);
    *g = (struct sf_span_gather){0};
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
    sf_remote_source_tenants(g->source, g->q, sql);
    sf_buf_print(sql, " AND resource IN (");
    span_gather_put_ids(sql, a->resource_ids, a->n_resources);
    sf_buf_print(sql,
                 ") GROUP BY resource UNION ALL SELECT toUInt8(1), scope, any(body) FROM %s.scopes "
                 "WHERE ",
                 g->source->database);
    sf_remote_source_tenants(g->source, g->q, sql);
    sf_buf_print(sql, " AND scope IN (");
    span_gather_put_ids(sql, a->scope_ids, a->n_scopes);
    sf_buf_print(sql, ") GROUP BY scope FORMAT RowBinary");
}

static enum sf_err span_gather_read_shard(struct sf_span_gather *g, uint32_t i, sf_str where,
                                          uint64_t limit, struct sf_why *why)
{
    struct sf_buf sql = {0}, *rows = &g->answers[2 * (size_t)i],
                  *entries = &g->answers[2 * (size_t)i + 1];
    uint32_t n_before = g->found.n_rows;
    enum sf_err err;
    sf_buf_reset(rows);
    sf_buf_reset(entries);
    rows->max = entries->max = ANSWER_LEN;
    sf_buf_print(&sql, "SELECT ");
    sf_buf_add_str(&sql, g->columns.len ? g->columns : sf_str_from(sf_span_answer_columns));
    sf_buf_print(&sql, " FROM %s.spans WHERE ", g->source->database);
    sf_buf_add_str(&sql, where);
    if (limit)
        sf_buf_print(&sql, " LIMIT %" PRIu64, limit);
    sf_buf_print(&sql, " FORMAT RowBinary");
    err = sf_remote_source_ask(g->source, i, g->q, &sql, rows, why);
    if (!err)
        err = sf_span_answer_add(&g->found, sf_buf_bytes(rows), why);
    g->is_cut = g->is_cut || (!err && limit && g->found.n_rows - n_before >= limit);
    if (!err && g->found.n_rows > n_before) {
        sf_buf_reset(&sql);
        span_gather_put_entries(g, &sql);
        err = sf_remote_source_ask(g->source, i, g->q, &sql, entries, why);
        if (!err)
            err = sf_span_answer_add_entries(&g->found, sf_buf_bytes(entries), why);
    }
    if (err)
        g->found.n_rows = n_before; /* discard the incomplete answer of a shard */
    sf_buf_done(&sql);
    return err;
}

enum sf_err sf_span_gather_read(struct sf_span_gather *g, sf_str where, uint64_t limit,
                                struct sf_why *why)
{
    span_gather_forget(g);
    for (uint32_t i = 0; i < g->source->n_shards; i++) {
        enum sf_err err = span_gather_read_shard(g, i, where, limit, why);
        if (err && !sf_remote_source_goes_on(g->source, i, g->q, err))
            return err;
    }
    g->q->stats.n_rows += g->found.n_rows;
    return SF_OK;
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
