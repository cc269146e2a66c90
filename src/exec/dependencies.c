#include "exec/dependencies.h"

#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "exec/trace_stream.h"

enum { MAX_PAIRS = 10000 };

struct run {
    struct sf_dependency *list;
    uint32_t n;
    struct sf_table at;
    struct sf_arena *req;
    bool is_full;
};

static void dependencies_count(struct run *r, sf_str parent, sf_str child)
{
    struct sf_table_lookup lookup = sf_table_lookup(
        &r->at, sf_key_mix(sf_key_str(parent), sf_key_str(child)));
    struct sf_dependency *d;
    uint32_t at;
    while (sf_table_next(&lookup, &at)) {
        d = &r->list[at];
        if (sf_str_eq(d->parent, parent) && sf_str_eq(d->child, child)) {
            d->n_calls++;
            return;
        }
    }
    d = &r->list[r->n];
    if (r->n == MAX_PAIRS || !sf_arena_copy(r->req, parent, &d->parent) ||
        !sf_arena_copy(r->req, child, &d->child)) {
        r->is_full = true;
        return;
    }
    d->n_calls = 1;
    sf_table_keep(&r->at, &lookup, r->n++);
}

static int dependencies_compare(const void *a, const void *b)
{
    const struct sf_dependency *x = a, *y = b;
    int c = sf_str_cmp(x->parent, y->parent);
    return c ? c : sf_str_cmp(x->child, y->child);
}

static enum sf_err dependencies_walk(struct run *r, struct sf_trace_stream *stream, int64_t from_ns,
                                     int64_t to_ns, struct sf_why *why)
{
    struct sf_trace_view v;
    enum sf_err err;
    while (sf_trace_stream_next(stream, &v, &err, why)) {
        if (sf_trace_view_link(&v, stream->req, why)) {
            sf_trace_stream_leave_out(stream, v.id);
            continue;
        }
        for (uint32_t i = 0; i < v.n_spans; i++) {
            const struct sf_span *s = &v.spans[i];
            sf_str parent, child;
            if (v.parent[i] == SF_VIEW_NONE || s->start_ns < (uint64_t)from_ns ||
                s->start_ns > (uint64_t)to_ns)
                continue;
            parent = v.resources[v.spans[v.parent[i]].resource].service;
            child = v.resources[s->resource].service;
            if (!sf_str_eq(parent, child))
                dependencies_count(r, parent, child);
        }
    }
    return err;
}

enum sf_err sf_dependencies_get(struct sf_store *store, int64_t from_ns, int64_t to_ns,
                                struct sf_query_ctx *q, struct sf_arena *scratch,
                                struct sf_dependencies *out, struct sf_why *why)
{
    struct run r = {.req = q->req, .at = {.arena = q->req}};
    struct sf_trace_stream stream = {.req = scratch};
    struct sf_span_query query = {.from_ns = from_ns,
                                  .to_ns = to_ns,
                                  .is_all = true,
                                  .has_whole_traces = true,
                                  .is_newest_first = true,
                                  .columns = SF_COL_PARENT | SF_COL_TIMES | SF_COL_RESOURCE};
    sf_str left_out;
    enum sf_err err;
    r.list = sf_arena_new_n(q->req, MAX_PAIRS + 1, sizeof(*r.list));
    if (!r.list || !sf_table_reset(&r.at, MAX_PAIRS))
        return sf_no_room(why, "the query");
    err = store->ops->span_scan(store, &query, q, &stream.cursor, why);
    if (err)
        return err;
    err = dependencies_walk(&r, &stream, from_ns, to_ns, why);
    left_out = sf_trace_stream_note(&stream, q->req);
    stream.cursor->close(stream.cursor);
    *out = (struct sf_dependencies){.list = r.list, .n = r.n};
    if (err == SF_ERR_DEADLINE && r.n) {
        out->is_partial = true;
        out->note = SF_STR("the query's time limit was reached: older traces were not counted");
        err = SF_OK;
    } else if (r.is_full) {
        out->is_partial = true;
        out->note = SF_STR("too many pairs of services for one answer: some are missing");
    } else if (left_out.len) {
        out->is_partial = true;
        out->note = left_out;
    }
    if (!err)
        qsort(r.list, r.n, sizeof(*r.list), dependencies_compare);
    return err;
}
