/* alerts.c - the alert thread's pass: evaluate all rules once per interval, update the book of
 * alerts, pin evidence and start captures for new ones, publish what changed to the thread that
 * delivers, save state. Rules are replaced between passes. Other threads read under the lock. */
#include "serve/alerts/alerts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "alert/alert_eval.h"
#include "alert/alert_pin.h"
#include "base/heap.h"
#include "base/time_unit.h"
#include "exec/tenant.h"
#include "os/clock.h"
#include "serve/alerts/alert_capture.h"
#include "serve/alerts/alert_tenants.h"
#include "serve/alerts/alerts_private.h"
#include "serve/query_turn.h"

enum {
    FILE_MAX = 256 << 20,
    REASONS = 20
}; /* REASONS: alerts of one rule that are explained when
    * they fire at once */
static const char state_file[] = "alerts", history_file[] = "alert_history",
                  silence_file[] = "silences";
static const int64_t EACH_NS = 5 * SF_NS_PER_S; /* time of one pass for the rules that run per
                                                 * tenant */
static const int64_t SILENCES_NS = 2 * SF_NS_PER_S, LEASE_NS = 10 * SF_NS_PER_S;
#define TEXT_CAP ((size_t)512 << 20) /* address space to read one shared text */

/* ---- open and close ---- */

static void clear_health(struct sf_alerts *a)
{
    for (size_t i = 0; i < SF_LIMIT_ALERT_RULES; i++)
        a->health[i] = (struct sf_alert_health){.value = NAN};
    for (size_t i = 0; i < SF_LIMIT_WATCH_TENANTS * SF_WATCH_KINDS; i++)
        a->each_health[i / SF_WATCH_KINDS][i % SF_WATCH_KINDS] = (struct sf_alert_health){
            .value = NAN};
}

/* Loads one of the three files; `read` parses its text. */
static enum sf_err alerts_load(struct sf_alerts *a, const char *name,
                               enum sf_err (*read)(struct sf_alerts *a, sf_str text,
                                                   struct sf_why *why),
                               char notice[240], struct sf_why *why)
{
    struct sf_file file = SF_FILE_NONE;
    struct sf_buf text = {0};
    struct sf_why bad = {0};
    char aside[40];
    enum sf_err err = sf_dir_open_read(a->dir, name, &file, why);
    if (err == SF_ERR_NOT_FOUND)
        return SF_OK;
    if (!err)
        err = sf_file_read_all(&file, FILE_MAX, &text, why);
    sf_file_close(&file);
    if (!err && read(a, sf_buf_str(&text), &bad)) {
        snprintf(aside, sizeof(aside), "%s.damaged", name);
        err = sf_dir_rename(a->dir, name, aside, why);
        snprintf(notice, 240, "%.100s; the file is now %s, and alerts begin anew", bad.text, aside);
    }
    sf_buf_done(&text);
    return err;
}

static enum sf_err read_book(struct sf_alerts *a, sf_str text, struct sf_why *why)
{
    return sf_alert_book_read(&a->book, text, why);
}

static enum sf_err read_history(struct sf_alerts *a, sf_str text, struct sf_why *why)
{
    return sf_alert_history_read(&a->history, text, why);
}

static enum sf_err read_silences(struct sf_alerts *a, sf_str text, struct sf_why *why)
{
    return sf_silence_book_read(&a->silences, text, why);
}

