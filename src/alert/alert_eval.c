#include "alert/alert_eval.h"

#include <inttypes.h>
#include <math.h>

#include "alert/alert_answers.h"
#include "alert/alert_change.h"
#include "alert/alert_code.h"
#include "alert/alert_value.h"
#include "alert/alert_watch.h"
#include "exec/metrics.h"
#include "join/explain_set.h"
#include "query/expr_text.h"
#include "query/query_parse.h"
#include "render/explain.h"
#include "render/units.h"
#include "wire/json_write.h"

/* ---- TraceQL ---- */

/* A query for the spans of one series: the rule's query and the series' labels. Empty if TraceQL
 * cannot express that. */
static sf_str alert_eval_spans_of(const struct sf_alert_rule *rule,
                                  const struct sf_metric_series *s, struct sf_arena *req)
{
    struct sf_buf text = {.max = 2 * SF_LIMIT_ALERT_TEXT_LEN};
    struct sf_arena room;
    const struct sf_query *parsed;
    sf_str out = SF_STR_NONE;
    const char *between = " | { ";
    sf_buf_add_str(&text, rule->spans);
    for (uint32_t i = 0; i < s->labels.n; i++) {
        const struct sf_attr *a = &s->labels.list[i];
        bool is_word = sf_str_eq(a->key, SF_STR("status")) || sf_str_eq(a->key, SF_STR("kind"));
        if (sf_str_starts(a->key, SF_STR("__")) || sf_str_eq(a->key, SF_STR("p")))
            continue; /* not an attribute: a name, a bucket, a quantile */
        sf_buf_print(&text, "%s%.*s = ", between, SF_STR_ARG(a->key));
        between = " && ";
        if (a->val.type == SF_VALUE_STR && is_word)
            sf_buf_add_str(&text, a->val.str);
        else if (a->val.type == SF_VALUE_STR)
            sf_expr_text_static((struct sf_static){SF_TYPE_STRING, {.str = a->val.str}}, &text);
        else if (a->val.type == SF_VALUE_INT)
            sf_buf_print(&text, "%" PRId64, a->val.i64);
        else if (a->val.type == SF_VALUE_BOOL)
            sf_buf_print(&text, a->val.is_true ? "true" : "false");
        else
            sf_buf_print(&text, "?"); /* not a valid literal, so that the query will not parse */
    }
    sf_buf_print(&text, " }");
    if (rule->spans.len && between[1] == '&' && sf_buf_ok(&text) &&
        sf_arena_copy(req, sf_buf_str(&text), &out)) {
        room = *req;
        if (sf_query_parse(out, &room, &parsed, NULL, NULL))
            out = SF_STR_NONE;
    }
    sf_buf_done(&text);
    return out;
}

static enum sf_err alert_eval_keep_series(const struct sf_alert_ask *ask,
                                          const struct sf_metrics_result *r, uint32_t step,
                                          struct sf_arena *req, struct sf_alert_value *list,
                                          size_t *out_n, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    bool is_present = false;
    struct sf_alert_found f;
    for (uint32_t i = 0; !err && i < r->n_series; i++) {
        const struct sf_metric_series *s = &r->series[i];
        double value = step < r->n_steps ? s->values[step] : NAN;
        bool is_ok = true;
        is_present |= !isnan(value) && value != 0;
        if (!sf_alert_rule_holds(ask->rule, value))
            continue;
        is_ok = sf_alert_value_found_begin(&f, ask->rule, req);
        for (uint32_t k = 0; is_ok && k < s->labels.n; k++) {
            if (!sf_str_eq(s->labels.list[k].key, SF_STR("__name__")))
                is_ok = sf_alert_value_found_attr(&f, s->labels.list[k].key, s->labels.list[k].val,
                                                  req);
        }
        list[*out_n].spans = alert_eval_spans_of(ask->rule, s, req);
        err = is_ok ? sf_alert_value_found_finish(&f, ask->rule, value, req, &list[*out_n], why)
                    : sf_no_room(why, "the rule");
        ++*out_n;
    }
    if (!err && ask->rule->test == SF_ALERT_ABSENT && !is_present)
        err = sf_alert_value_found_begin(&f, ask->rule, req)
                  ? sf_alert_value_found_finish(&f, ask->rule, 0, req, &list[(*out_n)++], why)
                  : sf_no_room(why, "the rule");
    return err;
}

static enum sf_err run_query(const struct sf_alert_ask *ask, struct sf_metrics_ask *metrics,
                             struct sf_query_ctx *q, struct sf_metrics_result *out,
                             struct sf_why *why)
{
    enum sf_err err = sf_query_parse(ask->rule->query, q->req, &metrics->query, NULL, why);
    metrics->scratch = ask->scratch;
    if (!err && q->n_tenants)
        err = sf_metrics_run(ask->store, metrics, q, out, why);
    if (!err && out->is_cut)
        err = sf_fail(why, SF_ERR_LIMIT, "the answer is incomplete: %.*s",
                      SF_STR_ARG(sf_str_part(out->note, 0, 160)));
    return err;
}

