/* alert_rule.c - alert rules as configured. Fields arrive as path and value; sf_alert_rule_check()
 * verifies the whole rule and compiles its query. Also the use of a rule: its condition on a value
 * and the text of its annotations. */
#include "alert/alert_rule.h"

#include <math.h>
#include <string.h>

#include "alert/alert_code.h"
#include "alert/alert_rule_spans.h"
#include "base/heap.h"
#include "base/setting.h"
#include "base/text.h"
#include "base/time_unit.h"
#include "exec/tenant.h"
#include "query/query_parse.h"

enum { SET_LEN = 16 << 20, CAPTURE_S = 30, CAPTURE_HZ = 100 };
static const int64_t WINDOW_NS = 5 * SF_NS_PER_MIN, LONGEST_NS = SF_NS_PER_DAY;

/* ---- the set ---- */

struct sf_alert_rules *sf_alert_rules_new(void)
{
    struct sf_alert_rules *r = sf_heap_new(sizeof(*r));
    if (!r)
        return NULL;
    atomic_store(&r->n_users, 1);
    if (sf_arena_init(&r->arena, SET_LEN))
        r->list = sf_arena_new_n(&r->arena, SF_LIMIT_ALERT_RULES, sizeof(*r->list));
    if (!r->list) {
        sf_alert_rules_free(r);
        return NULL;
    }
    return r;
}

struct sf_alert_rules *sf_alert_rules_share(struct sf_alert_rules *r)
{
    if (r)
        atomic_fetch_add(&r->n_users, 1);
    return r;
}

void sf_alert_rules_free(struct sf_alert_rules *r)
{
    if (!r || atomic_fetch_sub(&r->n_users, 1) != 1)
        return;
    sf_arena_done(&r->arena);
    sf_heap_free(r);
}

enum sf_err sf_alert_rules_add(struct sf_alert_rules *r, struct sf_alert_rule **out,
                               struct sf_why *why)
{
    if (r->n == SF_LIMIT_ALERT_RULES)
        return sf_fail(why, SF_ERR_LIMIT, "more than %d rules of alerts", SF_LIMIT_ALERT_RULES);
    *out = &r->list[r->n++];
    (*out)->window_ns = WINDOW_NS;
    return SF_OK;
}

static enum sf_err copy_urls(struct sf_alert_rules *r, const char *const *from, size_t n,
                             const char ***out, struct sf_why *why)
{
    const char **list = sf_arena_new_n(&r->arena, n + 1, sizeof(*list));
    for (size_t i = 0; list && i < n; i++) {
        sf_str url = sf_str_from(from[i]), copy;
        bool is_http = sf_str_starts(url, SF_STR("http://"));
        if (!(is_http || sf_str_starts(url, SF_STR("https://"))) || url.len < (is_http ? 8 : 9) ||
            url.len > SF_LIMIT_ALERT_TEXT_LEN)
            return sf_fail(why, SF_ERR_INPUT,
                           "alerts: %.100s is not an address to send to; write http://HOST:PORT",
                           from[i]);
        if (!sf_arena_print(&r->arena, &copy, "%s", from[i]))
            return sf_no_room(why, "the rules");
        list[i] = copy.p;
    }
    *out = list;
    return list ? SF_OK : sf_no_room(why, "the rules");
}

enum sf_err sf_alert_rules_receivers(struct sf_alert_rules *r, const char *const *alertmanagers,
                                     size_t n_alertmanagers, const char *const *webhooks,
                                     size_t n_webhooks, const char *url, struct sf_why *why)
{
    enum sf_err err = n_alertmanagers + n_webhooks > SF_LIMIT_ALERT_RECEIVERS
                          ? sf_fail(why, SF_ERR_LIMIT, "alerts: more than %d receivers",
                                    SF_LIMIT_ALERT_RECEIVERS)
                          : SF_OK;
    if (!err)
        err = copy_urls(r, alertmanagers, n_alertmanagers, &r->alertmanagers, why);
    if (!err)
        err = copy_urls(r, webhooks, n_webhooks, &r->webhooks, why);
    if (!err && url && !sf_arena_copy(&r->arena, sf_str_from(url), &r->url))
        err = sf_no_room(why, "the rules");
    while (r->url.len && r->url.p[r->url.len - 1] == '/')
        r->url.len--;
    r->n_alertmanagers = n_alertmanagers;
    r->n_webhooks = n_webhooks;
    return err;
}

/* ---- fields ---- */

static bool alert_rule_is_label_name(sf_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
              (i && c >= '0' && c <= '9')))
            return false;
    }
    return s.len > 0 && s.len <= 128;
}

