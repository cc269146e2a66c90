/* jaeger.c - Jaeger's query API. Each call is translated into ours (names of attributes, a TraceQL
 * search, a trace by id, dependencies between services) and its answer written in Jaeger's JSON, in
 * the classic form or that of /api/v3. */
#include "serve/jaeger/jaeger.h"

#include <stdlib.h>
#include <string.h>

#include "base/time_unit.h"
#include "exec/dependencies.h"
#include "exec/search.h"
#include "exec/tags.h"
#include "exec/tenant.h"
#include "exec/traces.h"
#include "os/clock.h"
#include "query/query_parse.h"
#include "render/jaeger_trace.h"
#include "render/otlp_trace.h"
#include "serve/jaeger/jaeger_answer.h"
#include "serve/jaeger/jaeger_ask.h"
#include "serve/long_answer.h"
#include "serve/params.h"
#include "serve/query_text.h"

struct query { /* query context and scratch memory of one call */
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_arena scratch;
    struct sf_why why;
};

static enum sf_err jaeger_begin(struct sf_call *call, struct sf_worker *worker, struct query *x)
{
    enum sf_err err = sf_call_query(call, worker, x->tenants, &x->q, &x->why);
    if (!err && !sf_arena_init(&x->scratch, call->service->query_memory_len))
        err = sf_no_memory(&x->why, "the query");
    return err;
}

static struct sf_store *store_of(struct sf_call *call)
{
    return atomic_load(&call->service->store);
}

/* ---- names of services and operations ---- */

static int compare_texts(const void *a, const void *b)
{
    const struct sf_tag_value *x = a, *y = b;
    return sf_str_cmp(x->text, y->text);
}

/* The values of one attribute on spans that match `filter` (NULL: all), sorted. */
static enum sf_err find_names(struct sf_call *call, struct query *x, struct sf_query_attr attr,
                              const struct sf_buf *filter, struct sf_tags_result *out)
{
    struct sf_tags tags = {.scratch = &x->scratch};
    struct sf_tag_value *list;
    enum sf_err err = SF_OK;
    if (filter)
        err = sf_query_parse(sf_buf_str(filter), x->q.req, &tags.filter, NULL, &x->why);
    if (err || x->q.n_tenants == 0)
        return err;
    err = sf_tags_values(store_of(call), &tags, &attr, &x->q, out, &x->why);
    if (err || out->n_values == 0)
        return err;
    list = sf_arena_new_n(x->q.req, out->n_values, sizeof(*list));
    if (!list)
        return sf_no_room(&x->why, "the answer");
    memcpy(list, out->values, out->n_values * sizeof(*list));
    qsort(list, out->n_values, sizeof(*list), compare_texts);
    out->values = list;
    if (out->is_partial)
        sf_response_header(call->response, "x-spanflame-partial", out->note);
    return SF_OK;
}

static void jaeger_add_names(struct sf_jaeger_answer *a, const struct sf_tags_result *names)
{
    for (uint32_t i = 0; i < names->n_values; i++)
        sf_json_write_str(&a->w, names->values[i].text);
    a->n += names->n_values;
}

static const struct sf_query_attr service_attr = {.scope = SF_SCOPE_RESOURCE,
                                                  .name = {"service.name", 12}};
static const struct sf_query_attr name_attr = {.scope = SF_SCOPE_INTRINSIC,
                                               .intrinsic = SF_INTRINSIC_NAME};

static bool list_services(struct sf_call *call, struct sf_worker *worker, bool is_v3)
{
    struct query x = {0};
    struct sf_tags_result names = {0};
    struct sf_jaeger_answer a;
    enum sf_err err = jaeger_begin(call, worker, &x);
    if (!err)
        err = find_names(call, &x, service_attr, NULL, &names);
    sf_arena_done(&x.scratch);
    if (err)
        return sf_jaeger_answer_fail(call, is_v3, err, &x.why, SF_STR_NONE);
    a = sf_jaeger_answer_begin(call, is_v3);
    if (is_v3) {
        sf_json_write_object(&a.w);
        sf_json_write_key(&a.w, SF_STR("services"));
        sf_json_write_array(&a.w);
    }
    jaeger_add_names(&a, &names);
    if (is_v3) {
        sf_json_write_array_end(&a.w);
        sf_json_write_object_end(&a.w);
    }
    return sf_jaeger_answer_end(&a);
}

