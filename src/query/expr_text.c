#include "query/expr_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/time_unit.h"
#include "model/span.h"

const char *sf_expr_text_intrinsic(enum sf_intrinsic i)
{
    static const char *const names[SF_INTRINSICS] = {
        "",
        "name",
        "duration",
        "status",
        "statusMessage",
        "kind",
        "span:id",
        "span:parentID",
        "span:childCount",
        "traceDuration",
        "rootName",
        "rootServiceName",
        "trace:id",
        "event:name",
        "event:timeSinceStart",
        "link:traceID",
        "link:spanID",
        "instrumentation:name",
        "instrumentation:version",
        "nestedSetLeft",
        "nestedSetRight",
        "nestedSetParent",
        "profile.frame",
        "profile.cpu",
        "profile.wall",
        "profile.lock",
        "profile.block",
        "profile.off_cpu",
        "profile.alloc",
    };
    return names[i];
}

static const char *scope_prefix(enum sf_attr_scope scope)
{
    static const char *const prefixes[SF_SCOPES] = {"",       ".",     "resource.",       "span.",
                                                    "event.", "link.", "instrumentation."};
    return prefixes[scope];
}

sf_str sf_expr_text_attr(const struct sf_query_attr *a, struct sf_arena *req)
{
    sf_str text = SF_STR_NONE;
    if (a->intrinsic != SF_INTRINSIC_NONE)
        return sf_str_from(sf_expr_text_intrinsic(a->intrinsic));
    sf_arena_print(req, &text, "%s%.*s", scope_prefix(a->scope), SF_STR_ARG(a->name));
    return text;
}

const char *sf_expr_text_op(enum sf_expr_op op)
{
    static const char *const texts[SF_EXPR_OPS] = {
        "=",  "!=", "<", "<=", ">", ">=", "=~", "!~", "&&",
        "||", "+",  "-", "*",  "/", "%",  "^",  "!",  "-"};
    return texts[op];
}

const char *sf_expr_text_static_type(enum sf_static_type t)
{
    static const char *const names[] = {"nil",  "int",    "float", "duration", "string",
                                        "bool", "status", "kind",  "attribute"};
    return names[t];
}

bool sf_expr_text_attr_eq(const struct sf_query_attr *a, const struct sf_query_attr *b)
{
    return a->scope == b->scope && a->intrinsic == b->intrinsic && sf_str_eq(a->name, b->name);
}

/* Decimal digits of ns / unit, without trailing zeros, exact. */
static void add_fraction(struct sf_buf *out, uint64_t ns, uint64_t unit, const char *name)
{
    char digits[24];
    int len;
    uint64_t rest = ns % unit;
    sf_buf_print(out, "%" PRIu64, ns / unit);
    if (rest) {
        int width = unit == SF_NS_PER_S ? 9 : unit == SF_NS_PER_MS ? 6 : 3;
        len = snprintf(digits, sizeof(digits), "%0*" PRIu64, width, rest);
        while (len > 1 && digits[len - 1] == '0')
            len--;
        sf_buf_print(out, ".%.*s", len, digits);
    }
    sf_buf_print(out, "%s", name);
}

void sf_expr_text_duration(int64_t ns, struct sf_buf *out)
{
    uint64_t left = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns < 0)
        sf_buf_add_u8(out, '-');
    if (left == 0) {
        sf_buf_add_str(out, SF_STR("0s"));
    } else if (left < 1000) {
        sf_buf_print(out, "%" PRIu64 "ns", left);
    } else if (left < SF_NS_PER_MS) {
        add_fraction(out, left, 1000, "\xc2\xb5s");
    } else if (left < SF_NS_PER_S) {
        add_fraction(out, left, SF_NS_PER_MS, "ms");
    } else {
        uint64_t hours = left / SF_NS_PER_HOUR, minutes = left / SF_NS_PER_MIN % 60;
        if (hours)
            sf_buf_print(out, "%" PRIu64 "h", hours);
        if (hours || minutes)
            sf_buf_print(out, "%" PRIu64 "m", minutes);
        add_fraction(out, left % SF_NS_PER_MIN, SF_NS_PER_S, "s");
    }
}

static void expr_text_add_quoted(struct sf_buf *out, sf_str s)
{
    sf_buf_add_u8(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"' || c == '\\')
            sf_buf_print(out, "\\%c", c);
        else if (c == '\n')
            sf_buf_add_str(out, SF_STR("\\n"));
        else if (c < 0x20 || c == 0x7f)
            sf_buf_print(out, "\\x%02x", c);
        else
            sf_buf_add_u8(out, c);
    }
    sf_buf_add_u8(out, '"');
}

static void add_lower(struct sf_buf *out, const char *name, size_t skip)
{
    for (name += skip; *name; name++)
        sf_buf_add_u8(out, (uint8_t)(*name >= 'A' && *name <= 'Z' ? *name + 32 : *name));
}

void sf_expr_text_static(struct sf_static v, struct sf_buf *out)
{
    switch (v.type) {
    case SF_TYPE_INT: sf_buf_print(out, "%" PRId64, v.i64); break;
    case SF_TYPE_FLOAT: {
        /* The shortest text that parses to the same number, and as a float. */
        char text[40];
        for (int digits = 1; digits <= 17; digits++) {
            double back;
            snprintf(text, sizeof(text), "%.*g", digits, v.f64);
            if (sf_str_to_f64(sf_str_from(text), &back) && back == v.f64)
                break;
        }
        sf_buf_print(out, "%s%s", text, strpbrk(text, ".ena") ? "" : ".0");
        break;
    }
    case SF_TYPE_DURATION: sf_expr_text_duration(v.i64, out); break;
    case SF_TYPE_STRING: expr_text_add_quoted(out, v.str); break;
    case SF_TYPE_BOOL: sf_buf_add_str(out, v.is_true ? SF_STR("true") : SF_STR("false")); break;
    case SF_TYPE_STATUS:
        add_lower(out, sf_span_status_name((uint8_t)v.i64), strlen("STATUS_CODE_"));
        break;
    case SF_TYPE_KIND:
        add_lower(out, sf_span_kind_name((uint8_t)v.i64), strlen("SPAN_KIND_"));
        break;
    default: sf_buf_add_str(out, SF_STR("nil")); break;
    }
}

static void expr_text_add_attr(const struct sf_query_attr *a, struct sf_buf *out)
{
    if (a->intrinsic != SF_INTRINSIC_NONE)
        sf_buf_add_str(out, sf_str_from(sf_expr_text_intrinsic(a->intrinsic)));
    else
        sf_buf_print(out, "%s%.*s", scope_prefix(a->scope), SF_STR_ARG(a->name));
}

static void add_operand(const struct sf_expr *e, struct sf_buf *out)
{
    bool has_parens = e->kind == SF_EXPR_BINARY;
    if (has_parens)
        sf_buf_add_u8(out, '(');
    sf_expr_text(e, out);
    if (has_parens)
        sf_buf_add_u8(out, ')');
}

void sf_expr_text(const struct sf_expr *e, struct sf_buf *out)
{
    switch (e->kind) {
    case SF_EXPR_LITERAL: sf_expr_text_static(e->literal, out); break;
    case SF_EXPR_ATTR: expr_text_add_attr(&e->attr, out); break;
    case SF_EXPR_UNARY:
        sf_buf_add_str(out, sf_str_from(sf_expr_text_op(e->op)));
        add_operand(e->left, out);
        break;
    case SF_EXPR_BINARY:
        add_operand(e->left, out);
        sf_buf_print(out, " %s ", sf_expr_text_op(e->op));
        add_operand(e->right, out);
        break;
    }
}