enum sf_err sf_alerts_open(struct sf_dir *dir, struct sf_alert_rules *rules, struct sf_alerts **out,
                           char notice[240], struct sf_why *why)
{
    struct sf_alerts *a = sf_heap_new(sizeof(*a));
    enum sf_err err = SF_OK;
    notice[0] = 0;
    if (!a) {
        sf_alert_rules_free(rules);
        return sf_no_memory(why, "alerts");
    }
    sf_mutex_init(&a->lock, SF_LOCK_SERVE_ALERTS);
    sf_mutex_init(&a->silence_file, SF_LOCK_SERVE_SILENCES);
    a->fleet_book.kind = "alerts";
    a->fleet_history.kind = "alert_history";
    a->fleet_silences.kind = "silences";
    a->dir = dir;
    a->rules = rules;
    a->health = sf_heap_new_n(SF_LIMIT_ALERT_RULES, sizeof(*a->health));
    a->delivery = sf_alert_delivery_new();
    if (a->health)
        clear_health(a);
    err = a->health && a->delivery ? alerts_load(a, state_file, read_book, notice, why)
                                   : sf_no_memory(why, "alerts");
    if (!err)
        err = alerts_load(a, history_file, read_history, notice, why);
    if (!err)
        err = alerts_load(a, silence_file, read_silences, notice, why);
    if (err)
        sf_alerts_close(a);
    else
        *out = a;
    return err;
}

void sf_alerts_close(struct sf_alerts *a)
{
    if (!a)
        return;
    sf_alert_delivery_free(a->delivery);
    sf_alert_rules_free(a->rules);
    sf_alert_rules_free(a->next);
    for (size_t i = 0; i < a->n_watches; i++)
        sf_watch_feed_free(a->watches[i]);
    sf_alert_book_done(&a->book);
    sf_alert_history_done(&a->history);
    sf_silence_book_done(&a->silences);
    sf_heap_free(a->health);
    sf_mutex_done(&a->lock);
    sf_mutex_done(&a->silence_file);
    sf_heap_free(a);
}

void sf_alerts_replace(struct sf_alerts *a, struct sf_alert_rules *rules)
{
    struct sf_alert_rules *old;
    sf_mutex_lock(&a->lock);
    old = a->next;
    a->next = rules;
    sf_mutex_unlock(&a->lock);
    sf_alert_rules_free(old);
}

static void take_next(struct sf_alerts *a)
{
    struct sf_alert_rules *old = NULL;
    sf_mutex_lock(&a->lock);
    if (a->next) {
        old = a->rules;
        a->rules = a->next;
        a->next = NULL;
        clear_health(a);
    }
    sf_mutex_unlock(&a->lock);
    sf_alert_rules_free(old);
}

/* ---- one rule ---- */

/* Resolved alerts keep their last mark. An alert whose silence ends while it fires is sent to
 * receivers. */
static void mark_silenced(struct sf_alerts *a, int64_t now_ns)
{
    for (size_t i = 0; i < a->book.n; i++) {
        struct sf_alert *one = &a->book.list[i];
        bool was_silenced = one->is_silenced;
        if (one->state == SF_ALERT_RESOLVED)
            continue;
        one->is_silenced = sf_silence_book_find(&a->silences, sf_str_from(one->tenant),
                                                sf_str_from(one->labels), now_ns) != NULL;
        if (was_silenced && !one->is_silenced && one->state == SF_ALERT_FIRING)
            one->is_news = true;
    }
}

/* Under the lock: the results are complete, and receivers may be notified. */
static void alerts_publish(struct sf_alerts *a, int64_t now_ns)
{
    mark_silenced(a, now_ns);
    sf_alert_book_publish(&a->book);
}

struct pass {
    struct sf_service *service;
    struct sf_worker *worker;
    struct sf_alerts *alerts;
    const atomic_bool *is_stopping;
    struct sf_arena scratch;
    int64_t now_ns;
};

/* Missing or low values may be missing because the server was down: they are not judged until it
 * has run for a whole window. */
static bool is_too_early(const struct pass *p, const struct sf_alert_rule *rule)
{
    return rule->test != SF_ALERT_ABOVE && p->now_ns - p->alerts->started_ns < rule->window_ns;
}

static bool has_just_fired(struct sf_alerts *a, const struct sf_alert_rule *rule, int64_t now_ns)
{
    bool has = false;
    sf_mutex_lock(&a->lock);
    for (size_t i = 0; i < a->book.n; i++)
        has = has ||
              (sf_alert_book_is_of(&a->book.list[i], rule) &&
               a->book.list[i].state == SF_ALERT_FIRING && a->book.list[i].fired_ns == now_ns);
    sf_mutex_unlock(&a->lock);
    return has;
}

