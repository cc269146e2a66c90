#include "serve/own/remote.h"

#include "base/time_unit.h"
#include "exec/tenant.h"
#include "os/clock.h"
#include "render/remote_state.h"
#include "serve/own/own_form.h"
#include "serve/params.h"
#include "serve/plain_body.h"

static enum sf_err remote_begin(struct sf_call *call, struct sf_worker *worker, uint32_t *tenants,
                                struct sf_query_ctx *q, struct sf_store **out, struct sf_why *why)
{
    enum sf_err err = sf_call_query_own(call->service, SF_STR("single-tenant"), NULL, worker,
                                        tenants, q, why);
    *out = atomic_load(&call->service->store);
    if (!err && !(*out)->ops->remote_state)
        err = sf_fail(why, SF_ERR_NOT_FOUND,
                      "this server does not ship data: store.remote.url is not set");
    return err;
}

static bool wants_text(const struct sf_call *call, const struct sf_query_ctx *q)
{
    return sf_own_form_is_text(sf_params_word(call->request, "format", q->req));
}

bool sf_remote_state_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_store *store;
    struct sf_remote_state state;
    struct sf_why why = {0};
    enum sf_err err = remote_begin(call, worker, tenants, &q, &store, &why);
    if (!err)
        err = store->ops->remote_state(store, &q, &state, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    if (wants_text(call, &q)) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        sf_remote_state_text(&state, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_remote_state_json(&state, &call->response->body);
    }
    return true;
}

/* GET tells how far a move is; POST begins it. */
static bool remote_answer_move(struct sf_call *call, struct sf_worker *worker, bool is_post)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_store *store;
    struct sf_move_counts move;
    struct sf_why why = {0};
    sf_str to = SF_STR_NONE;
    enum sf_err err = remote_begin(call, worker, tenants, &q, &store, &why);
    if (!err && is_post) {
        to = sf_params_word(call->request, "to", q.req);
        if (!to.len)
            err = sf_fail(&why, SF_ERR_INPUT,
                          "to: the address to move to is missing: that of store.remote.url");
    }
    if (!err)
        err = store->ops->remote_move(store, to, &move, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    if (wants_text(call, &q)) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        sf_remote_state_move_text(&move, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_remote_state_move_json(&move, &call->response->body);
    }
    return true;
}

bool sf_remote_move_handle(struct sf_call *call, struct sf_worker *worker)
{
    return remote_answer_move(call, worker, false);
}

bool sf_remote_move_begin(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_why why = {0};
    enum sf_err err = sf_plain_body_none(call, &why);
    return err ? sf_call_fail(call, err, &why) : remote_answer_move(call, worker, true);
}

bool sf_remote_check_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_store *store;
    struct sf_remote_check check;
    struct sf_why why = {0};
    int64_t since_ns = SF_NS_PER_DAY;
    enum sf_err err = remote_begin(call, worker, tenants, &q, &store, &why);
    if (!err)
        err = sf_params_duration(call->request, SF_STR("since"), &since_ns, &why);
    if (!err)
        err = store->ops->remote_check(store, sf_clock_wall_ns() - since_ns, &q, &check, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    if (wants_text(call, &q)) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        sf_remote_state_check_text(&check, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_remote_state_check_json(&check, &call->response->body);
    }
    return true;
}