bool sf_jaeger_services(struct sf_call *call, struct sf_worker *worker)
{
    return list_services(call, worker, false);
}

bool sf_jaeger_v3_services(struct sf_call *call, struct sf_worker *worker)
{
    return list_services(call, worker, true);
}

bool sf_jaeger_service_operations(struct sf_call *call, struct sf_worker *worker)
{
    struct query x = {0};
    struct sf_tags_result names = {0};
    struct sf_jaeger_answer a;
    struct sf_buf filter = {0};
    enum sf_err err = jaeger_begin(call, worker, &x);
    sf_buf_add_str(&filter, SF_STR("{ resource.service.name = "));
    sf_query_text_literal(&filter, call->arg);
    sf_buf_add_str(&filter, SF_STR(" }"));
    if (!err)
        err = find_names(call, &x, name_attr, &filter, &names);
    sf_arena_done(&x.scratch);
    sf_buf_done(&filter);
    if (err)
        return sf_jaeger_answer_fail(call, false, err, &x.why, SF_STR_NONE);
    a = sf_jaeger_answer_begin(call, false);
    jaeger_add_names(&a, &names);
    return sf_jaeger_answer_end(&a);
}

struct operations_ask {
    struct sf_buf service, kind;
};

static enum sf_err check_operations_ask(const struct operations_ask *ask, struct sf_why *why)
{
    uint8_t kind = 0;
    if (ask->service.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "parameter 'service' is required");
    while (kind < SF_KINDS &&
           !sf_str_eq(sf_buf_str(&ask->kind), sf_str_from(sf_jaeger_trace_kind(kind))))
        kind++;
    return kind < SF_KINDS ? SF_OK : sf_fail(why, SF_ERR_INPUT, "unknown span kind");
}

/* One query for each of the six span kinds finds its operation names. */
static enum sf_err add_operations(struct sf_call *call, struct query *x,
                                  const struct operations_ask *ask, struct sf_jaeger_answer *a)
{
    enum sf_err err = SF_OK;
    for (uint8_t kind = 0; !err && kind < SF_KINDS; kind++) {
        sf_str name = sf_str_from(sf_jaeger_trace_kind(kind));
        struct sf_tags_result names = {0};
        struct sf_buf filter = {0};
        if (ask->kind.len && !sf_str_eq(sf_buf_str(&ask->kind), name))
            continue;
        sf_buf_add_str(&filter, SF_STR("{ resource.service.name = "));
        sf_query_text_literal(&filter, sf_buf_str(&ask->service));
        sf_buf_print(&filter, " && kind = %s }", kind ? sf_jaeger_trace_kind(kind) : "unspecified");
        err = find_names(call, x, name_attr, &filter, &names);
        sf_buf_done(&filter);
        for (uint32_t i = 0; !err && i < names.n_values; i++, a->n++) {
            sf_json_write_object(&a->w);
            sf_json_write_key_str(&a->w, SF_STR("name"), names.values[i].text);
            sf_json_write_key_str(&a->w, SF_STR("spanKind"), name);
            sf_json_write_object_end(&a->w);
        }
    }
    return err;
}

