#include "alert/alert_rule_spans.h"

#include <string.h>

#include "base/text.h"
#include "base/time_unit.h"
#include "link/ledger.h"
#include "link/service_watch.h"
#include "query/query_parse.h"

static const int64_t CHANGE_WINDOW_NS = SF_NS_PER_HOUR, WATCH_WINDOW_NS = 15 * SF_NS_PER_MIN;

struct field {
    const char *name;
    size_t offset; /* of a sf_str field in the rule */
};
#define AT(field) offsetof(struct sf_alert_rule, field)

static const struct kind {
    const char *name; /* with its point */
    enum sf_alert_kind kind;
    struct field fields[6];
} kinds[] = {
    {"change.",
     SF_ALERT_CHANGE,
     {{"q", AT(spans)},
      {"by", AT(by)},
      {"against", AT(against_text)},
      {"measure", AT(part)},
      {"type", AT(type)}}},
    {"ledger.", SF_ALERT_LEDGER, {{"q", AT(spans)}, {"part", AT(part)}}},
    {"finding.",
     SF_ALERT_FINDING,
     {{"service", AT(service)}, {"q", AT(spans)}, {"kind", AT(part)}, {"type", AT(type)}}},
    {"coverage.",
     SF_ALERT_COVERAGE,
     {{"service", AT(service)}, {"of", AT(part)}, {"type", AT(type)}}},
    {"watch.", SF_ALERT_WATCH, {{"kind", AT(part)}, {"service", AT(service)}}},
};

static enum sf_err alert_rule_spans_unknown(const struct kind *k, sf_str field, struct sf_why *why)
{
    const char *names[6];
    size_t n = 0;
    const char *near;
    while (n < 6 && k->fields[n].name) {
        names[n] = k->fields[n].name;
        n++;
    }
    near = sf_text_nearest(field, names, n);
    return sf_fail(why, SF_ERR_INPUT, "there is no %.*s in %.*s%s%s%s",
                   SF_STR_ARG(sf_str_part(field, 0, 40)), (int)strlen(k->name) - 1, k->name,
                   near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

enum sf_err sf_alert_rule_spans_set(struct sf_alert_rule *rule, sf_str path, sf_str val,
                                    bool *out_is, struct sf_why *why)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct kind *k = &kinds[i];
        sf_str field;
        if (!sf_str_starts(path, sf_str_from(k->name)))
            continue;
        *out_is = true;
        field = sf_str_from_at(path, strlen(k->name));
        if (rule->kind != SF_ALERT_NO_KIND && rule->kind != k->kind)
            return sf_fail(why, SF_ERR_INPUT, "a rule is of one kind, not two");
        rule->kind = k->kind;
        for (size_t f = 0; f < 6 && k->fields[f].name; f++) {
            if (sf_str_eq(field, sf_str_from(k->fields[f].name))) {
                *(sf_str *)(void *)((char *)rule + k->fields[f].offset) = val;
                return SF_OK;
            }
        }
        return alert_rule_spans_unknown(k, field, why);
    }
    *out_is = false;
    return SF_OK;
}

/* ---- the whole rule ---- */

static enum sf_err check_spans(struct sf_alert_rules *r, const struct sf_alert_rule *rule,
                               const char *kind, struct sf_why *why)
{
    struct sf_arena room = r->arena;
    const struct sf_query *query;
    if (!rule->spans.len)
        return sf_fail(why, SF_ERR_INPUT, "%s expects q, a TraceQL query of spans", kind);
    if (sf_query_parse(rule->spans, &room, &query, NULL, why)) {
        sf_why_prefix(why, "%s.q", kind);
        return SF_ERR_INPUT;
    }
    return query->metrics
               ? sf_fail(why, SF_ERR_INPUT, "%s.q is a query of spans, not of metrics", kind)
               : SF_OK;
}

static bool alert_rule_spans_is_part(sf_str name)
{
    for (int i = 0; i < SF_PARTS; i++) {
        if (sf_str_eq(name, sf_str_from(sf_ledger_part_name((enum sf_ledger_part)i))))
            return true;
    }
    return false;
}