static enum sf_err set_pair(struct sf_alert_pairs *p, sf_str key, sf_str val, struct sf_why *why)
{
    if (!alert_rule_is_label_name(key))
        return sf_fail(why, SF_ERR_INPUT,
                       "\"%.*s\" is not a valid label name: letters, digits and _",
                       SF_STR_ARG(sf_str_part(key, 0, 60)));
    if (sf_str_eq(key, SF_STR("alertname")))
        return sf_fail(why, SF_ERR_INPUT, "alertname is the rule's name and cannot be set");
    if (p->n == SF_LIMIT_ALERT_LABELS)
        return sf_fail(why, SF_ERR_LIMIT, "more than %d labels or annotations",
                       SF_LIMIT_ALERT_LABELS);
    p->list[p->n++] = (struct sf_alert_pair){key, val};
    return SF_OK;
}

static enum sf_err set_kind(struct sf_alert_rule *rule, enum sf_alert_kind kind, struct sf_why *why)
{
    if (rule->kind != SF_ALERT_NO_KIND && rule->kind != kind)
        return sf_fail(why, SF_ERR_INPUT, "a rule is of one kind, not two");
    rule->kind = kind;
    return SF_OK;
}

static enum sf_err set_threshold(struct sf_alert_rule *rule, enum sf_alert_test test, sf_str val,
                                 struct sf_why *why)
{
    uint64_t size;
    int64_t ns;
    sf_str number = val;
    if (rule->test != SF_ALERT_NO_TEST)
        return sf_fail(why, SF_ERR_INPUT, "a rule has one of above, below, absent, not two");
    rule->test = test;
    rule->threshold_text = val;
    if (sf_str_to_f64(val, &rule->threshold)) {
        rule->unit = SF_ALERT_NUMBER;
        return SF_OK;
    }
    if (val.len && val.p[val.len - 1] == '%') {
        number.len--;
        if (!sf_str_to_f64(sf_str_trim(number), &rule->threshold))
            return sf_fail(why, SF_ERR_INPUT, "\"%.*s\" is not a percentage",
                           SF_STR_ARG(sf_str_part(val, 0, 40)));
        rule->threshold /= 100;
        rule->unit = SF_ALERT_PERCENT;
        return SF_OK;
    }
    if (!sf_setting_duration_parse(val, SF_DURATION_BLANKS, &ns, NULL)) {
        rule->threshold = (double)ns;
        rule->unit = SF_ALERT_TIME;
        return SF_OK;
    }
    if (!sf_setting_size_parse(val, &size, NULL)) {
        rule->threshold = (double)size;
        rule->unit = SF_ALERT_SIZE;
        return SF_OK;
    }
    return sf_fail(why, SF_ERR_INPUT, "%s expects a number, 20%%, 50ms or 10MB, not \"%.*s\"",
                   test == SF_ALERT_ABOVE ? "above" : "below", SF_STR_ARG(sf_str_part(val, 0, 40)));
}

static enum sf_err set_absent(struct sf_alert_rule *rule, sf_str val, struct sf_why *why)
{
    bool is_on;
    if (!sf_setting_flag_parse(val, &is_on) || !is_on)
        return sf_fail(why, SF_ERR_INPUT, "absent must be true or omitted");
    if (rule->test != SF_ALERT_NO_TEST)
        return sf_fail(why, SF_ERR_INPUT, "a rule has one of above, below, absent, not two");
    rule->test = SF_ALERT_ABSENT;
    return SF_OK;
}

static enum sf_err alert_rule_set_time(sf_str val, const char *name, int64_t least_ns, int64_t *out,
                                       struct sf_why *why)
{
    if (sf_setting_duration_parse(val, SF_DURATION_BLANKS, out, NULL) || *out < least_ns ||
        *out > LONGEST_NS)
        return sf_fail(why, SF_ERR_INPUT, "%s expects a time up to 1d, such as 5m, not \"%.*s\"",
                       name, SF_STR_ARG(sf_str_part(val, 0, 40)));
    return SF_OK;
}

