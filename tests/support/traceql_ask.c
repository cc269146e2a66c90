#include "traceql_ask.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "query/expr_text.h"

#define N_OF(list)    (sizeof(list) / sizeof((list)[0]))
#define PICK(a, list) ((list)[below(a, N_OF(list))])

static uint64_t below(struct traceql_ask *a, uint64_t n)
{
    return traceql_make_below(a->rng, n);
}

static bool one_in(struct traceql_ask *a, uint64_t n)
{
    return below(a, n) == 0;
}

static void say(struct traceql_ask *a, const char *text)
{
    sf_buf_add_str(&a->out, sf_str_from(text));
}

static const struct slow_row *some_row(struct traceql_ask *a)
{
    return &a->rows[below(a, a->n_rows)];
}

/* ---- attributes; each gives a value it may be compared with, NIL: anything ---- */

static struct sf_static str(sf_str s)
{
    return (struct sf_static){SF_TYPE_STRING, {.str = s}};
}

static struct sf_static num(enum sf_static_type type, int64_t i64)
{
    return (struct sf_static){type, {.i64 = i64}};
}

static struct sf_static from_value(struct traceql_ask *a, struct sf_value v)
{
    static const char *const words[] = {"x", "GET", "500"};
    switch (v.type) {
    case SF_VALUE_STR: return str(v.str);
    case SF_VALUE_INT: return num(SF_TYPE_INT, v.i64);
    case SF_VALUE_BOOL: return (struct sf_static){SF_TYPE_BOOL, {.is_true = v.is_true}};
    case SF_VALUE_DOUBLE:
        return isnan(v.f64) ? num(SF_TYPE_INT, 1)
                            : (struct sf_static){SF_TYPE_FLOAT, {.f64 = v.f64}};
    case SF_VALUE_ARRAY:
        return one_in(a, 2) ? num(SF_TYPE_INT, (int64_t)below(a, 6))
                            : str(sf_str_from(PICK(a, words)));
    default: return (struct sf_static){.type = SF_TYPE_NIL};
    }
}

static struct sf_static ask_named(struct traceql_ask *a, const char *scope, struct sf_attrs attrs)
{
    const struct sf_attr *one;
    if (attrs.n == 0) {
        sf_buf_print(&a->out, "%sa", scope);
        return num(SF_TYPE_INT, 1);
    }
    one = &attrs.list[below(a, attrs.n)];
    if (sf_str_eq(one->key, SF_STR("my key")))
        sf_buf_print(&a->out, "%s\"my key\"", scope);
    else
        sf_buf_print(&a->out, "%s%.*s", scope, SF_STR_ARG(one->key));
    return from_value(a, one->val);
}

static struct sf_static ask_attribute(struct traceql_ask *a)
{
    const struct slow_row *row = some_row(a);
    switch (below(a, 14)) {
    case 0: return ask_named(a, "resource.", row->resource->attrs);
    case 1: return ask_named(a, "instrumentation.", row->scope->attrs);
    case 2:
        return ask_named(a, "event.",
                         row->span.n_events ? row->span.events[0].attrs : row->span.attrs);
    case 3:
        return ask_named(a, "link.",
                         row->span.n_links ? row->span.links[0].attrs : row->span.attrs);
    case 4: return ask_named(a, ".", row->resource->attrs);
    case 5: say(a, "resource.service.name"); return str(row->resource->service);
    case 6:
    case 7:
    case 8: return ask_named(a, ".", row->span.attrs);
    default: return ask_named(a, "span.", row->span.attrs);
    }
}

static sf_str hex_of(struct traceql_ask *a, sf_trace_id id)
{
    char *p = slow_new(a->rng->keep, 33, 1);
    sf_trace_id_render(id, p);
    return sf_str_from(p);
}

static sf_str span_hex(struct traceql_ask *a, sf_span_id id)
{
    char *p = slow_new(a->rng->keep, 17, 1);
    sf_span_id_render(id, p);
    return sf_str_from(p);
}

static struct sf_static ask_number_intrinsic(struct traceql_ask *a)
{
    static const char *const counts[] = {"nestedSetLeft", "nestedSetRight", "nestedSetParent",
                                         "span:childCount"},
                             *const durations[] = {"duration", "span:duration", "duration",
                                                   "traceDuration", "trace:duration"};
    const struct slow_row *row = some_row(a);
    switch (below(a, 4)) {
    case 0: say(a, PICK(a, counts)); return num(SF_TYPE_INT, (int64_t)below(a, 12) - 1);
    case 1:
        say(a, "event:timeSinceStart");
        return num(SF_TYPE_DURATION, (int64_t)(below(a, 8) * TRACEQL_MAKE_UNIT_NS * 8));
    default:
        say(a, PICK(a, durations));
        return num(SF_TYPE_DURATION, (int64_t)sf_span_duration_ns(&row->span));
    }
}

