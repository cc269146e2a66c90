/* recording_run.c - evaluates recording rules and shows their counters.
 *
 * A pass copies one rule after the other and queries the store without holding the lock. Profiles
 * are stamped with the time they begin and arrive after they end, some of them late: so profiles
 * that began in the last LATE_NS are "open" and summed again in each pass. After a long pause the
 * closed part is caught up in pieces, so that each query stays small. */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "exec/tenant.h"
#include "flame/stack_filter.h"
#include "os/clock.h"
#include "serve/pyroscope/recording_list.h"
#include "serve/query_turn.h"

static const int64_t LATE_NS = 5 * SF_NS_PER_MIN, PIECE_NS = SF_NS_PER_HOUR,
                     LEAST_NS = SF_NS_PER_MIN, AHEAD_NS = SF_NS_PER_HOUR;
enum { MAX_PIECES = 24 }; /* pieces of one rule in one pass; the next pass continues */

struct pass {
    struct sf_service *service;
    struct sf_worker *worker;
    struct sf_recording_rules *rules;
    const atomic_bool *is_stopping;
    int64_t now_ns;
};

/* ---- one rule ---- */

struct sums {
    struct sf_label_selector selector;
    struct sf_stack_filter *stacks;
    struct sf_query_ctx q;
    struct sf_unread unread;
    uint32_t tenants[SF_TENANTS_MAX];
};

static enum sf_err recording_run_ask(struct pass *p, const struct sf_recording_rule *rule,
                                     struct sums *x, int64_t from_ns, int64_t to_ns,
                                     struct sf_prof_points *out, struct sf_why *why)
{
    struct sf_store *store = atomic_load(&p->service->store);
    struct sf_prof_query query = {.match = x->selector.list,
                                  .n_match = x->selector.n,
                                  .from_ns = from_ns,
                                  .to_ns = to_ns,
                                  .stacks = x->stacks};
    *out = (struct sf_prof_points){0};
    if (to_ns <= from_ns || x->q.n_tenants == 0)
        return SF_OK;
    return store->ops->prof_points(store, &query, rule->groups, rule->n_groups, to_ns - from_ns,
                                   &x->q, out, why);
}

static enum sf_err recording_run_prepare(struct pass *p, const struct sf_recording_rule *rule,
                                         struct sums *x, struct sf_why *why)
{
    struct sf_stack_term term = {rule->function, SF_STACK_HAS};
    struct sf_stack_ask stacks = {.terms = &term, .n_terms = rule->function.len ? 1 : 0};
    enum sf_err err = sf_recording_rule_selector(rule, &p->worker->arena, &x->selector, why);
    if (!err)
        err = sf_stack_filter_new(&stacks, &x->stacks, why);
    if (!err)
        err = sf_call_query_own(p->service, rule->tenant, p->is_stopping, p->worker, x->tenants,
                                &x->q, why);
    x->q.unread = &x->unread;
    return err;
}

/* Stores the sums, unless the rule has changed since. */
static enum sf_err recording_run_apply(struct pass *p, const struct sf_recording_rule *rule,
                                       int64_t closed_ns, const struct sf_prof_points *closed,
                                       const struct sf_prof_points *open,
                                       const struct sf_unread *unread, struct sf_why *why)
{
    struct sf_recording_totals *t = &p->rules->totals;
    struct sf_recording_total *total;
    bool is_new = false;
    enum sf_err err = SF_OK;
    sf_mutex_lock(&p->rules->lock);
    total = sf_recording_totals_find(t, rule->tenant, rule->id);
    if (total) { /* NULL: deleted or changed meanwhile */
        is_new = unread->n && total->n_partial == 0;
        total->n_partial += unread->n > 0;
        err = sf_recording_totals_apply(t, total, closed_ns, closed, open, p->now_ns, why);
    }
    sf_mutex_unlock(&p->rules->lock);
    if (is_new) {
        char said[200];
        sf_unread_say(unread, said, sizeof(said));
        sf_service_say(p->service, SF_SAY_WARN,
                       "rules: tenant=%.*s rule=%.*s: sums are too low: %s",
                       SF_STR_ARG(sf_str_part(rule->tenant, 0, 40)), SF_STR_ARG(rule->id), said);
    }
    return err;
}

/* One step: adds [closed, next) to the closed sum; after the last piece, sums the open part. */
static enum sf_err recording_run_step(struct pass *p, const struct sf_recording_rule *rule,
                                      int64_t closed_ns, int64_t next_ns, bool is_last,
                                      struct sf_why *why)
{
    struct sf_prof_points closed, open;
    struct sums x = {0};
    enum sf_err err;
    sf_query_turn_open_own(p->service, rule->tenant, p->worker,
                           sf_clock_mono_ns() + p->service->query_ns, p->is_stopping);
    err = recording_run_prepare(p, rule, &x, why);
    if (!err)
        err = recording_run_ask(p, rule, &x, closed_ns, next_ns, &closed, why);
    if (!err) /* + AHEAD_NS: senders' clocks may be slightly ahead */
        err = recording_run_ask(p, rule, &x, next_ns, is_last ? p->now_ns + AHEAD_NS : next_ns,
                                &open, why);
    sf_stack_filter_free(x.stacks);
    err = sf_query_turn_close_own(p->worker, err, why);
    return err ? err : recording_run_apply(p, rule, next_ns, &closed, &open, &x.unread, why);
}

