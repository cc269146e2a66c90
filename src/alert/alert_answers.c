#include "alert/alert_answers.h"

#include <math.h>

#include "alert/alert_value.h"
#include "exec/profile_types.h"
#include "join/coverage.h"
#include "join/explain_set.h"
#include "join/findings.h"
#include "render/explain.h"
#include "render/units.h"

/* With fewer, a mean or a share is too uncertain. If samples carry no span ids, a breakdown uses
 * eight spans. */
enum { MIN_SPANS = 8, MIN_BROKEN_DOWN = 5, MIN_SAMPLES = 30 };

static enum sf_err give_one(const struct sf_alert_ask *ask, double value, sf_str reason,
                            struct sf_query_ctx *q, struct sf_alert_value **out, size_t *out_n,
                            struct sf_why *why)
{
    struct sf_alert_found f;
    struct sf_alert_value *one;
    if (ask->measured)
        *ask->measured = value;
    if (!sf_alert_rule_holds(ask->rule, value))
        return SF_OK;
    one = sf_arena_new(q->req, sizeof(*one));
    if (!one || !sf_alert_value_found_begin(&f, ask->rule, q->req))
        return sf_no_room(why, "the rule");
    one->reason = reason;
    *out = one;
    *out_n = 1;
    return sf_alert_value_found_finish(&f, ask->rule, value, q->req, one, why);
}

/* ---- parts of time ---- */

enum sf_err sf_alert_answers_ledger(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                    struct sf_alert_value **out, size_t *out_n, struct sf_why *why)
{
    const struct sf_alert_rule *rule = ask->rule;
    struct sf_explain_set_want want = {.query = rule->spans,
                                       .from_ns = ask->at_ns - rule->window_ns,
                                       .to_ns = ask->at_ns,
                                       .scratch = ask->scratch};
    struct sf_explain_view *view = sf_arena_new(q->req, sizeof(*view));
    struct sf_buf text = {.max = SF_LIMIT_ALERT_TEXT_LEN};
    sf_str reason = SF_STR_NONE;
    double ns = 0;
    enum sf_err err = view ? sf_explain_set(ask->store, &want, q, view, why)
                           : sf_no_room(why, "the rule");
    if (!err && view->n_spans < MIN_BROKEN_DOWN && view->is_partial)
        err = sf_fail(why, SF_ERR_DEADLINE,
                      "the time limit was reached before %d spans were analysed", MIN_BROKEN_DOWN);
    if (err || view->n_spans < MIN_BROKEN_DOWN)
        return err;
    for (uint32_t i = 0; i < view->n_parts; i++) {
        if (!sf_str_eq(rule->part, sf_str_from(view->parts[i].ledger)))
            continue;
        if (view->parts[i].few > 0)
            return SF_OK; /* too few samples to state a time */
        ns += (double)view->parts[i].ns;
    }
    sf_explain_sentence(view, &text);
    if (sf_buf_ok(&text) && !sf_arena_copy(q->req, sf_buf_str(&text), &reason))
        err = sf_no_room(why, "the rule");
    sf_buf_done(&text);
    return err ? err : give_one(ask, ns, reason, q, out, out_n, why);
}

/* ---- findings ---- */

enum sf_err sf_alert_answers_findings(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                      struct sf_alert_value **out, size_t *out_n,
                                      struct sf_why *why)
{
    const struct sf_alert_rule *rule = ask->rule;
    struct sf_findings_want want = {.service = rule->service,
                                    .query = rule->spans,
                                    .type = rule->type,
                                    .from_ns = ask->at_ns - rule->window_ns,
                                    .until_ns = ask->at_ns,
                                    .limits = ask->findings,
                                    .scratch = ask->scratch};
    struct sf_findings_view view = {0};
    enum sf_err err = sf_findings_make(ask->store, &want, q, &view, why);
    struct sf_alert_value *list;
    if (err == SF_ERR_NOT_FOUND)
        return SF_OK; /* no such profiles in the window */
    list = err ? NULL : sf_arena_new_n(q->req, view.n + 1u, sizeof(*list));
    if (!err && !list)
        err = sf_no_room(why, "the rule");
    *out = list;
    for (uint32_t i = 0; !err && view.n_samples >= MIN_SAMPLES && i < view.n; i++) {
        const struct sf_finding_view *v = &view.items[i];
        struct sf_alert_found f;
        if ((rule->part.len && !sf_str_eq(rule->part, sf_str_from(v->kind))) ||
            v->share <= rule->threshold)
            continue;
        if (!sf_alert_value_found_begin(&f, rule, q->req) ||
            !sf_alert_value_found_label(&f, SF_STR("finding"), sf_str_from(v->kind), q->req) ||
            !sf_alert_value_found_label(&f, SF_STR("subject"), v->subject, q->req))
            return sf_no_room(why, "the rule");
        list[*out_n].reason = v->sentence;
        err = sf_alert_value_found_finish(&f, rule, v->share, q->req, &list[*out_n], why);
        ++*out_n;
    }
    return err;
}

/* ---- coverage ---- */

