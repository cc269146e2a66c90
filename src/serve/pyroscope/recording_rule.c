/* recording_rule.c - one recording rule: read from protobuf, JSON or a line of the file; checked as
 * a whole so that all faults are reported together; written back in the same forms. */
#include "serve/pyroscope/recording_rule.h"

#include "base/text.h"
#include "regex/regex.h"
#include "wire/json.h"
#include "wire/pb.h"

static const sf_str TYPE_KEY = SF_STR("__profile_type__");
static const sf_str PREFIX = SF_STR("profiles_recorded_");

/* ---- reading ---- */

static enum sf_err recording_rule_too_many(const char *what, int most, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_INPUT, "invalid request: more than %d %s", most, what);
}

static enum sf_err put_matcher(struct sf_recording_rule *r, sf_str text, struct sf_why *why)
{
    if (r->n_matchers == SF_RULE_MATCHERS)
        return recording_rule_too_many("matchers", SF_RULE_MATCHERS, why);
    r->matchers[r->n_matchers++] = text;
    return SF_OK;
}

static enum sf_err put_group(struct sf_recording_rule *r, sf_str text, struct sf_why *why)
{
    if (r->n_groups == SF_RULE_GROUPS)
        return recording_rule_too_many("labels to group by", SF_RULE_GROUPS, why);
    r->groups[r->n_groups++] = text;
    return SF_OK;
}

static enum sf_err put_label(struct sf_recording_rule *r, struct sf_label label, struct sf_why *why)
{
    if (r->n_labels == SF_RULE_LABELS)
        return recording_rule_too_many("external labels", SF_RULE_LABELS, why);
    r->labels[r->n_labels++] = label;
    return SF_OK;
}

static enum sf_err bad_kind(sf_str word, struct sf_why *why)
{
    return sf_fail(why, SF_ERR_INPUT, "invalid request: metric_type %.*s: only TOTAL is known",
                   SF_STR_ARG(sf_str_part(word, 0, 40)));
}

/* {"functionName": {"functionName": "x", "metricType": "TOTAL"}}, or only the inner object. */
static enum sf_err read_filter_json(struct sf_json *j, struct sf_recording_rule *r,
                                    struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_str key;
    if (sf_json_peek(j) == SF_JSON_NULL) {
        sf_json_skip(j);
        return SF_OK;
    }
    if (!sf_json_object(j))
        return SF_OK;
    while (!err && sf_json_key(j, &key)) {
        bool is_name = sf_str_eq(key, SF_STR("functionName")) ||
                       sf_str_eq(key, SF_STR("function_name"));
        if (is_name && sf_json_peek(j) == SF_JSON_STRING) {
            r->function = sf_json_str(j);
        } else if (is_name) {
            err = read_filter_json(j, r, why);
        } else if (sf_str_eq(key, SF_STR("metricType")) || sf_str_eq(key, SF_STR("metric_type"))) {
            sf_str word = sf_json_peek(j) == SF_JSON_STRING ? sf_json_str(j)
                          : sf_json_i64(j) == 0             ? SF_STR("TOTAL")
                                                            : SF_STR("of this number");
            if (!sf_str_eq(word, SF_STR("TOTAL")) && !sf_str_eq(word, SF_STR("METRIC_TYPE_TOTAL")))
                err = bad_kind(word, why);
        } else {
            r->n_unknown++;
            sf_json_skip(j);
        }
    }
    return err;
}

static struct sf_label recording_rule_read_label_json(struct sf_json *j)
{
    struct sf_label label = {0};
    sf_str key;
    if (!sf_json_object(j))
        return label;
    while (sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("name")))
            label.key = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("value")))
            label.val = sf_json_str(j);
        else
            sf_json_skip(j);
    }
    return label;
}

enum list { MATCHERS, GROUPS, LABELS };

static enum sf_err read_list_json(struct sf_json *j, enum list list, struct sf_recording_rule *r,
                                  struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (sf_json_peek(j) == SF_JSON_NULL) {
        sf_json_skip(j);
        return SF_OK;
    }
    if (!sf_json_array(j))
        return SF_OK;
    while (!err && sf_json_item(j))
        err = list == MATCHERS ? put_matcher(r, sf_json_str(j), why)
              : list == GROUPS ? put_group(r, sf_json_str(j), why)
                               : put_label(r, recording_rule_read_label_json(j), why);
    return err;
}

static bool is_either(sf_str key, const char *a, const char *b)
{
    return sf_str_eq(key, sf_str_from(a)) || sf_str_eq(key, sf_str_from(b));
}

