#include "serve/alerts/alert_eval.h"

#include <math.h>

#include "exec/metrics.h"
#include "exec/profile_types.h"
#include "flame/stack_filter.h"
#include "join/explain_set.h"
#include "query/label_selector.h"
#include "query/query_parse.h"
#include "render/explain.h"
#include "serve/alerts/alert_change.h"
#include "serve/alerts/alert_look.h"
#include "serve/alerts/alert_value.h"
#include "serve/alerts/alert_watch.h"
#include "wire/json_writer.h"

/* Below it a share says little: of 30 samples one is 3 %. */
enum { MIN_SAMPLES = 30 };

/* ---- TraceQL ---- */

static enum sf_err keep_series(const struct sf_alert_ask *ask, const struct sf_metrics_result *r,
                               struct sf_arena *req, struct sf_alert_value *list, size_t *out_n,
                               struct sf_why *why)
{
    enum sf_err err = SF_OK;
    bool is_present = false;
    struct sf_alert_found f;
    for (uint32_t i = 0; !err && i < r->n_series; i++) {
        const struct sf_metric_series *s = &r->series[i];
        double value = r->n_steps ? s->values[r->n_steps - 1] : NAN;
        bool is_ok = true;
        is_present |= !isnan(value) && value != 0;
        if (!sf_alert_rule_holds(ask->rule, value))
            continue;
        is_ok = sf_alert_found_begin(&f, ask->rule, req);
        for (uint32_t k = 0; is_ok && k < s->labels.n; k++) {
            if (!sf_str_eq(s->labels.list[k].key, SF_STR("__name__")))
                is_ok = sf_alert_found_attr(&f, s->labels.list[k].key, s->labels.list[k].val, req);
        }
        err = is_ok ? sf_alert_found_finish(&f, ask->rule, value, req, &list[*out_n], why)
                    : sf_no_room(why, "the rule");
        ++*out_n;
    }
    if (!err && ask->rule->test == SF_ALERT_ABSENT && !is_present)
        err = sf_alert_found_begin(&f, ask->rule, req)
                  ? sf_alert_found_finish(&f, ask->rule, 0, req, &list[(*out_n)++], why)
                  : sf_no_room(why, "the rule");
    return err;
}

static enum sf_err eval_query(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                              struct sf_alert_value **out, size_t *out_n, struct sf_why *why)
{
    struct sf_metrics_ask metrics = {.scratch = ask->scratch};
    struct sf_metrics_result r = {0};
    struct sf_alert_value *list;
    enum sf_err err = sf_query_parse(ask->rule->query, q->req, &metrics.query, NULL, why);
    if (!err)
        err = sf_metrics_window_instant(ask->at_ns - ask->rule->window_ns, ask->at_ns,
                                        &metrics.window, why);
    if (!err && q->n_tenants)
        err = sf_metrics_run(ask->store, &metrics, q, &r, why);
    if (!err && r.is_cut)
        err = sf_fail(why, SF_ERR_LIMIT, "the answer is incomplete: %.*s",
                      SF_STR_ARG(sf_str_part(r.note, 0, 160)));
    if (err)
        return err;
    list = sf_arena_new_n(q->req, r.n_series + 1u, sizeof(*list));
    if (!list)
        return sf_no_room(why, "the rule");
    *out = list;
    return keep_series(ask, &r, q->req, list, out_n, why);
}

/* ---- functions in profiles ---- */

static enum sf_err sum(const struct sf_alert_ask *ask, struct sf_prof_query *query,
                       struct sf_query_ctx *q, double *out, uint64_t *out_samples,
                       struct sf_why *why)
{
    struct sf_prof_points points = {0};
    enum sf_err err = ask->store->ops->prof_points(ask->store, query, NULL, 0,
                                                   query->to_ns - query->from_ns, q, &points, why);
    *out = 0;
    *out_samples = 0;
    for (uint32_t i = 0; !err && i < points.n_points; i++) {
        *out += (double)points.points[i].value;
        *out_samples += points.points[i].n_samples;
    }
    return err;
}