static enum sf_err check_by(struct sf_alert_rules *r, const struct sf_alert_rule *rule,
                            struct sf_why *why)
{
    struct sf_arena room = r->arena;
    const struct sf_query *query;
    sf_str text;
    if (!sf_arena_print(&room, &text, "%.*s | count_over_time() by (%.*s)", SF_STR_ARG(rule->spans),
                        SF_STR_ARG(rule->by)))
        return sf_no_room(why, "the rules");
    if (!sf_query_parse(text, &room, &query, NULL, why))
        return SF_OK;
    return sf_fail(why, SF_ERR_INPUT,
                   "change.by: \"%.*s\" is not an attribute; write resource.service.version",
                   SF_STR_ARG(sf_str_part(rule->by, 0, 60)));
}

static enum sf_err check_change(struct sf_alert_rules *r, struct sf_alert_rule *rule,
                                struct sf_why *why)
{
    enum sf_err err = check_spans(r, rule, "change", why);
    if (err)
        return err;
    if (!rule->part.len)
        rule->part = SF_STR("duration");
    if (!sf_str_eq(rule->part, SF_STR("duration")) && !sf_str_eq(rule->part, SF_STR("value")) &&
        !alert_rule_spans_is_part(rule->part))
        return sf_fail(why, SF_ERR_INPUT,
                       "change.measure is duration, value (of the type) or a part: cpu, gc, "
                       "run_queue, lock, disk, net, io, sleep, child, remote");
    if (rule->against_text.len == 0 || sf_str_eq(rule->against_text, SF_STR("before")))
        rule->against = SF_ALERT_BEFORE;
    else if (sf_str_eq(rule->against_text, SF_STR("yesterday")))
        rule->against = SF_ALERT_YESTERDAY;
    else
        return sf_fail(why, SF_ERR_INPUT, "change.against is before or yesterday");
    if (rule->by.len && rule->against_text.len)
        return sf_fail(why, SF_ERR_INPUT, "change has by or against, not both");
    if (rule->test != SF_ALERT_NO_TEST && rule->test != SF_ALERT_ABOVE)
        return sf_fail(why, SF_ERR_INPUT, "change is above a percentage, or significant");
    if (rule->test == SF_ALERT_ABOVE && rule->unit != SF_ALERT_PERCENT)
        return sf_fail(why, SF_ERR_INPUT, "change expects a percentage, as above: 20%%");
    if (rule->test == SF_ALERT_NO_TEST && !rule->is_significant)
        return sf_fail(why, SF_ERR_INPUT, "change expects above, significant: true, or both");
    rule->test = SF_ALERT_ABOVE;
    if (!rule->has_window)
        rule->window_ns = CHANGE_WINDOW_NS;
    return rule->by.len ? check_by(r, rule, why) : SF_OK;
}

static enum sf_err check_ledger(struct sf_alert_rules *r, struct sf_alert_rule *rule,
                                struct sf_why *why)
{
    enum sf_err err = check_spans(r, rule, "ledger", why);
    if (err)
        return err;
    if (!alert_rule_spans_is_part(rule->part))
        return sf_fail(why, SF_ERR_INPUT,
                       "ledger.part is one of cpu, gc, run_queue, lock, disk, net, io, sleep, "
                       "child, remote, unknown");
    /* A part that no profile shows is unknown, not 0: so only "above" can be tested. */
    return rule->test == SF_ALERT_ABOVE && rule->unit == SF_ALERT_TIME
               ? SF_OK
               : sf_fail(why, SF_ERR_INPUT, "ledger expects a time per request, as above: 50ms");
}

static enum sf_err check_finding(struct sf_alert_rules *r, struct sf_alert_rule *rule,
                                 struct sf_why *why)
{
    if ((rule->service.len > 0) == (rule->spans.len > 0))
        return sf_fail(why, SF_ERR_INPUT, "finding needs either a service or q");
    if (rule->spans.len && check_spans(r, rule, "finding", why))
        return SF_ERR_INPUT;
    if (rule->test != SF_ALERT_NO_TEST &&
        (rule->test != SF_ALERT_ABOVE || rule->unit != SF_ALERT_PERCENT))
        return sf_fail(why, SF_ERR_INPUT, "finding takes no threshold, or a share, as above: 20%%");
    if (rule->test == SF_ALERT_NO_TEST)
        rule->threshold = -1; /* any */
    rule->test = SF_ALERT_ABOVE;
    return SF_OK;
}

