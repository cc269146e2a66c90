/* traces.c - reads traces one after the other through one cursor of the store. */
#include "exec/traces.h"

#include "exec/span_pool.h"

struct gather {
    struct sf_span_pool pool;
    /* Stop reading if the use of the arena, with what the spans need later, exceeds this. */
    size_t stop_len;
    struct sf_span *spans; /* in reverse order */
    uint32_t n_spans;
};

/* Memory that each span needs later, in bytes of the same arena: for assembling the trace (tables,
 * sort keys) and, for bare spans, for the link, which also needs some for each resource. */
enum { ASSEMBLE_LEN = 80, LINK_LEN = 360, RESOURCE_LEN = 400, SPARE_LEN = 1 << 20 };

static bool traces_add_rows(struct gather *g, const struct sf_span_rows *rows)
{
    struct sf_arena *req = g->pool.req;
    size_t later_len = g->pool.is_bare ? ASSEMBLE_LEN + LINK_LEN : ASSEMBLE_LEN;
    size_t home_len = g->pool.is_bare ? RESOURCE_LEN : 0;
    sf_span_pool_next_rows(&g->pool);
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        struct sf_span *to;
        if (sf_arena_used(req) + (g->n_spans + 1) * later_len + g->pool.n_resources * home_len >
            g->stop_len)
            return false;
        to = sf_arena_tail(req, sizeof(*to));
        if (!to || !sf_span_pool_add(&g->pool, rows, i, to))
            return false;
        g->spans = to;
        g->n_spans++;
    }
    return true;
}

static void traces_turn_round(struct sf_span *spans, uint32_t n)
{
    for (uint32_t i = 0; i < n / 2; i++) {
        struct sf_span swap = spans[i];
        spans[i] = spans[n - 1 - i];
        spans[n - 1 - i] = swap;
    }
}

void sf_traces_start(struct sf_traces *t, struct sf_store *store, const struct sf_trace_ask *asks,
                     size_t n_asks, bool is_bare, struct sf_query_ctx *q)
{
    *t = (struct sf_traces){
        .store = store, .q = q, .asks = asks, .n_asks = n_asks, .is_bare = is_bare};
}

static void close_cursor(struct sf_traces *t)
{
    if (t->cursor)
        t->cursor->close(t->cursor);
    t->cursor = NULL;
    t->has_rows = false;
}

void sf_traces_done(struct sf_traces *t)
{
    close_cursor(t);
}

/* Are the cursor's next rows of this trace? */
static bool next_rows(struct sf_traces *t, sf_trace_id id)
{
    if (!t->has_rows)
        t->has_rows = t->cursor->next(t->cursor, &t->rows);
    return t->has_rows && sf_trace_id_eq(t->rows.trace_id[0], id);
}

/* Reads rows into `g` until all are read or they do not fit (*out_is_partial). */
static enum sf_err traces_collect(struct sf_traces *t, struct gather *g, bool *out_is_partial,
                                  struct sf_why *why)
{
    const struct sf_trace_ask *ask = &t->asks[t->n_done++];
    bool is_partial = false;
    enum sf_err err = SF_OK;
    if (!t->cursor)
        err = t->store->ops->traces_get(t->store, ask, t->n_asks - t->n_done + 1, t->q, &t->cursor,
                                        why);
    if (err)
        return err;
    while (!is_partial && next_rows(t, ask->id)) {
        is_partial = !traces_add_rows(g, &t->rows);
        t->has_rows = false;
    }
    /* An error in a later trace is reported when that trace is requested; an error without a trace
     * applies to all. */
    if (!is_partial && !t->has_rows && t->cursor->err &&
        (sf_trace_id_eq(t->cursor->failed, ask->id) || sf_trace_id_is_zero(t->cursor->failed))) {
        err = sf_fail(why, t->cursor->err, "%s", t->cursor->why.text);
        /* A trace too large to be read completely is answered with what was read. */
        is_partial = t->cursor->err == SF_ERR_LIMIT && g->n_spans > 0;
        err = is_partial ? SF_OK : err;
    }
    if (is_partial) /* the rest is not read: the next trace gets a new cursor */
        close_cursor(t);
    *out_is_partial = is_partial;
    return err;
}

enum sf_err sf_traces_next(struct sf_traces *t, struct sf_arena *req, struct sf_trace *out,
                           struct sf_why *why)
{
    size_t cap = req->cap;
    struct gather g = {.stop_len = cap > 2 * SPARE_LEN ? cap - SPARE_LEN : cap / 2};
    bool is_partial = false;
    sf_span_pool_init(&g.pool, req, t->is_bare);
    enum sf_err err = traces_collect(t, &g, &is_partial, why);
    if (err)
        return err;
    traces_turn_round(g.spans, g.n_spans); /* so that of equal copies the first one is kept */
    err = sf_trace_assemble(g.spans, g.n_spans, g.pool.resources, g.pool.n_resources, g.pool.scopes,
                            g.pool.n_scopes, req, out, why);
    if (!err)
        out->is_partial = is_partial;
    return err;
}

static enum sf_err get_one(struct sf_store *store, const struct sf_trace_ask *ask, bool is_bare,
                           struct sf_query_ctx *q, struct sf_trace *out, struct sf_why *why)
{
    struct sf_traces t;
    sf_traces_start(&t, store, ask, 1, is_bare, q);
    enum sf_err err = sf_traces_next(&t, q->req, out, why);
    sf_traces_done(&t);
    return err;
}

enum sf_err sf_traces_get_one(struct sf_store *store, sf_trace_id id, int64_t from_ns,
                              int64_t to_ns, struct sf_query_ctx *q, struct sf_trace *out,
                              struct sf_why *why)
{
    struct sf_trace_ask ask = {id, from_ns, to_ns};
    return get_one(store, &ask, false, q, out, why);
}

enum sf_err sf_traces_get_one_bare(struct sf_store *store, sf_trace_id id, int64_t from_ns,
                                   int64_t to_ns, struct sf_query_ctx *q, struct sf_trace *out,
                                   struct sf_why *why)
{
    struct sf_trace_ask ask = {id, from_ns, to_ns};
    return get_one(store, &ask, true, q, out, why);
}
