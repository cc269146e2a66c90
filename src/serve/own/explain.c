#include "serve/own/explain.h"

#include "base/time_unit.h"
#include "exec/tenant.h"
#include "join/explain.h"
#include "join/explain_diff.h"
#include "join/explain_set.h"
#include "join/span_find.h"
#include "os/clock.h"
#include "render/explain.h"
#include "serve/own/split.h"
#include "serve/params.h"

static const char one_of[] = "set one of span=ID (and trace=ID), trace=ID, q=QUERY, q=QUERY and "
                             "split=p95, service=NAME with version= (and against=)";

struct asked {
    struct sf_explain_trace_want one;
    struct sf_explain_set_want set;
    struct sf_explain_diff_want diff;
};

static enum sf_err read_range(const struct sf_request *r, struct asked *a, struct sf_why *why)
{
    enum sf_err err = sf_params_range(r, sf_clock_wall_ns(), SF_NS_PER_HOUR, &a->set.from_ns,
                                      &a->set.to_ns, why);
    a->diff.from_ns = a->set.from_ns;
    a->diff.to_ns = a->set.to_ns;
    return err;
}

static enum sf_err explain_read_ids(sf_str trace, sf_str span, struct asked *a, struct sf_why *why)
{
    if (span.len > 0 && (!sf_span_id_parse(span, &a->one.span) || a->one.span == 0))
        return sf_fail(why, SF_ERR_INPUT, "a span id is up to 16 hex digits, not '%.*s'",
                       SF_STR_ARG(sf_str_part(span, 0, 40)));
    return trace.len > 0 ? sf_params_trace_id(trace, &a->one.trace, why) : SF_OK;
}

static enum sf_err explain_read_want(const struct sf_request *r, struct sf_arena *req,
                                     struct asked *a, struct sf_why *why)
{
    sf_str trace = sf_params_word(r, "trace", req), span = sf_params_word(r, "span", req);
    sf_str query = sf_params_word(r, "q", req), split = sf_params_word(r, "split", req);
    a->diff.service = sf_params_word(r, "service", req);
    a->diff.version = sf_params_word(r, "version", req);
    a->diff.other = sf_params_word(r, "against", req);
    a->one.focus = a->set.focus = sf_params_word(r, "focus", req);
    bool has_ids = trace.len + span.len > 0;
    bool has_deploy = a->diff.service.len + a->diff.version.len + a->diff.other.len > 0;
    if (has_ids + (query.len > 0) + has_deploy != 1 || (split.len > 0 && query.len == 0) ||
        (has_deploy && (a->diff.service.len == 0 || a->diff.version.len == 0)))
        return sf_fail(why, SF_ERR_INPUT, "%s", one_of);
    if (a->one.focus.len > 0 && (split.len > 0 || has_deploy))
        return sf_fail(why, SF_ERR_INPUT,
                       "focus= goes with span=, trace= or q= alone, not with a difference");
    if (has_ids) {
        enum sf_err err = sf_params_no_range(r, "a trace or span", why);
        return err ? err : explain_read_ids(trace, span, a, why);
    }
    if (split.len > 0) {
        enum sf_err err = sf_split_read(split, &a->diff.split, why);
        if (err)
            return err;
        a->diff.query = query;
        a->diff.split_word = split;
    } else {
        a->set.query = query;
    }
    return read_range(r, a, why);
}

static enum sf_err explain_make(struct sf_call *call, struct asked *a, struct sf_arena *scratch,
                                struct sf_query_ctx *q, struct sf_explain_view *out,
                                struct sf_why *why)
{
    struct sf_store *store = atomic_load(&call->service->store);
    a->set.scratch = a->diff.scratch = scratch;
    if (a->set.query.len > 0)
        return sf_explain_set(store, &a->set, q, out, why);
    if (a->diff.query.len > 0 || a->diff.service.len > 0)
        return sf_explain_diff(store, &a->diff, q, out, why);
    enum sf_err err = SF_OK;
    if (sf_trace_id_is_zero(a->one.trace))
        err = sf_span_find(store, a->one.span, 0, 0, scratch, q, &a->one.trace, why);
    return err ? err : sf_explain_trace(store, &a->one, q, out, why);
}

bool sf_explain_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_arena scratch = {0};
    struct asked a = {0};
    struct sf_explain_view view = {0};
    struct sf_why why = {0};
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = explain_read_want(call->request, q.req, &a, &why);
    if (!err)
        err = sf_call_check_data(&q, &why);
    if (!err && !sf_arena_init(&scratch, call->service->query_memory_len))
        err = sf_no_memory(&why, "the query");
    if (!err)
        err = explain_make(call, &a, &scratch, &q, &view, &why);
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