/* A failed pin is not a fault of the rule: the alert still fires. */
static void pin_evidence(struct pass *p, const struct sf_alert_ask *ask, struct sf_query_ctx *q)
{
    struct sf_why why = {0};
    uint32_t n = 0;
    enum sf_err err = sf_alert_pin(ask, q, &n, &why);
    sf_mutex_lock(&p->alerts->lock);
    p->alerts->n_pinned += n;
    sf_mutex_unlock(&p->alerts->lock);
    if (n)
        sf_service_say(p->service, SF_SAY_INFO, "alerts: pinned traces=%u rule=%.*s", n,
                       SF_STR_ARG(sf_str_part(ask->rule->name, 0, 60)));
    if (err && err != SF_ERR_CANCELLED)
        sf_service_say(p->service, SF_SAY_WARN, "alerts: the evidence of %.*s is not pinned: %s",
                       SF_STR_ARG(sf_str_part(ask->rule->name, 0, 60)), why.text);
}

/* Captures profiles for the rule's alerts that begin to fire now; a failed capture is logged and
 * has no other effect. */
static void capture_now(struct pass *p, const struct sf_alert_rule *rule)
{
    struct sf_alert *begun[SF_LIMIT_ALERT_PINS];
    size_t n = 0;
    if (!rule->capture_s)
        return;
    for (size_t i = 0; i < p->alerts->book.n && n < SF_LIMIT_ALERT_PINS; i++) {
        struct sf_alert *one = &p->alerts->book.list[i]; /* only this thread changes the book */
        if (sf_alert_book_is_of(one, rule) && one->state == SF_ALERT_FIRING &&
            one->fired_ns == p->now_ns)
            begun[n++] = one;
    }
    for (size_t i = 0; i < n; i++) {
        struct sf_why why = {0};
        uint64_t id = 0;
        enum sf_err err = sf_alert_capture(p->service, rule, begun[i], p->now_ns, &id, &why);
        sf_mutex_lock(&p->alerts->lock);
        p->alerts->n_captured += !err;
        sf_mutex_unlock(&p->alerts->lock);
        if (err)
            sf_service_say(p->service, SF_SAY_WARN, "alerts: no capture for %.*s: %s",
                           SF_STR_ARG(sf_str_part(rule->name, 0, 60)), why.text);
        else
            sf_service_say(p->service, SF_SAY_INFO, "alerts: capture=%016llx seconds=%u rule=%.*s",
                           (unsigned long long)id, rule->capture_s,
                           SF_STR_ARG(sf_str_part(rule->name, 0, 60)));
    }
}

/* True: the query was ended early, so its result is not used. */
static bool is_cut_short(const struct sf_worker *worker)
{
    return worker->account.is_late || worker->account.is_put_off || worker->account.is_over;
}

/* Runs once per alert, when it begins to fire, because it may cost more than the rule. */
static void alerts_give_reasons(struct pass *p, struct sf_alert_ask *ask, struct sf_query_ctx *q)
{
    struct sf_alerts *a = p->alerts;
    struct sf_arena before = *q->req;
    size_t n = 0;
    for (size_t i = 0; i < a->book.n && n < REASONS && !is_cut_short(p->worker); i++) {
        struct sf_alert *one = &a->book.list[i]; /* only this thread changes the book */
        struct sf_buf reason = {.max = SF_LIMIT_ALERT_TEXT_LEN};
        struct sf_account *paused;
        if (!sf_alert_book_is_of(one, ask->rule) || one->state != SF_ALERT_FIRING ||
            one->fired_ns != p->now_ns || one->reason)
            continue;
        n++;
        *q->req = before;
        sf_alert_eval_reason(ask, sf_str_from(one->spans), q, &reason);
        paused = sf_account_pause();
        if (sf_buf_ok(&reason) && reason.len && !is_cut_short(p->worker)) {
            sf_mutex_lock(&a->lock);
            one->reason = sf_alert_book_copy(sf_buf_str(&reason));
            a->book.is_changed = true;
            sf_mutex_unlock(&a->lock);
        }
        sf_account_resume(paused);
        sf_buf_done(&reason);
    }
}

