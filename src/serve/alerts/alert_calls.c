/* alert_calls.c - GET /api/v1/alerts and /api/v1/rules in Prometheus' JSON, limited to the caller's
 * tenants, and the trial of a rule: it is evaluated at steps over past data, through a book of its
 * own, and what would have fired is listed. */
#include <inttypes.h>
#include <string.h>

#include "alert/alert_eval.h"
#include "alert/alert_send.h"
#include "base/time_unit.h"
#include "exec/tenant.h"
#include "model/answer/known.h"
#include "model/metrics_result.h"
#include "os/clock.h"
#include "render/units.h"
#include "serve/alerts/alert_tenants.h"
#include "serve/own/own_form.h"
#include "serve/params.h"
#include "wire/json_write.h"
#include "wire/time_text.h"

enum {
    REASONS = 20,  /* explanations in one trial: each costs as much as a query */
    WINDOWS = 1000 /* windows of a trial that one query evaluates */
};
static const int64_t MOST_NS = 10 * SF_NS_PER_S; /* time limit of a minute-by-minute trial when none
                                                  * is given */

static bool alert_calls_is_ours(const struct sf_call *call, sf_str tenant)
{
    sf_str rest = call->tenant, one; /* a read request may name several tenants: a|b */
    while (sf_str_split_next(&rest, '|', &one)) {
        if (sf_str_eq(one, tenant))
            return true;
    }
    return false;
}

static bool is_our_rule(const struct sf_call *call, const struct sf_alert_rule *rule)
{
    return rule->is_each || alert_calls_is_ours(call, rule->tenant);
}

/* For a rule that runs per tenant: its health for the first of the call's tenants that is
 * watched. */
static struct sf_alert_health alert_calls_health_of(struct sf_alerts *a, size_t index,
                                                    const struct sf_call *call)
{
    const struct sf_alert_health *h = NULL;
    sf_str rest = call->tenant, one;
    while (!h && sf_str_split_next(&rest, '|', &one))
        h = sf_alert_tenants_health(a, index, one);
    return h ? *h : (struct sf_alert_health){0};
}

static const char *state_name(enum sf_alert_state state)
{
    return state == SF_ALERT_FIRING ? "firing" : state == SF_ALERT_PENDING ? "pending" : "inactive";
}

static void alert_calls_add_alert(const struct sf_alerts *all, const struct sf_alert *a,
                                  struct sf_buf *out)
{
    sf_buf_print(out, "{\"labels\":");
    sf_alert_send_json_labels(a, out);
    sf_buf_print(out, ",\"annotations\":");
    sf_alert_send_json_notes(a, out);
    sf_buf_print(out, ",\"state\":\"%s\",\"activeAt\":", state_name(a->state));
    sf_alert_send_json_time(a->since_ns, out);
    sf_buf_print(
        out, ",\"value\":\"%.6g\"%s%s}", a->value,
        sf_alert_rules_is_estimate(all->rules, sf_str_from(a->rule)) ? ",\"isEstimate\":true" : "",
        a->is_silenced ? ",\"silenced\":true" : "");
}

/* ---- /api/v1/alerts ---- */

static void alert_calls_add_time(struct sf_buf *out, int64_t ns)
{
    sf_time_text_add(out, (uint64_t)ns);
}

/* Appends labels and explanation, escaped for a terminal: they contain names from telemetry. */
static void alert_calls_add_names(const struct sf_alert *a, struct sf_buf *out)
{
    sf_buf_add_u8(out, '{');
    sf_units_plain(out, sf_str_from(a->labels));
    sf_buf_print(out, "}\n");
    if (!a->reason)
        return;
    sf_buf_print(out, "          ");
    sf_units_plain(out, sf_str_from(a->reason));
    sf_buf_add_u8(out, '\n');
}

