#include "serve/own/compare.h"

#include "base/time_unit.h"
#include "exec/tenant.h"
#include "join/compare.h"
#include "os/clock.h"
#include "render/comparison.h"
#include "serve/own/split.h"
#include "serve/params.h"

static enum sf_err compare_read_want(const struct sf_request *r, struct sf_arena *req,
                                     struct sf_compare_want *want, struct sf_why *why)
{
    sf_str at = sf_params_word(r, "split", req);
    want->query = sf_params_word(r, "q", req);
    want->left = sf_params_word(r, "left", req);
    want->right = sf_params_word(r, "right", req);
    want->by = sf_params_word(r, "by", req);
    want->type = sf_params_word(r, "type", req);
    want->is_by_error = sf_str_eq(at, SF_STR("errors"));
    bool has_two = want->left.len > 0 && want->right.len > 0;
    bool has_any = want->left.len + want->right.len > 0;
    if (want->by.len > 0 && (want->query.len == 0 || !has_two))
        return sf_fail(why, SF_ERR_INPUT,
                       "by=ATTRIBUTE needs q=, and two of its values as left= and right=");
    if (want->by.len == 0 && ((want->query.len > 0) == has_two || (!has_two && has_any)))
        return sf_fail(why, SF_ERR_INPUT,
                       "give two queries, left= and right=, or one, q=, with split=p95");
    enum sf_err err = want->is_by_error
                          ? SF_OK
                          : sf_split_read(at.len > 0 ? at : SF_STR("p95"), &want->split, why);
    return err ? err
               : sf_params_range(r, sf_clock_wall_ns(), SF_NS_PER_HOUR, &want->from_ns,
                                 &want->to_ns, why);
}

bool sf_compare_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_arena scratch = {0};
    struct sf_compare_want want = {.scratch = &scratch};
    struct sf_comparison answer = {0};
    struct sf_why why = {0};
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = compare_read_want(call->request, q.req, &want, &why);
    if (!err)
        err = sf_call_check_data(&q, &why);
    if (!err && !sf_arena_init(&scratch, call->service->query_memory_len))
        err = sf_no_memory(&why, "the query");
    if (!err)
        err = sf_compare_make(atomic_load(&call->service->store), &want, &q, &answer, &why);
    sf_arena_done(&scratch);
    if (err)
        return sf_call_fail(call, err, &why);
    if (sf_str_eq(sf_params_word(call->request, "format", q.req), SF_STR("text"))) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        sf_comparison_text(&answer, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_comparison_json(&answer, &call->response->body);
    }
    return true;
}