static enum sf_err alerts_judge(struct pass *p, const struct sf_alert_rule *rule, double *measured,
                                struct sf_unread *unread, struct sf_why *why)
{
    struct sf_alerts *a = p->alerts;
    sf_str found_spans = SF_STR_NONE;
    bool is_partial = false;
    struct sf_alert_ask ask = {
        atomic_load(&p->service->store),
        rule,
        p->now_ns,
        &p->scratch,
        measured,
        p->service->finding_limits,
        rule->kind == SF_ALERT_WATCH ? sf_alert_tenants_watch(a, rule->tenant) : NULL,
        &found_spans,
        &is_partial};
    struct sf_alert_value *values = NULL;
    struct sf_account *paused;
    uint32_t tenants[SF_TENANTS_MAX];
    struct sf_query_ctx q;
    size_t n = 0;
    enum sf_err err = sf_call_query_own(p->service, rule->tenant, p->is_stopping, p->worker,
                                        tenants, &q, why);
    if (!err) {
        q.unread = unread;
        err = sf_alert_eval(&ask, &q, &values, &n, why);
    }
    if (!err && is_cut_short(p->worker))
        err = sf_fail(why, SF_ERR_BUSY, "the query was ended before its time");
    if (err)
        return err;
    paused = sf_account_pause(); /* the book outlives the query: do not charge its memory to the
                                  * query */
    sf_mutex_lock(&a->lock);
    /* A WATCH rule leaves out the minutes that could not be read, so its result is not partial. */
    err = sf_alert_book_step(&a->book, rule, values, n, is_partial && rule->kind != SF_ALERT_WATCH,
                             p->now_ns, why);
    sf_mutex_unlock(&a->lock);
    sf_account_resume(paused);
    if (err || !has_just_fired(a, rule, p->now_ns))
        return err;
    paused = sf_account_pause();
    capture_now(p, rule);
    sf_account_resume(paused);
    pin_evidence(p, &ask, &q);
    alerts_give_reasons(p, &ask, &q);
    return SF_OK;
}

/* CANCELLED: nothing was evaluated. */
static enum sf_err alerts_evaluate(struct pass *p, const struct sf_alert_rule *rule, size_t index)
{
    struct sf_alerts *a = p->alerts;
    struct sf_alert_health *h;
    struct sf_unread unread = {0};
    struct sf_why why = {0};
    int64_t begun_ns = sf_clock_mono_ns();
    double value = NAN;
    bool is_new = false;
    enum sf_err err;
    if (is_too_early(p, rule))
        return SF_OK;
    sf_arena_reset(&p->worker->arena);
    sf_query_turn_open_own(p->service, rule->tenant, p->worker, begun_ns + p->service->query_ns,
                           p->is_stopping);
    err = sf_arena_init(&p->scratch, p->service->query_memory_len)
              ? alerts_judge(p, rule, &value, &unread, &why)
              : sf_no_memory(&why, "a rule");
    sf_arena_done(&p->scratch);
    err = sf_query_turn_close_own(p->worker, err, &why);
    sf_mutex_lock(&a->lock);
    alerts_publish(a, p->now_ns);
    sf_mutex_unlock(&a->lock);
    if (err == SF_ERR_CANCELLED)
        return err;
    if (!err)
        sf_unread_say(&unread, why.text, sizeof(why.text));
    sf_mutex_lock(&a->lock);
    h = sf_alert_tenants_health(a, index, rule->tenant);
    if (h) {
        is_new = (err || unread.n) && !h->why.text[0];
        *h = (struct sf_alert_health){.last_ns = p->now_ns,
                                      .took_ns = sf_clock_mono_ns() - begun_ns,
                                      .value = err ? NAN : value,
                                      .is_partial = !err && unread.n,
                                      .why = why};
    }
    a->n_evaluations++;
    a->n_unwatched = 0;
    for (size_t i = 0; i < a->n_watches; i++)
        a->n_unwatched += a->watches[i]->n_dropped;
    a->n_failed += err != SF_OK;
    a->n_partial += !err && unread.n;
    sf_mutex_unlock(&a->lock);
    if (is_new)
        sf_service_say(p->service, SF_SAY_WARN, "alerts: rule %.*s is %s: %s",
                       SF_STR_ARG(sf_str_part(rule->name, 0, 60)),
                       err ? "not evaluated" : "evaluated in part", why.text);
    return err;
}