static enum sf_err check_coverage(struct sf_alert_rule *rule, struct sf_why *why)
{
    if (!rule->service.len)
        return sf_fail(why, SF_ERR_INPUT, "coverage needs a service");
    if (!rule->part.len)
        rule->part = SF_STR("spans");
    if (!sf_str_eq(rule->part, SF_STR("spans")) && !sf_str_eq(rule->part, SF_STR("tagged")) &&
        !sf_str_eq(rule->part, SF_STR("named")) && !sf_str_eq(rule->part, SF_STR("samples")))
        return sf_fail(why, SF_ERR_INPUT,
                       "coverage.of is spans (that have samples), tagged or named (samples), or "
                       "samples (against the window before)");
    return rule->test == SF_ALERT_BELOW && rule->unit == SF_ALERT_PERCENT
               ? SF_OK
               : sf_fail(why, SF_ERR_INPUT, "coverage needs a percentage, as below: 50%%");
}

static enum sf_err check_watch(const struct sf_alert_rules *r, struct sf_alert_rule *rule,
                               struct sf_why *why)
{
    bool is_known = false;
    size_t n_tenants = 0;
    for (size_t i = 0; i < r->n; i++) { /* counts each tenant once, at its first rule */
        bool is_first = r->list[i].kind == SF_ALERT_WATCH && !r->list[i].is_each;
        for (size_t k = 0; is_first && k < i; k++)
            is_first = r->list[k].kind != SF_ALERT_WATCH ||
                       !sf_str_eq(r->list[k].tenant, r->list[i].tenant);
        n_tenants += is_first;
    }
    for (int k = 0; k < SF_WATCH_KINDS; k++)
        is_known |= sf_str_eq(rule->part,
                              sf_str_from(sf_service_watch_kind_name((enum sf_watch_kind)k)));
    if (!is_known)
        return sf_fail(why, SF_ERR_INPUT,
                       "watch.kind is one of latency, cpu, lock, allocation, memory, cpu_limit, "
                       "stopped, new_function");
    if (rule->test != SF_ALERT_NO_TEST)
        return sf_fail(why, SF_ERR_INPUT,
                       "watch has no above, below or absent: it detects unusual values itself");
    if (n_tenants > SF_LIMIT_WATCH_TENANTS)
        return sf_fail(why, SF_ERR_LIMIT, "rules of the kind watch for more than %d tenants",
                       SF_LIMIT_WATCH_TENANTS);
    rule->test = SF_ALERT_ABOVE; /* evaluated from the start: not delayed like rules for low
                                  * values */
    rule->window_ns = WATCH_WINDOW_NS;
    return SF_OK;
}

enum sf_err sf_alert_rule_spans_check(struct sf_alert_rules *r, struct sf_alert_rule *rule,
                                      struct sf_why *why)
{
    switch (rule->kind) {
    case SF_ALERT_CHANGE: return check_change(r, rule, why);
    case SF_ALERT_LEDGER: return check_ledger(r, rule, why);
    case SF_ALERT_FINDING: return check_finding(r, rule, why);
    case SF_ALERT_COVERAGE: return check_coverage(rule, why);
    case SF_ALERT_WATCH: return check_watch(r, rule, why);
    default: return SF_OK;
    }
}

void sf_alert_rule_spans_print(const struct sf_alert_rule *rule, struct sf_buf *out)
{
    switch (rule->kind) {
    case SF_ALERT_CHANGE:
        sf_buf_print(out, "%.*s per span of %.*s, %s%.*s", SF_STR_ARG(rule->part),
                     SF_STR_ARG(rule->spans),
                     rule->by.len                          ? "by "
                     : rule->against == SF_ALERT_YESTERDAY ? "against yesterday"
                                                           : "against the time before",
                     SF_STR_ARG(rule->by));
        if (rule->is_significant)
            sf_buf_print(out, ", significantly");
        break;
    case SF_ALERT_LEDGER:
        sf_buf_print(out, "%.*s per span of %.*s", SF_STR_ARG(rule->part), SF_STR_ARG(rule->spans));
        break;
    case SF_ALERT_FINDING:
        sf_buf_print(out, "finding %.*s in %.*s", SF_STR_ARG(rule->part),
                     SF_STR_ARG(rule->service.len ? rule->service : rule->spans));
        break;
    case SF_ALERT_COVERAGE:
        sf_buf_print(out, "coverage of %.*s: %.*s", SF_STR_ARG(rule->service),
                     SF_STR_ARG(rule->part));
        break;
    case SF_ALERT_WATCH:
        sf_buf_print(out, "watch %.*s of %.*s", SF_STR_ARG(rule->part),
                     SF_STR_ARG(rule->service.len ? rule->service : SF_STR("all services")));
        break;
    default: break;
    }
}