static struct sf_static ask_intrinsic(struct traceql_ask *a)
{
    const struct slow_row *row = some_row(a);
    switch (below(a, 16)) {
    case 0:
    case 1:
        say(a, one_in(a, 2) ? "status" : "span:status");
        return num(SF_TYPE_STATUS, row->span.status);
    case 2:
    case 3: say(a, one_in(a, 2) ? "kind" : "span:kind"); return num(SF_TYPE_KIND, row->span.kind);
    case 4:
        say(a, one_in(a, 2) ? "statusMessage" : "span:statusMessage");
        return str(row->span.status_msg);
    case 5: say(a, one_in(a, 2) ? "rootName" : "trace:rootName"); return str(row->span.name);
    case 6:
        say(a, one_in(a, 2) ? "rootServiceName" : "trace:rootService");
        return str(row->resource->service);
    case 7: say(a, "trace:id"); return str(hex_of(a, row->span.trace_id));
    case 8:
        say(a, one_in(a, 2) ? "span:id" : "link:spanID");
        return str(span_hex(a, row->span.span_id));
    case 9: say(a, "span:parentID"); return str(span_hex(a, row->span.parent_id));
    case 10: say(a, "link:traceID"); return str(hex_of(a, row->span.trace_id));
    case 11: say(a, "event:name"); return str(SF_STR("exception"));
    case 12: say(a, "instrumentation:name"); return str(row->scope->name);
    case 13: say(a, "instrumentation:version"); return str(row->scope->version);
    default: say(a, one_in(a, 2) ? "name" : "span:name"); return str(row->span.name);
    }
}

static struct sf_static ask_attr(struct traceql_ask *a)
{
    switch (below(a, 8)) {
    case 0: return ask_number_intrinsic(a);
    case 1:
    case 2: return ask_intrinsic(a);
    default: return ask_attribute(a);
    }
}

/* ---- literals ---- */

static void ask_literal(struct traceql_ask *a, struct sf_static like)
{
    switch (like.type) {
    case SF_TYPE_NIL: sf_buf_print(&a->out, "%u", (unsigned)below(a, 6)); return;
    case SF_TYPE_INT:
        if (one_in(a, 4))
            like.i64 += (int64_t)below(a, 3) - 1;
        if (one_in(a, 8))
            like = (struct sf_static){SF_TYPE_FLOAT, {.f64 = (double)like.i64}};
        break;
    case SF_TYPE_FLOAT:
        if (one_in(a, 4))
            like = num(SF_TYPE_INT, (int64_t)like.f64);
        break;
    case SF_TYPE_DURATION:
        if (one_in(a, 4))
            like.i64 += (int64_t)below(a, 3) - 1;
        if (one_in(a, 10))
            like.type = SF_TYPE_INT;
        break;
    case SF_TYPE_STATUS:
        if (one_in(a, 3))
            like.i64 = (int64_t)below(a, SF_STATUSES);
        break;
    case SF_TYPE_KIND:
        if (one_in(a, 3))
            like.i64 = (int64_t)below(a, SF_KINDS);
        break;
    default: break;
    }
    sf_expr_text_static(like, &a->out);
}

static bool is_plain_word(sf_str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if ((s.p[i] < 'a' || s.p[i] > 'z') && (s.p[i] < 'A' || s.p[i] > 'Z') && s.p[i] != '/' &&
            s.p[i] != ' ' && (s.p[i] < '0' || s.p[i] > '9'))
            return false;
    }
    return s.len > 0;
}

