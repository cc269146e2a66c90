/* silence_calls.c - HTTP handlers for silences and recent alerts. Changes run on one thread, that
 * of control calls, which also writes the file before it answers. */
#include <stdio.h>
#include <string.h>

#include "alert/alert_send.h"
#include "base/time_unit.h"
#include "os/clock.h"
#include "serve/alerts/alerts_private.h"
#include "serve/params.h"
#include "wire/json_write.h"

enum { USUAL_EVENTS = 100 };
static const int64_t KEPT_NS = SF_NS_PER_DAY; /* behind its end */

static bool silence_calls_is_ours(const struct sf_call *call, sf_str tenant)
{
    sf_str rest = call->tenant, one; /* a read request may name several tenants: a|b */
    while (sf_str_split_next(&rest, '|', &one)) {
        if (sf_str_eq(one, tenant))
            return true;
    }
    return false;
}

static void silence_calls_say(struct sf_call *call, const char *what, const char *id)
{
    sf_service_say(call->service, SF_SAY_INFO, "alerts: %s by=%s peer=%s tenant=%.*s id=%s", what,
                   call->caller[0] ? call->caller : "-", call->request->peer,
                   SF_STR_ARG(sf_str_part(call->tenant, 0, 40)), id);
}

/* The text is made under the lock, the file written outside it. */
static enum sf_err silence_calls_save(struct sf_call *call, struct sf_buf *text, struct sf_why *why)
{
    struct sf_service *s = call->service;
    enum sf_err err = sf_buf_ok(text) ? sf_alerts_save_silences(s->alerts, s, text, why)
                                      : sf_no_memory(why, "silences");
    sf_buf_done(text);
    return err;
}

bool sf_silence_calls_post(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_alerts *a = call->service->alerts;
    struct sf_buf text = {0};
    struct sf_silence *made = NULL;
    struct sf_why why = {0};
    int64_t now_ns = sf_clock_wall_ns();
    char id[17] = "";
    sf_str body;
    enum sf_err err = sf_call_body(call, SF_LIMIT_SILENCE_BODY_LEN, "a silence", &body, &why);
    (void)worker;
    if (err)
        return sf_call_fail(call, err, &why);
    sf_mutex_lock(&a->silence_file);
    err = sf_alerts_pull_silences(a, call->service, &why);
    if (err) {
        sf_mutex_unlock(&a->silence_file);
        return sf_call_fail(call, err, &why);
    }
    sf_mutex_lock(&a->lock);
    sf_silence_book_tidy(&a->silences, now_ns - KEPT_NS);
    a->silences.redactor = call->service->intake.redactor;
    a->silences.n_redacted = 0;
    err = sf_silence_book_add(&a->silences, body, call->tenant, now_ns, &made, &why);
    if (!err) {
        memcpy(id, made->id, sizeof(id));
        sf_silence_book_write(&a->silences, &text);
    }
    sf_counters_add(call->service->counters, SF_COUNT_REDACTIONS, a->silences.n_redacted);
    sf_mutex_unlock(&a->lock);
    if (!err) {
        err = silence_calls_save(call, &text, &why);
        if (err) { /* undo the change in memory: the file could not be written */
            sf_mutex_lock(&a->lock);
            sf_silence_book_remove(&a->silences, id);
            sf_mutex_unlock(&a->lock);
        }
    }
    sf_mutex_unlock(&a->silence_file);
    if (err)
        return sf_call_fail(call, err, &why);
    silence_calls_say(call, "silenced", id);
    sf_call_ok(call, "application/json");
    sf_buf_print(&call->response->body, "{\"silenceID\":\"%s\"}", id);
    return true;
}

bool sf_silence_calls_delete(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_alerts *a = call->service->alerts;
    struct sf_buf text = {0};
    struct sf_why why = {0};
    int64_t end_ns = 0;
    char id[17];
    enum sf_err err;
    (void)worker;
    snprintf(id, sizeof(id), "%.*s", SF_STR_ARG(sf_str_part(call->arg, 0, 16)));
    sf_mutex_lock(&a->silence_file);
    err = sf_alerts_pull_silences(a, call->service, &why);
    if (err) {
        sf_mutex_unlock(&a->silence_file);
        return sf_call_fail(call, err, &why);
    }
    sf_mutex_lock(&a->lock);
    err = sf_silence_book_expire(&a->silences, call->arg, call->tenant, sf_clock_wall_ns(), &end_ns,
                                 &why);
    if (!err)
        sf_silence_book_write(&a->silences, &text);
    sf_mutex_unlock(&a->lock);
    if (!err) {
        err = silence_calls_save(call, &text, &why);
        if (err) {
            sf_mutex_lock(&a->lock);
            sf_silence_book_set_end(&a->silences, call->arg, end_ns);
            sf_mutex_unlock(&a->lock);
        }
    }
    sf_mutex_unlock(&a->silence_file);
    if (err)
        return sf_call_fail(call, err, &why);
    silence_calls_say(call, "silence ended", id);
    sf_call_ok(call, "application/json");
    sf_buf_print(&call->response->body, "{}");
    return true;
}

