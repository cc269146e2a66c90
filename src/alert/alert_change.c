#include "alert/alert_change.h"

#include <math.h>
#include <string.h>

#include "alert/alert_value.h"
#include "base/time_unit.h"
#include "exec/metrics.h"
#include "join/compare.h"
#include "query/query_parse.h"
#include "render/units.h"

/* Minimum number of spans per side; number of steps in which versions are distinguished. */
enum { MIN_SPANS = 30, STEPS = 60 };
#define MOSTLY 0.5 /* share of a part's difference that one function or child must explain */

/* ---- the two versions to compare ---- */

static sf_str text_of(const struct sf_metric_series *s, struct sf_arena *req)
{
    struct sf_alert_found f = {0};
    for (uint32_t i = 0; i < s->labels.n; i++) {
        if (!sf_str_eq(s->labels.list[i].key, SF_STR("__name__")) &&
            sf_alert_value_found_attr(&f, s->labels.list[i].key, s->labels.list[i].val, req) && f.n)
            return f.pairs[0].val;
    }
    return SF_STR_NONE;
}

struct version {
    sf_str name;
    uint32_t first; /* step */
    double n;
};

static struct version alert_change_version_of(const struct sf_metrics_result *r, uint32_t at,
                                              struct sf_arena *req)
{
    struct version v = {.name = text_of(&r->series[at], req), .first = r->n_steps};
    for (uint32_t i = 0; i < r->n_steps; i++) {
        double n = r->series[at].values[i];
        if (isnan(n) || n <= 0)
            continue;
        v.first = v.first < i ? v.first : i;
        v.n += n;
    }
    return v;
}

/* Finds the version that appeared last, and of the others the one with the most spans. Empty: there
 * are not two. */
static enum sf_err find_versions(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                                 sf_str *out_left, sf_str *out_right, struct sf_why *why)
{
    const struct sf_alert_rule *rule = ask->rule;
    struct sf_metrics_ask metrics = {.scratch = ask->scratch};
    struct sf_metrics_result r = {0};
    struct version left = {0}, right = {0};
    sf_str text;
    enum sf_err err = SF_OK;
    *out_left = *out_right = SF_STR_NONE;
    if (!sf_arena_print(q->req, &text, "%.*s | count_over_time() by (%.*s)",
                        SF_STR_ARG(rule->spans), SF_STR_ARG(rule->by)))
        return sf_no_room(why, "the rule");
    err = sf_query_parse(text, q->req, &metrics.query, NULL, why);
    if (!err)
        err = sf_metrics_window_range(ask->at_ns - rule->window_ns, ask->at_ns,
                                      rule->window_ns / STEPS, &metrics.window, why);
    if (!err)
        err = sf_metrics_run(ask->store, &metrics, q, &r, why);
    if (!err && r.is_cut)
        err = sf_fail(why, SF_ERR_LIMIT, "the answer is incomplete: %.*s",
                      SF_STR_ARG(sf_str_part(r.note, 0, 160)));
    for (uint32_t i = 0; !err && i < r.n_series; i++) {
        struct version v = alert_change_version_of(&r, i, q->req);
        if (v.name.len && v.n > 0 && (!right.name.len || v.first > right.first))
            right = v;
    }
    for (uint32_t i = 0; !err && i < r.n_series; i++) {
        struct version v = alert_change_version_of(&r, i, q->req);
        if (v.name.len && v.first < right.first && v.n > left.n)
            left = v;
    }
    if (!err && left.name.len) {
        *out_left = left.name;
        *out_right = right.name;
    }
    return err;
}

/* ---- the difference ---- */

struct change {
    double left, right, low; /* low: lower bound of the difference; NAN: unknown */
    bool is_significant;
};

/* There is no interval for the total of a sample type; a function that grew significantly is used
 * instead. */
static struct change of_value(const struct sf_comparison *c)
{
    struct change d = {c->left.mean_value, c->right.mean_value, NAN, false};
    for (uint32_t i = 0; i < c->n_rows; i++)
        d.is_significant |= c->rows[i].is_significant && c->rows[i].low > 0;
    return d;
}