/* Counts samples of the service's profiles in the window and in the one before. */
static enum sf_err alert_answers_count_samples(const struct sf_alert_ask *ask,
                                               struct sf_query_ctx *q, int64_t to_ns, double *out,
                                               struct sf_why *why)
{
    struct sf_matcher match = {
        .key = SF_STR("service_name"), .op = SF_OP_EQ, .val = ask->rule->service};
    struct sf_prof_query query = {
        .from_ns = to_ns - ask->rule->window_ns, .to_ns = to_ns, .match = &match, .n_match = 1};
    struct sf_prof_list list = {0};
    const struct sf_batch_type *types;
    struct sf_prof_points points = {0};
    uint32_t n = 0, at = 0;
    enum sf_err err = ask->store->ops->prof_list(ask->store, &query, q, &list, why);
    *out = 0;
    if (!err)
        err = sf_profile_types(&list, q->req, &types, &n, why);
    if (err || n == 0 || sf_batch_tree_choose(types, n, ask->rule->type, &at, NULL))
        return err;
    if (!sf_batch_tree_type_print(&types[at].type, q->req, &query.type))
        return sf_no_room(why, "a type");
    err = ask->store->ops->prof_points(ask->store, &query, NULL, 0, ask->rule->window_ns, q,
                                       &points, why);
    for (uint32_t i = 0; !err && i < points.n_points; i++)
        *out += (double)points.points[i].n_samples;
    return err;
}

/* The coverage in one sentence, with the missing data where known. */
static void say_coverage(const struct sf_alert_rule *rule, const struct sf_coverage *c,
                         struct sf_buf *out)
{
    if (sf_str_eq(rule->part, SF_STR("spans")))
        sf_buf_print(out, "%llu of %llu spans of ", (unsigned long long)c->n_sampled,
                     (unsigned long long)c->n_checked);
    else
        sf_buf_print(out, "%.3g %% of the samples of ",
                     100 * (sf_str_eq(rule->part, SF_STR("tagged")) ? c->tagged_share
                                                                    : c->symbolised_share));
    sf_units_plain(out, rule->service);
    sf_buf_print(out, sf_str_eq(rule->part, SF_STR("spans"))    ? " have samples"
                      : sf_str_eq(rule->part, SF_STR("tagged")) ? " carry the id of a span"
                                                                : " have names of functions");
    if (c->n_missing)
        sf_buf_print(out, ": %s", c->missing[0].sentence);
}

static void say_samples(const struct sf_alert_rule *rule, double before, double now,
                        struct sf_buf *out)
{
    sf_units_plain(out, rule->service);
    sf_buf_print(out, " sent %.0f samples within ", now);
    sf_units_duration(out, (uint64_t)rule->window_ns);
    sf_buf_print(out, ", and %.0f in the same time before", before);
}

static enum sf_err alert_answers_share_of(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                          double *out, struct sf_buf *said, struct sf_why *why)
{
    const struct sf_alert_rule *rule = ask->rule;
    struct sf_coverage_want want = {.service = rule->service,
                                    .type = rule->type,
                                    .from_ns = ask->at_ns - rule->window_ns,
                                    .until_ns = ask->at_ns,
                                    .scratch = ask->scratch};
    struct sf_coverage c = {0};
    double before = 0, now = 0;
    enum sf_err err = SF_OK;
    *out = NAN;
    if (sf_str_eq(rule->part, SF_STR("samples"))) {
        err = alert_answers_count_samples(ask, q, ask->at_ns - rule->window_ns, &before, why);
        if (!err)
            err = alert_answers_count_samples(ask, q, ask->at_ns, &now, why);
        if (!err && before >= MIN_SAMPLES)
            *out = now / before;
        say_samples(rule, before, now, said);
        return err;
    }
    err = sf_coverage_make(ask->store, &want, q, &c, why);
    if (err || c.n_spans < MIN_SPANS)
        return err;
    if (sf_str_eq(rule->part, SF_STR("tagged")))
        *out = c.tagged_share < 0 ? NAN : c.tagged_share;
    else if (sf_str_eq(rule->part, SF_STR("named")))
        *out = c.symbolised_share < 0 ? NAN : c.symbolised_share;
    else if (c.n_checked >= MIN_SPANS)
        *out = (double)c.n_sampled / (double)c.n_checked;
    say_coverage(rule, &c, said);
    return SF_OK;
}

enum sf_err sf_alert_answers_coverage(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                      struct sf_alert_value **out, size_t *out_n,
                                      struct sf_why *why)
{
    struct sf_buf said = {.max = SF_LIMIT_ALERT_TEXT_LEN};
    sf_str reason = SF_STR_NONE;
    double value;
    enum sf_err err = alert_answers_share_of(ask, q, &value, &said, why);
    if (!err && sf_buf_ok(&said) && !sf_arena_copy(q->req, sf_buf_str(&said), &reason))
        err = sf_no_room(why, "the rule");
    sf_buf_done(&said);
    return err ? err : give_one(ask, value, reason, q, out, out_n, why);
}
