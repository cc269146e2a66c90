#include "alert/alert_watch.h"

#include <math.h>
#include <stdio.h>

#include "alert/alert_value.h"
#include "alert/watch_feed.h"
#include "alert/watch_why.h"
#include "base/time_unit.h"

enum {
    NEW_FROM = 3,
    NEW_UNTIL = 60
}; /* minutes after a deploy in which new functions are
    * searched */

/* ---- one alarm ---- */

struct finding {
    const struct sf_alert_ask *ask;
    struct sf_query_ctx *q;
    struct sf_alert_value *list;
    size_t n;
};

static bool make_sentence(struct finding *f, const struct sf_watch_alarm *a, char **said)
{
    struct sf_buf text = {.max = SF_LIMIT_ALERT_TEXT_LEN};
    struct sf_arena before = *f->q->req;
    sf_watch_why(f->ask, a, f->q, &text);
    *f->q->req = before;
    *said = sf_watch_feed_keep_text(sf_buf_str(&text));
    sf_buf_done(&text);
    return *said != NULL;
}

static enum sf_err alert_watch_give(struct finding *f, const struct sf_watch_alarm *a, double value,
                                    char **said, struct sf_why *why)
{
    struct sf_alert_found found;
    struct sf_arena *req = f->q->req;
    struct sf_alert_value *v = &f->list[f->n];
    bool is_ok = sf_alert_value_found_begin(&found, f->ask->rule, req) &&
                 sf_alert_value_found_label(&found, SF_STR("service"), a->service, req);
    if (is_ok && f->ask->rule->names_tenant)
        is_ok = sf_alert_value_found_label(&found, SF_STR("tenant"), f->ask->rule->tenant, req);
    if (is_ok && a->operation.len)
        is_ok = sf_alert_value_found_label(&found, SF_STR("operation"), a->operation, req);
    if (is_ok && a->function.len)
        is_ok = sf_alert_value_found_label(&found, SF_STR("function"), a->function, req);
    if (is_ok && !*said)
        is_ok = make_sentence(f, a, said);
    if (is_ok)
        is_ok = sf_arena_copy(req, sf_str_from(*said), &v->reason);
    if (is_ok && f->ask->found_spans && !f->ask->found_spans->len && a->kind != SF_WATCH_STOPPED)
        is_ok = sf_watch_why_spans(a, req, f->ask->found_spans);
    if (!is_ok)
        return sf_no_room(why, "the rule");
    f->n++;
    return sf_alert_value_found_finish(&found, f->ask->rule, value, req, v, why);
}

/* ---- kinds ---- */

static enum sf_err give_drift(struct finding *f, struct sf_watched *s, enum sf_watch_kind kind,
                              size_t at, const struct sf_drift *d, struct sf_why *why)
{
    struct sf_watch_alarm a = {.kind = kind,
                               .service = sf_str_from(s->name),
                               .before = sf_drift_before(d),
                               .now = sf_drift_now(d)};
    if (!d->is_up) {
        sf_watch_feed_drop_text(&s->said[kind][at]);
        return SF_OK;
    }
    if (kind == SF_WATCH_LATENCY)
        a.operation = sf_str_from(s->operations[at]);
    return alert_watch_give(f, &a, a.now / a.before - 1, &s->said[kind][at], why);
}

static enum sf_err give_state(struct finding *f, struct sf_watched *s, enum sf_watch_kind kind,
                              bool is_up, double before, double now, struct sf_why *why)
{
    struct sf_watch_alarm a = {
        .kind = kind, .service = sf_str_from(s->name), .before = before, .now = now};
    if (is_up)
        return alert_watch_give(f, &a, now, &s->said[kind][0], why);
    sf_watch_feed_drop_text(&s->said[kind][0]);
    return SF_OK;
}

/* Searched in the hour after a deploy; a new function stays reported until that hour is over. */
static enum sf_err give_new(struct finding *f, struct sf_watched *s, struct sf_why *why)
{
    int64_t age = f->ask->at_ns / SF_NS_PER_MIN - s->deploy_minute;
    struct sf_watch_alarm a = {.kind = SF_WATCH_NEW_FUNCTION, .service = sf_str_from(s->name)};
    enum sf_err err = SF_OK;
    if (!s->deploy_minute || age < NEW_FROM || age > NEW_UNTIL) {
        sf_watch_feed_drop_text(&s->said[a.kind][0]);
        return SF_OK;
    }
    if (!s->new_function) {
        sf_str function;
        struct sf_arena before = *f->q->req;
        err = sf_watch_why_new(f->ask, a.service, s->deploy_minute * SF_NS_PER_MIN, f->q, &function,
                               &a.now, why);
        if (!err && function.len) {
            s->new_function = sf_watch_feed_keep_text(function);
            s->new_share = a.now;
        }
        *f->q->req = before;
    }
    if (err || !s->new_function)
        return err;
    a.now = s->new_share;
    a.function = sf_str_from(s->new_function);
    return alert_watch_give(f, &a, a.now, &s->said[a.kind][0], why);
}

