/* trace_union.c - a cursor that returns whole traces from this node and all shards.
 *
 * The requested traces are processed in chunks. For each chunk, two queries per shard read the
 * spans and the resources they refer to. For each trace the cursor first returns this node's own
 * rows, then the remote rows that this node does not have. Spans that occur more than once (sent
 * twice, or to two nodes) are returned once. */
#include "store/clickhouse/trace_union.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/table.h"
#include "base/text.h"
#include "store/clickhouse/span_gather.h"

enum { CHUNK = 128, ARENA_LEN = 128 << 20 };

struct own { /* a row of this node that belongs to the current trace */
    sf_span_id id;
    uint64_t end_ns;
    uint32_t n_attrs, tenant;
    uint8_t kind;
};

struct cursor {
    struct sf_span_cursor base;
    struct sf_remote_source source;
    struct sf_query_ctx *q;
    struct sf_trace_ask *asks; /* copied, as the tenants are */
    size_t n_asks, ask;
    struct sf_query_ctx own_q; /* with copied tenants */
    uint32_t *tenants;

    struct sf_span_cursor *local;
    struct sf_span_rows head; /* the next rows of this node */
    bool has_head;
    struct own *own;
    uint32_t n_own, cap_own;
    struct sf_table own_at;

    size_t chunk_end;             /* the remote rows of requests before this one are loaded */
    struct sf_span_gather gather; /* the rows of the chunk on shards */
    struct sf_arena batch;
    bool has_batch;
    uint32_t *tenant_of; /* by row; SF_NONE: not a tenant of the query */
    uint32_t at;         /* index of the next remote row of the trace */
};

/* ---- asking ---- */

static void print_which(const struct cursor *c, size_t from, struct sf_buf *sql)
{
    sf_remote_source_tenants(&c->source, &c->own_q, sql);
    sf_buf_print(sql, " AND trace_id IN (");
    for (size_t i = from; i < c->chunk_end; i++) {
        sf_buf_print(sql, "%s", i > from ? "," : "");
        sf_remote_source_put_id(sql, c->asks[i].id);
    }
    sf_buf_print(sql, ")");
}

static void print_spans(const struct cursor *c, size_t from, struct sf_buf *sql)
{
    struct sf_buf which = {0};
    print_which(c, from, &which);
    sf_buf_print(sql, "SELECT %s FROM %s.spans WHERE ", sf_span_answer_columns, c->source.database);
    sf_span_gather_put_traces(&c->source, sf_buf_str(&which), SF_STR_NONE, sql);
    sf_buf_print(sql, " FORMAT RowBinary");
    if (which.err && !sql->err)
        sql->err = which.err;
    sf_buf_done(&which);
}

static int trace_union_by_trace(const void *x, const void *y)
{
    const struct sf_span_answer_row *a = x, *b = y;
    int order = sf_trace_id_cmp(a->span.trace_id, b->span.trace_id);
    if (!order)
        order = sf_str_cmp(a->tenant, b->tenant);
    if (!order)
        order = a->span.start_ns < b->span.start_ns ? -1 : a->span.start_ns > b->span.start_ns;
    if (!order)
        order = a->span.span_id < b->span.span_id ? -1 : a->span.span_id > b->span.span_id;
    if (!order)
        order = (a->span.kind > b->span.kind) - (a->span.kind < b->span.kind);
    if (!order) /* of several copies, the best first */
        order = sf_span_is_better(&b->span, &a->span) ? -1 : sf_span_is_better(&a->span, &b->span);
    return order;
}

/* Is it the same span as in the row before (sent twice, or to two nodes)? */
static bool is_copy(const struct cursor *c, uint32_t row)
{
    const struct sf_span *s = &c->gather.found.rows[row].span, *before;
    if (row == 0)
        return false;
    before = &c->gather.found.rows[row - 1].span;
    return s->span_id == before->span_id && s->kind == before->kind &&
           s->start_ns == before->start_ns && sf_trace_id_eq(s->trace_id, before->trace_id) &&
           c->tenant_of[row] == c->tenant_of[row - 1];
}