/* Which type is meant. False: there are no such profiles in the window. */
static enum sf_err choose_type(const struct sf_alert_ask *ask, struct sf_prof_query *query,
                               struct sf_query_ctx *q, bool *has, struct sf_why *why)
{
    const struct sf_alert_rule *rule = ask->rule;
    struct sf_prof_list list = {0};
    const struct sf_batch_type *types;
    uint32_t n = 0, at = 0;
    bool is_time, is_size;
    enum sf_err err = ask->store->ops->prof_list(ask->store, query, q, &list, why);
    *has = false;
    if (!err)
        err = sf_profile_types(&list, q->req, &types, &n, why);
    if (err || n == 0 || sf_batch_choose(types, n, rule->type, &at, NULL))
        return err;
    is_time = sf_str_eq(types[at].type.sample_unit, SF_STR("nanoseconds"));
    is_size = sf_str_eq(types[at].type.sample_unit, SF_STR("bytes"));
    if (rule->test != SF_ALERT_ABSENT &&
        ((rule->unit == SF_ALERT_TIME && !is_time) || (rule->unit == SF_ALERT_SIZE && !is_size)))
        return sf_fail(why, SF_ERR_INPUT, "profiles are in %.*s, the rule says %.*s",
                       SF_STR_ARG(sf_str_part(types[at].type.sample_unit, 0, 40)),
                       SF_STR_ARG(rule->threshold_text));
    *has = true;
    return sf_profile_type_print(&types[at].type, q->req, &query->type) ? SF_OK
                                                                        : sf_no_room(why, "a type");
}

static enum sf_err measure(const struct sf_alert_ask *ask, struct sf_query_ctx *q, double *out,
                           struct sf_why *why)
{
    const struct sf_alert_rule *rule = ask->rule;
    struct sf_label_selector selector = {0};
    struct sf_stack_term term = {rule->function, SF_STACK_HAS_PATTERN};
    struct sf_stack_ask stacks = {.terms = &term, .n_terms = 1};
    struct sf_stack_filter *filter = NULL;
    struct sf_prof_query query = {.from_ns = ask->at_ns - rule->window_ns, .to_ns = ask->at_ns};
    double all = 0, part = 0;
    uint64_t n_all = 0, n_part = 0;
    bool has = false;
    enum sf_err err = sf_label_selector_parse_loose(rule->selector, q->req, &selector, why);
    *out = NAN;
    query.match = selector.list;
    query.n_match = selector.n;
    if (!err && q->n_tenants)
        err = choose_type(ask, &query, q, &has, why);
    if (err || !has)
        return err;
    if (rule->kind == SF_ALERT_SHARE)
        err = sum(ask, &query, q, &all, &n_all, why);
    if (!err)
        err = sf_stack_filter_new(&stacks, &filter, why);
    query.stacks = filter;
    if (!err)
        err = sum(ask, &query, q, &part, &n_part, why);
    sf_stack_filter_free(filter);
    if (!err && rule->kind == SF_ALERT_AMOUNT)
        *out = part;
    else if (!err && n_all >= MIN_SAMPLES && all > 0)
        *out = part / all;
    return err;
}

static enum sf_err eval_code(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                             struct sf_alert_value **out, size_t *out_n, struct sf_why *why)
{
    struct sf_alert_value *one = sf_arena_new(q->req, sizeof(*one));
    struct sf_alert_found f;
    double value = NAN;
    bool is_absent;
    enum sf_err err = one ? measure(ask, q, &value, why) : sf_no_room(why, "the rule");
    if (err)
        return err;
    if (ask->measured)
        *ask->measured = value;
    is_absent = ask->rule->test == SF_ALERT_ABSENT && (isnan(value) || value == 0);
    *out = one;
    if (!is_absent && !sf_alert_rule_holds(ask->rule, value))
        return SF_OK;
    if (!sf_alert_found_begin(&f, ask->rule, q->req))
        return sf_no_room(why, "the rule");
    *out_n = 1;
    return sf_alert_found_finish(&f, ask->rule, is_absent ? 0 : value, q->req, one, why);
}

