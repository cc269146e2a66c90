/* expr_check.c - type checks that need no data. Messages begin as in other TraceQL servers, because
 * dashboards match on them. */
#include "query/expr_text.h"
#include "query/parser.h"
#include "regex/regex.h"

bool sf_expr_check_type_is_number(enum sf_static_type t)
{
    return t == SF_TYPE_INT || t == SF_TYPE_FLOAT || t == SF_TYPE_DURATION;
}

bool sf_expr_check_has_attr(const struct sf_expr *e)
{
    /* The parser limits the depth. */
    return e && (e->kind == SF_EXPR_ATTR || sf_expr_check_has_attr(e->left) ||
                 sf_expr_check_has_attr(e->right));
}

static bool expr_check_is_nil(const struct sf_expr *e)
{
    return e->kind == SF_EXPR_LITERAL && e->literal.type == SF_TYPE_NIL;
}

static bool check_nil(struct sf_parser *p, const struct sf_expr *e)
{
    const struct sf_expr *other = expr_check_is_nil(e->left) ? e->right : e->left;
    const struct sf_query_attr *a = &other->attr;
    sf_str text;
    if (e->op != SF_EXPR_EQ && e->op != SF_EXPR_NE) {
        sf_parser_fail(p, SF_ERR_INPUT, e->place,
                       "illegal operation for the given types: nil takes = and != only");
        return false;
    }
    if (e->op == SF_EXPR_NE || other->kind != SF_EXPR_ATTR || sf_intrinsic_is_profile(a->intrinsic))
        return true;
    if (a->intrinsic != SF_INTRINSIC_NONE ||
        (a->scope == SF_SCOPE_RESOURCE && sf_str_eq(a->name, SF_STR("service.name")))) {
        text = sf_expr_text_attr(a, p->req);
        sf_parser_fail(p, SF_ERR_INPUT, e->place,
                       "%.*s = nil is not valid because every span has it; != nil is",
                       SF_STR_ARG(text));
        return false;
    }
    return true;
}

static bool check_match(struct sf_parser *p, const struct sf_expr *e)
{
    struct sf_why words;
    enum sf_err err;
    if (e->right->kind != SF_EXPR_LITERAL || e->right->type != SF_TYPE_STRING) {
        sf_parser_fail(p, SF_ERR_INPUT, e->right->place,
                       "invalid type for =~ or !~: the right side must be a string");
        return false;
    }
    if (e->left->type != SF_TYPE_STRING && e->left->type != SF_TYPE_UNKNOWN) {
        sf_parser_fail(
            p, SF_ERR_INPUT, e->place,
            "binary operations must operate on the same type: =~ and !~ compare strings");
        return false;
    }
    err = sf_regex_check_whole(e->right->literal.str, &words);
    if (err)
        sf_parser_fail(p, err == SF_ERR_NOMEM ? err : SF_ERR_INPUT, e->right->place,
                       "invalid regex: %s", words.text);
    return !err;
}

static bool expr_check_is_frame(const struct sf_expr *e)
{
    return e->kind == SF_EXPR_ATTR && e->attr.intrinsic == SF_INTRINSIC_PROFILE_FRAME;
}

/* A span has many frames, which are searched by name before spans are: so a name must be given. */
static bool check_frame(struct sf_parser *p, const struct sf_expr *e)
{
    bool is_asked = e->op == SF_EXPR_EQ || e->op == SF_EXPR_NE || e->op == SF_EXPR_MATCH ||
                    e->op == SF_EXPR_NO_MATCH;
    if (is_asked && expr_check_is_frame(e->left) && e->right->kind == SF_EXPR_LITERAL &&
        e->right->type == SF_TYPE_STRING)
        return true;
    sf_parser_fail(p, SF_ERR_INPUT, e->place,
                   "profile.frame takes =, !=, =~ or !~ and a text behind it: profile.frame =~ "
                   "\"json.*\"");
    return false;
}