static bool is_too_much(enum sf_err err)
{
    return err == SF_ERR_LIMIT || err == SF_ERR_DEADLINE;
}

static void say_failed(struct pass *p, const struct sf_recording_rule *rule,
                       const struct sf_why *why, const char *what)
{
    sf_mutex_lock(&p->rules->lock);
    p->rules->n_failed++;
    sf_mutex_unlock(&p->rules->lock);
    sf_service_say(p->service, SF_SAY_WARN, "rules: tenant=%.*s rule=%.*s: %s: %s",
                   SF_STR_ARG(sf_str_part(rule->tenant, 0, 40)), SF_STR_ARG(rule->id), what,
                   why->text);
}

static void recording_run_evaluate(struct pass *p, const struct sf_recording_rule *rule,
                                   int64_t closed_ns)
{
    int64_t piece_ns = PIECE_NS, end_ns = sf_sub_sat_i64(p->now_ns, LATE_NS);
    struct sf_arena as_it_was = p->worker->arena;
    for (unsigned i = 0; i < MAX_PIECES && !atomic_load(p->is_stopping); i++) {
        int64_t next_ns = closed_ns >= end_ns             ? closed_ns
                          : end_ns - closed_ns > piece_ns ? closed_ns + piece_ns
                                                          : end_ns;
        bool is_last = next_ns >= end_ns;
        struct sf_why why = {0};
        enum sf_err err = recording_run_step(p, rule, closed_ns, next_ns, is_last, &why);
        p->worker->arena = as_it_was;
        if (is_too_much(err) && next_ns - closed_ns > LEAST_NS) {
            piece_ns = (next_ns - closed_ns) / 2;
            continue;
        }
        if (err == SF_ERR_CANCELLED)
            return;
        if (is_too_much(err) && next_ns > closed_ns) {
            struct sf_prof_points none = {0};
            say_failed(p, rule, &why, "a minute of profiles is left out");
            if (recording_run_apply(p, rule, next_ns, &none, &none, &(struct sf_unread){0}, &why))
                return;
        } else if (err) {
            say_failed(p, rule, &why, "not evaluated");
            return;
        }
        closed_ns = next_ns;
        if (is_last)
            return;
    }
}

/* ---- a pass ---- */

/* The time up to which a rule is summed; creates its total when it has none. False: no memory. */
static bool find_closed(struct pass *p, const struct sf_recording_rule *rule, int64_t *out)
{
    struct sf_recording_totals *t = &p->rules->totals;
    struct sf_recording_total *total = sf_recording_totals_find(t, rule->tenant, rule->id);
    if (!total)
        total = sf_recording_totals_add(t, rule->tenant, rule->id, rule->since_ns);
    if (total && total->closed_ns > p->now_ns + AHEAD_NS) /* the clock was wrong when it was
                                                           * closed */
        total->closed_ns = p->now_ns;
    *out = total ? total->closed_ns : 0;
    return total != NULL;
}

/* Removes totals without a rule: the server stopped between writing the two files. */
static void forget_lost(struct pass *p)
{
    struct sf_recording_rules *r = p->rules;
    for (uint32_t i = r->totals.n; i-- > 0;) {
        sf_str tenant = sf_str_from(r->totals.list[i].tenant),
               id = sf_str_from(r->totals.list[i].id);
        bool is_known = false;
        for (size_t k = 0; !is_known && k < r->n; k++) {
            struct sf_arena room = p->worker->arena;
            struct sf_recording_rule rule;
            is_known = !sf_recording_rules_list_read(&r->list[k], &room, &rule) ||
                       (sf_str_eq(rule.tenant, tenant) && sf_str_eq(rule.id, id));
        }
        if (!is_known)
            sf_recording_totals_remove(&r->totals, tenant, id);
    }
}

static void save_totals(struct pass *p)
{
    struct sf_recording_rules *r = p->rules;
    struct sf_buf text = {0};
    struct sf_why why = {0};
    bool is_changed;
    enum sf_err err = SF_OK;
    sf_mutex_lock(&r->lock);
    is_changed = r->totals.is_changed;
    if (is_changed)
        sf_recording_totals_write(&r->totals, &text);
    r->totals.is_changed = false;
    sf_mutex_unlock(&r->lock);
    if (is_changed)
        err = sf_buf_ok(&text)
                  ? sf_dir_replace(r->dir, sf_recording_totals_file, sf_buf_bytes(&text), &why)
                  : sf_no_memory(&why, "recorded series");
    sf_buf_done(&text);
    if (!err)
        return;
    sf_mutex_lock(&r->lock);
    r->totals.is_changed = true; /* the next pass tries again */
    sf_mutex_unlock(&r->lock);
    sf_service_say(p->service, SF_SAY_WARN, "rules: the sums are not saved: %s", why.text);
}

