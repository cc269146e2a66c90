/* const_parse.c - constants computed while parsing.
 *
 *   sum     = product { ("+" | "-") product }
 *   product = signed { ("*" | "/") signed }
 *   signed  = "-" signed | "(" sum ")" | INT | FLOAT | DURATION
 *
 * Integers stay integers, so 2 / 6 is 0; a float on either side makes a float. A duration can only
 * be used alone or negated. */
#include "query/const_parse.h"

#include "query/expr_fold.h"

bool sf_const_parse_fold(struct sf_parser *p, enum sf_expr_op op, struct sf_place place,
                         struct sf_static a, struct sf_static b, struct sf_static *out)
{
    struct sf_static folded;
    if (a.type == SF_TYPE_DURATION || b.type == SF_TYPE_DURATION) {
        sf_parser_fail(p, SF_ERR_INPUT, place, "duration cannot be used in scalar arithmetic");
        return false;
    }
    folded = sf_expr_fold_binary(op, a, b);
    if (folded.type == SF_TYPE_NIL) { /* for integers only a division may have no value */
        sf_parser_fail(p, SF_ERR_INPUT, place, "division by zero");
        return false;
    }
    *out = folded;
    return true;
}

bool sf_const_parse_is_number(const struct sf_parser *p)
{
    return p->token.kind == SF_TOKEN_INT || p->token.kind == SF_TOKEN_FLOAT ||
           p->token.kind == SF_TOKEN_DURATION;
}

static bool parse_sum(struct sf_parser *p, struct sf_static *out);

static bool parse_signed(struct sf_parser *p, struct sf_static *out)
{
    bool is_read;
    if (sf_const_parse_is_number(p))
        return sf_expr_parse_plain_literal(p, out);
    if (!sf_parser_is_sign(p, "-") && !sf_parser_is_sign(p, "(")) {
        sf_parser_unexpected(p, "a number or a duration");
        return false;
    }
    if (!sf_parser_enter(p))
        return false;
    if (sf_parser_take_sign(p, "-")) {
        is_read = parse_signed(p, out);
        if (is_read)
            *out = sf_expr_fold_unary(SF_EXPR_NEG, *out);
    } else {
        sf_parser_next(p);
        is_read = parse_sum(p, out) && sf_parser_need_sign(p, ")");
    }
    sf_parser_leave(p);
    return is_read;
}

struct sign {
    const char *text;
    enum sf_expr_op op;
};

/* Parses operators of one precedence level, from left to right. */
static bool parse_chain(struct sf_parser *p,
                        bool (*operand)(struct sf_parser *, struct sf_static *),
                        const struct sign signs[2], struct sf_static *out)
{
    if (!operand(p, out))
        return false;
    for (;;) {
        struct sf_place place = p->token.place;
        struct sf_static right;
        int which = sf_parser_is_sign(p, signs[0].text)   ? 0
                    : sf_parser_is_sign(p, signs[1].text) ? 1
                                                          : -1;
        if (which < 0)
            return !p->err;
        sf_parser_next(p);
        if (!operand(p, &right) ||
            !sf_const_parse_fold(p, signs[which].op, place, *out, right, out))
            return false;
    }
}

static bool parse_product(struct sf_parser *p, struct sf_static *out)
{
    static const struct sign signs[2] = {{"*", SF_EXPR_MUL}, {"/", SF_EXPR_DIV}};
    return parse_chain(p, parse_signed, signs, out);
}

static bool parse_sum(struct sf_parser *p, struct sf_static *out)
{
    static const struct sign signs[2] = {{"+", SF_EXPR_ADD}, {"-", SF_EXPR_SUB}};
    return parse_chain(p, parse_product, signs, out);
}

bool sf_const_parse(struct sf_parser *p, struct sf_static *out)
{
    return parse_sum(p, out);
}