static enum sf_err give_service(struct finding *f, struct sf_watched *s, enum sf_watch_kind kind,
                                struct sf_why *why)
{
    const struct sf_service_watch *w = &s->watch;
    enum sf_err err = SF_OK;
    switch (kind) {
    case SF_WATCH_LATENCY:
        for (size_t i = 0; !err && i < SF_LIMIT_WATCH_OPERATIONS && s->operations[i]; i++)
            err = give_drift(f, s, kind, i, &w->operations[i].drift, why);
        return err;
    case SF_WATCH_CPU:
    case SF_WATCH_LOCK:
    case SF_WATCH_ALLOCATION:
        return give_drift(f, s, kind, 0, &w->costs[kind - SF_WATCH_CPU].drift, why);
    case SF_WATCH_MEMORY: return give_drift(f, s, kind, 0, &w->memory, why);
    case SF_WATCH_CPU_LIMIT:
        return give_state(f, s, kind, w->is_near_limit, NAN, (double)w->cpu_share, why);
    case SF_WATCH_STOPPED:
        return give_state(f, s, kind, w->is_stopped, w->samples_per_request, 0, why);
    case SF_WATCH_NEW_FUNCTION: return give_new(f, s, why);
    case SF_WATCH_KINDS: break;
    }
    return SF_OK;
}

static bool alert_watch_find_kind(sf_str name, enum sf_watch_kind *out)
{
    for (int k = 0; k < SF_WATCH_KINDS; k++) {
        *out = (enum sf_watch_kind)k;
        if (sf_str_eq(name, sf_str_from(sf_service_watch_kind_name(*out))))
            return true;
    }
    return false;
}

enum sf_err sf_alert_watch(const struct sf_alert_ask *ask, struct sf_watch *w,
                           struct sf_query_ctx *q, struct sf_alert_value **out, size_t *out_n,
                           struct sf_why *why)
{
    struct finding f = {.ask = ask, .q = q};
    enum sf_watch_kind kind;
    bool is_behind = false;
    enum sf_err err = sf_watch_feed_catch_up(w, ask, q, &is_behind, why);
    if (!err && is_behind)
        err = sf_fail(why, SF_ERR_CANCELLED, "history is still being read");
    if (err || !alert_watch_find_kind(ask->rule->part, &kind))
        return err;
    f.list = sf_arena_new_n(q->req, w->n * SF_LIMIT_WATCH_OPERATIONS + 1u, sizeof(*f.list));
    if (!f.list)
        return sf_no_room(why, "the rule");
    for (size_t i = 0; !err && i < w->n; i++) {
        if (ask->rule->service.len &&
            !sf_str_eq(ask->rule->service, sf_str_from(w->services[i]->name)))
            continue;
        err = give_service(&f, w->services[i], kind, why);
    }
    *out = f.list;
    *out_n = err ? 0 : f.n;
    return err;
}

/* ---- built-in rules ---- */

enum sf_err sf_alert_watch_add_pack(struct sf_alert_rules *r, bool has_tenancy, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (int k = 0; !err && k < SF_WATCH_KINDS; k++) {
        struct sf_alert_rule *rule;
        char name[40];
        snprintf(name, sizeof(name), "spanflame_%s",
                 sf_service_watch_kind_name((enum sf_watch_kind)k));
        err = sf_alert_rules_add(r, &rule, why);
        if (!err)
            err = sf_alert_rule_set(r, rule, SF_STR("name"), sf_str_from(name), why);
        if (!err)
            err = sf_alert_rule_set(r, rule, SF_STR("watch.kind"),
                                    sf_str_from(sf_service_watch_kind_name((enum sf_watch_kind)k)),
                                    why);
        if (!err) {
            rule->is_each = has_tenancy;
            err = sf_alert_rule_check(r, rule, why);
        }
        if (!err && has_tenancy)
            rule->tenant = SF_STR_NONE;
    }
    return err;
}
