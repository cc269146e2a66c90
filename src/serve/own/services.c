#include "serve/own/services.h"

#include "base/time_unit.h"
#include "exec/services.h"
#include "exec/tenant.h"
#include "os/clock.h"
#include "render/services_json.h"
#include "serve/params.h"

bool sf_services_list(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_services services = {.is_exact = true};
    struct sf_buf service = {.max = SF_LIMIT_PARAM_LEN};
    struct sf_why why = {0};
    enum sf_err err = sf_params_range(call->request, sf_clock_wall_ns(), SF_NS_PER_HOUR,
                                      &services.from_ns, &services.until_ns, &why);
    if (!err)
        err = sf_call_query(call, worker, tenants, &q, &why);
    sf_request_param(call->request, SF_STR("service"), &service);
    if (!err && q.n_tenants > 0)
        err = sf_services_get(atomic_load(&call->service->store), services.from_ns,
                              services.until_ns, sf_buf_str(&service), &q, &services, &why);
    if (err) {
        sf_call_fail(call, err, &why);
    } else {
        sf_call_ok(call, "application/json");
        sf_services_json(&services, &call->response->body);
    }
    sf_buf_done(&service);
    return true;
}