static enum sf_err set_code(struct sf_alert_rule *rule, enum sf_alert_kind kind, sf_str field,
                            sf_str val, struct sf_why *why)
{
    static const char *const known[] = {"selector", "function", "package", "label", "type"};
    const char *near;
    enum sf_err err = set_kind(rule, kind, why);
    if (err)
        return err;
    if (sf_str_eq(field, SF_STR("selector")))
        rule->selector = val;
    else if (sf_str_eq(field, SF_STR("function")))
        rule->function = val;
    else if (sf_str_eq(field, SF_STR("package")))
        rule->package = val;
    else if (sf_str_eq(field, SF_STR("label")))
        rule->label = val;
    else if (sf_str_eq(field, SF_STR("type")))
        rule->type = val;
    else {
        near = sf_text_nearest(field, known, 5);
        return sf_fail(why, SF_ERR_INPUT, "there is no %.*s in it%s%s%s",
                       SF_STR_ARG(sf_str_part(field, 0, 40)), near ? "; did you mean " : "",
                       near ? near : "", near ? "?" : ": selector, function, package, label, type");
    }
    return SF_OK;
}

static enum sf_err set_capture(struct sf_alert_rule *rule, sf_str field, sf_str val,
                               struct sf_why *why)
{
    uint64_t n = 0;
    int64_t ns;
    if (!rule->capture_s) {
        rule->capture_s = CAPTURE_S;
        rule->capture_hz = CAPTURE_HZ;
        rule->capture_types = SF_STR("cpu");
    }
    if (sf_str_eq(field, SF_STR("service"))) {
        rule->capture_service = val;
    } else if (sf_str_eq(field, SF_STR("types"))) {
        rule->capture_types = val;
        if (!sf_str_eq(val, SF_STR("cpu")) && !sf_str_eq(val, SF_STR("wall")))
            return sf_fail(why, SF_ERR_INPUT, "capture.types is cpu or wall");
    } else if (sf_str_eq(field, SF_STR("seconds"))) {
        if (!sf_str_to_u64(val, &n) &&
            !sf_setting_duration_parse(val, SF_DURATION_BLANKS, &ns, NULL))
            n = (uint64_t)(ns / SF_NS_PER_S);
        if (n < 1 || n > SF_LIMIT_CAPTURE_S)
            return sf_fail(why, SF_ERR_INPUT, "capture.seconds is 1 to %d", SF_LIMIT_CAPTURE_S);
        rule->capture_s = (uint32_t)n;
    } else if (sf_str_eq(field, SF_STR("rate"))) {
        if (!sf_str_to_u64(val, &n) || n < 1 || n > 1000)
            return sf_fail(why, SF_ERR_INPUT, "capture.rate is 1 to 1000 samples per second");
        rule->capture_hz = (uint32_t)n;
    } else {
        return sf_fail(why, SF_ERR_INPUT, "capture has service, seconds, rate and types, not %.*s",
                       SF_STR_ARG(sf_str_part(field, 0, 40)));
    }
    return SF_OK;
}

static enum sf_err alert_rule_unknown(sf_str path, struct sf_why *why)
{
    static const char *const known[] = {
        "name",    "traceql",  "share",       "amount", "above",  "below",  "absent",
        "for",     "window",   "annotations", "labels", "tenant", "change", "ledger",
        "finding", "coverage", "significant", "watch",  "capture"};
    sf_str head = path, rest = path;
    const char *near;
    (void)sf_str_split_next(&rest, '.', &head);
    near = sf_text_nearest(head, known, sizeof(known) / sizeof(known[0]));
    if (near && sf_str_eq(head, sf_str_from(near))) /* the key is known, but its content is not
                                                     * valid */
        return sf_fail(why, SF_ERR_INPUT,
                       rest.len ? "%s has one value, and not several under names"
                                : "%s holds several values under names, and not one",
                       near);
    return sf_fail(why, SF_ERR_INPUT, "a rule has no %.*s%s%s%s",
                   SF_STR_ARG(sf_str_part(head, 0, 60)), near ? "; did you mean " : "",
                   near ? near : "", near ? "?" : "");
}

