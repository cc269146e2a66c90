#include "serve/pyroscope/querier_work.h"

#include <stdlib.h>

#include "base/text.h"
#include "base/time_unit.h"
#include "exec/tenant.h"
#include "flame/batch_tree.h"
#include "os/clock.h"
#include "serve/connect.h"

enum { BODY_MAX = 1 << 20 };

/* ---- the query ---- */

static int querier_work_by_span(const void *a, const void *b)
{
    sf_span_id x = *(const sf_span_id *)a, y = *(const sf_span_id *)b;
    return x < y ? -1 : x > y;
}

static int querier_work_by_trace(const void *a, const void *b)
{
    return sf_trace_id_cmp(*(const sf_trace_id *)a, *(const sf_trace_id *)b);
}

static enum sf_err set_range(const struct sf_querier_ask *a, enum sf_querier_times times,
                             struct sf_prof_query *query, struct sf_why *why)
{
    const int64_t most = INT64_MAX / SF_NS_PER_MS - 1;
    if (times == SF_QUERIER_TIMES_NONE)
        return SF_OK;
    if (a->start_ms == 0 && a->end_ms == 0 && times == SF_QUERIER_TIMES_OPTIONAL) {
        query->to_ns = sf_clock_wall_ns();
        query->from_ns = query->to_ns - SF_NS_PER_HOUR;
        return SF_OK;
    }
    if (a->start_ms == 0 || a->end_ms == 0)
        return sf_fail(why, SF_ERR_INPUT, "missing time range in the query");
    if (a->start_ms > a->end_ms || a->start_ms < 0 || a->end_ms > most)
        return sf_fail(why, SF_ERR_INPUT, "the start of the time range lies after its end");
    query->from_ns = a->start_ms * SF_NS_PER_MS;
    query->to_ns = (a->end_ms + 1) * SF_NS_PER_MS; /* the end is included in the range */
    return SF_OK;
}

enum sf_err sf_querier_work_query(struct sf_querier_ask *a, enum sf_querier_times times,
                                  struct sf_prof_query *out, struct sf_why *why)
{
    struct sf_prof_query query = {.type = a->type,
                                  .match = a->selector.list,
                                  .n_match = a->selector.n,
                                  .span_ids = a->spans,
                                  .n_spans = a->n_spans,
                                  .trace_ids = a->traces,
                                  .n_traces = a->n_traces,
                                  .profiles = a->profiles,
                                  .n_profiles = a->n_profiles};
    enum sf_err err = set_range(a, times, &query, why);
    if (!err && a->n_spans && a->n_traces)
        err = sf_fail(why, SF_ERR_INPUT, "span_selector and trace_id_selector exclude each other");
    if (err)
        return err;
    if (a->n_spans)
        qsort(a->spans, a->n_spans, sizeof(*a->spans), querier_work_by_span);
    if (a->n_traces)
        qsort(a->traces, a->n_traces, sizeof(*a->traces), querier_work_by_trace);
    *out = query;
    return SF_OK;
}

enum sf_err sf_querier_work_stacks(const struct sf_querier_ask *a, struct sf_stack_filter **out,
                                   struct sf_why *why)
{
    struct sf_stack_ask ask = {.sites = a->sites,
                               /* go_pgo replaces the call site; a tree of functions searches for it
                                * itself */
                               .n_sites = a->has_pgo || a->format == SF_QUERIER_CALLS ? 0
                                                                                      : a->n_sites,
                               .terms = a->frames,
                               .n_terms = a->n_frames};
    return sf_stack_filter_new(&ask, out, why);
}

static void count_unknown(const struct sf_querier_work *x)
{
    uint64_t n = x->ask->n_unknown;
    for (size_t i = 0; i < 2; i++)
        n += x->ask->sides[i] ? x->ask->sides[i]->n_unknown : 0;
    sf_counters_add(x->call->service->counters, SF_COUNT_UNKNOWN_PYROSCOPE, n);
}

/* ---- asynchronous queries ----
 *
 * A client may ask for an id and come back with it for the answer. The id is the query itself:
 * nothing has to be kept for clients that never come back, and it outlives a restart. */

static const sf_str JSON_ID = SF_STR("j."), PB_ID = SF_STR("p.");

static void write_async(struct sf_message *m, sf_str id, bool is_done)
{
    size_t mark = sf_message_begin(m, 4, "async");
    sf_message_str(m, 1, "requestId", id);
    if (m->is_json)
        sf_message_str(m, 2, "status",
                       is_done ? SF_STR("ASYNC_QUERY_STATUS_SUCCESS")
                               : SF_STR("ASYNC_QUERY_STATUS_IN_PROGRESS"));
    else
        sf_message_i64(m, 2, "status", is_done ? 2 : 1);
    sf_message_end(m, mark);
}

static enum sf_err give_id(struct sf_querier_work *x, sf_str body)
{
    struct sf_buf id = {0};
    sf_buf_add_str(&id, x->m.is_json ? JSON_ID : PB_ID);
    sf_base64_encode(&id, sf_str_bytes(body));
    if (sf_buf_ok(&id))
        write_async(&x->m, sf_buf_str(&id), false);
    bool is_ok = sf_buf_ok(&id);
    sf_buf_done(&id);
    return is_ok ? SF_OK : sf_no_memory(&x->why, "the answer");
}