static bool list_operations(struct sf_call *call, struct sf_worker *worker, bool is_v3)
{
    struct query x = {0};
    struct operations_ask ask = {{.max = SF_LIMIT_PARAM_LEN}, {.max = SF_LIMIT_PARAM_LEN}};
    struct sf_jaeger_answer a = {0};
    enum sf_err err;
    (void)sf_request_param(call->request, SF_STR("service"), &ask.service);
    (void)sf_request_param(call->request, is_v3 ? SF_STR("span_kind") : SF_STR("spanKind"),
                           &ask.kind);
    err = check_operations_ask(&ask, &x.why);
    if (!err)
        err = jaeger_begin(call, worker, &x);
    if (!err) {
        a = sf_jaeger_answer_begin(call, is_v3);
        if (is_v3) {
            sf_json_write_object(&a.w);
            sf_json_write_key(&a.w, SF_STR("operations"));
            sf_json_write_array(&a.w);
        }
        err = add_operations(call, &x, &ask, &a);
    }
    if (!err && is_v3) {
        sf_json_write_array_end(&a.w);
        sf_json_write_object_end(&a.w);
    }
    sf_arena_done(&x.scratch);
    sf_buf_done(&ask.service);
    sf_buf_done(&ask.kind);
    return err ? sf_jaeger_answer_fail(call, is_v3, err, &x.why, SF_STR_NONE)
               : sf_jaeger_answer_end(&a);
}

bool sf_jaeger_operations(struct sf_call *call, struct sf_worker *worker)
{
    return list_operations(call, worker, false);
}

bool sf_jaeger_v3_operations(struct sf_call *call, struct sf_worker *worker)
{
    return list_operations(call, worker, true);
}

/* ---- traces ---- */

/* Adds the next trace and releases its rows before the one after it; *out_is_found tells if there
 * is one. LIMIT: it does not fit. */
static enum sf_err jaeger_add_trace(struct sf_call *call, struct query *x, struct sf_traces *traces,
                                    struct sf_jaeger_answer *a, bool *out_is_found)
{
    struct sf_trace trace = {0};
    size_t mark = x->q.req->at, tail = x->q.req->tail;
    enum sf_err err = SF_OK;
    sf_str warning = SF_STR_NONE;
    if (x->q.n_tenants)
        err = sf_traces_next(traces, x->q.req, &trace, &x->why);
    *out_is_found = !err && trace.spans.n_spans > 0;
    if (*out_is_found) {
        if (trace.is_partial) {
            warning = SF_STR("the trace does not fit a query's memory (limits.query_memory): spans "
                             "are missing");
            sf_response_header(call->response, "x-spanflame-partial", warning);
        }
        if (a->is_v3)
            sf_otlp_trace_resource_spans_json(&trace.spans, &a->w);
        else
            sf_jaeger_trace_json(&trace.spans, warning, &a->w);
        a->n++;
    }
    x->q.req->at = mark;
    x->q.req->tail = tail;
    if (!err && a->n > 1 && a->w.out->len > call->service->query_memory_len)
        err = sf_fail(&x->why, SF_ERR_LIMIT,
                      "the answer outgrew a query's memory: older traces are left out");
    return err;
}

static enum sf_err add_trace_of(struct sf_call *call, struct query *x, sf_trace_id id,
                                struct sf_jaeger_answer *a, bool *out_is_found)
{
    struct sf_trace_ask ask = {.id = id};
    struct sf_traces traces;
    sf_traces_start(&traces, store_of(call), &ask, 1, false, &x->q);
    enum sf_err err = jaeger_add_trace(call, x, &traces, a, out_is_found);
    sf_traces_done(&traces);
    return err;
}

static enum sf_err jaeger_find_traces(struct sf_call *call, struct query *x,
                                      const struct sf_jaeger_ask *ask, struct sf_search_result *out)
{
    struct sf_search search = {.from_ns = ask->from_ns,
                               .to_ns = ask->to_ns,
                               .limit = (uint32_t)ask->limit,
                               .spans_per_set = 1,
                               .scratch = &x->scratch};
    enum sf_err err = sf_query_parse(sf_buf_str(&ask->query), x->q.req, &search.query, NULL,
                                     &x->why);
    if (err || x->q.n_tenants == 0)
        return err;
    return sf_search_run(store_of(call), &search, &x->q, out, &x->why);
}

