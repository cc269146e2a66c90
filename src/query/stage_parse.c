/* stage_parse.c - the stages of a pipeline that are not spansets: aggregates, by, select, coalesce.
 */
#include "query/stage_parse.h"

#include "query/const_parse.h"
#include "query/expr_text.h"

enum { MAX_LIST = 64 };
#define N_OF(list) (sizeof(list) / sizeof((list)[0]))

bool sf_stage_parse_word(const struct sf_parser *p, const struct sf_word_number *list, size_t n,
                         int *out)
{
    for (size_t i = 0; i < n; i++) {
        if (sf_parser_is_word(p, list[i].word)) {
            *out = list[i].number;
            return true;
        }
    }
    return false;
}

static const struct sf_word_number aggregates[] = {
    {"count", SF_AGG_COUNT}, {"sum", SF_AGG_SUM}, {"avg", SF_AGG_AVG},
    {"min", SF_AGG_MIN},     {"max", SF_AGG_MAX},
};

bool sf_stage_parse_comparison(const struct sf_parser *p, enum sf_expr_op *out)
{
    static const char *const signs[] = {"=", "!=", "<", "<=", ">", ">="};
    for (int i = 0; i < 6; i++) {
        if (sf_parser_is_sign(p, signs[i])) {
            *out = (enum sf_expr_op)(SF_EXPR_EQ + i);
            return true;
        }
    }
    return false;
}

static void name_stage(struct sf_parser *p, struct sf_stage *s, const char *function)
{
    struct sf_buf text = {0};
    if (s->expr)
        sf_expr_text(s->expr, &text);
    if (!sf_buf_ok(&text) ||
        !sf_arena_print(p->req, &s->text, "%s(%.*s)", function, SF_STR_ARG(sf_buf_str(&text))))
        sf_parser_fail(p, SF_ERR_LIMIT, s->place, "query is too large");
    sf_buf_done(&text);
}

bool sf_stage_parse_aggregate(struct sf_parser *p, struct sf_stage *s)
{
    int which = 0;
    sf_str word = p->token.text;
    char name[8] = "";
    if (!sf_stage_parse_word(p, aggregates, N_OF(aggregates), &which))
        return false;
    s->kind = SF_STAGE_AGGREGATE;
    s->aggregate = (enum sf_aggregate)which;
    for (size_t i = 0; i < word.len && i < sizeof(name) - 1; i++)
        name[i] = word.p[i];
    sf_parser_next(p);
    if (!sf_parser_need_sign(p, "("))
        return false;
    if (s->aggregate != SF_AGG_COUNT) {
        s->expr = sf_expr_parse(p);
        if (!s->expr)
            return false;
        if (!sf_expr_check_has_attr(s->expr)) {
            sf_parser_fail(p, SF_ERR_INPUT, s->expr->place,
                           "aggregate field expressions must reference the span");
            return false;
        }
        if (s->expr->type != SF_TYPE_UNKNOWN && !sf_expr_check_type_is_number(s->expr->type)) {
            sf_parser_fail(p, SF_ERR_INPUT, s->expr->place,
                           "aggregate field expressions must resolve to a number type, not %s",
                           sf_expr_text_static_type(s->expr->type));
            return false;
        }
    }
    name_stage(p, s, name);
    return sf_parser_need_sign(p, ")");
}

static bool refuse_scalar_arithmetic(struct sf_parser *p)
{
    static const char *const signs[] = {"+", "-", "*", "/", "%", "^"};
    for (size_t i = 0; i < N_OF(signs); i++) {
        if (sf_parser_is_sign(p, signs[i])) {
            sf_parser_fail(p, SF_ERR_INPUT, p->token.place,
                           "scalar filter lhs of type arithmetic not yet supported: compare one "
                           "aggregate with one value");
            return true;
        }
    }
    return false;
}

bool sf_stage_parse_aggregate_filter(struct sf_parser *p, struct sf_stage *s)
{
    if (refuse_scalar_arithmetic(p))
        return false;
    if (!sf_stage_parse_comparison(p, &s->cmp)) {
        sf_parser_unexpected(p, "a comparison such as > 5");
        return false;
    }
    sf_parser_next(p);
    return sf_const_parse(p, &s->literal) && !refuse_scalar_arithmetic(p);
}

void sf_stage_parse_refuse_number(struct sf_parser *p)
{
    enum sf_expr_op cmp;
    if (sf_stage_parse_comparison(p, &cmp))
        sf_parser_fail(p, SF_ERR_INPUT, p->token.place,
                       "scalar filter lhs of type number not yet supported: write the aggregate "
                       "first, such as count() > 5");
    else
        sf_parser_unexpected(p, "an aggregate such as count(), and numbers behind it");
}

bool sf_stage_parse_attr_list(struct sf_parser *p, const struct sf_query_attr **out,
                              uint32_t *out_n)
{
    struct sf_query_attr list[MAX_LIST];
    struct sf_query_attr *kept;
    uint32_t n = 0;
    if (!sf_parser_need_sign(p, "("))
        return false;
    do {
        if (n == MAX_LIST) {
            sf_parser_fail(p, SF_ERR_LIMIT, p->token.place, "more than %d attributes", MAX_LIST);
            return false;
        }
        if (!sf_expr_parse_attr(p, &list[n]))
            return false;
        n++;
    } while (sf_parser_take_sign(p, ","));
    if (!sf_parser_need_sign(p, ")"))
        return false;
    kept = sf_parser_new(p, n * sizeof(*kept));
    if (!kept)
        return false;
    for (uint32_t i = 0; i < n; i++)
        kept[i] = list[i];
    *out = kept;
    *out_n = n;
    return true;
}

static bool parse_by(struct sf_parser *p, struct sf_stage *s)
{
    s->kind = SF_STAGE_BY;
    sf_parser_next(p);
    if (!sf_parser_need_sign(p, "("))
        return false;
    s->expr = sf_expr_parse(p);
    if (!s->expr || !sf_expr_check_one_value(p, &s->expr->attr, s->expr->place))
        return false;
    if (!sf_expr_check_has_attr(s->expr)) {
        sf_parser_fail(p, SF_ERR_INPUT, s->expr->place,
                       "grouping field expressions must reference the span");
        return false;
    }
    name_stage(p, s, "by");
    if (sf_parser_is_sign(p, ",")) {
        sf_parser_unexpected(p, "): one by() groups by one expression, by(a) | by(b) by two");
        return false;
    }
    return sf_parser_need_sign(p, ")");
}

static bool parse_select(struct sf_parser *p, struct sf_stage *s)
{
    s->kind = SF_STAGE_SELECT;
    sf_parser_next(p);
    struct sf_place place = p->token.place;
    if (!sf_stage_parse_attr_list(p, &s->attrs, &s->n_attrs))
        return false;
    for (uint32_t i = 0; i < s->n_attrs; i++)
        if (!sf_expr_check_one_value(p, &s->attrs[i], place))
            return false;
    return true;
}

bool sf_stage_parse_by_word(struct sf_parser *p, bool is_first, struct sf_stage *s)
{
    if (sf_parser_is_word(p, "by"))
        return parse_by(p, s);
    if (sf_parser_is_word(p, "select"))
        return parse_select(p, s);
    if (sf_parser_is_word(p, "coalesce") && !is_first) {
        s->kind = SF_STAGE_COALESCE;
        sf_parser_next(p);
        return sf_parser_need_sign(p, "(") && sf_parser_need_sign(p, ")");
    }
    return false;
}