enum sf_err sf_alert_rule_set(struct sf_alert_rules *r, struct sf_alert_rule *rule, sf_str path,
                              sf_str val, struct sf_why *why)
{
    bool is_set;
    size_t at;
    enum sf_err err;
    if (val.len > SF_LIMIT_ALERT_TEXT_LEN || path.len > SF_LIMIT_ALERT_TEXT_LEN)
        return sf_fail(why, SF_ERR_LIMIT, "a text of more than %d bytes", SF_LIMIT_ALERT_TEXT_LEN);
    if (!sf_arena_copy(&r->arena, path, &path) || !sf_arena_copy(&r->arena, val, &val))
        return sf_no_room(why, "the rules");
    err = sf_alert_rule_spans_set(rule, path, val, &is_set, why);
    if (err || is_set)
        return err;
    if (sf_str_eq(path, SF_STR("name")))
        rule->name = val;
    else if (sf_str_eq(path, SF_STR("tenant")))
        rule->tenant = val;
    else if (sf_str_eq(path, SF_STR("traceql"))) {
        rule->query = val;
        return set_kind(rule, SF_ALERT_TRACEQL, why);
    } else if (sf_str_starts(path, SF_STR("share.")))
        return set_code(rule, SF_ALERT_SHARE, sf_str_from_at(path, 6), val, why);
    else if (sf_str_starts(path, SF_STR("capture.")))
        return set_capture(rule, sf_str_from_at(path, 8), val, why);
    else if (sf_str_starts(path, SF_STR("amount.")))
        return set_code(rule, SF_ALERT_AMOUNT, sf_str_from_at(path, 7), val, why);
    else if (sf_str_eq(path, SF_STR("above")))
        return set_threshold(rule, SF_ALERT_ABOVE, val, why);
    else if (sf_str_eq(path, SF_STR("below")))
        return set_threshold(rule, SF_ALERT_BELOW, val, why);
    else if (sf_str_eq(path, SF_STR("absent")))
        return set_absent(rule, val, why);
    else if (sf_str_eq(path, SF_STR("for")))
        return alert_rule_set_time(val, "for", 0, &rule->for_ns, why);
    else if (sf_str_eq(path, SF_STR("significant")))
        return sf_setting_flag_parse(val, &rule->is_significant)
                   ? SF_OK
                   : sf_fail(why, SF_ERR_INPUT, "significant is true or false");
    else if (sf_str_eq(path, SF_STR("window"))) {
        rule->has_window = true;
        return alert_rule_set_time(val, "window", SF_NS_PER_S, &rule->window_ns, why);
    } else if (sf_str_starts(path, SF_STR("labels.")) && sf_str_find(val, SF_STR("$value"), &at))
        return sf_fail(why, SF_ERR_INPUT,
                       "a label names the alert and cannot hold $value: write it into annotations");
    else if (sf_str_starts(path, SF_STR("labels.")))
        return set_pair(&rule->labels, sf_str_from_at(path, 7), val, why);
    else if (sf_str_starts(path, SF_STR("annotations.")))
        return set_pair(&rule->annotations, sf_str_from_at(path, 12), val, why);
    else
        return alert_rule_unknown(path, why);
    return SF_OK;
}

/* ---- the whole rule ---- */

/* The longest prefix of the query that selects spans: for `explain` and the page. */
static sf_str alert_rule_spans_of(sf_str query, struct sf_arena scratch)
{
    sf_str found = SF_STR_NONE;
    for (size_t i = 0; i < query.len; i++) {
        struct sf_arena room = scratch;
        const struct sf_query *parsed;
        sf_str head = sf_str_trim(sf_str_part(query, 0, i));
        if (query.p[i] == '|' && head.len && !sf_query_parse(head, &room, &parsed, NULL, NULL) &&
            !parsed->metrics)
            found = head;
    }
    return found;
}

static enum sf_err check_query(struct sf_alert_rules *r, struct sf_alert_rule *rule,
                               struct sf_why *why)
{
    struct sf_arena room = r->arena;
    const struct sf_query *query;
    enum sf_err err = sf_query_parse(rule->query, &room, &query, NULL, why);
    if (err) {
        sf_why_prefix(why, "traceql");
        return SF_ERR_INPUT;
    }
    if (!query->metrics)
        return sf_fail(why, SF_ERR_INPUT,
                       "traceql: not a metrics query: end it with | rate() or another metrics "
                       "function");
    if (rule->test != SF_ALERT_ABSENT && rule->unit == SF_ALERT_TIME) {
        rule->threshold /= SF_NS_PER_S; /* durations are seconds in metrics */
        rule->unit = SF_ALERT_NUMBER;
    }
    rule->spans = alert_rule_spans_of(rule->query, r->arena);
    return SF_OK;
}

