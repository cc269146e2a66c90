#include "serve/own/profile_read.h"

#include "base/time_unit.h"
#include "exec/tenant.h"
#include "join/profile.h"
#include "os/clock.h"
#include "query/label_selector.h"
#include "serve/own/own_form.h"
#include "serve/params.h"
#include "serve/profile_form.h"

enum { MAX_NODES = 1 << 20, MAX_SITES = 1024 };

struct asked {
    struct sf_profile_ask ask;
    sf_str format;
    sf_str *sites;
    size_t n_sites, n_terms;
    struct sf_stack_term terms[SF_STACK_TERMS];
};

static bool profile_read_param(const struct sf_request *r, const char *name, struct sf_arena *req,
                               sf_str *out)
{
    struct sf_buf val = {.max = SF_LIMIT_PARAM_LEN};
    bool has = sf_request_param(r, sf_str_from(name), &val) && val.len &&
               sf_arena_copy(req, sf_buf_str(&val), out);
    sf_buf_done(&val);
    return has;
}

/* Reads order-service{env=prod}. A service in it is treated as the parameter `service`, for which
 * error messages exist. */
static enum sf_err read_selector(sf_str text, struct sf_arena *req, struct sf_profile_ask *ask,
                                 struct sf_why *why)
{
    struct sf_label_selector selector = {0};
    size_t n = 0;
    enum sf_err err = sf_label_selector_parse_loose(text, req, &selector, why);
    if (err)
        return err;
    for (size_t i = 0; i < selector.n; i++) {
        struct sf_matcher m = selector.list[i];
        if (ask->service.len == 0 && m.op == SF_OP_EQ && sf_str_eq(m.key, SF_STR("service_name")))
            ask->service = m.val;
        else
            selector.list[n++] = m;
    }
    ask->match = selector.list;
    ask->n_match = n;
    return SF_OK;
}

/* call_site=main&call_site=serve: functions from the outermost inwards; frame=parse and similar:
 * functions that a stack must or must not contain. The order given is kept. */
static enum sf_err take_stack_param(sf_str name, sf_str val, struct asked *a, struct sf_arena *req,
                                    struct sf_why *why)
{
    static const struct {
        const char *name;
        enum sf_stack_term_kind kind;
    } kinds[] = {{"frame", SF_STACK_HAS},
                 {"not_frame", SF_STACK_LACKS},
                 {"frame_regex", SF_STACK_HAS_PATTERN},
                 {"not_frame_regex", SF_STACK_LACKS_PATTERN}};
    bool is_site = sf_str_eq(name, SF_STR("call_site"));
    size_t kind = 0, n_kinds = sizeof(kinds) / sizeof(kinds[0]);
    sf_str *to;
    while (kind < n_kinds && !sf_str_eq(name, sf_str_from(kinds[kind].name)))
        kind++;
    if ((!is_site && kind == n_kinds) || val.len == 0)
        return SF_OK;
    if (is_site && a->n_sites == MAX_SITES)
        return sf_fail(why, SF_ERR_INPUT, "more than %d call_site parameters", MAX_SITES);
    if (!is_site && a->n_terms == SF_STACK_TERMS)
        return sf_fail(why, SF_ERR_INPUT, "more than %d names and patterns of frames",
                       SF_STACK_TERMS);
    if (is_site && !a->sites)
        a->sites = sf_arena_new_n(req, MAX_SITES, sizeof(*a->sites));
    if (is_site && !a->sites)
        return sf_no_room(why, "call_site");
    to = is_site ? &a->sites[a->n_sites++] : &a->terms[a->n_terms].text;
    if (!is_site)
        a->terms[a->n_terms++].kind = kinds[kind].kind;
    return sf_arena_copy(req, val, to) ? SF_OK : sf_no_room(why, "the name of a frame");
}

static enum sf_err profile_read_stacks(const struct sf_request *r, struct sf_arena *req,
                                       struct asked *a, struct sf_why *why)
{
    struct sf_buf name = {.max = SF_LIMIT_PARAM_LEN}, val = {.max = SF_LIMIT_PARAM_LEN};
    sf_str rest = r->query;
    enum sf_err err = SF_OK;
    while (!err && sf_request_param_next(&rest, &name, &val))
        err = take_stack_param(sf_buf_str(&name), sf_buf_str(&val), a, req, why);
    sf_buf_done(&name);
    sf_buf_done(&val);
    return err;
}

/* Reads `ids`: whether samples keep their trace and span ids, which only some formats can
 * express. */