static enum sf_err recording_rule_read_json(struct sf_json *j, bool is_line,
                                            struct sf_recording_rule *r, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    sf_str key;
    if (!sf_json_object(j))
        return SF_OK;
    while (!err && sf_json_key(j, &key)) {
        if (sf_str_eq(key, SF_STR("id")))
            r->id = sf_json_str(j);
        else if (is_either(key, "metricName", "metric_name"))
            r->metric = sf_json_str(j);
        else if (sf_str_eq(key, SF_STR("matchers")))
            err = read_list_json(j, MATCHERS, r, why);
        else if (is_either(key, "groupBy", "group_by"))
            err = read_list_json(j, GROUPS, r, why);
        else if (is_either(key, "externalLabels", "external_labels"))
            err = read_list_json(j, LABELS, r, why);
        else if (sf_str_eq(key, SF_STR("generation")))
            r->generation = sf_json_i64(j);
        else if (is_either(key, "stacktraceFilter", "stacktrace_filter"))
            err = read_filter_json(j, r, why);
        else if (is_line && sf_str_eq(key, SF_STR("tenant")))
            r->tenant = sf_json_str(j);
        else if (is_line && sf_str_eq(key, SF_STR("since")))
            r->since_ns = sf_json_i64(j);
        else {
            r->n_unknown++;
            sf_json_skip(j);
        }
    }
    return err;
}

static struct sf_label read_label_pb(struct sf_pb *pb)
{
    struct sf_label label = {0};
    while (sf_pb_next(pb)) {
        if (pb->field == 1)
            label.key = sf_pb_str(pb);
        else if (pb->field == 2)
            label.val = sf_pb_str(pb);
        else
            sf_pb_skip(pb);
    }
    return label;
}

/* `depth` 0: StacktraceFilter, whose field 1 is the message with the name. */
static enum sf_err read_filter_pb(struct sf_pb *pb, unsigned depth, struct sf_recording_rule *r,
                                  struct sf_why *why)
{
    enum sf_err err = SF_OK;
    while (!err && sf_pb_next(pb)) {
        if (pb->field == 1 && depth == 0) {
            struct sf_pb part = sf_pb_msg(pb);
            err = read_filter_pb(&part, 1, r, why);
            sf_pb_join(pb, &part);
        } else if (pb->field == 1) {
            r->function = sf_pb_str(pb);
        } else if (pb->field == 2 && depth == 1) {
            if (sf_pb_u64(pb) != 0)
                err = bad_kind(SF_STR("of this number"), why);
        } else {
            r->n_unknown++;
            sf_pb_skip(pb);
        }
    }
    return err;
}

static enum sf_err recording_rule_read_pb(struct sf_pb *pb, struct sf_recording_rule *r,
                                          struct sf_why *why)
{
    enum sf_err err = SF_OK;
    while (!err && sf_pb_next(pb)) {
        struct sf_pb part;
        switch (pb->field) {
        case 1: r->id = sf_pb_str(pb); break;
        case 2: r->metric = sf_pb_str(pb); break;
        case 3: err = put_matcher(r, sf_pb_str(pb), why); break;
        case 4: err = put_group(r, sf_pb_str(pb), why); break;
        case 5:
            part = sf_pb_msg(pb);
            err = put_label(r, read_label_pb(&part), why);
            sf_pb_join(pb, &part);
            break;
        case 6: r->generation = sf_pb_i64(pb); break;
        case 7:
            part = sf_pb_msg(pb);
            err = read_filter_pb(&part, 0, r, why);
            sf_pb_join(pb, &part);
            break;
        default:
            r->n_unknown++;
            sf_pb_skip(pb);
            break;
        }
    }
    return err;
}

enum sf_err sf_recording_rule_read(sf_str body, bool is_json, struct sf_arena *req,
                                   struct sf_recording_rule *out, struct sf_why *why)
{
    struct sf_json *j;
    struct sf_pb pb;
    enum sf_err err;
    *out = (struct sf_recording_rule){0};
    if (!is_json) {
        pb = sf_pb_init(sf_str_bytes(body));
        err = recording_rule_read_pb(&pb, out, why);
        return err ? err : sf_pb_why(&pb, "request", why);
    }
    j = sf_arena_new(req, sizeof(*j));
    if (!j)
        return sf_no_room(why, "the rule");
    sf_json_init(j, body, req);
    err = recording_rule_read_json(j, false, out, why);
    return err ? err : sf_json_why(j, "request", why);
}