static enum sf_err name_tenants(struct cursor *c, struct sf_why *why)
{
    c->tenant_of = sf_arena_new_n(&c->gather.arena, (size_t)c->gather.found.n_rows + 1,
                                  sizeof(*c->tenant_of));
    if (!c->tenant_of)
        return sf_no_room(why, "the answer of a shard");
    for (uint32_t i = 0; i < c->gather.found.n_rows; i++)
        c->tenant_of[i] = sf_remote_source_tenant(&c->source, &c->own_q,
                                                  c->gather.found.rows[i].tenant);
    return SF_OK;
}

static enum sf_err fetch_chunk(struct cursor *c, struct sf_why *why)
{
    struct sf_buf sql = {0};
    size_t from = c->ask;
    enum sf_err err;
    c->chunk_end = c->n_asks - from < CHUNK ? c->n_asks : from + CHUNK;
    print_spans(c, from, &sql);
    err = sf_span_gather_ask(&c->gather, &sql, 0, why);
    sf_buf_done(&sql);
    if (!err && c->gather.found.n_rows)
        qsort(c->gather.found.rows, c->gather.found.n_rows, sizeof(*c->gather.found.rows),
              trace_union_by_trace);
    return err ? err : name_tenants(c, why);
}

/* ---- this node's rows ---- */

/* The own copy of a span. There are slots. */
static struct own *trace_union_own(const struct cursor *c, struct sf_table_lookup *lookup,
                                   const struct own *key)
{
    uint32_t at;
    *lookup = sf_table_lookup(&c->own_at, sf_key_u64(key->id));
    while (sf_table_next(lookup, &at)) {
        struct own *o = &c->own[at];
        if (o->id == key->id && o->kind == key->kind && o->tenant == key->tenant)
            return o;
    }
    return NULL;
}

static bool trace_union_is_better(const struct own *a, const struct own *b)
{
    return a->end_ns > b->end_ns || (a->end_ns == b->end_ns && a->n_attrs > b->n_attrs);
}

/* Of several copies the best is kept: a trace sent with one id for all spans must not make a long
 * list. */
static bool note_own(struct cursor *c, const struct sf_span_rows *rows)
{
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        struct own one = {.id = rows->span_id[i],
                          .end_ns = rows->end_ns[i],
                          .n_attrs = rows->spans ? rows->spans[i].attrs.n : 0,
                          .tenant = rows->tenant,
                          .kind = rows->kind[i]};
        struct sf_table_lookup lookup;
        struct own *known;
        if (!sf_table_more(&c->own_at) || !sf_list_room(&c->own, c->n_own, &c->cap_own, 256))
            return false;
        known = trace_union_own(c, &lookup, &one);
        if (known && trace_union_is_better(&one, known))
            *known = one;
        if (known)
            continue;
        c->own[c->n_own] = one;
        sf_table_keep(&c->own_at, &lookup, c->n_own++);
    }
    return true;
}

/* A copy that is better than this node's is returned, too; the code that assembles the trace
 * chooses. */
static bool trace_union_is_own(const struct cursor *c, uint32_t row)
{
    const struct sf_span *s = &c->gather.found.rows[row].span;
    struct own one = {.id = s->span_id,
                      .end_ns = s->end_ns,
                      .n_attrs = s->attrs.n,
                      .tenant = c->tenant_of[row],
                      .kind = s->kind};
    struct sf_table_lookup lookup;
    const struct own *known = c->own_at.n_slots ? trace_union_own(c, &lookup, &one) : NULL;
    return known && !trace_union_is_better(&one, known);
}

/* ---- giving rows ---- */

