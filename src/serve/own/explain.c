#include "serve/own/explain.h"

#include "join/explain.h"
#include "join/span_find.h"
#include "render/explain.h"
#include "serve/params.h"
#include "serve/tenant.h"

struct asked {
    sf_trace_id trace;
    sf_span_id span;
};

static enum sf_err read_want(const struct sf_request *r, struct sf_arena *req, struct asked *a,
                             struct sf_why *why)
{
    sf_str trace = sf_params_word(r, "trace", req), span = sf_params_word(r, "span", req);
    if (trace.len + span.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "ask for one of trace=ID, span=ID");
    if (span.len > 0 && (!sf_span_id_parse(span, &a->span) || a->span == 0))
        return sf_fail(why, SF_ERR_INPUT, "a span id is up to 16 hex digits, not '%.*s'",
                       SF_STR_ARG(sf_str_part(span, 0, 40)));
    return trace.len > 0 ? sf_params_trace_id(trace, &a->trace, why) : SF_OK;
}

bool sf_explain_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_arena scratch = {0};
    struct asked a = {0};
    struct sf_explain_view view = {0};
    struct sf_why why = {0};
    struct sf_store *store = atomic_load(&call->service->store);
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = read_want(call->request, q.req, &a, &why);
    if (!err)
        err = sf_call_check_data(&q, &why);
    if (!err && !sf_arena_init(&scratch, call->service->query_memory_len))
        err = sf_no_memory(&why, "the query");
    if (!err && a.span != 0 && sf_trace_id_is_zero(a.trace))
        err = sf_span_find(store, a.span, 0, 0, &scratch, &q, &a.trace, &why);
    if (!err)
        err = sf_explain_trace(store, a.trace, a.span, &q, &view, &why);
    sf_arena_done(&scratch);
    if (err)
        return sf_call_fail(call, err, &why);
    if (sf_str_eq(sf_params_word(call->request, "format", q.req), SF_STR("text"))) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        sf_explain_text(&view, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_explain_json(&view, &call->response->body);
    }
    return true;
}
