/* link_others.c - what else a process worked on while a span ran. */
#include "join/link_others.h"

enum { MAX_OTHERS = 20000 }; /* active at once in one process: more are sampled away */

static bool keep(struct sf_link_others *o, struct sf_span *list, const struct sf_span_rows *rows)
{
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        sf_str service = rows->resources[rows->resource[i]].service;
        if (sf_trace_id_eq(rows->trace_id[i], o->not_trace) || !sf_str_eq(service, o->service) ||
            rows->start_ns[i] > (uint64_t)o->to_ns || rows->end_ns[i] < (uint64_t)o->from_ns)
            continue;
        if (o->n == MAX_OTHERS)
            return false;
        list[o->n++] = (struct sf_span){.trace_id = rows->trace_id[i],
                                        .span_id = rows->span_id[i],
                                        .parent_id = rows->parent_id[i],
                                        .start_ns = rows->start_ns[i],
                                        .end_ns = rows->end_ns[i]};
    }
    return true;
}

enum sf_err sf_link_others_load(struct sf_store *store, struct sf_query_ctx *q,
                                struct sf_link_others *others, struct sf_why *why)
{
    struct sf_span_query ask = {.from_ns = others->from_ns,
                                .to_ns = others->to_ns,
                                .process = others->is_by_service ? 0 : others->process,
                                .is_all = true,
                                .columns = SF_COL_PARENT | SF_COL_TIMES | SF_COL_RESOURCE};
    struct sf_span *list = sf_arena_new_n(q->req, MAX_OTHERS, sizeof(*list));
    struct sf_span_cursor *cursor;
    struct sf_span_rows rows;
    if (!list)
        return sf_no_room(why, "the query");
    enum sf_err err = store->ops->span_scan(store, &ask, q, &cursor, why);
    if (err)
        return err;
    while (!others->is_partial && cursor->next(cursor, &rows))
        others->is_partial = !keep(others, list, &rows);
    if (!others->is_partial && cursor->err)
        err = sf_fail(why, cursor->err, "%s", cursor->why.text);
    cursor->close(cursor);
    others->spans = list;
    return err;
}