enum sf_err sf_alert_eval_window(const struct sf_alert_ask *ask, const struct sf_metrics_result *r,
                                 uint32_t step, struct sf_query_ctx *q, struct sf_alert_value **out,
                                 size_t *out_n, struct sf_why *why)
{
    struct sf_alert_value *list = sf_arena_new_n(q->req, r->n_series + 1u, sizeof(*list));
    *out_n = 0;
    if (!list)
        return sf_no_room(why, "the rule");
    *out = list;
    return alert_eval_keep_series(ask, r, step, q->req, list, out_n, why);
}

static enum sf_err eval_query(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                              struct sf_alert_value **out, size_t *out_n, struct sf_why *why)
{
    struct sf_metrics_ask metrics = {0};
    struct sf_metrics_result r = {0};
    enum sf_err err = sf_metrics_window_instant(ask->at_ns - ask->rule->window_ns, ask->at_ns,
                                                &metrics.window, why);
    if (!err)
        err = run_query(ask, &metrics, q, &r, why);
    return err ? err
               : sf_alert_eval_window(ask, &r, r.n_steps ? r.n_steps - 1 : 0, q, out, out_n, why);
}

static enum sf_err eval(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                        struct sf_alert_value **out, size_t *out_n, struct sf_why *why)
{
    switch (ask->rule->kind) {
    case SF_ALERT_NO_KIND: break;
    case SF_ALERT_TRACEQL: return eval_query(ask, q, out, out_n, why);
    case SF_ALERT_SHARE:
    case SF_ALERT_AMOUNT: return sf_alert_code(ask, q, out, out_n, why);
    case SF_ALERT_CHANGE: return sf_alert_change(ask, q, out, out_n, why);
    case SF_ALERT_LEDGER: return sf_alert_answers_ledger(ask, q, out, out_n, why);
    case SF_ALERT_FINDING: return sf_alert_answers_findings(ask, q, out, out_n, why);
    case SF_ALERT_COVERAGE: return sf_alert_answers_coverage(ask, q, out, out_n, why);
    case SF_ALERT_WATCH:
        return ask->watch ? sf_alert_watch(ask, ask->watch, q, out, out_n, why)
                          : sf_fail(why, SF_ERR_INPUT,
                                    "watch rules are evaluated incrementally, minute by minute, "
                                    "and cannot be tested over past data");
    }
    return SF_OK;
}

/* Marks each value: the result may be incomplete. */
static enum sf_err alert_eval_mark_partial(const struct sf_unread *unread, struct sf_arena *req,
                                           struct sf_alert_value *list, size_t n,
                                           struct sf_why *why)
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
    return alert_eval_mark_partial(&own, q->req, *out, *out_n, why);
}

enum sf_err sf_alert_eval_windows(const struct sf_alert_ask *ask, int64_t from_ns, int64_t to_ns,
                                  struct sf_query_ctx *q, struct sf_metrics_result *out,
                                  struct sf_why *why)
{
    struct sf_unread own = {0}, *outer = q->unread;
    struct sf_metrics_ask metrics = {0};
    char said[200];
    enum sf_err err = sf_metrics_window_range(from_ns, to_ns, ask->rule->window_ns, &metrics.window,
                                              why);
    *out = (struct sf_metrics_result){.from_ns = metrics.window.from_ns,
                                      .step_ns = metrics.window.step_ns};
    q->unread = &own;
    if (!err)
        err = run_query(ask, &metrics, q, out, why);
    q->unread = outer;
    sf_unread_join(outer, &own);
    if (err || own.n == 0)
        return err;
    if (ask->is_partial)
        *ask->is_partial = true;
    if (ask->rule->test != SF_ALERT_BELOW && ask->rule->test != SF_ALERT_ABSENT)
        return SF_OK;
    sf_unread_say(&own, said, sizeof(said));
    return sf_fail(why, SF_ERR_LIMIT, "%s", said);
}

void sf_alert_eval_reason(const struct sf_alert_ask *ask, sf_str spans, struct sf_query_ctx *q,
                          struct sf_buf *out)
{
    struct sf_explain_set_want want = {.query = spans.len ? spans : ask->rule->spans,
                                       .from_ns = ask->at_ns - ask->rule->window_ns,
                                       .to_ns = ask->at_ns,
                                       .scratch = ask->scratch};
    struct sf_explain_view view = {0};
    if (ask->rule->kind == SF_ALERT_SHARE || ask->rule->kind == SF_ALERT_AMOUNT) {
        sf_alert_code_reason(ask, q, out);
    } else if (ask->rule->test == SF_ALERT_ABSENT) {
        sf_buf_print(out, "nothing of %.*s within ", SF_STR_ARG(ask->rule->query));
        sf_units_duration(out, (uint64_t)ask->rule->window_ns);
    }
    if (out->len || want.query.len == 0 || q->n_tenants == 0)
        return;
    if (!sf_explain_set(ask->store, &want, q, &view, NULL) && view.n_spans)
        sf_explain_sentence(&view, out);
}
