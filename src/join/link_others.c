/* link_others.c - loads the other requests of a process while a span ran.
 *
 * An ancestor of such a span may have ended before: asynchronous work outlives its parent. Without
 * the ancestor it would count as a separate request. So if a span began earlier and its parent was
 * not found, spans of the same traces are also searched in the earlier time. */
#include "join/link_others.h"
#include "exec/ran_on.h"

#include <stdlib.h>

enum {
    MAX_OTHERS = 20000, /* at most this many spans of a process; with more, the result is partial */
    RESOURCE_LEN = 1 << 20,
    MAX_STEPS = 4 /* steps back in time, from spans to ancestors of their ancestors */
};

struct load {
    struct sf_link_others *others;
    struct sf_other_span *list;
    int64_t from_ns;           /* initially the requested time, then earlier */
    const sf_trace_id *traces; /* sorted: only these are kept from the earlier time */
    uint32_t n_traces;
    struct sf_arena tmp;            /* with is_by_service: for one resource */
    const struct sf_resource *last; /* resource of the previous row */
};

static int link_others_order_ids(const void *a, const void *b)
{
    return sf_trace_id_cmp(*(const sf_trace_id *)a, *(const sf_trace_id *)b);
}

static bool link_others_is_kept(const struct load *l, const struct sf_span_rows *rows, uint32_t i)
{
    const struct sf_link_others *o = l->others;
    if (bsearch(&rows->trace_id[i], o->not_traces, o->n_not_traces, sizeof(*o->not_traces),
                link_others_order_ids) ||
        !sf_str_eq(rows->resources[rows->resource[i]].service, o->service) ||
        rows->start_ns[i] > (uint64_t)o->to_ns || rows->end_ns[i] < (uint64_t)l->from_ns)
        return false;
    return rows->end_ns[i] >= (uint64_t)o->from_ns ||
           (l->n_traces > 0 && bsearch(&rows->trace_id[i], l->traces, l->n_traces,
                                       sizeof(*l->traces), link_others_order_ids));
}

static struct sf_value wanted(const struct sf_value_column *c, uint32_t row)
{
    struct sf_value none = {0};
    return c->code[row] == SF_NONE ? none : c->vals[c->code[row]];
}

/* May the resource belong to another process than the requested one? */
static bool is_elsewhere(struct load *l, const struct sf_resource *r)
{
    bool is_guess = false;
    if (r == l->last)
        return false; /* the same as for the previous row */
    l->last = r;
    sf_arena_reset(&l->tmp);
    const uint64_t *process = sf_ran_on_processes(r, 1, &l->tmp, &is_guess);
    return !process || *process != l->others->process;
}

static bool link_others_keep(struct load *l, const struct sf_span_rows *rows)
{
    l->last = NULL;
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        if (!link_others_is_kept(l, rows, i))
            continue;
        if (l->others->n == MAX_OTHERS)
            return false;
        if (l->others->is_by_service && !l->others->has_processes)
            l->others->has_processes = is_elsewhere(l, &rows->resources[rows->resource[i]]);
        l->list[l->others->n++] = (struct sf_other_span){
            .span = {.trace_id = rows->trace_id[i],
                     .span_id = rows->span_id[i],
                     .parent_id = rows->parent_id[i],
                     .start_ns = rows->start_ns[i],
                     .end_ns = rows->end_ns[i]},
            .thread = sf_span_thread_from(wanted(&rows->want[0], i), wanted(&rows->want[1], i),
                                          &rows->resources[rows->resource[i]])};
    }
    return true;
}

static enum sf_err link_others_scan(struct load *l, struct sf_store *store, struct sf_query_ctx *q,
                                    struct sf_why *why)
{
    const struct sf_key keys[] = {{SF_SCOPE_SPAN, SF_STR("thread.id")},
                                  {SF_SCOPE_SPAN, SF_STR("thread.name")}};
    struct sf_link_others *others = l->others;
    struct sf_span_query ask = {.from_ns = l->from_ns,
                                .to_ns = others->to_ns,
                                .process = others->is_by_service ? 0 : others->process,
                                .is_all = true,
                                .columns = SF_COL_PARENT | SF_COL_TIMES | SF_COL_RESOURCE,
                                .want_keys = keys,
                                .n_want = 2};
    struct sf_span_cursor *cursor;
    struct sf_span_rows rows;
    others->n = 0;
    enum sf_err err = store->ops->span_scan(store, &ask, q, &cursor, why);
    if (err)
        return err;
    while (!others->is_partial && cursor->next(cursor, &rows))
        others->is_partial = !link_others_keep(l, &rows);
    if (!others->is_partial && cursor->err)
        err = sf_fail(why, cursor->err, "%s", cursor->why.text);
    cursor->close(cursor);
    return err;
}

static int order_spans(const void *a, const void *b)
{
    const struct sf_span *x = &((const struct sf_other_span *)a)->span;
    const struct sf_span *y = &((const struct sf_other_span *)b)->span;
    int order = sf_trace_id_cmp(x->trace_id, y->trace_id);
    return order ? order : (x->span_id > y->span_id) - (x->span_id < y->span_id);
}

/* Finds the earliest start of a span whose parent may have ended before, and the traces of such
 * spans, sorted. False: none. */
static bool find_orphans(struct load *l, sf_trace_id *traces)
{
    int64_t earliest_ns = l->from_ns;
    uint32_t n = 0;
    if (l->others->n > 0)
        qsort(l->list, l->others->n, sizeof(*l->list), order_spans);
    for (uint32_t i = 0; i < l->others->n; i++) {
        const struct sf_span *s = &l->list[i].span;
        struct sf_other_span parent = {.span = {.trace_id = s->trace_id, .span_id = s->parent_id}};
        if (s->parent_id == 0 || s->start_ns >= (uint64_t)l->from_ns ||
            bsearch(&parent, l->list, l->others->n, sizeof(parent), order_spans))
            continue;
        earliest_ns = (int64_t)s->start_ns < earliest_ns ? (int64_t)s->start_ns : earliest_ns;
        if (n == 0 || !sf_trace_id_eq(traces[n - 1], s->trace_id))
            traces[n++] = s->trace_id;
    }
    l->from_ns = earliest_ns;
    l->traces = traces;
    l->n_traces = n;
    return n > 0;
}

enum sf_err sf_link_others_load(struct sf_store *store, struct sf_query_ctx *q,
                                struct sf_link_others *others, struct sf_why *why)
{
    struct load l = {.others = others, .from_ns = others->from_ns};
    sf_trace_id *traces = sf_arena_new_n(q->req, MAX_OTHERS, sizeof(*traces));
    l.list = sf_arena_new_n(q->req, MAX_OTHERS, sizeof(*l.list));
    if (!l.list || !traces || (others->is_by_service && !sf_arena_init(&l.tmp, RESOURCE_LEN)))
        return sf_no_room(why, "the query");
    enum sf_err err = link_others_scan(&l, store, q, why);
    for (int i = 0; i < MAX_STEPS && !err && !others->is_partial && find_orphans(&l, traces); i++)
        err = link_others_scan(&l, store, q, why);
    others->spans = l.list;
    sf_arena_done(&l.tmp);
    return err;
}
