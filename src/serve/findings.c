#include "serve/findings.h"

#include "exec/findings.h"
#include "os/clock.h"
#include "serve/params.h"
#include "serve/tenant.h"

static enum sf_err read_want(const struct sf_request *r, struct sf_arena *req,
                             struct sf_findings_want *want, struct sf_why *why)
{
    const int64_t hour_ns = INT64_C(3600) * 1000000000;
    sf_str trace = sf_params_word(r, "trace", req), span = sf_params_word(r, "span", req);
    want->service = sf_params_word(r, "service", req);
    want->type = sf_params_word(r, "type", req);
    if (trace.len == 0 && want->service.len == 0)
        return sf_fail(why, SF_ERR_INPUT,
                       "ask for service=NAME, or trace=ID, or trace=ID and span=ID");
    if (trace.len > 0 && want->service.len > 0)
        return sf_fail(why, SF_ERR_INPUT, "ask for a service or a trace, not both");
    if (trace.len == 0 && span.len > 0)
        return sf_fail(why, SF_ERR_INPUT, "a span needs its trace: add trace=ID");
    if (span.len > 0 && (!sf_span_id_parse(span, &want->span) || want->span == 0))
        return sf_fail(why, SF_ERR_INPUT, "a span id is up to 16 hex digits, not '%.*s'",
                       SF_STR_ARG(sf_str_part(span, 0, 40)));
    if (trace.len > 0)
        return sf_params_trace_id(trace, &want->trace, why);
    return sf_params_range(r, sf_clock_wall_ns(), hour_ns, &want->from_ns, &want->until_ns, why);
}

bool sf_findings_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_findings_want want = {0};
    struct sf_findings_view view = {0};
    struct sf_why why = {0};
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = read_want(call->request, q.req, &want, &why);
    if (!err && q.n_tenants == 0)
        err = sf_fail(&why, SF_ERR_NOT_FOUND, "this tenant has no data");
    if (!err)
        err = sf_findings_make(atomic_load(&call->service->store), &want, &q, &view, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    if (sf_str_eq(sf_params_word(call->request, "format", q.req), SF_STR("text"))) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        sf_findings_text(&view, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_findings_json(&view, &call->response->body);
    }
    return true;
}
