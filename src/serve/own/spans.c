#include "serve/own/spans.h"

#include "exec/tenant.h"
#include "join/span_ledger.h"
#include "join/span_profile.h"
#include "join/trace_flame.h"
#include "render/ledger.h"
#include "render/span_profile.h"
#include "render/trace_flame.h"
#include "serve/own/own_form.h"
#include "serve/own/span_path.h"
#include "serve/params.h"

enum { TEXT_COLUMNS = 100 };

struct asked {
    sf_trace_id trace;
    sf_span_id span;
    struct sf_query_ctx q;
    uint32_t tenants[SF_TENANTS_MAX];
};

static enum sf_err spans_ask(struct sf_call *call, struct sf_worker *worker, struct asked *a,
                             struct sf_why *why)
{
    enum sf_err err = sf_call_query(call, worker, a->tenants, &a->q, why);
    return err ? err : sf_span_path_read(call, &a->q, &a->trace, &a->span, why);
}

bool sf_spans_profile(struct sf_call *call, struct sf_worker *worker)
{
    struct asked a = {0};
    struct sf_why why = {0};
    struct sf_span_profile profile;
    struct sf_span_profile_want want = {0};
    enum sf_err err = spans_ask(call, worker, &a, &why);
    if (!err)
        err = sf_call_check_data(&a.q, &why);
    if (!err)
        err = sf_params_bool(call->request, SF_STR("self"), &want.is_self, &why);
    if (!err)
        err = sf_params_bool(call->request, SF_STR("timeline"), &want.has_timeline, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    sf_str format = sf_params_word(call->request, "format", a.q.req);
    sf_str part = sf_params_word(call->request, "part", a.q.req);
    struct sf_store *store = atomic_load(&call->service->store);
    want.trace = a.trace;
    want.span = a.span;
    want.type = sf_params_word(call->request, "type", a.q.req);
    if (part.len > 0 && want.type.len > 0)
        err = sf_fail(&why, SF_ERR_INPUT,
                      "a part of the time breakdown comes from all types: leave out type=");
    else
        err = part.len > 0
                  ? sf_span_ledger_profile(store, a.trace, a.span, part, &a.q, &profile, &why)
                  : sf_span_profile_best(store, &want, &a.q, &profile, &why);
    if (!err && sf_own_form_is_json(format)) {
        sf_call_ok(call, "application/json");
        err = sf_span_profile_json(&profile, &call->response->body, &why);
    } else if (!err) {
        if (sf_own_form_is_text(format))
            sf_span_profile_words(&profile, &call->response->body);
        err = sf_own_form_give(call, format, &profile.view, a.q.req, &why);
    }
    return err ? sf_call_fail(call, err, &why) : true;
}

bool sf_spans_ledger(struct sf_call *call, struct sf_worker *worker)
{
    struct asked a = {0};
    struct sf_why why = {0};
    struct sf_ledger_view view;
    enum sf_err err = spans_ask(call, worker, &a, &why);
    if (!err)
        err = sf_call_check_data(&a.q, &why);
    if (!err)
        err = sf_span_ledger_make(atomic_load(&call->service->store), a.trace, a.span, &a.q, &view,
                                  &why);
    if (err)
        return sf_call_fail(call, err, &why);
    if (sf_own_form_is_text(sf_params_word(call->request, "format", a.q.req))) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        sf_ledger_text(&view, TEXT_COLUMNS, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_ledger_json(&view, &call->response->body);
    }
    return true;
}

bool sf_spans_trace_flame(struct sf_call *call, struct sf_worker *worker)
{
    struct asked a = {0};
    struct sf_why why = {0};
    struct sf_trace_flame_view view;
    enum sf_trace_flame_by weight = SF_TRACE_FLAME_SAMPLES;
    enum sf_err err = sf_params_trace_id(call->arg, &a.trace, &why);
    if (!err)
        err = sf_call_query(call, worker, a.tenants, &a.q, &why);
    if (!err)
        err = sf_call_check_data(&a.q, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    sf_str format = sf_params_word(call->request, "format", a.q.req);
    sf_str type = sf_params_word(call->request, "type", a.q.req);
    struct sf_store *store = atomic_load(&call->service->store);
    bool has_waits = false;
    err = sf_trace_flame_parse(sf_params_word(call->request, "by", a.q.req), &weight, &why);
    if (!err)
        err = sf_params_bool(call->request, SF_STR("waits"), &has_waits, &why);
    if (!err && has_waits && type.len > 0)
        err = sf_fail(&why, SF_ERR_INPUT,
                      "a graph with waits comes from all types: leave out type=");
    if (!err)
        err = has_waits ? sf_trace_flame_make_time(store, a.trace, weight, &a.q, &view, &why)
                        : sf_trace_flame_make(store, a.trace, type, weight, &a.q, &view, &why);
    if (!err && sf_own_form_is_json(format)) {
        sf_call_ok(call, "application/json");
        err = sf_trace_flame_json(&view, &call->response->body, &why);
    } else if (!err) {
        if (sf_own_form_is_text(format))
            sf_trace_flame_words(&view, &call->response->body);
        err = sf_own_form_give(call, format, &view.view, a.q.req, &why);
    }
    return err ? sf_call_fail(call, err, &why) : true;
}