static void alert_calls_list_text(struct sf_alerts *a, struct sf_call *call, struct sf_buf *out)
{
    size_t n_rules = 0, n_active = 0;
    for (size_t i = 0; i < a->rules->n; i++) {
        const struct sf_alert_rule *rule = &a->rules->list[i];
        struct sf_alert_health h;
        size_t from = out->len;
        if (!is_our_rule(call, rule))
            continue;
        n_rules++;
        h = alert_calls_health_of(a, i, call);
        if (h.why.text[0]) {
            sf_buf_print(out, "%-9s %.*s: %s", h.is_partial ? "partial" : "unknown",
                         SF_STR_ARG(rule->name), h.why.text);
            sf_units_end_line(out, from);
        }
    }
    for (size_t i = 0; i < a->book.n; i++) {
        const struct sf_alert *one = &a->book.list[i];
        if (!alert_calls_is_ours(call, sf_str_from(one->tenant)) || one->state == SF_ALERT_RESOLVED)
            continue;
        n_active++;
        sf_buf_print(out, "%-9s %s since ", state_name(one->state), one->rule);
        alert_calls_add_time(out, one->since_ns);
        sf_buf_print(out, ", value %s%.6g  ",
                     sf_alert_rules_is_estimate(a->rules, sf_str_from(one->rule)) ? SF_ESTIMATE_MARK
                                                                                  : "",
                     one->value);
        alert_calls_add_names(one, out);
    }
    if (n_rules == 0)
        sf_buf_print(out, "no rules: add some to alerts.rules in the configuration\n");
    else
        sf_buf_print(out, "%zu rule%s, %zu alert%s pending or firing\n", n_rules,
                     n_rules == 1 ? "" : "s", n_active, n_active == 1 ? "" : "s");
}

bool sf_alert_calls_list(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_alerts *a = call->service->alerts;
    struct sf_buf *out = &call->response->body;
    size_t n = 0;
    bool is_text = sf_own_form_is_text(sf_params_word(call->request, "format", &worker->arena));
    sf_call_ok(call, is_text ? "text/plain; charset=utf-8" : "application/json");
    sf_mutex_lock(&a->lock);
    if (is_text) {
        alert_calls_list_text(a, call, out);
    } else {
        sf_buf_print(out, "{\"status\":\"success\",\"data\":{\"alerts\":[");
        for (size_t i = 0; i < a->book.n; i++) {
            const struct sf_alert *one = &a->book.list[i];
            if (one->state == SF_ALERT_RESOLVED ||
                !alert_calls_is_ours(call, sf_str_from(one->tenant)))
                continue;
            if (n++)
                sf_buf_add_u8(out, ',');
            alert_calls_add_alert(a, one, out);
        }
        sf_buf_print(out, "]}}");
    }
    sf_mutex_unlock(&a->lock);
    return out->err ? sf_call_fail(call, out->err, NULL) : true;
}

/* ---- /api/v1/rules ---- */

static void add_pairs(const struct sf_alert_pairs *p, struct sf_json_writer *j)
{
    sf_json_write_object(j);
    for (size_t i = 0; i < p->n; i++)
        sf_json_write_key_str(j, p->list[i].key, p->list[i].val);
    sf_json_write_object_end(j);
}

static bool is_alert_of(const struct sf_alert *a, const struct sf_alert_rule *rule,
                        const struct sf_call *call)
{
    return sf_alert_book_is_of(a, rule) && alert_calls_is_ours(call, sf_str_from(a->tenant));
}