bool sf_expr_check_one_value(struct sf_parser *p, const struct sf_query_attr *a,
                             struct sf_place place)
{
    if (a->intrinsic != SF_INTRINSIC_PROFILE_FRAME)
        return true;
    sf_parser_fail(p, SF_ERR_INPUT, place,
                   "profile.frame has many values: it can only be compared, inside { }");
    return false;
}

static bool types_meet(enum sf_static_type a, enum sf_static_type b)
{
    return a == SF_TYPE_UNKNOWN || b == SF_TYPE_UNKNOWN || a == b ||
           (sf_expr_check_type_is_number(a) && sf_expr_check_type_is_number(b));
}

static const char *type_hint(enum sf_static_type a, enum sf_static_type b)
{
    if (a == SF_TYPE_STATUS || b == SF_TYPE_STATUS)
        return "; a status is error, ok or unset, without quotes";
    if (a == SF_TYPE_KIND || b == SF_TYPE_KIND)
        return "; a kind is server, client, producer, consumer, internal or unspecified, without "
               "quotes";
    if (a == SF_TYPE_DURATION || b == SF_TYPE_DURATION)
        return "; durations such as 500ms stand without quotes";
    if (sf_expr_check_type_is_number(a) || sf_expr_check_type_is_number(b))
        return "; numbers stand without quotes, text with them";
    return "";
}

static bool suits(enum sf_expr_op op, enum sf_static_type t)
{
    if (t == SF_TYPE_UNKNOWN || op == SF_EXPR_EQ || op == SF_EXPR_NE)
        return true;
    if (op == SF_EXPR_AND || op == SF_EXPR_OR)
        return t == SF_TYPE_BOOL;
    if (op <= SF_EXPR_GE)
        return sf_expr_check_type_is_number(t) || t == SF_TYPE_STRING;
    return sf_expr_check_type_is_number(t);
}

static bool check_binary(struct sf_parser *p, const struct sf_expr *e)
{
    if (expr_check_is_nil(e->left) || expr_check_is_nil(e->right))
        return check_nil(p, e);
    if ((expr_check_is_frame(e->left) || expr_check_is_frame(e->right)) && !check_frame(p, e))
        return false;
    if (e->op == SF_EXPR_MATCH || e->op == SF_EXPR_NO_MATCH)
        return check_match(p, e);
    if (!types_meet(e->left->type, e->right->type)) {
        sf_parser_fail(p, SF_ERR_INPUT, e->place,
                       "binary operations must operate on the same type: %s and %s%s",
                       sf_expr_text_static_type(e->left->type),
                       sf_expr_text_static_type(e->right->type),
                       type_hint(e->left->type, e->right->type));
        return false;
    }
    if (!suits(e->op, e->left->type) || !suits(e->op, e->right->type)) {
        sf_parser_fail(p, SF_ERR_INPUT, e->place, "illegal operation for the given types: %s %s",
                       sf_expr_text_op(e->op), sf_expr_text_static_type(e->left->type));
        return false;
    }
    return true;
}

bool sf_expr_check(struct sf_parser *p, const struct sf_expr *e)
{
    enum sf_static_type t;
    if (e->kind == SF_EXPR_BINARY)
        return check_binary(p, e);
    if (e->kind != SF_EXPR_UNARY)
        return true;
    t = e->left->type;
    if (t == SF_TYPE_UNKNOWN ||
        (e->op == SF_EXPR_NOT ? t == SF_TYPE_BOOL : sf_expr_check_type_is_number(t)))
        return true;
    sf_parser_fail(p, SF_ERR_INPUT, e->place, "illegal operation for the given type: %s %s",
                   sf_expr_text_op(e->op), sf_expr_text_static_type(t));
    return false;
}

bool sf_expr_check_filter(struct sf_parser *p, const struct sf_expr *e)
{
    /* An expression of unknown type matches if it is the value true; so { .a + .b } never
     * matches. */
    if (e->type == SF_TYPE_BOOL || e->type == SF_TYPE_UNKNOWN)
        return true;
    sf_parser_fail(p, SF_ERR_INPUT, e->place,
                   "span filter field expressions must resolve to a boolean, not %s",
                   sf_expr_text_static_type(e->type));
    return false;
}
