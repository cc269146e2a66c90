/* trace_cursor.c - returns all spans of several traces, one trace after the other. */
#include "store/local/read/trace_cursor.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "store/local/read/trace_read.h"

enum { SOURCES_KEPT = SF_GRANULES_MAX - 2, CHANGES_FEW = 4 };

struct cursor {
    struct sf_span_cursor base;
    struct sf_trace_read read;
    struct sf_local *l;
    uint32_t *tenants; /* copied, like the requested ids: the caller's lists may be freed */
    struct sf_trace_ask *asks;
    size_t n_tenants, n_asks;
    size_t tenant, ask; /* of the trace to load next */
    uint32_t at;        /* next row of the loaded trace */
};

static int trace_cursor_by_source(const void *a, const void *b)
{
    const struct sf_trace_read_row *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* In time order, consecutive rows may be in many granules, and each batch would decode all of them.
 * Such traces are returned in storage order. */
static bool is_mixed(const struct sf_trace_read *t)
{
    uint32_t n_changes = 0;
    for (uint32_t i = 1; i < t->n_rows; i++)
        n_changes += t->rows[i].source != t->rows[i - 1].source;
    return t->n_sources > SOURCES_KEPT &&
           n_changes / CHANGES_FEW > t->n_sources + t->n_rows / SF_ROWS_MAX;
}

/* Takes the newest snapshot. Decoded granules are kept if it is the same as before. */
static void renew_snapshot(struct cursor *c)
{
    struct sf_snapshot *now = sf_snapshot_take(&c->l->snapshots);
    if (now != c->read.snapshot) {
        sf_granules_done(&c->read.granules);
        sf_granules_init(&c->read.granules, c->l, c->read.q, NULL, 0);
    }
    sf_snapshot_unref(c->read.snapshot);
    c->read.snapshot = now;
}

/* Loads the next trace that exists. Several tenants may have a trace with the same id. */
static enum sf_err load_next(struct cursor *c, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    c->at = 0;
    c->read.n_rows = 0;
    while (!err && c->read.n_rows == 0 && c->ask < c->n_asks) {
        const struct sf_trace_ask *ask = &c->asks[c->ask];
        c->base.failed = ask->id; /* in case of an error */
        uint32_t tenant = c->tenants[c->tenant];
        if (++c->tenant == c->n_tenants) {
            c->tenant = 0;
            c->ask++;
        }
        sf_trace_read_reset(&c->read);
        err = sf_granules_query_check(c->read.q, why);
        /* Memtables before the snapshot: rows that move between them are seen twice, and the copies
         * are removed; in the other order they might be missed. */
        if (!err)
            err = sf_trace_read_fresh(&c->read, tenant, ask->id, why);
        if (err)
            return err;
        renew_snapshot(c);
        err = sf_trace_read_load(&c->read, tenant, ask->id, ask->from_ns, ask->to_ns, NULL, why);
        if (!err && is_mixed(&c->read))
            qsort(c->read.rows, c->read.n_rows, sizeof(*c->read.rows), trace_cursor_by_source);
    }
    return err;
}

static bool trace_cursor_next(struct sf_span_cursor *base, struct sf_span_rows *out)
{
    struct cursor *c = (struct cursor *)base;
    if (!c->base.err && c->at >= c->read.n_rows)
        c->base.err = load_next(c, &c->base.why);
    if (c->base.err || c->at >= c->read.n_rows)
        return false;
    c->base.err = sf_trace_read_emit(&c->read, c->at, out, &c->base.why);
    if (c->base.err)
        return false;
    c->at += out->n_rows;
    return true;
}

static void trace_cursor_close(struct sf_span_cursor *base)
{
    struct cursor *c = (struct cursor *)base;
    if (!c)
        return;
    sf_trace_read_done(&c->read);
    sf_heap_free(c->tenants);
    sf_heap_free(c->asks);
    sf_heap_free(c);
}

static enum sf_err trace_cursor_start(struct cursor *c, const struct sf_trace_ask *asks,
                                      size_t n_asks, struct sf_query_ctx *q, struct sf_why *why)
{
    enum sf_err err;
    c->tenants = sf_heap_new_n(q->n_tenants, sizeof(*c->tenants));
    c->asks = sf_heap_new_n(n_asks, sizeof(*c->asks));
    if (!c->tenants || !c->asks)
        return sf_fail(why, SF_ERR_NOMEM, "query: no memory for a cursor");
    err = sf_trace_read_init(&c->read, c->l, NULL, q, SF_COL_ALL, NULL, 0, why);
    if (err)
        return err;
    memcpy(c->tenants, q->tenants, q->n_tenants * sizeof(*c->tenants));
    memcpy(c->asks, asks, n_asks * sizeof(*c->asks));
    c->n_tenants = q->n_tenants;
    c->n_asks = q->n_tenants > 0 ? n_asks : 0;
    c->read.has_parts = true;
    return SF_OK;
}

enum sf_err sf_trace_cursor_open(struct sf_store *s, const struct sf_trace_ask *asks, size_t n_asks,
                                 struct sf_query_ctx *q, struct sf_span_cursor **out,
                                 struct sf_why *why)
{
    struct sf_local *l = (struct sf_local *)s;
    void *memory;
    enum sf_err err = sf_granules_query_open(l, q, false, sizeof(struct cursor), &memory, why);
    if (err)
        return err;
    struct cursor *c = memory;
    c->base = (struct sf_span_cursor){.next = trace_cursor_next, .close = trace_cursor_close};
    c->l = l;
    err = trace_cursor_start(c, asks, n_asks, q, why);
    if (err) {
        trace_cursor_close(&c->base);
        return err;
    }
    *out = &c->base;
    return SF_OK;
}
