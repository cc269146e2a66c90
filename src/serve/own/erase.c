#include "serve/own/erase.h"

#include <stdio.h>

#include "os/clock.h"
#include "serve/params.h"
#include "serve/tenant.h"
#include "wire/json.h"
#include "wire/time_text.h"

enum { MAX_TRACES = 10000, MAX_BODY_LEN = 1 << 20 };

static enum sf_err add_trace(struct sf_erase_request *e, sf_str text, struct sf_arena *req,
                             struct sf_why *why)
{
    sf_trace_id *ids = (sf_trace_id *)(uintptr_t)e->which.trace_ids;
    if (!ids)
        ids = sf_arena_new_n(req, MAX_TRACES, sizeof(*ids));
    if (!ids || e->which.n_traces == MAX_TRACES)
        return sf_fail(why, SF_ERR_LIMIT, "at most %d traces are erased at once", MAX_TRACES);
    e->which.trace_ids = ids;
    enum sf_err err = sf_params_trace_id(text, &ids[e->which.n_traces], why);
    if (!err)
        e->which.n_traces++;
    return err;
}

static enum sf_err read_time(struct sf_json *j, int64_t now_ns, int64_t *out_ns, struct sf_why *why)
{
    if (sf_json_peek(j) == SF_JSON_NUMBER) {
        double v = sf_json_f64(j);
        char text[32];
        snprintf(text, sizeof(text), v < 9e9 ? "%.9f" : "%.0f", v);
        return sf_time_text_parse(sf_str_from(text), now_ns, out_ns)
                   ? SF_OK
                   : sf_fail(why, SF_ERR_INPUT, "%s is no time", text);
    }
    sf_str text = sf_json_str(j);
    if (!sf_json_ok(j) || text.len == 0 || sf_time_text_parse(text, now_ns, out_ns))
        return SF_OK;
    return sf_fail(why, SF_ERR_INPUT, "%.*s is no time; use unix seconds, RFC 3339 or now-15m",
                   SF_STR_ARG(sf_str_part(text, 0, 60)));
}

static enum sf_err read_traces(struct sf_json *j, struct sf_erase_request *e, struct sf_arena *req,
                               struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (!sf_json_array(j))
        return SF_OK;
    while (!err && sf_json_item(j)) {
        sf_str id = sf_json_str(j);
        if (sf_json_ok(j))
            err = add_trace(e, id, req, why);
    }
    return err;
}

enum sf_err sf_erase_parse_json(sf_str body, int64_t now_ns, struct sf_arena *req,
                                struct sf_erase_request *out, struct sf_why *why)
{
    struct sf_json j;
    struct sf_erase_request e = {0};
    enum sf_err err = SF_OK;
    sf_str key;
    sf_json_init(&j, body, req);
    if (!sf_json_object(&j) && sf_json_ok(&j))
        return sf_fail(why, SF_ERR_INPUT, "the body must be a JSON object");
    while (!err && sf_json_key(&j, &key)) {
        if (sf_str_eq(key, SF_STR("traces")))
            err = read_traces(&j, &e, req, why);
        else if (sf_str_eq(key, SF_STR("service")))
            e.which.service = sf_json_str(&j);
        else if (sf_str_eq(key, SF_STR("from")))
            err = read_time(&j, now_ns, &e.which.from_ns, why);
        else if (sf_str_eq(key, SF_STR("until")))
            err = read_time(&j, now_ns, &e.which.to_ns, why);
        else if (sf_str_eq(key, SF_STR("all")))
            e.is_all = sf_json_bool(&j);
        else /* an unknown word may have been meant to narrow: never erase more than was meant */
            return sf_fail(why, SF_ERR_INPUT,
                           "unknown key %.*s; known are traces, service, from, until, all",
                           SF_STR_ARG(sf_str_part(key, 0, 60)));
    }
    if (!err && sf_json_end(&j))
        *out = e;
    return err ? err : sf_json_why(&j, "body", why);
}

static enum sf_err param_time(const struct sf_request *r, const char *name, int64_t now_ns,
                              struct sf_buf *room, int64_t *out_ns, struct sf_why *why)
{
    if (!sf_request_param(r, sf_str_from(name), room) ||
        sf_time_text_parse(sf_buf_str(room), now_ns, out_ns))
        return SF_OK;
    return sf_fail(why, SF_ERR_INPUT, "%s=%.*s is no time", name,
                   SF_STR_ARG(sf_str_part(sf_buf_str(room), 0, 60)));
}

