/* span_find.c - finds the trace of a span by the span's id alone.
 *
 * Blocks are sorted by trace and have no index from a span id to its rows. Detail rows of samples
 * have such an index, and often carry the trace id; so they are searched first; a scan of the span
 * id column is the fallback. */
#include "join/span_find.h"

#include "exec/traces.h"

struct found {
    sf_trace_id traces[4];
    uint32_t n;
};

static void span_find_add(struct found *f, sf_trace_id trace)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (sf_trace_id_eq(f->traces[i], trace))
            return;
    if (f->n < 4)
        f->traces[f->n++] = trace;
}

/* A trace id from a sample is accepted only if the trace contains the span. */
static enum sf_err ask_samples(struct sf_store *store, sf_span_id span, struct sf_query_ctx *q,
                               struct found *out, struct sf_why *why)
{
    struct sf_detail_query ask = {.span_ids = &span, .n_spans = 1};
    struct sf_detail_list list;
    struct found named = {0};
    enum sf_err err = store->ops->detail_list(store, &ask, q, &list, why);
    for (uint32_t i = 0; !err && i < list.rows.n_rows; i++)
        if (!sf_trace_id_is_zero(list.rows.trace_id[i]))
            span_find_add(&named, list.rows.trace_id[i]);
    struct sf_trace_ask asks[4];
    struct sf_traces traces;
    for (uint32_t i = 0; i < named.n; i++)
        asks[i] = (struct sf_trace_ask){.id = named.traces[i]};
    sf_traces_start(&traces, store, asks, named.n, true, q);
    for (uint32_t i = 0; !err && i < named.n; i++) {
        struct sf_trace trace;
        err = sf_traces_next(&traces, q->req, &trace, why);
        for (uint32_t k = 0; !err && k < trace.spans.n_spans; k++)
            if (trace.spans.spans[k].span_id == span)
                span_find_add(out, named.traces[i]);
    }
    sf_traces_done(&traces);
    return err;
}

static enum sf_err span_find_scan(struct sf_store *store, sf_span_id span, int64_t from_ns,
                                  int64_t to_ns, struct sf_query_ctx *q, struct found *out,
                                  struct sf_why *why)
{
    struct sf_span_query ask = {.from_ns = from_ns,
                                .to_ns = to_ns ? to_ns : INT64_MAX,
                                .is_all = true,
                                .is_newest_first = true};
    struct sf_span_cursor *cursor;
    struct sf_span_rows rows;
    enum sf_err err = store->ops->span_scan(store, &ask, q, &cursor, why);
    if (err)
        return err;
    while (cursor->next(cursor, &rows))
        for (uint32_t i = 0; i < rows.n_rows; i++)
            if (rows.span_id[i] == span)
                span_find_add(out, rows.trace_id[i]);
    if (cursor->err)
        err = sf_fail(why, cursor->err, "%s", cursor->why.text);
    cursor->close(cursor);
    return err;
}

enum sf_err sf_span_find(struct sf_store *store, sf_span_id span, int64_t from_ns, int64_t to_ns,
                         struct sf_arena *scratch, struct sf_query_ctx *q, sf_trace_id *out,
                         struct sf_why *why)
{
    struct sf_query_ctx inner = *q;
    struct found f = {0};
    char id[17], first[33], second[33];
    sf_arena_reset(scratch);
    inner.req = scratch;
    enum sf_err err = ask_samples(store, span, &inner, &f, why);
    if (!err && f.n == 0)
        err = span_find_scan(store, span, from_ns, to_ns, &inner, &f, why);
    q->stats = inner.stats;
    sf_span_id_render(span, id);
    if (!err && f.n == 0)
        err = sf_fail(why, SF_ERR_NOT_FOUND, "span %s not found", id);
    if (!err && f.n > 1) {
        sf_trace_id_render(f.traces[0], first);
        sf_trace_id_render(f.traces[1], second);
        err = sf_fail(why, SF_ERR_INPUT, "span %s is in several traces: %s, %s%s", id, first,
                      second, f.n > 2 ? ", ..." : "");
    }
    if (!err)
        *out = f.traces[0];
    return err;
}