static void ask_pattern(struct traceql_ask *a, struct sf_static like)
{
    static const char *const patterns[] = {".*",
                                           ".+",
                                           "x|y|z",
                                           "[a-z]+",
                                           "(GET|POST) ?.*",
                                           "[[:upper:]]+ .+",
                                           "(?i)get.*",
                                           "s(elect|tep)",
                                           "[0-9]*",
                                           "a.b",
                                           "",
                                           "(a|b|x|y)*",
                                           "[^a-z]*",
                                           "5(0{2})?",
                                           "^GET.*$",
                                           "\\\\w+",
                                           "(x|GET|error){1}",
                                           "n?i?l?",
                                           "(?i)[m-z]",
                                           "[xyz]|[0-9]+",
                                           "\\\\w*.?a",
                                           "(.|s.l)+ct"};
    if (like.type != SF_TYPE_STRING || !is_plain_word(like.str) || one_in(a, 3)) {
        sf_buf_print(&a->out, "\"%s\"", PICK(a, patterns));
        return;
    }
    switch (below(a, 4)) {
    case 0: sf_buf_print(&a->out, "`%.*s`", SF_STR_ARG(like.str)); break;
    case 1: sf_buf_print(&a->out, "\"%.*s.*\"", SF_STR_ARG(sf_str_part(like.str, 0, 2))); break;
    case 2: sf_buf_print(&a->out, "\".*%.*s\"", SF_STR_ARG(sf_str_from_at(like.str, 1))); break;
    default: /* "." alone would be one byte to the one and one character to the other */
        sf_buf_print(&a->out, "\"%s%.*s\"", like.str.len > 1 ? "." : "",
                     SF_STR_ARG(sf_str_from_at(like.str, like.str.len > 1)));
    }
}

/* ---- field expressions ---- */

static void ask_field(struct traceql_ask *a, unsigned depth);

static bool is_ordered(struct sf_static v)
{
    return v.type == SF_TYPE_INT || v.type == SF_TYPE_FLOAT || v.type == SF_TYPE_DURATION ||
           v.type == SF_TYPE_STRING || v.type == SF_TYPE_NIL;
}

static const char *ask_cmp(struct traceql_ask *a, struct sf_static v)
{
    static const char *const all[] = {"=", "=", "!=", "<", "<=", ">", ">="}, *const two[] = {"=",
                                                                                             "!="};
    return is_ordered(v) ? PICK(a, all) : PICK(a, two);
}

static void ask_arithmetic(struct traceql_ask *a)
{
    static const char *const ops[] = {" + ", " - ", " * ", " / ", " % ", " ^ "};
    static const char *const signs[] = {"=", "!=", "<", "<=", ">", ">="};
    struct sf_static like = {.type = SF_TYPE_INT, {.i64 = 2}};
    if (one_in(a, 6))
        say(a, "-");
    if (one_in(a, 3))
        like = ask_number_intrinsic(a);
    else
        ask_attribute(a);
    say(a, PICK(a, ops));
    if (one_in(a, 3))
        ask_attribute(a);
    else
        sf_buf_print(&a->out, one_in(a, 3) ? "%u.5" : "%u", (unsigned)below(a, 4));
    sf_buf_print(&a->out, " %s ", PICK(a, signs));
    if (one_in(a, 6))
        ask_attribute(a);
    else
        ask_literal(a, like);
}

static void ask_comparison(struct traceql_ask *a)
{
    struct sf_buf head = a->out, attr = {0};
    struct sf_static like;
    switch (below(a, 12)) {
    case 0:                 /* nil */
        if (one_in(a, 4)) { /* every field may be compared so, some not with = */
            ask_attr(a);
            say(a, " != nil");
        } else if (one_in(a, 20)) {
            say(a, one_in(a, 2) ? "nil = nil" : "nil != nil");
        } else if (one_in(a, 4)) {
            sf_buf_print(&a->out, "nil %s ", one_in(a, 2) ? "=" : "!=");
            ask_attribute(a);
        } else {
            ask_attribute(a);
            say(a, one_in(a, 2) ? " = nil" : " != nil");
        }
        return;
    case 1:
    case 2: /* a pattern */
        like = one_in(a, 2) ? ask_intrinsic(a) : ask_attribute(a);
        say(a, one_in(a, 3) ? " !~ " : " =~ ");
        ask_pattern(a, like);
        return;
    case 3: /* the literal first */
        a->out = attr;
        like = ask_attr(a);
        attr = a->out;
        a->out = head;
        ask_literal(a, like);
        sf_buf_print(&a->out, " %s %.*s", ask_cmp(a, like), SF_STR_ARG(sf_buf_str(&attr)));
        sf_buf_done(&attr);
        return;
    case 4: /* two attributes */
        like = ask_attr(a);
        sf_buf_print(&a->out, " %s ", ask_cmp(a, like));
        ask_attr(a);
        return;
    case 5: ask_arithmetic(a); return;
    default:
        like = ask_attr(a);
        sf_buf_print(&a->out, " %s ", ask_cmp(a, like));
        ask_literal(a, like);
    }
}