/* Replaces a request that only contains an id by the request encoded in that id. */
static enum sf_err querier_work_recall(struct sf_querier_work *x, enum sf_querier_method method)
{
    sf_str id = x->ask->request_id, body = SF_STR_NONE;
    bool is_json = sf_str_starts(id, JSON_ID);
    struct sf_buf plain = {.max = BODY_MAX};
    bool is_known = (is_json || sf_str_starts(id, PB_ID)) &&
                    sf_base64_decode(&plain, sf_str_from_at(id, JSON_ID.len)) &&
                    sf_arena_copy(x->req, sf_buf_str(&plain), &body);
    sf_buf_done(&plain);
    *x->ask = (struct sf_querier_ask){0};
    if (!is_known || sf_querier_ask_read(method, body, is_json, x->req, x->ask, NULL) ||
        !x->ask->is_async)
        return sf_fail(&x->why, SF_ERR_NOT_FOUND, "unknown request_id");
    x->ask->request_id = id;
    return SF_OK;
}

bool sf_querier_work_run(struct sf_call *call, struct sf_worker *worker,
                         enum sf_querier_method method, enum sf_querier_times times,
                         sf_querier_fn *answer)
{
    struct sf_querier_work x = {
        .call = call,
        .req = &worker->arena,
        .store = atomic_load(&call->service->store),
        .m = sf_message_init(&call->response->body, sf_connect_is_json(call))};
    uint32_t tenants[SF_TENANTS_MAX];
    sf_str body;
    enum sf_err err;
    if (!sf_connect_admit(call))
        return true;
    x.ask = sf_arena_new(x.req, sizeof(*x.ask));
    err = x.ask ? sf_connect_body(call, BODY_MAX, x.req, &body, &x.why)
                : sf_no_room(&x.why, "the answer");
    if (!err)
        err = sf_querier_ask_read(method, body, x.m.is_json, x.req, x.ask, &x.why);
    if (x.ask)
        count_unknown(&x);
    if (!err && x.ask->request_id.len)
        err = querier_work_recall(&x, method);
    if (!err)
        err = sf_querier_work_query(x.ask, times, &x.query, &x.why);
    if (!err)
        err = sf_call_query(call, worker, tenants, &x.q, &x.why);
    if (!err) {
        sf_message_open(&x.m);
        if (x.ask->is_async && x.ask->request_id.len == 0)
            err = give_id(&x, body);
        else
            err = answer(&x);
        if (!err && x.ask->request_id.len)
            write_async(&x.m, x.ask->request_id, true);
        sf_message_close(&x.m);
    }
    if (!err && !sf_buf_ok(x.m.out))
        err = sf_no_memory(&x.why, "the answer");
    if (err)
        return sf_call_fail(call, err, &x.why);
    sf_connect_ok(call);
    return true;
}

/* ---- labels ---- */

const sf_str sf_querier_own_names[] = {SF_STR("__name__"),         SF_STR("__period_type__"),
                                       SF_STR("__period_unit__"),  SF_STR("__profile_type__"),
                                       SF_STR("__service_name__"), SF_STR("__type__"),
                                       SF_STR("__unit__")};
_Static_assert(sizeof(sf_querier_own_names) / sizeof(sf_querier_own_names[0]) ==
                   SF_QUERIER_OWN_NAMES,
               "as many as said");

bool sf_querier_work_label(struct sf_arena *req, const struct sf_series *s, sf_str key, sf_str *out)
{
    const sf_str own[SF_QUERIER_OWN_NAMES] = {
        s->type.name, s->type.period_type, s->type.period_unit, SF_STR_NONE,
        s->service,   s->type.sample_type, s->type.sample_unit};
    *out = SF_STR_NONE;
    for (uint32_t i = 0; i < s->n_labels; i++) {
        if (sf_str_eq(s->labels[i].key, key)) {
            *out = s->labels[i].val;
            return true;
        }
    }
    for (size_t i = 0; i < SF_QUERIER_OWN_NAMES; i++) {
        if (sf_str_eq(sf_querier_own_names[i], key))
            *out = own[i];
    }
    if (sf_str_eq(key, SF_STR("__profile_type__"))) {
        struct sf_buf text = {0};
        bool is_ok;
        sf_batch_tree_type_add(&text, &s->type);
        is_ok = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), out);
        sf_buf_done(&text);
        return is_ok;
    }
    return true;
}

void sf_querier_work_write_label(struct sf_message *m, uint32_t field, sf_str key, sf_str val)
{
    size_t mark = sf_message_item(m, field);
    sf_message_str(m, 1, "name", key);
    sf_message_str(m, 2, "value", val);
    sf_message_end(m, mark);
}

void sf_querier_work_write_labels(struct sf_message *m, uint32_t field,
                                  const struct sf_label_sets *sets, uint32_t set)
{
    sf_message_list(m, "labels");
    for (uint32_t i = set ? sets->ends[set - 1] : 0; i < sets->ends[set]; i++)
        sf_querier_work_write_label(m, field, sets->labels[i].key, sets->labels[i].val);
    sf_message_list_end(m);
}

/* ---- series ---- */

void sf_querier_work_group_add(struct sf_querier_group *groups, size_t *n, uint32_t number,
                               size_t at, double value)
{
    if (*n == 0 || groups[*n - 1].number != number)
        groups[(*n)++] = (struct sf_querier_group){.number = number, .first = at};
    groups[*n - 1].n++;
    groups[*n - 1].total += value;
}

static int by_total(const void *a, const void *b)
{
    const struct sf_querier_group *x = a, *y = b;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

size_t sf_querier_work_group_sort(struct sf_querier_group *groups, size_t n, int64_t limit)
{
    if (n)
        qsort(groups, n, sizeof(*groups), by_total);
    return limit > 0 && n > (uint64_t)limit ? (size_t)limit : n;
}