/* Evaluates the rules that run per tenant, tenant by tenant; when the time is used up, the next
 * pass begins with the remaining ones. */
static void evaluate_each(struct pass *p)
{
    struct sf_alerts *a = p->alerts;
    int64_t until_ns = sf_clock_mono_ns() + EACH_NS;
    uint64_t n_before = a->n_unwatched_tenants;
    size_t first = 0;
    while (first < a->rules->n && !a->rules->list[first].is_each)
        first++;
    if (first == a->rules->n)
        return;
    sf_alert_tenants_see(a, atomic_load(&p->service->store));
    if (a->n_unwatched_tenants > n_before)
        sf_service_say(p->service, SF_SAY_WARN,
                       "alerts: the built-in alerts watch %zu tenants, and leave out %llu",
                       a->n_watches, (unsigned long long)a->n_unwatched_tenants);
    for (size_t i = 0; i < a->n_watches && !atomic_load(p->is_stopping); i++) {
        const struct sf_watch *w = a->watches[a->next_watch % a->n_watches];
        a->next_watch = (a->next_watch + 1) % a->n_watches;
        for (size_t k = first; k < a->rules->n && !atomic_load(p->is_stopping); k++) {
            struct sf_alert_rule rule = a->rules->list[k];
            rule.tenant = sf_str_from(w->tenant);
            rule.is_each = false;
            rule.names_tenant = true;
            if (alerts_evaluate(p, &rule, k) == SF_ERR_CANCELLED)
                break; /* the tenant's history is still being read */
        }
        if (sf_clock_mono_ns() > until_ns)
            break;
    }
}

/* ---- in a fleet: the node with the lease evaluates, the others copy its results ---- */

static bool is_unshared(const struct pass *p, const struct sf_fleet_text *t)
{
    return t->version == 0 && sf_fleet_text_is_on(p->service);
}

static enum sf_err pull_book(struct pass *p, struct sf_arena *req, struct sf_why *why)
{
    struct sf_alerts *a = p->alerts;
    struct sf_alert_book new = {0}, old;
    sf_str text;
    bool is_new = false;
    enum sf_err err = sf_fleet_text_pull(&a->fleet_book, p->service, req, &text, &is_new, why);
    if (err || !is_new)
        return err;
    err = sf_alert_book_read(&new, text, why);
    if (err)
        return err;
    sf_mutex_lock(&a->lock);
    old = a->book;
    new.n_changes = old.n_changes;
    new.n_dropped = old.n_dropped;
    a->book = new;
    sf_mutex_unlock(&a->lock);
    sf_alert_book_done(&old);
    return SF_OK;
}

static enum sf_err pull_history(struct pass *p, struct sf_arena *req, struct sf_why *why)
{
    struct sf_alerts *a = p->alerts;
    struct sf_alert_history new = {0}, old;
    sf_str text;
    bool is_new = false;
    enum sf_err err = sf_fleet_text_pull(&a->fleet_history, p->service, req, &text, &is_new, why);
    if (err || !is_new)
        return err;
    err = sf_alert_history_read(&new, text, why);
    if (err)
        return err;
    sf_mutex_lock(&a->lock);
    old = a->history;
    a->history = new;
    sf_mutex_unlock(&a->lock);
    sf_alert_history_done(&old);
    return SF_OK;
}

static enum sf_err alerts_pull(struct pass *p, struct sf_why *why)
{
    struct sf_arena req = {0};
    enum sf_err err = sf_arena_init(&req, TEXT_CAP) ? pull_book(p, &req, why)
                                                    : sf_no_memory(why, "alerts");
    if (!err) {
        sf_arena_reset(&req);
        err = pull_history(p, &req, why);
    }
    sf_arena_done(&req);
    return err;
}

