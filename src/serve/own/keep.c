#include "serve/own/keep.h"

#include "base/time_unit.h"
#include "exec/tenant.h"
#include "join/keep_plan.h"
#include "os/clock.h"
#include "render/keep_plan.h"
#include "serve/own/own_form.h"
#include "serve/params.h"

enum { MAX_CPU_PERCENT = 100000 }; /* one request may use many CPUs */

/* "2", "0.5" or "2%", in hundredths of a percent. Untouched when it is not given. */
static enum sf_err keep_read_share(const struct sf_request *r, struct sf_arena *req, uint32_t *out,
                                   struct sf_why *why)
{
    sf_str text = sf_params_word(r, "baseline", req);
    uint64_t whole = 0, part = 0;
    size_t at;
    if (text.len == 0)
        return SF_OK;
    if (text.p[text.len - 1] == '%')
        text.len--;
    sf_str after = SF_STR("0"), before = text;
    if (sf_str_find(text, SF_STR("."), &at)) {
        before = sf_str_part(text, 0, at);
        after = sf_str_part(text, at + 1, text.len - at - 1);
    }
    if (!sf_str_to_u64(before, &whole) || after.len == 0 || after.len > 2 ||
        !sf_str_to_u64(after, &part) || whole > 100)
        return sf_fail(why, SF_ERR_INPUT, "baseline is a percentage from 0 to 100, as 1 or 0.25");
    part = text.len == before.len ? 0 : after.len == 1 ? part * 10 : part;
    if (whole * 100 + part > 10000)
        return sf_fail(why, SF_ERR_INPUT, "baseline is a percentage from 0 to 100, as 1 or 0.25");
    *out = (uint32_t)(whole * 100 + part);
    return SF_OK;
}

static bool keep_is_given(const struct sf_request *r, const char *name, struct sf_arena *req)
{
    return sf_params_word(r, name, req).len > 0;
}

/* Given values apply to all services; others are as configured. */
static void keep_give_all(const struct sf_request *r, struct sf_arena *req,
                          struct sf_keep_rules *rules, struct sf_keep_service *services)
{
    bool has_slow = keep_is_given(r, "slow", req), has_cpu = keep_is_given(r, "cpu", req);
    bool has_errors = keep_is_given(r, "errors", req);
    bool has_baseline = keep_is_given(r, "baseline", req);
    for (uint32_t i = 0; i < rules->n_services; i++) {
        struct sf_keep_rule *to = &services[i].rule;
        services[i] = rules->services[i];
        if (has_slow)
            to->slow_ns = rules->all.slow_ns;
        if (has_cpu)
            to->cpu_percent = rules->all.cpu_percent;
        if (has_errors)
            to->has_errors = rules->all.has_errors;
        if (has_baseline)
            to->baseline_per_10000 = rules->all.baseline_per_10000;
    }
    rules->services = services;
}

static enum sf_err keep_read_rules(const struct sf_request *r, struct sf_arena *req,
                                   struct sf_keep_rules *rules, struct sf_why *why)
{
    struct sf_keep_rule *rule = &rules->all;
    struct sf_keep_service *services = sf_arena_new_n(req, rules->n_services + 1u,
                                                      sizeof(*services));
    uint64_t cpu = rule->cpu_percent;
    enum sf_err err = services ? sf_params_duration(r, SF_STR("slow"), &rule->slow_ns, why)
                               : sf_no_room(why, "the query");
    if (!err)
        err = sf_params_count(r, SF_STR("cpu"), &cpu, why);
    if (!err && cpu > MAX_CPU_PERCENT)
        err = sf_fail(why, SF_ERR_INPUT, "cpu is a percentage of one processor, at most %d",
                      MAX_CPU_PERCENT);
    rule->cpu_percent = (uint32_t)cpu;
    if (!err)
        err = sf_params_bool(r, SF_STR("errors"), &rule->has_errors, why);
    if (!err)
        err = keep_read_share(r, req, &rule->baseline_per_10000, why);
    if (!err)
        keep_give_all(r, req, rules, services);
    return err;
}

bool sf_keep_handle(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_arena scratch = {0};
    struct sf_query_ctx q;
    struct sf_keep_plan_want want = {.rules = call->service->keep_rules, .scratch = &scratch};
    struct sf_keep_plan view = {0};
    struct sf_why why = {0};
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = sf_params_range(call->request, sf_clock_wall_ns(), SF_NS_PER_DAY, &want.from_ns,
                              &want.until_ns, &why);
    if (!err)
        err = keep_read_rules(call->request, q.req, &want.rules, &why);
    if (!err)
        err = sf_call_check_data(&q, &why);
    if (!err && !sf_arena_init(&scratch, call->service->query_memory_len))
        err = sf_no_memory(&why, "the query");
    if (!err)
        err = sf_keep_plan_make(atomic_load(&call->service->store), &want, &q, &view, &why);
    sf_arena_done(&scratch);
    if (err)
        return sf_call_fail(call, err, &why);
    if (sf_own_form_is_text(sf_params_word(call->request, "format", q.req))) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        sf_keep_plan_text(&view, &call->response->body);
    } else {
        sf_call_ok(call, "application/json");
        sf_keep_plan_json(&view, &call->response->body);
    }
    return true;
}