static void alert_calls_add_rule(struct sf_alerts *a, size_t index, const struct sf_call *call,
                                 struct sf_buf *out)
{
    const struct sf_alert_rule *rule = &a->rules->list[index];
    const struct sf_alert_health health = alert_calls_health_of(a, index, call), *h = &health;
    struct sf_json_writer j = sf_json_writer_init(out);
    struct sf_buf text = {0};
    const char *state = "inactive";
    size_t n = 0;
    for (size_t i = 0; i < a->book.n; i++) {
        const struct sf_alert *one = &a->book.list[i];
        if (!is_alert_of(one, rule, call))
            continue;
        if (one->state == SF_ALERT_FIRING)
            state = "firing";
        else if (one->state == SF_ALERT_PENDING && strcmp(state, "firing") != 0)
            state = "pending";
    }
    sf_alert_rule_print(rule, &text);
    sf_json_write_object(&j);
    sf_json_write_key_str(&j, SF_STR("state"), sf_str_from(state));
    sf_json_write_key_str(&j, SF_STR("name"), rule->name);
    sf_json_write_key_str(&j, SF_STR("query"), sf_buf_str(&text));
    sf_json_write_key(&j, SF_STR("duration"));
    sf_json_write_f64(&j, (double)rule->for_ns / SF_NS_PER_S);
    if (rule->kind == SF_ALERT_TRACEQL && rule->test != SF_ALERT_ABSENT) {
        sf_json_write_key_str(&j, SF_STR("traceql"), rule->query);
        sf_json_write_key(&j, SF_STR("threshold"));
        sf_json_write_f64(&j, rule->threshold);
        sf_json_write_key(&j, SF_STR("windowSeconds"));
        sf_json_write_f64(&j, (double)rule->window_ns / SF_NS_PER_S);
    }
    sf_json_write_key_u64(&j, SF_STR("keepFiringFor"), 0);
    sf_json_write_key(&j, SF_STR("labels"));
    add_pairs(&rule->labels, &j);
    sf_json_write_key(&j, SF_STR("annotations"));
    add_pairs(&rule->annotations, &j);
    sf_json_write_key(&j, SF_STR("alerts"));
    sf_buf_add_u8(out, '[');
    for (size_t i = 0; i < a->book.n; i++) {
        if (!is_alert_of(&a->book.list[i], rule, call) ||
            a->book.list[i].state == SF_ALERT_RESOLVED)
            continue;
        if (n++)
            sf_buf_add_u8(out, ',');
        alert_calls_add_alert(a, &a->book.list[i], out);
    }
    sf_buf_add_u8(out, ']');
    j.needs_comma = true;
    sf_json_write_key_str(&j, SF_STR("health"),
                          h->why.text[0] ? SF_STR("err")
                          : h->last_ns   ? SF_STR("ok")
                                         : SF_STR("unknown"));
    if (h->why.text[0])
        sf_json_write_key_str(&j, SF_STR("lastError"), sf_str_from(h->why.text));
    if (h->is_partial) {
        sf_json_write_key(&j, SF_STR("partial"));
        sf_json_write_bool(&j, true);
    }
    sf_json_write_key(&j, SF_STR("evaluationTime"));
    sf_json_write_f64(&j, (double)h->took_ns / SF_NS_PER_S);
    sf_json_write_key(&j, SF_STR("lastEvaluation"));
    sf_alert_send_json_time(h->last_ns, out);
    j.needs_comma = true;
    sf_json_write_key_str(&j, SF_STR("type"), SF_STR("alerting"));
    sf_json_write_object_end(&j);
    sf_buf_done(&text);
}

bool sf_alert_calls_rules(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_alerts *a = call->service->alerts;
    struct sf_buf *out = &call->response->body;
    sf_str type = sf_params_word(call->request, "type", &worker->arena);
    bool wants = type.len == 0 || sf_str_eq(type, SF_STR("alert"));
    size_t n = 0;
    sf_call_ok(call, "application/json");
    sf_buf_print(out, "{\"status\":\"success\",\"data\":{\"groups\":[");
    sf_mutex_lock(&a->lock);
    for (size_t i = 0; wants && i < a->rules->n; i++) {
        if (!is_our_rule(call, &a->rules->list[i]))
            continue;
        sf_buf_print(out, n++ ? "," : "{\"name\":\"spanflame\",\"file\":\"alerts\",\"rules\":[");
        alert_calls_add_rule(a, i, call, out);
    }
    if (n) {
        sf_buf_print(out,
                     "],\"interval\":%.3f,\"limit\":0,\"evaluationTime\":0,\"lastEvaluation\":",
                     (double)a->rules->interval_ns / SF_NS_PER_S);
        sf_alert_send_json_time(a->book.last_ns, out);
        sf_buf_add_u8(out, '}');
    }
    sf_mutex_unlock(&a->lock);
    sf_buf_print(out, "]}}");
    return out->err ? sf_call_fail(call, out->err, NULL) : true;
}

/* ---- trial of a rule on past data ---- */

struct trial {
    const struct sf_alert_rule *rule;
    int64_t from_ns, to_ns, step_ns;
    size_t n_moments, n_unknown; /* evaluations, and those that failed */
    struct sf_alert_book book;
    struct sf_buf fired; /* JSON or text of the alerts that fired */
    size_t n_fired, n_reasons;
    bool is_text;
    struct sf_watch *watch; /* for a rule of kind WATCH: the data read so far */
    int64_t stop_ns;        /* monotonic time at which the trial stops and reports that; 0: at the
                             * query's deadline */
    int64_t last_ns;        /* last evaluated time */
    bool is_by_windows;     /* for a TraceQL rule: evaluate consecutive windows, many per query */
};