static void ask_part(struct traceql_ask *a, unsigned depth)
{
    bool has_parens = !one_in(a, 3);
    if (has_parens)
        say(a, "(");
    ask_field(a, depth);
    if (has_parens)
        say(a, ")");
}

static void ask_field(struct traceql_ask *a, unsigned depth)
{
    static const char *const bare[] = {"span.flag",   ".flag", "event.flag", "!span.flag",
                                       "!event.flag", "true",  "false",      "1 + 1 = 2"};
    uint64_t pick = below(a, depth ? 12 : 8);
    if (pick < 7) {
        ask_comparison(a);
    } else if (pick == 7) {
        say(a, PICK(a, bare));
    } else if (pick == 8) {
        say(a, "!(");
        ask_field(a, depth - 1);
        say(a, ")");
    } else if (pick == 9 && one_in(a, 4)) {
        say(a, "(");
        ask_field(a, depth - 1);
        say(a, one_in(a, 2) ? ") = true" : ") != span.flag");
    } else {
        ask_part(a, depth - 1);
        say(a, pick == 11 ? " || " : " && ");
        ask_part(a, depth - 1);
    }
}

/* ---- spansets and stages ---- */

static void ask_filter(struct traceql_ask *a)
{
    say(a, "{ ");
    if (!one_in(a, 8))
        ask_field(a, 2);
    say(a, " }");
}

static void ask_stage(struct traceql_ask *a);

static void ask_spanset(struct traceql_ask *a, unsigned depth)
{
    static const char *const ops[] = {"&&", "||",  ">",  ">>", "<",   "<<", "~",   "!>", "!>>",
                                      "!<", "!<<", "!~", "&>", "&>>", "&<", "&<<", "&~"};
    uint64_t pick = below(a, depth ? 8 : 4);
    if (pick < 4) {
        ask_filter(a);
    } else if (pick == 4 && one_in(a, 2)) {
        say(a, "(");
        ask_filter(a);
        for (uint64_t i = below(a, 2) + 1; i; i--)
            ask_stage(a);
        say(a, ") ");
        say(a, PICK(a, ops));
        say(a, " (");
        ask_spanset(a, 0);
        say(a, ")");
    } else {
        bool has_parens = one_in(a, 2);
        say(a, has_parens ? "(" : "");
        ask_spanset(a, depth - 1);
        sf_buf_print(&a->out, "%s %s ", has_parens ? ")" : "", PICK(a, ops));
        ask_spanset(a, depth - 1);
    }
}

static void ask_operand(struct traceql_ask *a)
{
    if (one_in(a, 4)) {
        ask_attribute(a);
        say(a, one_in(a, 2) ? " * 2" : " + span.a");
    } else if (one_in(a, 2)) {
        ask_number_intrinsic(a);
    } else {
        ask_attribute(a);
    }
}

static void ask_aggregate(struct traceql_ask *a)
{
    static const char *const functions[] = {"min", "max", "sum", "avg"},
                             *const signs[] = {"=", "!=", "<", "<=", ">", ">="},
                             *const values[] = {"0",     "1",           "2",       "100",
                                                "1.5",   "50ms",        "1s",      "-1",
                                                "7 / 2", "2 * (1 + 1)", "-(50ms)", "3 - 2.5"};
    bool is_in_parentheses = one_in(a, 6);
    if (one_in(a, 3)) {
        sf_buf_print(&a->out, "count() %s %u", PICK(a, signs), (unsigned)below(a, 6));
        return;
    }
    sf_buf_print(&a->out, "%s%s(", is_in_parentheses ? "(" : "", PICK(a, functions));
    ask_operand(a);
    sf_buf_print(&a->out, "%s %s %s", is_in_parentheses ? "))" : ")", PICK(a, signs),
                 PICK(a, values));
}

static void ask_select(struct traceql_ask *a)
{
    say(a, "select(");
    for (uint64_t i = below(a, 3);; i--) {
        ask_attr(a);
        if (!i)
            break;
        say(a, ", ");
    }
    say(a, ")");
}

static void ask_stage(struct traceql_ask *a)
{
    say(a, " | ");
    switch (below(a, 8)) {
    case 0:
    case 1:
        say(a, "by(");
        if (one_in(a, 5))
            ask_operand(a);
        else
            ask_attr(a);
        say(a, ")");
        break;
    case 2: say(a, "coalesce()"); break;
    case 3: ask_select(a); break;
    case 4: ask_spanset(a, 1); break;
    default: ask_aggregate(a);
    }
}

