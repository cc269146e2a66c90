#include "serve/own/pins.h"

#include "base/limits.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "exec/tenant.h"
#include "exec/traces.h"
#include "os/clock.h"
#include "render/keep_state.h"
#include "render/units.h"
#include "serve/kept_text.h"
#include "serve/own/own_form.h"
#include "serve/params.h"
#include "serve/plain_body.h"
#include "wire/time_text.h"

static const int64_t USUAL_NS = 7 * SF_NS_PER_DAY;

/* ---- one pin ---- */

static void pins_write_time(struct sf_json_writer *w, sf_str key, int64_t ns)
{
    sf_json_write_key(w, key);
    sf_json_write_u64_text(w, ns > 0 ? (uint64_t)ns : 0);
}

static void write_pin(struct sf_json_writer *w, const struct sf_pin *p)
{
    char trace[33];
    sf_trace_id_render(p->trace, trace);
    sf_json_write_object(w);
    sf_json_write_key_str(w, SF_STR("traceId"), sf_str_from(trace));
    pins_write_time(w, SF_STR("untilUnixNano"), p->until_ns);
    pins_write_time(w, SF_STR("createdUnixNano"), p->created_ns);
    pins_write_time(w, SF_STR("startUnixNano"), p->start_ns);
    sf_json_write_key_str(w, SF_STR("note"), p->note);
    sf_json_write_object_end(w);
}

static void pins_say(struct sf_call *call, const char *what, sf_trace_id id)
{
    char trace[33];
    sf_trace_id_render(id, trace);
    sf_service_say(call->service, SF_SAY_INFO, "serve: %s by=%s peer=%s tenant=%.*s trace=%s", what,
                   call->caller[0] ? call->caller : "-", call->request->peer,
                   SF_STR_ARG(sf_str_part(call->tenant, 0, 40)), trace);
}

/* Start of the first and end of the last span of a trace. NOT_FOUND: it has none. */
static enum sf_err pins_find_trace(struct sf_store *store, sf_trace_id id, struct sf_query_ctx *q,
                                   struct sf_keep_ask *out, struct sf_why *why)
{
    struct sf_trace trace = {0};
    enum sf_err err = sf_traces_get_one_bare(store, id, 0, 0, q, &trace, why);
    if (!err && trace.spans.n_spans == 0)
        err = sf_fail(why, SF_ERR_NOT_FOUND, "no such trace");
    *out = (struct sf_keep_ask){.trace = id, .start_ns = INT64_MAX, .end_ns = 0};
    for (uint32_t i = 0; !err && i < trace.spans.n_spans; i++) {
        const struct sf_span *s = &trace.spans.spans[i];
        int64_t start_ns = s->start_ns > INT64_MAX ? INT64_MAX : (int64_t)s->start_ns;
        int64_t end_ns = s->end_ns > INT64_MAX ? INT64_MAX : (int64_t)s->end_ns;
        out->start_ns = start_ns < out->start_ns ? start_ns : out->start_ns;
        out->end_ns = end_ns > out->end_ns ? end_ns : out->end_ns;
    }
    if (!err && out->end_ns < out->start_ns)
        out->end_ns = out->start_ns;
    return err;
}

