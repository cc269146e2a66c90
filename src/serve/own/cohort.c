#include "serve/own/cohort.h"

#include "base/time_unit.h"
#include "exec/tenant.h"
#include "join/cohort.h"
#include "join/set_time.h"
#include "os/clock.h"
#include "render/cohort.h"
#include "serve/own/own_form.h"
#include "serve/params.h"

static enum sf_err cohort_read_want(const struct sf_request *r, struct sf_arena *req,
                                    struct sf_cohort_want *want, bool *is_time, struct sf_why *why)
{
    sf_str per = sf_params_word(r, "per", req), time = sf_params_word(r, "time", req);
    enum sf_err err;
    *is_time = sf_str_eq(time, SF_STR("all"));
    want->query = sf_params_word(r, "q", req);
    want->type = sf_params_word(r, "type", req);
    want->is_sum = sf_str_eq(per, SF_STR("all"));
    if (want->query.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "give a TraceQL query, q={ name = \"...\" }");
    if (time.len > 0 && !*is_time)
        return sf_fail(why, SF_ERR_INPUT, "time must be all or omitted, not '%.*s'",
                       SF_STR_ARG(sf_str_part(time, 0, 40)));
    if (per.len > 0 && !want->is_sum && !sf_str_eq(per, SF_STR("span")))
        return sf_fail(why, SF_ERR_INPUT, "per is span or all, not '%.*s'",
                       SF_STR_ARG(sf_str_part(per, 0, 40)));
    err = sf_params_bool(r, SF_STR("self"), &want->is_self, why);
    if (!err && *is_time && (want->type.len > 0 || want->is_self))
        err = sf_fail(why, SF_ERR_INPUT,
                      "time=all comes from all types: leave out type= and self=");
    return err ? err
               : sf_params_range(r, sf_clock_wall_ns(), SF_NS_PER_HOUR, &want->from_ns,
                                 &want->to_ns, why);
}

static enum sf_err cohort_answer(struct sf_call *call, struct sf_cohort_view *view, sf_str format,
                                 struct sf_arena *req, struct sf_why *why)
{
    if (sf_own_form_is_json(format)) {
        sf_call_ok(call, "application/json");
        return sf_cohort_json(view, &call->response->body, why);
    }
    if (sf_own_form_is_text(format))
        sf_cohort_words(view, &call->response->body);
    return sf_own_form_give(call, format, &view->view, req, why);
}

bool sf_cohort_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_arena scratch = {0};
    struct sf_cohort_want want = {.scratch = &scratch};
    struct sf_cohort_view view = {0};
    struct sf_why why = {0};
    bool is_time = false;
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = cohort_read_want(call->request, q.req, &want, &is_time, &why);
    if (!err)
        err = sf_call_check_data(&q, &why);
    if (!err && !sf_arena_init(&scratch, call->service->query_memory_len))
        err = sf_no_memory(&why, "the query");
    if (!err)
        err = (is_time ? sf_set_time_make : sf_cohort_make)(atomic_load(&call->service->store),
                                                            &want, &q, &view, &why);
    sf_arena_done(&scratch);
    if (!err)
        err = cohort_answer(call, &view, sf_params_word(call->request, "format", q.req), q.req,
                            &why);
    return err ? sf_call_fail(call, err, &why) : true;
}