static enum sf_err jaeger_add_found(struct sf_call *call, struct query *x,
                                    const struct sf_jaeger_ask *ask, struct sf_jaeger_answer *a)
{
    struct sf_search_result found = {0};
    enum sf_err err = jaeger_find_traces(call, x, ask, &found);
    struct sf_trace_ask *asks = sf_arena_new_n(x->q.req, found.n_traces + 1u, sizeof(*asks));
    struct sf_traces traces;
    bool is_there;
    if (!err && !asks)
        err = sf_no_room(&x->why, "the query");
    if (!err)
        sf_call_note_limit(call, ask->limit, found.n_traces);
    for (uint32_t i = 0; !err && i < found.n_traces; i++)
        asks[i].id = found.traces[i].id;
    sf_traces_start(&traces, store_of(call), asks, found.n_traces, false, &x->q);
    for (uint32_t i = 0; !err && i < found.n_traces; i++)
        err = jaeger_add_trace(call, x, &traces, a, &is_there);
    sf_traces_done(&traces);
    if ((err == SF_ERR_LIMIT || err == SF_ERR_DEADLINE) && a->n) {
        sf_jaeger_answer_error(a, sf_status_of(err).http, sf_str_from(x->why.text), SF_STR_NONE);
        err = SF_OK;
    } else if (found.is_partial) {
        sf_jaeger_answer_error(a, 413, found.note, SF_STR_NONE);
    }
    return err;
}

static enum sf_err add_by_ids(struct sf_call *call, struct query *x,
                              const struct sf_jaeger_ask *ask, struct sf_jaeger_answer *a)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < ask->n_ids; i++) {
        char id[33];
        bool is_there;
        err = add_trace_of(call, x, ask->ids[i], a, &is_there);
        if (!err && !is_there) {
            struct sf_why why;
            enum sf_err absent = sf_fail(&why, SF_ERR_NOT_FOUND, "trace not found");
            absent = sf_call_unknown(call, absent, &why);
            sf_jaeger_answer_error(a, sf_status_of(absent).http, sf_str_from(why.text),
                                   sf_jaeger_trace_id(ask->ids[i], id));
        }
    }
    return err;
}

static void open_result(struct sf_jaeger_answer *a)
{
    sf_json_write_object(&a->w);
    sf_json_write_key(&a->w, SF_STR("result"));
    sf_json_write_object(&a->w);
    sf_json_write_key(&a->w, SF_STR("resourceSpans"));
    sf_json_write_array(&a->w);
}

static void close_result(struct sf_jaeger_answer *a)
{
    sf_json_write_array_end(&a->w);
    sf_json_write_object_end(&a->w);
    sf_json_write_object_end(&a->w);
}

static bool jaeger_search(struct sf_call *call, struct sf_worker *worker, bool is_v3)
{
    struct query x = {0};
    struct sf_jaeger_ask ask = {0};
    struct sf_jaeger_answer a = {0};
    enum sf_err err = jaeger_begin(call, worker, &x);
    if (!err)
        err = sf_jaeger_ask_params(call->request, is_v3, x.q.req, &ask, &x.why);
    if (!err) {
        a = sf_jaeger_answer_begin(call, is_v3);
        if (is_v3)
            open_result(&a);
        err = ask.n_ids ? add_by_ids(call, &x, &ask, &a) : jaeger_add_found(call, &x, &ask, &a);
    }
    if (!err && is_v3)
        close_result(&a);
    sf_jaeger_ask_done(&ask);
    sf_arena_done(&x.scratch);
    if (!err)
        return sf_jaeger_answer_end(&a);
    sf_buf_done(&a.errors);
    return sf_jaeger_answer_fail(call, is_v3, err, &x.why, SF_STR_NONE);
}

bool sf_jaeger_traces(struct sf_call *call, struct sf_worker *worker)
{
    return jaeger_search(call, worker, false);
}

bool sf_jaeger_v3_traces(struct sf_call *call, struct sf_worker *worker)
{
    return jaeger_search(call, worker, true);
}