static enum sf_err profile_read_ids(sf_str text, struct asked *a, struct sf_why *why)
{
    a->ask.has_ids = sf_str_eq(text, SF_STR("true"));
    if (!a->ask.has_ids && !sf_str_eq(text, SF_STR("false")))
        return sf_fail(why, SF_ERR_INPUT, "ids is true or false");
    if (a->ask.has_ids && !sf_str_eq(a->format, SF_STR("pprof")) &&
        !sf_str_eq(a->format, SF_STR("otlp")))
        return sf_fail(why, SF_ERR_INPUT, "ids=true: only the formats pprof and otlp keep them");
    if (a->ask.has_ids && a->ask.span_id.len)
        return sf_fail(why, SF_ERR_INPUT,
                       "ids=true cannot be combined with span_id: all samples belong to that span");
    return SF_OK;
}

static enum sf_err profile_read_parameters(const struct sf_request *r, struct sf_arena *req,
                                           struct asked *a, struct sf_why *why)
{
    sf_str text;
    uint64_t max_nodes = 0;
    enum sf_err err = SF_OK;
    if (!profile_read_param(r, "app", req, &a->ask.service))
        (void)profile_read_param(r, "service", req, &a->ask.service);
    if (profile_read_param(r, "selector", req, &text))
        err = read_selector(text, req, &a->ask, why);
    if (!err)
        err = profile_read_stacks(r, req, a, why);
    (void)profile_read_param(r, "type", req, &a->ask.type);
    (void)profile_read_param(r, "span_id", req, &a->ask.span_id);
    a->format = SF_STR("flamegraph");
    (void)profile_read_param(r, "format", req, &a->format);
    if (!err && profile_read_param(r, "trace_id", req, &text)) {
        a->ask.has_trace = true;
        err = sf_params_trace_id(text, &a->ask.trace_id, why);
    }
    if (!err)
        err = sf_params_count(r, SF_STR("max_nodes"), &max_nodes, why);
    if (!err && max_nodes > MAX_NODES)
        err = sf_fail(why, SF_ERR_INPUT, "max_nodes is at most %d", MAX_NODES);
    a->ask.max_nodes = (uint32_t)max_nodes;
    if (!err && profile_read_param(r, "ids", req, &text))
        err = profile_read_ids(text, a, why);
    if (!err && (a->ask.span_id.len || a->ask.has_trace) &&
        !profile_read_param(r, "from", req, &text) && !profile_read_param(r, "until", req, &text))
        return SF_OK; /* an id selects its samples at any time */
    return err ? err
               : sf_params_range(r, sf_clock_wall_ns(), SF_NS_PER_HOUR, &a->ask.from_ns,
                                 &a->ask.until_ns, why);
}

static enum sf_err profile_read_make_filter(struct asked *a, struct sf_stack_filter **out,
                                            struct sf_why *why)
{
    struct sf_stack_ask ask = {a->sites, a->n_sites, a->terms, a->n_terms};
    enum sf_err err = sf_stack_filter_new(&ask, out, why);
    a->ask.stacks = err ? NULL : *out;
    return err;
}

static bool wants_page(const struct sf_request *r)
{
    size_t at;
    return sf_str_find(sf_request_header(r, SF_STR("accept")), SF_STR("text/html"), &at);
}

bool sf_profile_read_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct asked a = {0};
    struct sf_profile_view view;
    const struct sf_profile_form *form = NULL;
    struct sf_stack_filter *stacks = NULL;
    struct sf_why why = {0};
    enum sf_err err = profile_read_parameters(call->request, &worker->arena, &a, &why);
    if (!err)
        err = sf_profile_form_find(a.format, wants_page(call->request), &form, &why);
    if (!err)
        err = profile_read_make_filter(&a, &stacks, &why);
    if (!err)
        err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = sf_profile_get(atomic_load(&call->service->store), &a.ask, &q, &view, &why);
    sf_stack_filter_free(stacks);
    if (!err)
        err = sf_profile_form_render(form, &view, &worker->arena, &call->response->body, &why);
    if (!err && !sf_buf_ok(&call->response->body))
        err = sf_no_memory(&why, "the answer");
    if (err)
        return sf_call_fail(call, err, &why);
    sf_call_ok(call, form->content_type);
    call->response->is_uncompressible = form->is_packed;
    sf_own_form_say(call->response, &view);
    if (!q.is_exact)
        sf_response_header(call->response, "x-spanflame-exact", SF_STR("false"));
    return true;
}
