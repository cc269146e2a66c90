#include "serve/tempo/traces.h"

#include "exec/tenant.h"
#include "exec/traces.h"
#include "join/trace_hot.h"
#include "join/trace_profile_ids.h"
#include "join/trace_rows.h"
#include "render/otlp_trace.h"
#include "render/trace_json.h"
#include "serve/jaeger/jaeger.h"
#include "serve/long_answer.h"
#include "serve/params.h"

struct found {
    sf_trace_id id;
    struct sf_trace trace;
    struct sf_query_ctx q;
    uint32_t tenants[SF_TENANTS_MAX];
};

static enum sf_err traces_find(struct sf_call *call, struct sf_worker *worker, struct found *f,
                               struct sf_why *why)
{
    int64_t from_ns, to_ns;
    enum sf_err err = sf_params_trace_id(call->arg, &f->id, why);
    if (!err)
        err = sf_params_start_end(call->request, &from_ns, &to_ns, why);
    if (!err)
        err = sf_call_query(call, worker, f->tenants, &f->q, why);
    if (err || f->q.n_tenants == 0)
        return err;
    return sf_traces_get_one(atomic_load(&call->service->store), f->id, from_ns, to_ns, &f->q,
                             &f->trace, why);
}

/* Marks the spans that have profiles with the attribute that Grafana expects. */
static enum sf_err find_with_profiles(struct sf_call *call, struct sf_worker *worker,
                                      struct found *f, struct sf_why *why)
{
    enum sf_err err = traces_find(call, worker, f, why);
    if (err || f->trace.spans.n_spans == 0 || f->trace.is_partial)
        return err;
    return sf_trace_profile_ids_add(atomic_load(&call->service->store), &f->q, &f->trace, why);
}

static const sf_str unread_note = SF_STR(
    "some stored data could not be read: spans may be missing; GET /ready says why");

/* Says what is missing from the trace; empty: nothing. */
static sf_str missing(struct sf_call *call, struct found *f)
{
    sf_str note = SF_STR("Trace exceeds maximum size, a partial trace is returned");
    if (!f->trace.is_partial)
        return f->q.is_exact ? SF_STR_NONE : unread_note;
    (void)sf_arena_print(f->q.req, &note,
                         "Trace exceeds maximum size of %llu bytes, a partial trace is returned; "
                         "limits.query_memory sets it",
                         (unsigned long long)call->service->query_memory_len);
    return note;
}

static bool traces_answer(struct sf_call *call, struct found *f, bool is_v2)
{
    struct sf_otlp_trace t = {
        .spans = &f->trace.spans, .is_v2 = is_v2, .inspected_len = f->q.stats.read_len};
    size_t at;
    sf_str note = missing(call, f);
    if (is_v2)
        t.partial = note;
    else if (note.len) /* this form has no field for it */
        sf_response_header(call->response, "x-spanflame-partial", note);
    if (sf_str_find(sf_request_header(call->request, SF_STR("accept")),
                    SF_STR("application/protobuf"), &at)) {
        sf_call_ok(call, "application/protobuf");
        sf_otlp_trace_pb(&t, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_long_answer_begin(call, &f->q);
        sf_otlp_trace_json(&t, &call->response->body);
    }
    return sf_long_answer_end(call);
}

bool sf_traces_v1(struct sf_call *call, struct sf_worker *worker)
{
    struct found f = {0};
    struct sf_why why = {0};
    enum sf_err err;
    if (call->request->port == SF_JAEGER_PORT) /* clients of this port expect Jaeger's response */
        return sf_jaeger_trace(call, worker);
    err = find_with_profiles(call, worker, &f, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    if (f.trace.spans.n_spans == 0) { /* clients expect an empty body */
        if (call->unread.is_away)
            return sf_call_fail(call, SF_ERR_NOT_FOUND, &why);
        if (!f.q.is_exact)
            sf_response_header(call->response, "x-spanflame-partial", unread_note);
        call->response->status = 404;
        return true;
    }
    return traces_answer(call, &f, false);
}

bool sf_traces_v2(struct sf_call *call, struct sf_worker *worker)
{
    struct found f = {0};
    struct sf_why why = {0};
    enum sf_err err = find_with_profiles(call, worker, &f, &why);
    return err ? sf_call_fail(call, err, &why) : traces_answer(call, &f, true);
}

/* Writes the rows of the waterfall as JSON, with the spans they show. */
static enum sf_err traces_draw(struct sf_call *call, struct found *f, struct sf_why *why)
{
    struct sf_trace_rows rows;
    enum sf_err err = sf_trace_rows_make(f->id, &f->trace, f->q.req, &rows, why);
    if (!err)
        err = sf_trace_hot_find(atomic_load(&call->service->store), &f->trace,
                                sf_params_word(call->request, "type", f->q.req), &f->q, &rows, why);
    if (err)
        return err;
    rows.is_exact = f->q.is_exact;
    sf_call_ok(call, "application/json");
    sf_long_answer_begin(call, &f->q);
    sf_trace_json(&rows, &call->response->body);
    return SF_OK;
}

bool sf_traces_own(struct sf_call *call, struct sf_worker *worker)
{
    struct found f = {0};
    struct sf_why why = {0};
    struct sf_arena scratch = {0};
    enum sf_err err = traces_find(call, worker, &f, &why);
    if (!err && f.trace.spans.n_spans == 0)
        err = sf_fail(&why, SF_ERR_NOT_FOUND, "no such trace: %.*s", SF_STR_ARG(call->arg));
    /* The spans may fill the query's memory; rows and critical path get as much again. */
    if (!err && !sf_arena_init(&scratch, call->service->query_memory_len))
        err = sf_no_memory(&why, "the query");
    if (!err) {
        f.q.req = &scratch;
        err = traces_draw(call, &f, &why);
    }
    sf_arena_done(&scratch);
    return err ? sf_call_fail(call, err, &why) : sf_long_answer_end(call);
}