enum sf_err sf_erase_parse_params(const struct sf_request *r, int64_t now_ns, struct sf_arena *req,
                                  struct sf_erase_request *out, struct sf_why *why)
{
    struct sf_buf room = {.max = SF_LIMIT_TARGET_LEN};
    struct sf_erase_request e = {0};
    enum sf_err err = SF_OK;
    if (sf_request_param(r, SF_STR("service"), &room) &&
        !sf_arena_copy(req, sf_buf_str(&room), &e.which.service))
        err = SF_ERR_LIMIT;
    if (!err)
        err = param_time(r, "from", now_ns, &room, &e.which.from_ns, why);
    if (!err)
        err = param_time(r, "until", now_ns, &room, &e.which.to_ns, why);
    if (!err && sf_request_param(r, SF_STR("all"), &room))
        e.is_all = sf_str_eq(sf_buf_str(&room), SF_STR("true"));
    if (!err && sf_request_param(r, SF_STR("trace"), &room)) {
        sf_str rest = sf_buf_str(&room), id;
        while (!err && sf_str_split_next(&rest, ',', &id))
            err = add_trace(&e, id, req, why);
    }
    sf_buf_done(&room);
    if (!err)
        *out = e;
    return err;
}

enum sf_err sf_erase_check(struct sf_erase_request *e, struct sf_why *why)
{
    struct sf_selector *w = &e->which;
    bool has_range = w->from_ns || w->to_ns;
    int n = (w->n_traces > 0) + (w->service.len > 0) + e->is_all;
    if (n > 1)
        return sf_fail(why, SF_ERR_INPUT, "name traces, or a service, or all: only one of them");
    if (n == 0 && !has_range)
        return sf_fail(why, SF_ERR_INPUT,
                       "nothing to erase was named: give traces, service, a range or all");
    if (has_range && w->to_ns == 0)
        w->to_ns = INT64_MAX;
    if (has_range && w->from_ns >= w->to_ns)
        return sf_fail(why, SF_ERR_INPUT, "from must be before until");
    w->what = w->n_traces ? SF_SELECT_TRACES : w->service.len ? SF_SELECT_SERVICE : SF_SELECT_ALL;
    return SF_OK;
}

static enum sf_err parse(struct sf_call *call, struct sf_worker *worker, struct sf_erase_request *e,
                         struct sf_why *why)
{
    const struct sf_exchange_body *body = sf_exchange_body(call->ex);
    int64_t now_ns = sf_clock_wall_ns();
    if (body->len == 0)
        return sf_erase_parse_params(call->request, now_ns, &worker->arena, e, why);
    if (call->request->coding != SF_CODING_NONE)
        return sf_fail(why, SF_ERR_UNSUPPORTED, "send this body without content-encoding");
    if (body->is_spooled || body->len > MAX_BODY_LEN)
        return sf_fail(why, SF_ERR_LIMIT, "the body may have 1 MiB");
    return sf_erase_parse_json(sf_bytes_str(body->memory), now_ns, &worker->arena, e, why);
}

bool sf_erase_matching(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_store *store = atomic_load(&call->service->store);
    struct sf_erase_request e = {0};
    struct sf_why why = {0};
    uint32_t tenants[SF_TENANTS_MAX];
    size_t n = 0;
    enum sf_err err = parse(call, worker, &e, &why);
    if (!err)
        err = sf_erase_check(&e, &why);
    if (!err)
        err = sf_tenant_find(store, call->tenant, false, tenants, &n, &why);
    if (!err && n > 0) {
        sf_service_say(call->service, SF_SAY_INFO,
                       "serve: erase tenant=%.*s traces=%u service=%.*s", SF_STR_ARG(call->tenant),
                       e.which.n_traces, SF_STR_ARG(sf_str_part(e.which.service, 0, 60)));
        err = store->ops->erase(store, tenants[0], &e.which, &why);
    }
    if (err)
        return sf_call_fail(call, err, &why);
    sf_call_ok(call, "application/json");
    sf_buf_add_str(&call->response->body, SF_STR("{\"erased\":true}\n"));
    return true;
}

bool sf_erase_flush(struct sf_call *call, __attribute__((unused)) struct sf_worker *worker)
{
    struct sf_store *store = atomic_load(&call->service->store);
    struct sf_why why = {0};
    enum sf_err err = store->ops->flush(store, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    sf_call_ok(call, "application/json");
    sf_buf_add_str(&call->response->body, SF_STR("{\"flushed\":true}\n"));
    return true;
}