static void ask_pipeline(struct traceql_ask *a)
{
    if (one_in(a, 12))
        ask_aggregate(a);
    else
        ask_spanset(a, 2);
    while (one_in(a, 2))
        ask_stage(a);
}

void traceql_ask_search(struct traceql_ask *a)
{
    sf_buf_reset(&a->out);
    ask_pipeline(a);
    if (one_in(a, 20))
        say(a, " with(most_recent=true)");
}

/* ---- metrics ---- */

static void ask_by(struct traceql_ask *a)
{
    if (one_in(a, 2))
        return;
    say(a, " by(");
    for (uint64_t i = below(a, 3);; i--) {
        ask_attr(a);
        if (!i)
            break;
        say(a, ", ");
    }
    say(a, ")");
}

static void ask_measured(struct traceql_ask *a)
{
    static const char *const likely[] = {"duration", "span.bytes", ".a"};
    if (one_in(a, 3))
        ask_attr(a);
    else
        say(a, PICK(a, likely));
}

static void ask_metric(struct traceql_ask *a, bool can_compare)
{
    static const char *const plain[] = {"rate()", "count_over_time()"},
                             *const functions[] = {"min", "max", "sum", "avg", "histogram"},
                             *const quantiles[] = {"0.5", "0.9, 0.99", "0, 0.25, 1", ".07"};
    switch (below(a, can_compare ? 8 : 7)) {
    case 0:
    case 1:
    case 2: say(a, PICK(a, plain)); break;
    case 3:
    case 4:
    case 5:
        sf_buf_print(&a->out, "%s_over_time(", PICK(a, functions));
        ask_measured(a);
        say(a, ")");
        break;
    case 6:
        say(a, "quantile_over_time(");
        ask_measured(a);
        sf_buf_print(&a->out, ", %s)", PICK(a, quantiles));
        break;
    default:
        say(a, "compare(");
        ask_filter(a);
        if (one_in(a, 2))
            sf_buf_print(&a->out, ", %u", (unsigned)below(a, 4) + 1);
        if (one_in(a, 8))
            sf_buf_print(&a->out, ", 3, %" PRIu64 ", %" PRIu64, a->rng->base_ns + 1000000000,
                         a->rng->base_ns + below(a, 7200) * UINT64_C(1000000000) + 2000000000);
        say(a, ")");
        return;
    }
    ask_by(a);
}

static void ask_seconds(struct traceql_ask *a)
{
    static const char *const signs[] = {"=", "!=", "<", "<=", ">", ">="},
                             *const values[] = {"0",  "1",     "2",     "0.01",
                                                "-1", "100ms", "1 / 2", "2 * (3 - 2)"};
    while (one_in(a, 3)) {
        if (one_in(a, 2))
            sf_buf_print(&a->out, " | %s(%u)", one_in(a, 2) ? "topk" : "bottomk",
                         (unsigned)below(a, 4) + 1);
        else
            sf_buf_print(&a->out, " %s %s", PICK(a, signs), PICK(a, values));
    }
}

static void ask_counted(struct traceql_ask *a, bool can_compare)
{
    if (one_in(a, 2))
        ask_filter(a);
    else
        ask_spanset(a, 1);
    while (one_in(a, 4))
        ask_stage(a);
    say(a, " | ");
    ask_metric(a, can_compare);
}

void traceql_ask_metrics(struct traceql_ask *a)
{
    static const char *const ops[] = {" + ", " - ", " * ", " / "}, *const constants[] = {
                                                                       "0",  "1",       "3",
                                                                       "-2", "(1 + 2)", "5 / 2.0"};
    sf_buf_reset(&a->out);
    if (one_in(a, 5)) {
        uint64_t n = below(a, 2) + 1;
        if (one_in(a, 4))
            sf_buf_print(&a->out, "%u%s", (unsigned)below(a, 4), PICK(a, ops));
        for (;; n--) {
            say(a, "(");
            ask_counted(a, false);
            ask_seconds(a);
            say(a, ")");
            if (!n)
                break;
            say(a, PICK(a, ops));
        }
        if (one_in(a, 4))
            sf_buf_print(&a->out, "%s%s", PICK(a, ops), PICK(a, constants));
        ask_seconds(a);
        return;
    }
    ask_counted(a, true);
    if (!memmem(a->out.p, a->out.len, "compare(", 8))
        ask_seconds(a);
    if (one_in(a, 10))
        say(a, one_in(a, 2) ? " with(exemplars=5)" : " with(exemplars=false, sample=true)");
}