/* ---- checking ---- */

static bool recording_rule_is_name(sf_str s, bool can_have_colons)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
              (i > 0 && c >= '0' && c <= '9') || (can_have_colons && c == ':')))
            return false;
    }
    return s.len > 0 && s.len <= SF_RULE_NAME_LEN;
}

static bool recording_rule_is_letters(sf_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= 'A' && s.p[i] <= 'Z')))
            return false;
    }
    return s.len > 0 && s.len <= SF_RULE_ID_LEN;
}

/* Appends an error; all of a request are reported together. */
static void add_fault(struct sf_buf *faults, const char *format, sf_str text)
{
    sf_buf_print(faults, "%s", faults->len ? "; " : "");
    sf_buf_print(faults, format, SF_STR_ARG(sf_str_part(text, 0, 80)));
}

enum sf_err sf_recording_rule_selector(const struct sf_recording_rule *r, struct sf_arena *req,
                                       struct sf_label_selector *out, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    *out = (struct sf_label_selector){0};
    for (size_t i = 0; !err && i < r->n_matchers; i++) {
        err = r->matchers[i].len ? sf_label_selector_parse(r->matchers[i], req, out, why)
                                 : sf_fail(why, SF_ERR_INPUT, "an empty selector");
        if (err)
            sf_why_prefix(why, "matcher %zu", i + 1);
    }
    for (size_t i = 0; !err && i < out->n; i++) {
        if (out->list[i].op == SF_OP_MATCH || out->list[i].op == SF_OP_NO_MATCH)
            err = sf_regex_check_whole(out->list[i].val, why);
    }
    return err;
}

static void check_matchers(const struct sf_recording_rule *r, struct sf_arena scratch,
                           struct sf_buf *faults)
{
    struct sf_label_selector selector;
    struct sf_why why = {0};
    size_t n_types = 0;
    bool is_equal = true;
    if (sf_recording_rule_selector(r, &scratch, &selector, &why)) {
        add_fault(faults, "failed to parse matchers: %.*s", sf_str_from(why.text));
        return;
    }
    for (size_t i = 0; i < selector.n; i++) {
        if (!sf_str_eq(selector.list[i].key, TYPE_KEY))
            continue;
        n_types++;
        is_equal = is_equal && selector.list[i].op == SF_OP_EQ;
    }
    if (n_types == 0)
        add_fault(faults, "no __profile_type__ matcher present%.*s", SF_STR_NONE);
    else if (n_types > 1)
        add_fault(faults, "more than one __profile_type__ matcher present%.*s", SF_STR_NONE);
    else if (!is_equal)
        add_fault(faults, "__profile_type__ matcher is not an equality%.*s", SF_STR_NONE);
}

enum sf_err sf_recording_rule_check(const struct sf_recording_rule *r, struct sf_arena scratch,
                                    struct sf_why *why)
{
    struct sf_buf faults = {0};
    enum sf_err err = SF_OK;
    if (r->id.len && !recording_rule_is_letters(r->id))
        add_fault(&faults, "id \"%.*s\" must match ^[a-zA-Z]+$ and have at most 64 letters", r->id);
    if (!recording_rule_is_name(r->metric, true))
        add_fault(&faults, "invalid metric name: %.*s", r->metric);
    else if (!sf_str_starts(r->metric, PREFIX))
        add_fault(&faults, "metric name must start with %.*s", PREFIX);
    check_matchers(r, scratch, &faults);
    for (size_t i = 0; i < r->n_matchers; i++) {
        if (!sf_utf8_is_valid(r->matchers[i])) /* it would not be the same after writing and reading
                                                * it */
            add_fault(&faults, "a matcher is not UTF-8%.*s", SF_STR_NONE);
    }
    if (!sf_utf8_is_valid(r->function))
        add_fault(&faults, "the function name is not UTF-8%.*s", SF_STR_NONE);
    for (size_t i = 0; i < r->n_groups; i++) {
        if (!recording_rule_is_name(r->groups[i], false))
            add_fault(&faults, "group_by label \"%.*s\" must match [a-zA-Z_][a-zA-Z0-9_]*",
                      r->groups[i]);
    }
    for (size_t i = 0; i < r->n_labels; i++) {
        if (!recording_rule_is_name(r->labels[i].key, false))
            add_fault(&faults, "external label \"%.*s\" must match [a-zA-Z_][a-zA-Z0-9_]*",
                      r->labels[i].key);
        if (!sf_utf8_is_valid(r->labels[i].val))
            add_fault(&faults, "the value of external label \"%.*s\" is not UTF-8",
                      r->labels[i].key);
    }
    if (r->generation < 0)
        add_fault(&faults, "generation must be positive%.*s", SF_STR_NONE);
    if (!sf_buf_ok(&faults))
        err = sf_no_memory(why, "the rule");
    else if (faults.len)
        err = sf_fail(why, SF_ERR_INPUT, "invalid request: %.*s", SF_STR_ARG(sf_buf_str(&faults)));
    sf_buf_done(&faults);
    return err;
}