static void alert_calls_tell(struct trial *t, const struct sf_alert *a)
{
    struct sf_json_writer j = sf_json_writer_init(&t->fired);
    if (!a->fired_ns)
        return;
    if (t->is_text) {
        sf_buf_print(&t->fired, "fired ");
        alert_calls_add_time(&t->fired, a->fired_ns);
        if (a->resolved_ns) {
            sf_buf_print(&t->fired, " until ");
            alert_calls_add_time(&t->fired, a->resolved_ns);
        } else {
            sf_buf_print(&t->fired, " and still at the end");
        }
        sf_buf_print(&t->fired, ", value %s%.6g  ",
                     sf_alert_rule_is_estimate(t->rule) ? SF_ESTIMATE_MARK : "", a->value);
        alert_calls_add_names(a, &t->fired);
    } else {
        if (t->n_fired)
            sf_buf_add_u8(&t->fired, ',');
        sf_buf_print(&t->fired, "{\"labels\":");
        sf_alert_send_json_labels(a, &t->fired);
        sf_buf_print(&t->fired, ",\"activeAt\":");
        sf_alert_send_json_time(a->since_ns, &t->fired);
        sf_buf_print(&t->fired, ",\"firedAt\":");
        sf_alert_send_json_time(a->fired_ns, &t->fired);
        sf_buf_print(&t->fired, ",\"resolvedAt\":");
        if (a->resolved_ns)
            sf_alert_send_json_time(a->resolved_ns, &t->fired);
        else
            sf_buf_print(&t->fired, "null");
        sf_buf_print(&t->fired, ",\"value\":\"%.6g\"%s", a->value,
                     sf_alert_rule_is_estimate(t->rule) ? ",\"isEstimate\":true" : "");
        if (a->reason) {
            sf_buf_print(&t->fired, ",\"why\":");
            sf_json_write_str(&j, sf_str_from(a->reason));
        }
        sf_buf_add_u8(&t->fired, '}');
    }
    t->n_fired++;
}

/* Explains alerts that begin to fire, up to REASONS of them. */
static void alert_calls_give_reasons(struct trial *t, const struct sf_alert_ask *ask,
                                     struct sf_query_ctx *q)
{
    struct sf_arena before = *q->req;
    for (size_t i = 0; i < t->book.n && t->n_reasons < REASONS; i++) {
        struct sf_alert *a = &t->book.list[i];
        struct sf_buf reason = {.max = SF_LIMIT_ALERT_TEXT_LEN};
        if (a->state != SF_ALERT_FIRING || a->fired_ns != ask->at_ns || a->reason)
            continue;
        t->n_reasons++;
        *q->req = before;
        sf_alert_eval_reason(ask, sf_str_from(a->spans), q, &reason);
        if (sf_buf_ok(&reason) && reason.len)
            a->reason = sf_alert_book_copy(sf_buf_str(&reason));
        sf_buf_done(&reason);
    }
    *q->req = before;
}

/* Applies the values of one evaluation to the book, and reports the alerts that it resolves. */
static enum sf_err alert_calls_step(struct trial *t, const struct sf_alert_ask *ask,
                                    struct sf_query_ctx *q, const struct sf_alert_value *values,
                                    size_t n, struct sf_why *why)
{
    enum sf_err err = sf_alert_book_step(&t->book, t->rule, values, n, *ask->is_partial, ask->at_ns,
                                         why);
    if (err)
        return err;
    alert_calls_give_reasons(t, ask, q);
    for (size_t i = 0; i < t->book.n; i++) {
        struct sf_alert *a = &t->book.list[i];
        if (a->state != SF_ALERT_RESOLVED || !a->fired_ns)
            continue;
        alert_calls_tell(t, a);
        a->fired_ns = 0;
    }
    return SF_OK;
}

static struct sf_alert_ask ask_of(const struct sf_call *call, const struct trial *t, int64_t at_ns,
                                  struct sf_arena *scratch, bool *is_partial)
{
    return (struct sf_alert_ask){
        .store = atomic_load(&call->service->store),
        .rule = t->rule,
        .at_ns = at_ns,
        .scratch = scratch,
        .findings = call->service->finding_limits,
        .watch = t->watch,
        .is_partial = is_partial,
    };
}