static enum sf_err pin(struct sf_call *call, struct sf_worker *worker, struct sf_pin *p,
                       struct sf_why *why)
{
    struct sf_store *store = atomic_load(&call->service->store);
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_keep_ask at;
    int64_t for_ns = USUAL_NS;
    enum sf_err err = sf_plain_body_none(call, why);
    if (!err)
        err = sf_call_query(call, worker, tenants, &q, why);
    if (!err)
        err = sf_params_trace_id(call->arg, &p->trace, why);
    if (!err)
        err = sf_params_duration(call->request, SF_STR("for"), &for_ns, why);
    if (!err && for_ns > SF_LIMIT_PIN_DAYS * SF_NS_PER_DAY)
        err = sf_fail(why, SF_ERR_INPUT, "for is at most %d days", SF_LIMIT_PIN_DAYS);
    if (!err)
        err = sf_call_check_data(&q, why);
    if (!err)
        err = pins_find_trace(store, p->trace, &q, &at, why);
    if (err)
        return err;
    p->tenant = tenants[0];
    p->note = sf_params_word(call->request, "note", q.req);
    err = sf_kept_text_clean(call->service, q.req, "note", &p->note, why);
    if (err)
        return err;
    p->created_ns = sf_clock_wall_ns();
    p->until_ns = p->created_ns + for_ns;
    p->start_ns = at.start_ns;
    return store->ops->pin(store, p, why);
}