/* Renews or requests the lease and reads the shared state. True: this node evaluates. While the
 * first shard does not respond, the node that evaluated last continues: no other node can obtain
 * the lease without that shard. */
static bool alerts_take_turn(struct pass *p)
{
    struct sf_alerts *a = p->alerts;
    struct sf_store *store = atomic_load(&p->service->store);
    int64_t ttl_ns = 3 * a->rules->interval_ns;
    bool is_ours = false, was_ours;
    struct sf_why why = {0};
    enum sf_err err = SF_OK;
    if (!sf_fleet_text_is_on(p->service)) {
        is_ours = true;
    } else {
        sf_mutex_lock(&a->lock);
        was_ours = a->is_ours;
        sf_mutex_unlock(&a->lock);
        if (a->rules->n)
            err = store->ops->shared_lease(store, "alerts", ttl_ns > LEASE_NS ? ttl_ns : LEASE_NS,
                                           &is_ours, &why);
        if (err)
            is_ours = was_ours;
        else
            err = alerts_pull(p, &why);
        if (err && !was_ours)
            is_ours = false;
        if (err)
            sf_service_say(p->service, SF_SAY_WARN,
                           "alerts: could not read the fleet's alert state: %s", why.text);
    }
    sf_mutex_lock(&a->lock);
    a->is_ours = is_ours;
    sf_mutex_unlock(&a->lock);
    return is_ours;
}

/* In a fleet the interval is measured by this node's monotonic clock, since book.last_ns may come
 * from another node's wall clock. */
static bool alerts_is_due(struct pass *p)
{
    struct sf_alerts *a = p->alerts;
    int64_t mono_ns = sf_clock_mono_ns();
    if (!sf_fleet_text_is_on(p->service))
        return a->book.last_ns > p->now_ns || p->now_ns - a->book.last_ns >= a->rules->interval_ns;
    if (a->asked_ns && mono_ns - a->asked_ns < a->rules->interval_ns)
        return false;
    a->asked_ns = mono_ns;
    return true;
}

enum sf_err sf_alerts_pull_silences(struct sf_alerts *a, struct sf_service *s, struct sf_why *why)
{
    struct sf_silence_book new = {0}, old;
    struct sf_buf own = {0};
    struct sf_arena req = {0};
    sf_str text;
    bool is_new = false;
    enum sf_err err;
    if (!sf_fleet_text_is_on(s))
        return SF_OK;
    err = sf_arena_init(&req, TEXT_CAP)
              ? sf_fleet_text_pull(&a->fleet_silences, s, &req, &text, &is_new, why)
              : sf_no_memory(why, "silences");
    if (!err && is_new)
        err = sf_silence_book_read(&new, text, why);
    if (!err && is_new) {
        sf_mutex_lock(&a->lock);
        old = a->silences;
        a->silences = new;
        sf_mutex_unlock(&a->lock);
        sf_silence_book_done(&old);
        err = sf_dir_replace(a->dir, silence_file, sf_str_bytes(text), why);
    } else if (!err && a->fleet_silences.version == 0) { /* the fleet has none: share
                                                          * this node's own silences */
        sf_mutex_lock(&a->lock);
        if (a->silences.n)
            sf_silence_book_write(&a->silences, &own);
        sf_mutex_unlock(&a->lock);
        if (own.len)
            err = sf_buf_ok(&own) ? sf_fleet_text_push(&a->fleet_silences, s, sf_buf_str(&own), why)
                                  : sf_no_memory(why, "silences");
    }
    sf_arena_done(&req);
    sf_buf_done(&own);
    return err;
}

/* Reads silences that were changed on other nodes, every SILENCES_NS. An error is ignored here:
 * changing a silence and alerts_take_turn() report it. */