/* Evaluates up to WINDOWS times with one query. */
static enum sf_err run_windows(struct sf_call *call, struct sf_worker *worker, struct trial *t,
                               struct sf_query_ctx *q, struct sf_arena *scratch, struct sf_why *why)
{
    struct sf_arena before = worker->arena;
    enum sf_err err = SF_OK;
    for (int64_t at_ns = t->from_ns; !err && at_ns <= t->to_ns;) {
        int64_t most = SF_LIMIT_METRICS_RANGE_S * SF_NS_PER_S / t->step_ns;
        int64_t left = (t->to_ns - at_ns) / t->step_ns, end_ns;
        struct sf_metrics_result r = {0};
        struct sf_arena counted;
        bool is_partial = false;
        struct sf_alert_ask ask = ask_of(call, t, at_ns, scratch, &is_partial);
        most = most > WINDOWS ? WINDOWS : most > 1 ? most - 1 : 1;
        end_ns = at_ns + (left < most ? left > 0 ? left : 1 : most) * t->step_ns;
        worker->arena = before;
        err = sf_alert_eval_windows(&ask, at_ns, end_ns, q, &r, why);
        if (err == SF_ERR_LIMIT && sf_clock_mono_ns() < q->deadline_ns) {
            for (err = SF_OK; at_ns <= end_ns && at_ns <= t->to_ns; at_ns += t->step_ns) {
                t->n_moments++;
                t->n_unknown++;
                t->last_ns = at_ns;
            }
            continue;
        }
        counted = worker->arena;
        /* The first step of the result ends at the beginning of the range. */
        for (uint32_t i = 0; !err && at_ns <= end_ns && at_ns <= t->to_ns; i++) {
            struct sf_alert_value *values;
            size_t n;
            worker->arena = counted;
            ask.at_ns = at_ns;
            err = sf_alert_eval_window(&ask, &r, i, q, &values, &n, why);
            if (!err)
                err = alert_calls_step(t, &ask, q, values, n, why);
            t->n_moments++;
            t->last_ns = at_ns;
            at_ns += t->step_ns;
        }
    }
    return err;
}

static enum sf_err run_moments(struct sf_call *call, struct sf_worker *worker, struct trial *t,
                               struct sf_query_ctx *q, struct sf_arena *scratch, struct sf_why *why)
{
    struct sf_arena before = worker->arena;
    for (int64_t at_ns = t->from_ns; at_ns <= t->to_ns; at_ns += t->step_ns) {
        bool is_partial = false;
        struct sf_alert_ask ask = ask_of(call, t, at_ns, scratch, &is_partial);
        struct sf_alert_value *values;
        size_t n;
        enum sf_err err;
        worker->arena = before;
        if (t->stop_ns && sf_clock_mono_ns() > t->stop_ns)
            break;
        err = sf_alert_eval(&ask, q, &values, &n, why);
        if (t->watch && err == SF_ERR_CANCELLED && !(q->cancel && atomic_load(q->cancel))) {
            /* the history before this time is still being read */
            at_ns -= t->step_ns;
            continue;
        }
        t->n_moments++;
        t->last_ns = at_ns;
        if (err == SF_ERR_LIMIT && sf_clock_mono_ns() < q->deadline_ns) {
            t->n_unknown++;
            continue;
        }
        if (!err)
            err = alert_calls_step(t, &ask, q, values, n, why);
        if (err)
            return err;
    }
    return SF_OK;
}

static enum sf_err alert_calls_run(struct sf_call *call, struct sf_worker *worker, struct trial *t,
                                   struct sf_query_ctx *q, struct sf_arena *scratch,
                                   struct sf_why *why)
{
    enum sf_err err = t->is_by_windows ? run_windows(call, worker, t, q, scratch, why)
                                       : run_moments(call, worker, t, q, scratch, why);
    for (size_t i = 0; !err && i < t->book.n; i++)
        alert_calls_tell(t, &t->book.list[i]);
    return err;
}

static void alert_calls_answer(struct sf_call *call, const struct trial *t)
{
    struct sf_buf *out = &call->response->body;
    struct sf_json_writer j = sf_json_writer_init(out);
    if (t->is_text) {
        sf_call_ok(call, "text/plain; charset=utf-8");
        sf_buf_add_str(out, sf_buf_str(&t->fired));
        sf_buf_print(out, "%.*s would have fired %zu time%s; evaluated at %zu times, ",
                     SF_STR_ARG(t->rule->name), t->n_fired, t->n_fired == 1 ? "" : "s",
                     t->n_moments);
        sf_units_duration(out, (uint64_t)t->step_ns);
        sf_buf_print(out, " apart");
        if (t->n_unknown)
            sf_buf_print(out, "; %zu of them without a result", t->n_unknown);
        if (t->last_ns + t->step_ns <= t->to_ns) {
            sf_buf_print(out, "; the time limit was reached at ");
            alert_calls_add_time(out, t->last_ns);
        }
        sf_buf_add_u8(out, '\n');
        return;
    }
    sf_call_ok(call, "application/json");
    sf_json_write_object(&j);
    sf_json_write_key_str(&j, SF_STR("rule"), t->rule->name);
    sf_json_write_key_u64(&j, SF_STR("moments"), t->n_moments);
    sf_json_write_key_u64(&j, SF_STR("unknown"), t->n_unknown);
    sf_json_write_key(&j, SF_STR("stepSeconds"));
    sf_json_write_f64(&j, (double)t->step_ns / SF_NS_PER_S);
    sf_json_write_key(&j, SF_STR("until"));
    sf_alert_send_json_time(t->last_ns, out);
    j.needs_comma = true;
    sf_json_write_key(&j, SF_STR("fired"));
    sf_buf_print(out, "[%.*s]}", SF_STR_ARG(sf_buf_str(&t->fired)));
}