void sf_recording_run(struct sf_service *s, struct sf_worker *worker, int64_t now_ns,
                      const atomic_bool *is_stopping)
{
    struct pass p = {s, worker, s->rules, is_stopping, now_ns};
    sf_arena_reset(&worker->arena);
    sf_mutex_lock(&p.rules->lock);
    forget_lost(&p);
    sf_mutex_unlock(&p.rules->lock);
    for (size_t i = 0; !atomic_load(is_stopping); i++) {
        struct sf_recording_rule rule;
        int64_t closed_ns = 0;
        bool is_ok;
        sf_arena_reset(&worker->arena);
        sf_mutex_lock(&p.rules->lock);
        is_ok = i < p.rules->n;
        /* A rule that moves to a lower index meanwhile waits for the next pass. */
        if (is_ok)
            is_ok = sf_recording_rules_list_read(&p.rules->list[i], &worker->arena, &rule) &&
                    find_closed(&p, &rule, &closed_ns);
        sf_mutex_unlock(&p.rules->lock);
        if (!is_ok)
            break;
        recording_run_evaluate(&p, &rule, closed_ns);
    }
    save_totals(&p);
    sf_arena_release(&worker->arena);
}

/* ---- /metrics ---- */

static int by_metric(const void *a, const void *b)
{
    return sf_str_cmp(((const struct sf_recording_rule *)a)->metric,
                      ((const struct sf_recording_rule *)b)->metric);
}

static void render_rules(struct sf_recording_rules *r, struct sf_recording_rule *list, size_t n,
                         bool has_tenancy, struct sf_exposition *e)
{
    char name[SF_RULE_NAME_LEN + 1] = "";
    for (size_t i = 0; i < n; i++) {
        const struct sf_recording_total *t = sf_recording_totals_find(&r->totals, list[i].tenant,
                                                                      list[i].id);
        if (!t || t->n == 0)
            continue;
        if (!sf_str_eq(sf_str_from(name), list[i].metric)) {
            memcpy(name, list[i].metric.p, list[i].metric.len);
            name[list[i].metric.len] = 0;
            sf_exposition_family(e, name, SF_METRIC_COUNTER_BARE,
                                 "Sum of profiles by a recording rule, in the unit of their type.");
        }
        sf_recording_totals_render_one(t, &list[i], has_tenancy ? list[i].tenant : SF_STR_NONE, e);
    }
}

/* Lists the rules whose sums are too low because of damaged blocks. */
static void render_partial(struct sf_recording_rules *r, const struct sf_recording_rule *list,
                           size_t n, bool has_tenancy, struct sf_exposition *e)
{
    sf_exposition_family(e, "spanflame_recording_partial", SF_METRIC_COUNTER,
                         "Evaluations of a recording rule over blocks that could not all be read: "
                         "its sums are too low.");
    for (size_t i = 0; i < n; i++) {
        const struct sf_recording_total *t = sf_recording_totals_find(&r->totals, list[i].tenant,
                                                                      list[i].id);
        struct sf_metric_label labels[] = {
            {"rule", list[i].id}, {"metric", list[i].metric}, {"tenant", list[i].tenant}};
        if (t && t->n_partial)
            sf_exposition_u64(e, labels, has_tenancy ? 3 : 2, t->n_partial);
    }
}

void sf_recording_run_render(struct sf_recording_rules *r, bool has_tenancy,
                             struct sf_exposition *e)
{
    struct sf_arena room = {0};
    struct sf_recording_rule *list;
    size_t n = 0;
    if (!r || !sf_arena_init(&room, (size_t)256 << 20))
        return;
    sf_mutex_lock(&r->lock);
    list = sf_arena_new_n(&room, r->n + 1, sizeof(*list));
    for (size_t i = 0; list && i < r->n; i++) {
        /* Without tenancy, rules of other tenants are left out: their series would look like
         * ours. */
        if (sf_recording_rules_list_read(&r->list[i], &room, &list[n]))
            n += has_tenancy || sf_str_eq(list[n].tenant, SF_STR("single-tenant"));
    }
    if (n)
        qsort(list, n, sizeof(*list), by_metric);
    render_rules(r, list, n, has_tenancy, e);
    render_partial(r, list, n, has_tenancy, e);
    sf_exposition_family(e, "spanflame_recording_rules", SF_METRIC_GAUGE, "Recording rules kept.");
    sf_exposition_u64(e, NULL, 0, r->n);
    sf_exposition_family(e, "spanflame_recording_series", SF_METRIC_GAUGE,
                         "Label sets of recording rules.");
    sf_exposition_u64(e, NULL, 0, r->totals.n_series);
    sf_exposition_family(e, "spanflame_recording_series_dropped", SF_METRIC_COUNTER,
                         "Label sets of recording rules left out because there were too many, "
                         "counted in each evaluation.");
    sf_exposition_u64(e, NULL, 0, r->totals.n_dropped);
    sf_exposition_family(e, "spanflame_recording_failures", SF_METRIC_COUNTER,
                         "Evaluations of recording rules that failed.");
    sf_exposition_u64(e, NULL, 0, r->n_failed);
    sf_mutex_unlock(&r->lock);
    sf_arena_done(&room);
}