static bool is_same_list(const sf_str *a, size_t n, const sf_str *b, size_t n_b)
{
    for (size_t i = 0; n == n_b && i < n; i++) {
        if (!sf_str_eq(a[i], b[i]))
            return false;
    }
    return n == n_b;
}

bool sf_recording_rule_is_same_sum(const struct sf_recording_rule *a,
                                   const struct sf_recording_rule *b)
{
    return sf_str_eq(a->function, b->function) &&
           is_same_list(a->matchers, a->n_matchers, b->matchers, b->n_matchers) &&
           is_same_list(a->groups, a->n_groups, b->groups, b->n_groups);
}

/* ---- writing ---- */

static sf_str recording_rule_type_of(const struct sf_recording_rule *r, struct sf_arena *scratch)
{
    struct sf_label_selector selector;
    if (!sf_recording_rule_selector(r, scratch, &selector, NULL)) {
        for (size_t i = 0; i < selector.n; i++) {
            if (sf_str_eq(selector.list[i].key, TYPE_KEY))
                return selector.list[i].val;
        }
    }
    return SF_STR("unknown");
}

static void recording_rule_write_list(struct sf_message *m, uint32_t field, const char *key,
                                      const sf_str *list, size_t n)
{
    if (n == 0)
        return;
    sf_message_list(m, key);
    for (size_t i = 0; i < n; i++)
        sf_message_item_str(m, field, list[i]);
    sf_message_list_end(m);
}

void sf_recording_rule_write(const struct sf_recording_rule *r, struct sf_arena scratch,
                             struct sf_message *m)
{
    size_t outer, inner;
    sf_message_str(m, 1, "id", r->id);
    sf_message_str(m, 2, "metricName", r->metric);
    sf_message_str(m, 3, "profileType", recording_rule_type_of(r, &scratch));
    recording_rule_write_list(m, 4, "matchers", r->matchers, r->n_matchers);
    recording_rule_write_list(m, 5, "groupBy", r->groups, r->n_groups);
    if (r->n_labels)
        sf_message_list(m, "externalLabels");
    for (size_t i = 0; i < r->n_labels; i++) {
        size_t mark = sf_message_item(m, 6);
        sf_message_str(m, 1, "name", r->labels[i].key);
        sf_message_str(m, 2, "value", r->labels[i].val);
        sf_message_end(m, mark);
    }
    if (r->n_labels)
        sf_message_list_end(m);
    sf_message_i64(m, 7, "generation", r->generation);
    if (r->function.len) { /* metric_type is TOTAL, which is 0 and therefore omitted */
        outer = sf_message_begin(m, 8, "stacktraceFilter");
        inner = sf_message_begin(m, 1, "functionName");
        sf_message_str(m, 1, "functionName", r->function);
        sf_message_end(m, inner);
        sf_message_end(m, outer);
    }
}

void sf_recording_rule_add_line(const struct sf_recording_rule *r, struct sf_arena scratch,
                                struct sf_buf *out)
{
    struct sf_message m = sf_message_init(out, true);
    sf_message_open(&m);
    sf_message_str(&m, 0, "tenant", r->tenant);
    sf_message_i64(&m, 0, "since", r->since_ns);
    sf_recording_rule_write(r, scratch, &m);
    sf_message_close(&m);
    sf_buf_add_u8(out, '\n');
}

bool sf_recording_rule_read_line(sf_str line, struct sf_arena *req, struct sf_recording_rule *out)
{
    struct sf_json *j = sf_arena_new(req, sizeof(*j));
    *out = (struct sf_recording_rule){0};
    if (!j)
        return false;
    sf_json_init(j, line, req);
    return !recording_rule_read_json(j, true, out, NULL) && sf_json_ok(j) && out->tenant.len &&
           out->id.len && out->generation > 0 && !sf_recording_rule_check(out, *req, NULL);
}