static enum sf_err alert_calls_prepare(struct sf_call *call, struct sf_worker *worker,
                                       const struct sf_alert_rules *rules, struct trial *t,
                                       struct sf_why *why)
{
    sf_str name = sf_params_word(call->request, "rule", &worker->arena);
    enum sf_err err = sf_params_range(call->request, sf_clock_wall_ns(), SF_NS_PER_DAY, &t->from_ns,
                                      &t->to_ns, why);
    if (err)
        return err;
    for (size_t i = 0; i < rules->n; i++) {
        if (sf_str_eq(rules->list[i].name, name) && is_our_rule(call, &rules->list[i]))
            t->rule = &rules->list[i];
    }
    if (!t->rule)
        return sf_fail(why, SF_ERR_NOT_FOUND, "there is no rule \"%.*s\"",
                       SF_STR_ARG(sf_str_part(name, 0, 60)));
    /* A comparison or a breakdown costs as much as ten queries. */
    t->step_ns = (t->to_ns - t->from_ns) / (t->rule->kind >= SF_ALERT_CHANGE
                                                ? SF_LIMIT_ALERT_MOMENTS / 10 - 1
                                                : SF_LIMIT_ALERT_MOMENTS - 1) +
                 1;
    if (t->step_ns < rules->interval_ns)
        t->step_ns = rules->interval_ns;
    if (t->rule->kind == SF_ALERT_WATCH)
        t->step_ns = SF_NS_PER_MIN; /* such a rule is evaluated every minute, while time is left */
    /* If evaluations were further apart than the window is long, some data would not be
     * evaluated. */
    t->is_by_windows = t->rule->kind == SF_ALERT_TRACEQL && t->step_ns > t->rule->window_ns &&
                       (t->to_ns - t->from_ns) / t->rule->window_ns < SF_LIMIT_ALERT_WINDOWS;
    if (t->is_by_windows) {
        t->step_ns = t->rule->window_ns;
        t->from_ns = (t->from_ns / t->step_ns + 1) * t->step_ns;
        return SF_OK;
    }
    t->from_ns += (t->to_ns - t->from_ns) % t->step_ns; /* align so that the last evaluation is at
                                                         * the end */
    return SF_OK;
}

bool sf_alert_calls_test(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_alerts *a = call->service->alerts;
    struct sf_alert_rules *rules;
    struct trial t = {0};
    struct sf_arena scratch = {0};
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    struct sf_why why = {0};
    enum sf_err err = sf_call_query(call, worker, tenants, &q, &why);
    sf_mutex_lock(&a->lock);
    rules = sf_alert_rules_share(a->rules);
    sf_mutex_unlock(&a->lock);
    t.is_text = sf_own_form_is_text(sf_params_word(call->request, "format", &worker->arena));
    if (!err)
        err = alert_calls_prepare(call, worker, rules, &t, &why);
    if (!err && !sf_arena_init(&scratch, call->service->query_memory_len))
        err = sf_no_memory(&why, "the query");
    if (!err && t.rule->kind == SF_ALERT_WATCH) {
        int64_t now_ns = sf_clock_mono_ns();
        t.stop_ns = now_ns + (q.deadline_ns ? (q.deadline_ns - now_ns) / 4 * 3 : MOST_NS);
        t.watch = sf_watch_feed_new(t.rule->tenant);
        if (!t.watch)
            err = sf_no_memory(&why, "the query");
    }
    if (!err)
        err = alert_calls_run(call, worker, &t, &q, &scratch, &why);
    sf_watch_feed_free(t.watch);
    sf_arena_done(&scratch);
    if (!err)
        alert_calls_answer(call, &t);
    sf_alert_book_done(&t.book);
    sf_buf_done(&t.fired);
    sf_alert_rules_free(rules);
    return err ? sf_call_fail(call, err, &why) : true;
}