static enum sf_err eval(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                        struct sf_alert_value **out, size_t *out_n, struct sf_why *why)
{
    switch (ask->rule->kind) {
    case SF_ALERT_NO_KIND: break;
    case SF_ALERT_TRACEQL: return eval_query(ask, q, out, out_n, why);
    case SF_ALERT_SHARE:
    case SF_ALERT_AMOUNT: return eval_code(ask, q, out, out_n, why);
    case SF_ALERT_CHANGE: return sf_alert_change(ask, q, out, out_n, why);
    case SF_ALERT_LEDGER: return sf_alert_look_ledger(ask, q, out, out_n, why);
    case SF_ALERT_FINDING: return sf_alert_look_findings(ask, q, out, out_n, why);
    case SF_ALERT_COVERAGE: return sf_alert_look_coverage(ask, q, out, out_n, why);
    case SF_ALERT_WATCH:
        return ask->watch ? sf_alert_watch(ask, ask->watch, q, out, out_n, why)
                          : sf_fail(why, SF_ERR_INPUT,
                                    "a rule of the kind watch is judged minute by minute, not over "
                                    "the past; what it found is in the history");
    }
    return SF_OK;
}

/* Says of each value that more may be true. */
static enum sf_err mark_partial(const struct sf_unread *unread, struct sf_arena *req,
                                struct sf_alert_value *list, size_t n, struct sf_why *why)
{
    char said[200];
    struct sf_buf text = {0};
    bool is_ok = true;
    sf_unread_say(unread, said, sizeof(said));
    for (size_t i = 0; is_ok && i < n; i++) {
        struct sf_json_writer j = sf_json_writer_init(&text);
        sf_buf_reset(&text);
        sf_buf_add_str(&text, list[i].notes);
        j.needs_comma = text.len > 0;
        sf_json_write_key_str(&j, SF_STR("partial"), sf_str_from(said));
        is_ok = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), &list[i].notes);
    }
    sf_buf_done(&text);
    return is_ok ? SF_OK : sf_no_room(why, "the rule");
}

enum sf_err sf_alert_eval(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                          struct sf_alert_value **out, size_t *out_n, struct sf_why *why)
{
    struct sf_unread own = {0}, *outer = q->unread;
    char said[200];
    enum sf_err err;
    *out = NULL;
    *out_n = 0;
    q->unread = &own;
    err = eval(ask, q, out, out_n, why);
    q->unread = outer;
    sf_unread_join(outer, &own);
    if (err || own.n == 0)
        return err;
    if (ask->is_partial)
        *ask->is_partial = true;
    if (ask->rule->test == SF_ALERT_BELOW || ask->rule->test == SF_ALERT_ABSENT) {
        sf_unread_say(&own, said, sizeof(said));
        return sf_fail(why, SF_ERR_LIMIT, "%s", said);
    }
    return mark_partial(&own, q->req, *out, *out_n, why);
}

void sf_alert_eval_reason(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                          struct sf_buf *out)
{
    struct sf_explain_set_want want = {.query = ask->rule->spans,
                                       .from_ns = ask->at_ns - ask->rule->window_ns,
                                       .to_ns = ask->at_ns,
                                       .scratch = ask->scratch};
    struct sf_explain_view view = {0};
    if (ask->rule->spans.len == 0 || ask->rule->test == SF_ALERT_ABSENT || q->n_tenants == 0)
        return;
    if (!sf_explain_set(ask->store, &want, q, &view, NULL) && view.n_spans)
        sf_explain_sentence(&view, out);
}
