#include "serve/own/balance.h"

#include "base/time_unit.h"
#include "exec/tenant.h"
#include "join/balance.h"
#include "os/clock.h"
#include "render/balance.h"
#include "serve/params.h"

bool sf_balance_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_arena scratch = {0};
    struct sf_query_ctx q;
    struct sf_balance_want want = {.scratch = &scratch};
    struct sf_balance view = {0};
    struct sf_why why = {0};
    uint64_t limit = UINT64_MAX; /* not given */
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        want.service = sf_params_word(call->request, "service", q.req);
    if (!err && want.service.len == 0)
        err = sf_fail(&why, SF_ERR_INPUT, "ask for service=NAME");
    if (!err)
        err = sf_params_range(call->request, sf_clock_wall_ns(), 10 * SF_NS_PER_MIN, &want.from_ns,
                              &want.until_ns, &why);
    if (!err)
        err = sf_params_count(call->request, SF_STR("limit"), &limit, &why);
    if (!err && limit != UINT64_MAX && (limit == 0 || limit > SF_BALANCE_SPANS))
        err = sf_fail(&why, SF_ERR_INPUT, "limit is 1 to %d spans", SF_BALANCE_SPANS);
    want.limit = limit == UINT64_MAX ? 0 : (uint32_t)limit;
    if (!err)
        err = sf_call_check_data(&q, &why);
    if (!err && !sf_arena_init(&scratch, call->service->query_memory_len))
        err = sf_no_memory(&why, "the query");
    if (!err) {
        want.instance = sf_params_word(call->request, "instance", q.req);
        want.type = sf_params_word(call->request, "type", q.req);
        err = sf_balance_make(atomic_load(&call->service->store), &want, &q, &view, &why);
    }
    sf_arena_done(&scratch);
    if (err)
        return sf_call_fail(call, err, &why);
    sf_call_ok(call, "application/json");
    sf_balance_json(&view, &call->response->body);
    return true;
}