static bool one_trace(struct sf_call *call, struct sf_worker *worker, bool is_v3)
{
    struct query x = {0};
    struct sf_jaeger_answer a = {0};
    sf_trace_id id;
    bool is_there = false;
    enum sf_err err = sf_params_trace_id(call->arg, &id, &x.why);
    if (!err)
        err = jaeger_begin(call, worker, &x);
    if (!err) {
        a = sf_jaeger_answer_begin(call, is_v3);
        sf_long_answer_begin(call, &x.q);
        if (is_v3)
            open_result(&a);
        err = add_trace_of(call, &x, id, &a, &is_there);
    }
    if (!err && !is_there)
        err = sf_call_unknown(call, sf_fail(&x.why, SF_ERR_NOT_FOUND, "trace not found"), &x.why);
    if (!err && is_v3)
        close_result(&a);
    sf_arena_done(&x.scratch);
    return err ? sf_jaeger_answer_fail(call, is_v3, err, &x.why,
                                       err == SF_ERR_NOT_FOUND ? call->arg : SF_STR_NONE)
               : sf_jaeger_answer_end(&a);
}

bool sf_jaeger_trace(struct sf_call *call, struct sf_worker *worker)
{
    return one_trace(call, worker, false);
}

bool sf_jaeger_v3_trace(struct sf_call *call, struct sf_worker *worker)
{
    return one_trace(call, worker, true);
}

/* ---- dependencies ---- */

static enum sf_err read_dependencies_ask(const struct sf_request *r, int64_t *out_from_ns,
                                         int64_t *out_to_ns, struct sf_why *why)
{
    const int64_t MAX_MS = INT64_MAX / SF_NS_PER_MS;
    uint64_t end_ms = (uint64_t)(sf_clock_wall_ns() / SF_NS_PER_MS),
             lookback_ms = SF_NS_PER_DAY / SF_NS_PER_MS;
    enum sf_err err = sf_params_count(r, SF_STR("endTs"), &end_ms, why);
    if (!err)
        err = sf_params_count(r, SF_STR("lookback"), &lookback_ms, why);
    if (!err && (end_ms == 0 || end_ms > (uint64_t)MAX_MS || lookback_ms == 0))
        err = sf_fail(why, SF_ERR_INPUT, "endTs and lookback are milliseconds above 0");
    if (err)
        return err;
    *out_to_ns = (int64_t)end_ms * SF_NS_PER_MS;
    *out_from_ns = lookback_ms < end_ms ? (int64_t)(end_ms - lookback_ms) * SF_NS_PER_MS : 0;
    return SF_OK;
}

bool sf_jaeger_dependencies(struct sf_call *call, struct sf_worker *worker)
{
    struct query x = {0};
    struct sf_dependencies found = {0};
    struct sf_jaeger_answer a;
    int64_t from_ns = 0, to_ns = 0;
    enum sf_err err = read_dependencies_ask(call->request, &from_ns, &to_ns, &x.why);
    if (!err)
        err = jaeger_begin(call, worker, &x);
    if (!err && x.q.n_tenants)
        err = sf_dependencies_get(store_of(call), from_ns, to_ns, &x.q, &x.scratch, &found, &x.why);
    sf_arena_done(&x.scratch);
    if (err)
        return sf_jaeger_answer_fail(call, false, err, &x.why, SF_STR_NONE);
    a = sf_jaeger_answer_begin(call, false);
    for (uint32_t i = 0; i < found.n; i++, a.n++) {
        sf_json_write_object(&a.w);
        sf_json_write_key_str(&a.w, SF_STR("parent"), found.list[i].parent);
        sf_json_write_key_str(&a.w, SF_STR("child"), found.list[i].child);
        sf_json_write_key_u64(&a.w, SF_STR("callCount"), found.list[i].n_calls);
        sf_json_write_object_end(&a.w);
    }
    if (found.is_partial)
        sf_jaeger_answer_error(&a, 413, found.note, SF_STR_NONE);
    return sf_jaeger_answer_end(&a);
}