struct columns {
    sf_trace_id *trace_id;
    sf_span_id *span_id, *parent_id;
    uint64_t *start_ns, *end_ns, *duration_ns;
    uint8_t *kind, *status;
    uint32_t *place, *resource, *scope;
    sf_str *name, *status_msg;
    struct sf_span *spans;
};

static bool trace_union_make_columns(struct sf_arena *a, struct columns *k)
{
#define COLUMN(field) (k->field = sf_arena_new_n(a, SF_ROWS_MAX, sizeof(*k->field)))
    return COLUMN(trace_id) && COLUMN(span_id) && COLUMN(parent_id) && COLUMN(start_ns) &&
           COLUMN(end_ns) && COLUMN(duration_ns) && COLUMN(kind) && COLUMN(status) &&
           COLUMN(place) && COLUMN(resource) && COLUMN(scope) && COLUMN(name) &&
           COLUMN(status_msg) && COLUMN(spans);
#undef COLUMN
}

static void trace_union_put(struct columns *k, uint32_t n, const struct sf_span *s)
{
    uint64_t duration = sf_span_duration_ns(s);
    k->trace_id[n] = s->trace_id;
    k->span_id[n] = s->span_id;
    k->parent_id[n] = s->parent_id;
    k->start_ns[n] = s->start_ns;
    k->end_ns[n] = s->end_ns;
    k->duration_ns[n] = duration > INT64_MAX ? INT64_MAX : duration;
    k->kind[n] = s->kind;
    k->status[n] = s->status;
    k->place[n] = n;
    k->resource[n] = s->resource;
    k->scope[n] = s->scope;
    k->name[n] = s->name;
    k->status_msg[n] = s->status_msg;
    k->spans[n] = *s;
}

/* The next rows of the trace that this node does not have; 0: none left. */
static enum sf_err give_remote(struct cursor *c, struct sf_span_rows *out, struct sf_why *why)
{
    sf_trace_id id = c->asks[c->ask].id;
    struct columns k;
    uint32_t n = 0, tenant = SF_NONE;
    sf_arena_reset(&c->batch);
    if (!trace_union_make_columns(&c->batch, &k))
        return sf_no_room(why, "rows of a trace");
    for (; c->at < c->gather.found.n_rows && n < SF_ROWS_MAX; c->at++) {
        const struct sf_span *s = &c->gather.found.rows[c->at].span;
        int order = sf_trace_id_cmp(s->trace_id, id);
        if (order < 0 || (order == 0 && (c->tenant_of[c->at] == SF_NONE || is_copy(c, c->at) ||
                                         trace_union_is_own(c, c->at))))
            continue;
        if (order > 0 || (n && c->tenant_of[c->at] != tenant))
            break;
        tenant = c->tenant_of[c->at];
        trace_union_put(&k, n++, s);
    }
    *out = (struct sf_span_rows){.n_rows = n,
                                 .tenant = tenant,
                                 .trace_id = k.trace_id,
                                 .span_id = k.span_id,
                                 .parent_id = k.parent_id,
                                 .start_ns = k.start_ns,
                                 .end_ns = k.end_ns,
                                 .duration_ns = k.duration_ns,
                                 .kind = k.kind,
                                 .status = k.status,
                                 .name = {k.place, k.name, n},
                                 .status_msg = {k.place, k.status_msg, n},
                                 .resource = k.resource,
                                 .scope = k.scope,
                                 .resources = c->gather.found.resources,
                                 .scopes = c->gather.found.scopes,
                                 .n_resources = c->gather.found.n_resources,
                                 .n_scopes = c->gather.found.n_scopes,
                                 .spans = k.spans};
    return SF_OK;
}

/* Loads this node's next rows. If it cannot read a later trace, the remote rows of the current
 * trace are returned first. */
static enum sf_err load_head(struct cursor *c, struct sf_why *why)
{
    if (c->has_head || !c->local)
        return SF_OK;
    c->has_head = c->local->next(c->local, &c->head);
    if (c->has_head || !c->local->err || !sf_trace_id_eq(c->local->failed, c->asks[c->ask].id))
        return SF_OK;
    *why = c->local->why;
    return c->local->err;
}

