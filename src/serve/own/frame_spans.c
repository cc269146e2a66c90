#include "serve/own/frame_spans.h"

#include "base/time_unit.h"
#include "exec/tenant.h"
#include "join/frame_spans.h"
#include "os/clock.h"
#include "render/frame_spans.h"
#include "serve/own/own_form.h"
#include "serve/params.h"

enum { LIMIT = 20, MAX_LIMIT = 1000 };

static enum sf_err frame_spans_read_want(const struct sf_request *r, struct sf_arena *req,
                                         struct sf_frame_spans_want *want, struct sf_why *why)
{
    uint64_t limit = LIMIT;
    enum sf_err err = sf_params_count(r, SF_STR("limit"), &limit, why);
    want->function = sf_params_word(r, "function", req);
    want->pattern = sf_params_word(r, "pattern", req);
    want->service = sf_params_word(r, "service", req);
    want->type = sf_params_word(r, "type", req);
    want->limit = (uint32_t)limit;
    if (err)
        return err;
    if (limit == 0 || limit > MAX_LIMIT)
        return sf_fail(why, SF_ERR_INPUT, "limit is a number from 1 to %d", MAX_LIMIT);
    if (want->function.len > 0 && want->pattern.len > 0)
        return sf_fail(why, SF_ERR_INPUT, "give function= or pattern=, not both");
    if (want->function.len + want->pattern.len + want->service.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "give function=NAME, pattern=REGEX or service=NAME");
    return sf_params_range(r, sf_clock_wall_ns(), SF_NS_PER_HOUR, &want->from_ns, &want->to_ns,
                           why);
}

bool sf_frame_spans_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_frame_spans_want want = {0};
    struct sf_frame_spans view = {0};
    struct sf_why why = {0};
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = frame_spans_read_want(call->request, q.req, &want, &why);
    if (!err)
        err = sf_call_check_data(&q, &why);
    if (!err)
        err = sf_frame_spans_find(atomic_load(&call->service->store), &want, &q, &view, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    if (sf_own_form_is_text(sf_params_word(call->request, "format", q.req))) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        sf_frame_spans_text(&view, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_frame_spans_json(&view, &call->response->body);
    }
    return true;
}