static bool find_change(const struct sf_alert_rule *rule, const struct sf_comparison *c,
                        struct change *out)
{
    const struct sf_comparison_row *row = NULL;
    if (c->left.n_spans < MIN_SPANS || c->right.n_spans < MIN_SPANS)
        return false;
    if (sf_str_eq(rule->part, SF_STR("value"))) {
        *out = of_value(c);
        return c->type.len > 0;
    }
    if (sf_str_eq(rule->part, SF_STR("duration")))
        row = &c->time.duration;
    for (uint32_t i = 0; !row && i < c->time.n_parts; i++) {
        if (sf_str_eq(rule->part, sf_str_from(c->time.parts[i].name)))
            row = &c->time.parts[i].row;
    }
    if (!row || c->time.n_left < MIN_SPANS || c->time.n_right < MIN_SPANS)
        return false;
    *out = (struct change){row->left, row->right, row->low, row->is_significant && row->low > 0};
    return true;
}

static enum sf_err alert_change_compare(const struct sf_alert_ask *ask, sf_str left, sf_str right,
                                        struct sf_query_ctx *q, struct sf_comparison *out,
                                        struct sf_why *why)
{
    const struct sf_alert_rule *rule = ask->rule;
    int64_t back_ns = rule->against == SF_ALERT_YESTERDAY ? SF_NS_PER_DAY : rule->window_ns;
    struct sf_compare_want want = {.from_ns = ask->at_ns - rule->window_ns,
                                   .to_ns = ask->at_ns,
                                   .type = rule->type,
                                   .is_charged = true,
                                   .scratch = ask->scratch};
    if (rule->by.len) {
        want.query = rule->spans;
        want.by = rule->by;
        want.left = left;
        want.right = right;
    } else {
        want.left = want.right = rule->spans;
        want.left_from_ns = want.from_ns - back_ns;
        want.left_to_ns = want.to_ns - back_ns;
    }
    return sf_compare_make(ask->store, &want, q, out, why);
}

/* ---- the sentence ---- */

static void add_signed_ms(struct sf_buf *out, double ns)
{
    sf_buf_print(out, fabs(ns) < 1e9 ? "%+.3g ms" : "%+.0f ms", ns / 1e6);
}

/* For a sample type: its amount, and the function that grew most significantly. */
static bool value_words(const struct sf_comparison *c, struct sf_arena *req, sf_str *out)
{
    const struct sf_comparison_row *most = NULL;
    struct sf_buf text = {.max = SF_LIMIT_ALERT_TEXT_LEN};
    bool is_kept;
    for (uint32_t i = 0; i < c->n_rows; i++) {
        const struct sf_comparison_row *row = &c->rows[i];
        if (row->is_significant && row->low > 0 && (!most || row->delta > most->delta))
            most = row;
    }
    sf_units_plain(&text, c->type);
    sf_buf_print(&text, " per span is ");
    sf_units_amount(&text, llround(c->right.mean_value), c->unit);
    sf_buf_print(&text, ", and was ");
    sf_units_amount(&text, llround(c->left.mean_value), c->unit);
    if (most) {
        sf_buf_print(&text, "; ");
        sf_units_plain(&text, sf_str_part(most->function, 0, 120));
        sf_buf_print(&text, " has ");
        sf_units_amount(&text, llround(most->delta), c->unit);
        sf_buf_print(&text, " more (95 %% interval ");
        sf_units_amount(&text, llround(most->low), c->unit);
        sf_buf_print(&text, " to ");
        sf_units_amount(&text, llround(most->high), c->unit);
        sf_buf_print(&text, ")");
    }
    is_kept = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), out);
    sf_buf_done(&text);
    return is_kept;
}

/* For a part of the time: that part and what grew in it; the whole duration may have changed
 * differently. */