static void trace_union_next_trace(struct cursor *c)
{
    c->ask++;
    c->at = 0;
    c->n_own = 0;
    sf_table_clear(&c->own_at);
}

static enum sf_err trace_union_step(struct cursor *c, struct sf_span_rows *out, struct sf_why *why)
{
    out->n_rows = 0;
    while (c->ask < c->n_asks) {
        enum sf_err err = load_head(c, why);
        if (err)
            return err;
        if (c->has_head && sf_trace_id_eq(c->head.trace_id[0], c->asks[c->ask].id)) {
            c->has_head = false;
            *out = c->head;
            return note_own(c, out) ? SF_OK : sf_no_memory(why, "the spans of a trace");
        }
        if (c->ask >= c->chunk_end)
            err = fetch_chunk(c, why);
        if (!err)
            err = give_remote(c, out, why);
        if (err || out->n_rows)
            return err;
        trace_union_next_trace(c);
    }
    return SF_OK;
}

static bool trace_union_cursor_next(struct sf_span_cursor *base, struct sf_span_rows *out)
{
    struct cursor *c = (struct cursor *)base;
    if (!c->base.err)
        c->base.err = trace_union_step(c, out, &c->base.why);
    if (c->base.err && c->ask < c->n_asks)
        c->base.failed = c->asks[c->ask].id;
    return !c->base.err && out->n_rows > 0;
}

static void trace_union_cursor_close(struct sf_span_cursor *base)
{
    struct cursor *c = (struct cursor *)base;
    if (!c)
        return;
    if (c->local)
        c->local->close(c->local);
    sf_span_gather_done(&c->gather);
    if (c->has_batch)
        sf_arena_done(&c->batch);
    sf_table_done(&c->own_at);
    sf_heap_free(c->own);
    sf_heap_free(c->tenants);
    sf_heap_free(c->asks);
    sf_heap_free(c);
}

static enum sf_err trace_union_make(struct cursor *c, const struct sf_trace_ask *asks,
                                    const struct sf_query_ctx *q, struct sf_why *why)
{
    c->asks = sf_heap_new_n(c->n_asks + 1, sizeof(*c->asks));
    c->tenants = sf_heap_new_n(q->n_tenants + 1, sizeof(*c->tenants));
    c->has_batch = sf_arena_init(&c->batch, ARENA_LEN);
    if (!c->asks || !c->tenants || !c->has_batch)
        return sf_no_memory(why, "a cursor");
    memcpy(c->asks, asks, c->n_asks * sizeof(*c->asks));
    memcpy(c->tenants, q->tenants, q->n_tenants * sizeof(*c->tenants));
    c->own_q.tenants = c->tenants;
    c->own_q.n_tenants = q->n_tenants;
    return sf_span_gather_init(&c->gather, &c->source, c->q, why);
}

enum sf_err sf_trace_union_get(const struct sf_remote_source *source,
                               const struct sf_trace_ask *asks, size_t n_asks,
                               struct sf_query_ctx *q, struct sf_span_cursor **out,
                               struct sf_why *why)
{
    struct cursor *c = sf_heap_new(sizeof(*c));
    enum sf_err err;
    if (!c)
        return sf_no_memory(why, "a cursor");
    c->base = (struct sf_span_cursor){.next = trace_union_cursor_next,
                                      .close = trace_union_cursor_close};
    c->source = *source;
    c->q = q;
    c->n_asks = q->n_tenants ? n_asks : 0;
    err = trace_union_make(c, asks, q, why);
    c->gather.tenants = &c->own_q;
    if (!err)
        err = source->own_ops->traces_get(source->store, asks, n_asks, q, &c->local, why);
    if (err) {
        trace_union_cursor_close(&c->base);
        return err;
    }
    *out = &c->base;
    return SF_OK;
}