bool sf_pins_post(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_pin p = {0};
    struct sf_why why = {0};
    enum sf_err err = pin(call, worker, &p, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    pins_say(call, "pin", p.trace);
    struct sf_json_writer w = sf_json_writer_init(&call->response->body);
    sf_call_ok(call, "application/json");
    write_pin(&w, &p);
    sf_buf_add_u8(&call->response->body, '\n');
    return true;
}

bool sf_pins_delete(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_store *store = atomic_load(&call->service->store);
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_why why = {0};
    sf_trace_id id;
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = sf_params_trace_id(call->arg, &id, &why);
    if (!err)
        err = sf_call_check_data(&q, &why);
    if (!err)
        err = store->ops->unpin(store, tenants[0], id, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    pins_say(call, "unpin", id);
    sf_call_ok(call, "application/json");
    sf_buf_add_str(&call->response->body, SF_STR("{\"unpinned\":true}\n"));
    return true;
}

/* ---- all pins ---- */

static void pins_write_text(const struct sf_pin *list, uint32_t n, struct sf_buf *out)
{
    if (n == 0)
        sf_buf_add_str(out, SF_STR("no trace is pinned\n"));
    for (uint32_t i = 0; i < n; i++) {
        struct sf_buf until = {0};
        char trace[33];
        size_t from = out->len;
        sf_trace_id_render(list[i].trace, trace);
        sf_time_text_add(&until, (uint64_t)list[i].until_ns);
        sf_buf_print(out, "%s  until %.*s%s%.*s", trace,
                     SF_STR_ARG(sf_str_part(sf_buf_str(&until), 0, 19)),
                     list[i].note.len ? "  " : "", SF_STR_ARG(list[i].note));
        sf_units_end_line(out, from);
        sf_buf_done(&until);
    }
}

bool sf_pins_list(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_store *store = atomic_load(&call->service->store);
    uint32_t tenants[SF_TENANTS_MAX], n = 0;
    const struct sf_pin *list = NULL;
    struct sf_query_ctx q;
    struct sf_why why = {0};
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    if (!err)
        err = store->ops->pins(store, &q, &list, &n, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    if (sf_own_form_is_text(sf_params_word(call->request, "format", q.req))) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        pins_write_text(list, n, &call->response->body);
        return true;
    }
    struct sf_json_writer w = sf_json_writer_init(&call->response->body);
    sf_call_ok(call, "application/json");
    sf_json_write_object(&w);
    sf_json_write_key(&w, SF_STR("pins"));
    sf_json_write_array(&w);
    for (uint32_t i = 0; i < n; i++)
        write_pin(&w, &list[i]);
    sf_json_write_array_end(&w);
    sf_json_write_key_u64(&w, SF_STR("limit"), SF_LIMIT_PINS);
    sf_json_write_object_end(&w);
    return true;
}

/* ---- why a trace was kept, or not ---- */

struct told {
    struct sf_keep_ask at;
    struct sf_keep_state state;
    bool has_rules;
    struct sf_keep_rules rules; /* rules of its hour */
    const struct sf_pin *pin;   /* NULL: it is not pinned */
};

static enum sf_err pins_tell(struct sf_call *call, struct sf_worker *worker, struct told *t,
                             struct sf_query_ctx *q, uint32_t *tenants, struct sf_why *why)
{
    struct sf_store *store = atomic_load(&call->service->store);
    const struct sf_pin *pins;
    uint32_t n = 0;
    sf_trace_id id;
    enum sf_err err = sf_call_query(call, worker, tenants, q, why);
    if (!err)
        err = sf_params_trace_id(call->arg, &id, why);
    if (!err)
        err = sf_call_check_data(q, why);
    if (!err)
        err = pins_find_trace(store, id, q, &t->at, why);
    if (!err)
        err = store->ops->keep_states(store, &t->at, 1, q, &t->state, why);
    if (!err)
        err = store->ops->pins(store, q, &pins, &n, why);
    for (uint32_t i = 0; !err && i < n; i++) {
        if (sf_trace_id_eq(pins[i].trace, id))
            t->pin = &pins[i];
    }
    for (size_t i = 0; !err && t->state.version && !t->has_rules && i < q->n_tenants; i++) {
        struct sf_verdict v;
        t->has_rules = !store->ops->keep_get(store, q->tenants[i], t->state.hour, q->req, &v, NULL);
        if (t->has_rules)
            t->rules = v.rules;
    }
    return err;
}

static void pins_write_rule(struct sf_json_writer *w, const struct sf_keep_rule *r)
{
    sf_json_write_key_u64(w, SF_STR("slowNs"), (uint64_t)r->slow_ns);
    sf_json_write_key_u64(w, SF_STR("cpuPercent"), r->cpu_percent);
    sf_json_write_key(w, SF_STR("errors"));
    sf_json_write_bool(w, r->has_errors);
    sf_json_write_key(w, SF_STR("baselinePercent"));
    sf_json_write_f64(w, r->baseline_per_10000 / 100.0);
    sf_json_write_key_str(w, SF_STR("flagged"),
                          r->flagged == SF_KEEP_FLAG_SAMPLED ? SF_STR("sampled") : SF_STR("debug"));
}

static void write_rules(struct sf_json_writer *w, const struct sf_keep_rules *r)
{
    sf_json_write_key(w, SF_STR("rules"));
    sf_json_write_object(w);
    pins_write_rule(w, &r->all);
    sf_json_write_key(w, SF_STR("services"));
    sf_json_write_array(w);
    for (uint32_t i = 0; i < r->n_services; i++) {
        sf_json_write_object(w);
        sf_json_write_key_str(w, SF_STR("service"), r->services[i].service);
        pins_write_rule(w, &r->services[i].rule);
        sf_json_write_object_end(w);
    }
    sf_json_write_array_end(w);
    sf_json_write_object_end(w);
}

bool sf_pins_trace(struct sf_call *call, struct sf_worker *worker)
{
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct told t = {0};
    struct sf_why why = {0};
    char trace[33];
    enum sf_err err = pins_tell(call, worker, &t, &q, tenants, &why);
    if (err)
        return sf_call_fail(call, err, &why);
    if (sf_own_form_is_text(sf_params_word(call->request, "format", q.req))) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        sf_keep_state_text(&t.state, &call->response->body);
        if (t.pin)
            pins_write_text(t.pin, 1, &call->response->body);
        return true;
    }
    struct sf_json_writer w = sf_json_writer_init(&call->response->body);
    sf_call_ok(call, "application/json");
    sf_trace_id_render(t.at.trace, trace);
    sf_json_write_object(&w);
    sf_json_write_key_str(&w, SF_STR("traceId"), sf_str_from(trace));
    sf_keep_state_json_always(&t.state, &w);
    if (t.has_rules)
        write_rules(&w, &t.rules);
    if (t.pin) {
        sf_json_write_key(&w, SF_STR("pin"));
        write_pin(&w, t.pin);
    }
    sf_json_write_object_end(&w);
    return true;
}