static bool part_words(const struct sf_alert_rule *rule, const struct sf_comparison *c,
                       struct sf_arena *req, sf_str *out)
{
    const struct sf_comparison_part *part = NULL;
    struct sf_buf text = {.max = SF_LIMIT_ALERT_TEXT_LEN};
    bool is_kept;
    for (uint32_t i = 0; i < c->time.n_parts && !part; i++) {
        if (sf_str_eq(rule->part, sf_str_from(c->time.parts[i].name)))
            part = &c->time.parts[i];
    }
    *out = c->time.summary;
    if (sf_str_eq(rule->part, SF_STR("value")))
        return value_words(c, req, out);
    if (!part)
        return true;
    sf_buf_print(&text, "%s ", part->words);
    add_signed_ms(&text, part->row.delta);
    sf_buf_print(&text, " per span");
    if (isfinite(part->row.low) && isfinite(part->row.high)) {
        sf_buf_print(&text, " (95 %% interval ");
        add_signed_ms(&text, part->row.low);
        sf_buf_print(&text, " to ");
        add_signed_ms(&text, part->row.high);
        sf_buf_print(&text, ")");
    }
    for (uint32_t i = 0; i < part->n_items; i++) {
        const struct sf_comparison_row *item = &part->items[i];
        if (!item->is_significant || item->delta / part->row.delta <= MOSTLY)
            continue;
        sf_buf_print(&text, ", mostly %.*s", SF_STR_ARG(sf_str_part(item->function, 0, 120)));
        break;
    }
    is_kept = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), out);
    sf_buf_done(&text);
    return is_kept;
}

sf_str sf_alert_change_words(sf_str summary)
{
    const sf_str right = SF_STR("right ");
    return sf_str_starts(summary, right) ? sf_str_from_at(summary, right.len) : summary;
}

/* "v2 against v1: spans take 50 ms more ..." */
static bool alert_change_say(const struct sf_alert_rule *rule, sf_str left, sf_str right,
                             sf_str summary, struct sf_arena *req, sf_str *out)
{
    struct sf_buf text = {.max = SF_LIMIT_ALERT_TEXT_LEN};
    bool is_ok;
    if (!summary.len)
        return true;
    if (rule->by.len) {
        sf_units_plain(&text, right);
        sf_buf_print(&text, " against ");
        sf_units_plain(&text, left);
    } else {
        sf_buf_print(&text, "the last ");
        sf_units_duration(&text, (uint64_t)rule->window_ns);
        sf_buf_print(&text, rule->against == SF_ALERT_YESTERDAY ? " against the same time yesterday"
                                                                : " against the same time before");
    }
    sf_buf_print(&text, ": %.*s", SF_STR_ARG(sf_alert_change_words(summary)));
    is_ok = sf_buf_ok(&text) && sf_arena_copy(req, sf_buf_str(&text), out);
    sf_buf_done(&text);
    return is_ok;
}

enum sf_err sf_alert_change(const struct sf_alert_ask *ask, struct sf_query_ctx *q,
                            struct sf_alert_value **out, size_t *out_n, struct sf_why *why)
{
    const struct sf_alert_rule *rule = ask->rule;
    struct sf_alert_value *one = sf_arena_new(q->req, sizeof(*one));
    struct sf_comparison *c = sf_arena_new(q->req, sizeof(*c));
    struct sf_alert_found f;
    struct change d = {0};
    sf_str left = SF_STR_NONE, right = SF_STR_NONE, words = SF_STR_NONE;
    double grown;
    bool is_ok;
    enum sf_err err = one && c ? SF_OK : sf_no_room(why, "the rule");
    if (!err && rule->by.len)
        err = find_versions(ask, q, &left, &right, why);
    if (err || (rule->by.len && !right.len))
        return err;
    err = alert_change_compare(ask, left, right, q, c, why);
    *out = one;
    if (err || !find_change(rule, c, &d))
        return err;
    grown = d.left > 0 ? d.right / d.left - 1 : INFINITY;
    if (ask->measured && d.left > 0)
        *ask->measured = grown;
    if (d.right <= d.left)
        return SF_OK;
    if ((rule->is_significant && !d.is_significant) || grown <= rule->threshold)
        return SF_OK;
    is_ok = sf_alert_value_found_begin(&f, rule, q->req);
    if (is_ok && rule->by.len)
        is_ok = sf_alert_value_found_label(&f, SF_STR("baseline"), left, q->req) &&
                sf_alert_value_found_label(&f, SF_STR("candidate"), right, q->req);
    if (!is_ok || !part_words(rule, c, q->req, &words) ||
        !alert_change_say(rule, left, right, words, q->req, &one->reason))
        return sf_no_room(why, "the rule");
    *out_n = 1;
    return sf_alert_value_found_finish(&f, rule, isinf(grown) ? 1e9 : grown, q->req, one, why);
}
