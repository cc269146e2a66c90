#include "serve/own/coverage.h"

#include "base/time_unit.h"
#include "exec/tenant.h"
#include "join/coverage.h"
#include "os/clock.h"
#include "render/coverage.h"
#include "serve/own/own_form.h"
#include "serve/own/span_path.h"
#include "serve/params.h"

/* The URL by which the client reached this server; a default when the Host header is not a plain
 * name or address. */
static sf_str server_name(const struct sf_request *r, struct sf_arena *req)
{
    sf_str host = sf_request_header(r, SF_STR("host")), out;
    bool is_plain = host.len > 0 && host.len < 200;
    for (size_t i = 0; i < host.len && is_plain; i++) {
        char c = host.p[i];
        is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                   c == '.' || c == '-' || c == ':' || c == '[' || c == ']';
    }
    return is_plain && sf_arena_print(req, &out, "http://%.*s", SF_STR_ARG(host))
               ? out
               : SF_STR("http://localhost:4040");
}

static bool coverage_answer(struct sf_call *call, struct sf_coverage_want want,
                            struct sf_query_ctx *q)
{
    struct sf_arena scratch = {0};
    struct sf_coverage view = {0};
    struct sf_why why = {0};
    enum sf_err err = sf_call_check_data(q, &why);
    if (!err && !sf_arena_init(&scratch, call->service->query_memory_len))
        err = sf_no_memory(&why, "the query");
    want.scratch = &scratch;
    want.type = sf_params_word(call->request, "type", q->req);
    want.server = server_name(call->request, q->req);
    if (!err)
        err = sf_coverage_make(atomic_load(&call->service->store), &want, q, &view, &why);
    sf_arena_done(&scratch);
    if (err)
        return sf_call_fail(call, err, &why);
    if (sf_own_form_is_text(sf_params_word(call->request, "format", q->req))) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        sf_coverage_text(&view, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_coverage_json(&view, &call->response->body);
    }
    return true;
}

bool sf_coverage_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_coverage_want want = {0};
    struct sf_why why = {0};
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        want.service = sf_params_word(call->request, "service", q.req);
    if (!err && want.service.len == 0)
        err = sf_fail(&why, SF_ERR_INPUT, "ask for service=NAME");
    if (!err)
        err = sf_params_range(call->request, sf_clock_wall_ns(), SF_NS_PER_HOUR, &want.from_ns,
                              &want.until_ns, &why);
    return err ? sf_call_fail(call, err, &why) : coverage_answer(call, want, &q);
}

bool sf_coverage_span(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_coverage_want want = {.has_span = true};
    struct sf_why why = {0};
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = sf_span_path_read(call, &q, &want.trace, &want.span, &why);
    return err ? sf_call_fail(call, err, &why) : coverage_answer(call, want, &q);
}