static void sync_silences(struct pass *p)
{
    struct sf_alerts *a = p->alerts;
    int64_t mono_ns = sf_clock_mono_ns();
    if (!sf_fleet_text_is_on(p->service) ||
        (a->silences_asked_ns && mono_ns - a->silences_asked_ns < SILENCES_NS))
        return;
    a->silences_asked_ns = mono_ns;
    sf_mutex_lock(&a->silence_file);
    (void)sf_alerts_pull_silences(a, p->service, NULL);
    sf_mutex_unlock(&a->silence_file);
}

/* ---- a pass ---- */

static void alerts_save(struct pass *p)
{
    struct sf_alerts *a = p->alerts;
    struct sf_buf text = {0};
    struct sf_why why = {0};
    enum sf_err err;
    if (!a->book.is_changed && !is_unshared(p, &a->fleet_book))
        return;
    sf_alert_book_write(&a->book, &text);
    err = sf_buf_ok(&text) ? sf_dir_replace(a->dir, state_file, sf_buf_bytes(&text), &why)
                           : sf_no_memory(&why, "alerts");
    if (!err)
        err = sf_fleet_text_push(&a->fleet_book, p->service, sf_buf_str(&text), &why);
    sf_buf_done(&text);
    a->book.is_changed = err != SF_OK; /* the next pass tries again */
    if (err)
        sf_service_say(p->service, SF_SAY_WARN, "alerts: the state is not saved: %s", why.text);
}

static void save_history(struct pass *p)
{
    struct sf_alerts *a = p->alerts;
    struct sf_buf text = {0};
    struct sf_why why = {0};
    enum sf_err err;
    if (!a->history.is_changed && !is_unshared(p, &a->fleet_history))
        return;
    sf_alert_history_write(&a->history, &text);
    err = sf_buf_ok(&text) ? sf_dir_replace(a->dir, history_file, sf_buf_bytes(&text), &why)
                           : sf_no_memory(&why, "alerts");
    if (!err)
        err = sf_fleet_text_push(&a->fleet_history, p->service, sf_buf_str(&text), &why);
    sf_buf_done(&text);
    a->history.is_changed = err != SF_OK;
    if (err)
        sf_service_say(p->service, SF_SAY_WARN, "alerts: the history is not saved: %s", why.text);
}

enum sf_err sf_alerts_save_silences(struct sf_alerts *a, struct sf_service *s,
                                    const struct sf_buf *text, struct sf_why *why)
{
    enum sf_err err = sf_fleet_text_push(&a->fleet_silences, s, sf_buf_str(text), why);
    return err ? err : sf_dir_replace(a->dir, silence_file, sf_buf_bytes(text), why);
}

void sf_alerts_run(struct sf_service *s, struct sf_worker *worker, int64_t now_ns,
                   const atomic_bool *is_stopping)
{
    struct sf_alerts *a = s->alerts;
    struct pass p = {
        .service = s, .worker = worker, .alerts = a, .is_stopping = is_stopping, .now_ns = now_ns};
    take_next(a);
    if (!a->started_ns)
        a->started_ns = now_ns;
    if (!a->is_ours && !sf_fleet_text_is_on(s)) { /* only this thread changes it */
        sf_mutex_lock(&a->lock);
        a->is_ours = true;
        sf_mutex_unlock(&a->lock);
    }
    sync_silences(&p);
    if (alerts_is_due(&p) && alerts_take_turn(&p)) {
        for (size_t i = 0; i < a->rules->n && !atomic_load(is_stopping); i++) {
            if (!a->rules->list[i].is_each)
                (void)alerts_evaluate(&p, &a->rules->list[i], i);
        }
        evaluate_each(&p);
        sf_mutex_lock(&a->lock);
        sf_alert_book_tidy(&a->book, a->rules, now_ns);
        a->book.last_ns = now_ns;
        alerts_publish(a, now_ns);
        sf_alert_history_see(&a->history, &a->book, now_ns);
        sf_mutex_unlock(&a->lock);
        sf_arena_release(&worker->arena);
        alerts_save(&p);
        save_history(&p);
    }
    sf_mutex_lock(&a->lock); /* apply silences now, also before the first evaluation after a
                              * start */
    alerts_publish(a, now_ns);
    sf_mutex_unlock(&a->lock);
}