bool sf_silence_calls_list(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_alerts *a = call->service->alerts;
    struct sf_json_writer j = sf_json_writer_init(&call->response->body);
    int64_t now_ns = sf_clock_wall_ns();
    (void)worker;
    sf_call_ok(call, "application/json");
    sf_json_write_array(&j);
    sf_mutex_lock(&a->lock);
    for (size_t i = a->silences.n; i-- > 0;) {
        if (silence_calls_is_ours(call, a->silences.list[i].tenant))
            sf_silence_book_json(&a->silences.list[i], now_ns, &j);
    }
    sf_mutex_unlock(&a->lock);
    sf_json_write_array_end(&j);
    return true;
}

/* ---- history ---- */

static void write_event(const struct sf_alert_rules *rules, const struct sf_alert_event *e,
                        struct sf_json_writer *j)
{
    sf_json_write_object(j);
    sf_json_write_key_str(j, SF_STR("rule"), sf_str_from(e->rule));
    sf_json_write_key(j, SF_STR("labels"));
    sf_buf_print(j->out, "{%s}", e->labels);
    j->needs_comma = true;
    sf_json_write_key(j, SF_STR("firedAt"));
    sf_alert_send_json_time(e->fired_ns, j->out);
    j->needs_comma = true;
    sf_json_write_key(j, SF_STR("resolvedAt"));
    if (e->resolved_ns)
        sf_alert_send_json_time(e->resolved_ns, j->out);
    else
        sf_buf_print(j->out, "null");
    j->needs_comma = true;
    sf_json_write_key(j, SF_STR("value"));
    sf_buf_print(j->out, "\"%.6g\"", e->value);
    j->needs_comma = true;
    if (sf_alert_rules_is_estimate(rules, sf_str_from(e->rule))) {
        sf_json_write_key(j, SF_STR("isEstimate"));
        sf_json_write_bool(j, true);
    }
    sf_json_write_key(j, SF_STR("silenced"));
    sf_json_write_bool(j, e->was_silenced);
    sf_json_write_key_str(j, SF_STR("why"), sf_str_from(e->reason));
    sf_json_write_object_end(j);
}

bool sf_silence_calls_history(struct sf_call *call, struct sf_worker *worker)
{
    struct sf_alerts *a = call->service->alerts;
    struct sf_buf *out = &call->response->body;
    struct sf_json_writer j = sf_json_writer_init(out);
    sf_str rule = sf_params_word(call->request, "rule", &worker->arena);
    sf_str limit = sf_params_word(call->request, "limit", &worker->arena);
    struct sf_why why = {0};
    uint64_t most = USUAL_EVENTS, n_more = 0;
    if (limit.len && (!sf_str_to_u64(limit, &most) || most == 0 || most > SF_LIMIT_ALERT_HISTORY)) {
        enum sf_err err = sf_fail(&why, SF_ERR_INPUT, "limit is a number from 1 to %d",
                                  SF_LIMIT_ALERT_HISTORY);
        return sf_call_fail(call, err, &why);
    }
    sf_call_ok(call, "application/json");
    sf_buf_print(out, "{\"events\":");
    sf_json_write_array(&j);
    sf_mutex_lock(&a->lock);
    for (size_t i = a->history.n; i-- > 0;) {
        const struct sf_alert_event *e = &a->history.list[i];
        if (!silence_calls_is_ours(call, sf_str_from(e->tenant)) ||
            (rule.len && !sf_str_eq(rule, sf_str_from(e->rule))))
            continue;
        if (most > 0)
            write_event(a->rules, e, &j);
        n_more += most == 0;
        most -= most > 0;
    }
    sf_mutex_unlock(&a->lock);
    sf_json_write_array_end(&j);
    sf_buf_print(out, ",\"more\":%llu}", (unsigned long long)n_more);
    return true;
}
