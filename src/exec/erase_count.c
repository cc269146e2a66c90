#include "exec/erase_count.h"

#include <stdlib.h>
#include <string.h>

#define STEP_NS (INT64_C(3000000000) * 1000000000) /* a single step for all of time */

static bool erase_count_is_in_range(const struct sf_selector *w, uint64_t start_ns)
{
    return (w->from_ns == 0 && w->to_ns == 0) ||
           (start_ns >= (uint64_t)w->from_ns && start_ns <= (uint64_t)w->to_ns);
}

/* ---- traces ---- */

static int erase_count_by_id(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(sf_trace_id));
}

static enum sf_err count_in_traces(struct sf_store *store, const sf_trace_id *ids, uint32_t n,
                                   const struct sf_selector *which, struct sf_query_ctx *q,
                                   struct sf_erase_count *c, struct sf_why *why)
{
    struct sf_trace_ask *asks = sf_arena_new_n(q->req, n, sizeof(*asks));
    struct sf_span_cursor *cursor = NULL;
    struct sf_span_rows rows;
    if (!asks)
        return sf_fail(why, SF_ERR_LIMIT, "%u traces do not fit a query's memory", n);
    for (uint32_t i = 0; i < n; i++)
        asks[i].id = ids[i];
    enum sf_err err = store->ops->traces_get(store, asks, n, q, &cursor, why);
    if (err)
        return err;
    while (cursor->next(cursor, &rows)) {
        for (uint32_t i = 0; i < rows.n_rows; i++)
            c->n_spans += erase_count_is_in_range(which, rows.start_ns[i]);
    }
    err = cursor->err;
    if (err && why)
        *why = cursor->why;
    cursor->close(cursor);
    return err;
}

static enum sf_err erase_count_traces(struct sf_store *store, const struct sf_selector *which,
                                      struct sf_query_ctx *q, struct sf_erase_count *c,
                                      struct sf_why *why)
{
    sf_trace_id *ids = sf_arena_new_n(q->req, which->n_traces, sizeof(*ids));
    struct sf_span_costs costs = {0};
    uint32_t n = 0;
    enum sf_err err = SF_OK;
    if (!ids)
        return sf_fail(why, SF_ERR_LIMIT, "%u traces do not fit a query's memory", which->n_traces);
    memcpy(ids, which->trace_ids, which->n_traces * sizeof(*ids));
    qsort(ids, which->n_traces, sizeof(*ids), erase_count_by_id);
    for (uint32_t i = 0; i < which->n_traces; i++) {
        if (n == 0 || erase_count_by_id(&ids[n - 1], &ids[i]) != 0)
            ids[n++] = ids[i];
    }
    err = count_in_traces(store, ids, n, which, q, c, why);
    struct sf_detail_query detail = {.trace_ids = ids,
                                     .n_traces = n,
                                     .has_trace_rows = true,
                                     .from_ns = which->from_ns,
                                     .to_ns = which->to_ns};
    if (!err)
        err = store->ops->detail_sums(store, &detail, NULL, q, &costs, why);
    for (uint32_t i = 0; i < costs.n && !err; i++)
        c->n_samples += costs.list[i].n_samples;
    c->is_exact = !costs.is_cut && (which->from_ns == 0 || costs.n == 0);
    return err;
}

/* ---- a service, or all ---- */

static enum sf_err erase_count_spans(struct sf_store *store, const struct sf_selector *which,
                                     struct sf_query_ctx *q, struct sf_erase_count *c,
                                     struct sf_why *why)
{
    struct sf_operation_rows rows = {0};
    enum sf_err err = store->ops->operations(
        store, which->from_ns, which->to_ns ? which->to_ns : INT64_MAX, q, &rows, why);
    for (uint32_t i = 0; i < rows.n && !err; i++) {
        if (which->what == SF_SELECT_ALL || sf_str_eq(rows.rows[i].service, which->service))
            c->n_spans += rows.rows[i].all.n_spans;
    }
    c->is_exact = q->is_exact;
    return err;
}

static enum sf_err erase_count_profiles(struct sf_store *store, const struct sf_selector *which,
                                        struct sf_query_ctx *q, struct sf_erase_count *c,
                                        struct sf_why *why)
{
    struct sf_matcher match = {SF_STR("service_name"), SF_OP_EQ, which->service};
    struct sf_prof_query query = {.match = &match,
                                  .n_match = which->what == SF_SELECT_SERVICE,
                                  .from_ns = which->from_ns,
                                  .to_ns = which->to_ns};
    struct sf_prof_points points = {0};
    q->is_exact = true;
    enum sf_err err = store->ops->prof_points(store, &query, NULL, 0, STEP_NS, q, &points, why);
    for (uint32_t i = 0; i < points.n_points && !err; i++) {
        c->n_profiles += points.points[i].n_profiles;
        c->n_samples += points.points[i].n_samples;
    }
    /* Profiles that extend over an edge of the range are counted, but may not be erased. */
    c->is_exact = c->is_exact && q->is_exact &&
                  (c->n_profiles == 0 || (which->from_ns == 0 && which->to_ns == 0));
    return err;
}

enum sf_err sf_erase_count(struct sf_store *store, const struct sf_selector *which,
                           struct sf_query_ctx *q, struct sf_erase_count *out, struct sf_why *why)
{
    struct sf_erase_count c = {.is_exact = true};
    struct sf_query_ctx one = *q;
    enum sf_err err = SF_OK;
    one.n_tenants = q->n_tenants > 0;
    if (one.n_tenants == 0) {
        *out = c;
        return SF_OK;
    }
    if (which->what == SF_SELECT_TRACES) {
        err = erase_count_traces(store, which, &one, &c, why);
    } else {
        err = erase_count_spans(store, which, &one, &c, why);
        if (!err)
            err = erase_count_profiles(store, which, &one, &c, why);
    }
    if (!err)
        *out = c;
    return err;
}