/* ---- /metrics ---- */

static void alerts_one(struct sf_exposition *e, const char *name, enum sf_metric_type type,
                       const char *help, uint64_t value)
{
    sf_exposition_family(e, name, type, help);
    sf_exposition_u64(e, NULL, 0, value);
}

void sf_alerts_render(struct sf_alerts *a, struct sf_exposition *e)
{
    uint64_t n[3] = {0};
    if (!a)
        return;
    sf_mutex_lock(&a->lock);
    for (size_t i = 0; i < a->book.n; i++)
        n[a->book.list[i].state]++;
    alerts_one(e, "spanflame_alerts_rules", SF_METRIC_GAUGE, "Rules of alerts.", a->rules->n);
    alerts_one(e, "spanflame_alerts_pending", SF_METRIC_GAUGE,
               "Alerts that are true, not long enough.", n[SF_ALERT_PENDING]);
    alerts_one(e, "spanflame_alerts_evaluates", SF_METRIC_GAUGE,
               "1 on the node that evaluates the rules of a fleet, and on a single server.",
               a->is_ours);
    alerts_one(e, "spanflame_alerts_firing", SF_METRIC_GAUGE, "Alerts that fire.",
               n[SF_ALERT_FIRING]);
    alerts_one(e, "spanflame_alerts_silences", SF_METRIC_GAUGE,
               "Silences, those that are over for less "
               "than a day included.",
               a->silences.n);
    sf_exposition_family(e, "spanflame_alert_rule_value", SF_METRIC_GAUGE,
                         "What a rule of the kinds share, amount, change, ledger and coverage "
                         "measured last: a share of 1, or ns, bytes, a number.");
    for (size_t i = 0; i < a->rules->n; i++) {
        struct sf_metric_label labels[] = {{"rule", a->rules->list[i].name},
                                           {"tenant", a->rules->list[i].tenant}};
        if (!isnan(a->health[i].value))
            sf_exposition_f64(e, labels, 2, a->health[i].value);
    }
    alerts_one(e, "spanflame_alerts_evaluations", SF_METRIC_COUNTER, "Evaluations of rules.",
               a->n_evaluations);
    alerts_one(e, "spanflame_alerts_evaluation_failures", SF_METRIC_COUNTER,
               "Evaluations of rules that failed; the alerts stay as they were.", a->n_failed);
    alerts_one(
        e, "spanflame_alerts_evaluations_partial", SF_METRIC_COUNTER,
        "Evaluations of rules over blocks that could not all be read; nothing is resolved by them.",
        a->n_partial);
    alerts_one(e, "spanflame_alerts_dropped", SF_METRIC_COUNTER,
               "Alerts left out because a rule had too many, counted in each evaluation.",
               a->book.n_dropped);
    alerts_one(e, "spanflame_alerts_pinned", SF_METRIC_COUNTER,
               "Traces that alerts pinned when they began to fire.", a->n_pinned);
    alerts_one(
        e, "spanflame_alerts_unwatched", SF_METRIC_COUNTER,
        "Services that the built-in alerts left out because there were too many, counted in each "
        "minute.",
        a->n_unwatched);
    alerts_one(e, "spanflame_alerts_unwatched_tenants", SF_METRIC_GAUGE,
               "Tenants that the built-in alerts leave out because there are too many.",
               a->n_unwatched_tenants);
    alerts_one(e, "spanflame_alerts_captures", SF_METRIC_COUNTER,
               "Captures that alerts asked for when they began to fire.", a->n_captured);
    alerts_one(e, "spanflame_alerts_sent", SF_METRIC_COUNTER, "Alerts that receivers took.",
               a->n_sent);
    alerts_one(e, "spanflame_alerts_send_failures", SF_METRIC_COUNTER,
               "Requests to receivers that failed.", a->n_send_failed);
    sf_mutex_unlock(&a->lock);
}