enum sf_err sf_alert_rule_check(struct sf_alert_rules *r, struct sf_alert_rule *rule,
                                struct sf_why *why)
{
    if (rule->name.len == 0 || rule->name.len > 128)
        return sf_fail(why, SF_ERR_INPUT, "a rule needs a name of 1 to 128 bytes");
    if (rule->tenant.len == 0)
        rule->tenant = SF_STR("single-tenant");
    else if (sf_tenant_check_name(rule->tenant, why))
        return SF_ERR_INPUT;
    for (size_t i = 0; i < r->n; i++) {
        if (&r->list[i] != rule && sf_str_eq(r->list[i].name, rule->name) &&
            sf_str_eq(r->list[i].tenant, rule->tenant))
            return sf_fail(why, SF_ERR_INPUT, "there is a rule \"%.*s\" already",
                           SF_STR_ARG(sf_str_part(rule->name, 0, 60)));
    }
    if (rule->kind == SF_ALERT_NO_KIND)
        return sf_fail(why, SF_ERR_INPUT,
                       "a rule needs one of traceql, share, amount, change, ledger, finding, "
                       "coverage, watch");
    if (rule->is_significant && rule->kind != SF_ALERT_CHANGE)
        return sf_fail(why, SF_ERR_INPUT, "only change can be significant");
    if (rule->kind >= SF_ALERT_CHANGE)
        return sf_alert_rule_spans_check(r, rule, why);
    if (rule->test == SF_ALERT_NO_TEST)
        return sf_fail(why, SF_ERR_INPUT, "a rule needs one of above, below, absent");
    return rule->kind == SF_ALERT_TRACEQL ? check_query(r, rule, why)
                                          : sf_alert_code_check(r, rule, why);
}

/* ---- evaluation and text ---- */

void sf_alert_rule_print(const struct sf_alert_rule *rule, struct sf_buf *out)
{
    if (rule->kind == SF_ALERT_TRACEQL)
        sf_buf_add_str(out, rule->query);
    else if (rule->kind >= SF_ALERT_CHANGE)
        sf_alert_rule_spans_print(rule, out);
    else
        sf_buf_print(out, "%s of %s%.*s in %.*s", rule->kind == SF_ALERT_SHARE ? "share" : "amount",
                     rule->package.len ? "package "
                     : rule->label.len ? "label "
                                       : "",
                     SF_STR_ARG(rule->package.len ? rule->package
                                : rule->label.len ? rule->label
                                                  : rule->function),
                     SF_STR_ARG(rule->selector));
    if (rule->test == SF_ALERT_ABSENT)
        sf_buf_print(out, " absent");
    else if (rule->threshold_text.len)
        sf_buf_print(out, " %s %.*s", rule->test == SF_ALERT_ABOVE ? "above" : "below",
                     SF_STR_ARG(rule->threshold_text));
}

bool sf_alert_rule_holds(const struct sf_alert_rule *rule, double value)
{
    return !isnan(value) && (rule->test == SF_ALERT_ABOVE   ? value > rule->threshold
                             : rule->test == SF_ALERT_BELOW ? value < rule->threshold
                                                            : false);
}

void sf_alert_rule_text_fill(sf_str text, const struct sf_alert_pair *labels, size_t n,
                             double value, struct sf_buf *out)
{
    size_t open, close;
    while (sf_str_find(text, SF_STR("{{"), &open)) {
        sf_str rest = sf_str_from_at(text, open + 2), word;
        if (!sf_str_find(rest, SF_STR("}}"), &close))
            break;
        word = sf_str_trim(sf_str_part(rest, 0, close));
        sf_buf_add_str(out, sf_str_part(text, 0, open));
        if (sf_str_eq(word, SF_STR("$value"))) {
            sf_buf_print(out, "%.6g", value);
        } else if (sf_str_starts(word, SF_STR("$labels."))) {
            for (size_t i = 0; i < n; i++) {
                if (sf_str_eq(labels[i].key, sf_str_from_at(word, 8)))
                    sf_buf_add_str(out, labels[i].val);
            }
        } else {
            sf_buf_print(out, "{{%.*s}}", SF_STR_ARG(sf_str_part(rest, 0, close)));
        }
        text = sf_str_from_at(rest, close + 2);
    }
    sf_buf_add_str(out, text);
}

void sf_alert_rule_label_name(sf_str name, struct sf_buf *out)
{
    for (size_t i = 0; i < name.len && i < 128; i++) {
        char c = name.p[i];
        bool is_digit = c >= '0' && c <= '9';
        if (i == 0 && is_digit)
            sf_buf_add_u8(out, '_');
        sf_buf_add_u8(out, (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit
                               ? (uint8_t)c
                               : (uint8_t)'_');
    }
}

bool sf_alert_rule_is_estimate(const struct sf_alert_rule *rule)
{
    size_t at;
    return rule->kind == SF_ALERT_TRACEQL &&
           sf_str_find(rule->query, SF_STR("quantile_over_time"), &at);
}

bool sf_alert_rules_is_estimate(const struct sf_alert_rules *rules, sf_str name)
{
    for (size_t i = 0; i < rules->n; i++) {
        if (sf_str_eq(rules->list[i].name, name))
            return sf_alert_rule_is_estimate(&rules->list[i]);
    }
    return false;
}
