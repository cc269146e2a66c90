/* pipeline_parse.c - spansets, pipelines and expressions in parentheses.
 *
 * Parentheses may contain a spanset, a pipeline, a metrics query or arithmetic over several; which
 * one is known only at the closing parenthesis. So operands are parsed into one `struct operand`,
 * and the operator that follows decides what is allowed. */
#include "query/pipeline_parse.h"
#include "base/invariant.h"
#include "query/const_parse.h"
#include "query/expr_fold.h"
#include "query/expr_text.h"
#include "query/hint_parse.h"
#include "query/metric_parse.h"
#include "query/parser.h"
#include "query/stage_parse.h"

enum { MAX_STAGES = 64 };
#define N_OF(list) (sizeof(list) / sizeof((list)[0]))

enum operand_kind { NOTHING, SPANSET, METRICS, NUMBER, AGGREGATE };

/* A pipeline in parentheses is allowed where Tempo allows it: alone, or on both sides of an
 * operator, ({ } | count() > 1) && ({ }), with nothing following. Such an operand is `wrapped`;
 * then the other side must be in parentheses, too. */
struct operand {
    enum operand_kind kind;
    bool is_wrapped;
    const struct sf_spanset *spanset;
    const struct sf_stage *aggregate; /* (count()), whose comparison follows */
    const struct sf_metrics *metrics;
    struct sf_static number;
    struct sf_place place;
};

static struct operand parse_operand(struct sf_parser *p, unsigned least, bool is_wrapped);

/* ---- pipelines ---- */

struct stages {
    struct sf_stage list[MAX_STAGES];
    uint32_t n;
};

static const struct sf_pipeline *keep_pipeline(struct sf_parser *p, const struct stages *s)
{
    struct sf_pipeline *pipeline = sf_parser_new(p, sizeof(*pipeline));
    struct sf_stage *list = pipeline ? sf_parser_new(p, s->n * sizeof(*list)) : NULL;
    if (!list)
        return NULL;
    for (uint32_t i = 0; i < s->n; i++)
        list[i] = s->list[i];
    pipeline->stages = list;
    pipeline->n_stages = s->n;
    return pipeline;
}

static bool keep_aggregate(struct sf_parser *p, const struct sf_stage *stage, struct operand *out)
{
    struct sf_stage *kept = sf_parser_new(p, sizeof(*kept));
    if (!kept)
        return false;
    *kept = *stage;
    out->kind = AGGREGATE;
    out->aggregate = kept;
    return true;
}

/* Checks a stage that does not begin with a word. */
static void take_operand(struct sf_parser *p, const struct stages *s, const struct operand *o,
                         struct sf_stage *stage)
{
    switch (o->kind) {
    case NUMBER: sf_stage_parse_refuse_number(p); break;
    case METRICS: sf_parser_unexpected(p, "a stage: metrics queries come first or last"); break;
    case AGGREGATE:
        *stage = *o->aggregate;
        sf_stage_parse_aggregate_filter(p, stage);
        break;
    case SPANSET:
        stage->kind = SF_STAGE_SPANSET;
        stage->spanset = o->spanset;
        if (o->is_wrapped && s->n)
            sf_parser_fail(
                p, SF_ERR_INPUT, o->place,
                "syntax error: a stage is not a pipeline in parentheses: leave them out");
        else if (o->is_wrapped && sf_parser_is_sign(p, "|"))
            sf_parser_unexpected(p, "nothing behind a pipeline in parentheses: leave them out, or "
                                    "write the stage inside");
        break;
    case NOTHING: break;
    }
}

/* stage { "|" stage } [ "|" metric ]; the kind of the first operand decides whether more may
 * follow. */
static bool parse_stages(struct sf_parser *p, struct stages *s, struct operand *out)
{
    for (;;) {
        struct sf_stage *stage = &s->list[s->n];
        struct operand o = {0};
        if (s->n == MAX_STAGES) {
            sf_parser_fail(p, SF_ERR_LIMIT, p->token.place, "more than %d stages", MAX_STAGES);
            return false;
        }
        *stage = (struct sf_stage){.place = p->token.place};
        if (s->n && p->token.kind == SF_TOKEN_WORD) {
            struct sf_metric metric = {0};
            if (sf_metric_parse(p, &metric)) {
                struct sf_metrics *m = sf_parser_new(p, sizeof(*m));
                const struct sf_pipeline *pipeline = keep_pipeline(p, s);
                if (!m || !pipeline)
                    return false;
                *m = (struct sf_metrics){.kind = SF_METRICS_QUERY,
                                         .place = out->place,
                                         .height = 1,
                                         .pipeline = pipeline,
                                         .metric = metric};
                out->kind = METRICS;
                out->metrics = m;
                return sf_metric_parse_seconds(p, m);
            }
        }
        if (!p->err && sf_stage_parse_aggregate(p, stage)) {
            if (s->n == 0 && sf_parser_is_sign(p, ")"))
                return keep_aggregate(p, stage, out);
            sf_stage_parse_aggregate_filter(p, stage);
        } else if (!p->err && !sf_stage_parse_by_word(p, s->n == 0, stage) && !p->err) {
            o = parse_operand(p, 2, false);
            if (p->err)
                return false;
            if (s->n == 0 && (o.kind == METRICS || ((o.kind == NUMBER || o.kind == AGGREGATE) &&
                                                    sf_parser_is_sign(p, ")")))) {
                *out = o;
                return true;
            }
            take_operand(p, s, &o, stage);
            out->is_wrapped = o.is_wrapped;
        }
        if (p->err)
            return false;
        s->n++;
        if (!sf_parser_take_sign(p, "|"))
            break;
    }
    out->kind = SPANSET;
    return true;
}

static struct operand parse_whole(struct sf_parser *p)
{
    /* Not on the stack of the recursive call: 128 levels would take megabytes. */
    struct operand out = {.place = p->token.place};
    struct stages *s = sf_parser_new(p, sizeof(*s));
    struct sf_spanset *leaf;
    if (!s || !parse_stages(p, s, &out) || out.kind != SPANSET)
        return out;
    if (s->n == 1 && s->list[0].kind == SF_STAGE_SPANSET) {
        out.spanset = s->list[0].spanset;
        return out;
    }
    leaf = sf_parser_new(p, sizeof(*leaf));
    if (!leaf)
        return out;
    leaf->op = SF_SPANSET_PIPELINE;
    leaf->place = out.place;
    for (uint32_t i = 0; i < s->n; i++) {
        const struct sf_spanset *inner = s->list[i].spanset;
        if (!sf_parser_stack(p, out.place, leaf->height ? leaf->height - 1 : 0,
                             inner ? inner->height : 0, &leaf->height))
            return out;
    }
    leaf->pipeline = keep_pipeline(p, s);
    out.spanset = leaf;
    return out;
}

/* ---- operands and operators between them ---- */

struct set_sign {
    const char *sign;
    enum sf_spanset_op op;
    enum sf_spanset_form form;
    unsigned level;
};

static const struct set_sign set_signs[] = {
    {"&&", SF_SPANSET_AND, SF_FORM_PLAIN, 2},
    {"||", SF_SPANSET_OR, SF_FORM_PLAIN, 2},
    {">", SF_SPANSET_CHILD, SF_FORM_PLAIN, 3},
    {"!>", SF_SPANSET_CHILD, SF_FORM_NOT, 3},
    {"&>", SF_SPANSET_CHILD, SF_FORM_UNION, 3},
    {">>", SF_SPANSET_DESCENDANT, SF_FORM_PLAIN, 3},
    {"!>>", SF_SPANSET_DESCENDANT, SF_FORM_NOT, 3},
    {"&>>", SF_SPANSET_DESCENDANT, SF_FORM_UNION, 3},
    {"<", SF_SPANSET_PARENT, SF_FORM_PLAIN, 3},
    {"!<", SF_SPANSET_PARENT, SF_FORM_NOT, 3},
    {"&<", SF_SPANSET_PARENT, SF_FORM_UNION, 3},
    {"<<", SF_SPANSET_ANCESTOR, SF_FORM_PLAIN, 3},
    {"!<<", SF_SPANSET_ANCESTOR, SF_FORM_NOT, 3},
    {"&<<", SF_SPANSET_ANCESTOR, SF_FORM_UNION, 3},
    {"~", SF_SPANSET_SIBLING, SF_FORM_PLAIN, 3},
    {"!~", SF_SPANSET_SIBLING, SF_FORM_NOT, 3},
    {"&~", SF_SPANSET_SIBLING, SF_FORM_UNION, 3},
};

static const struct set_sign *set_sign_in_hand(const struct sf_parser *p)
{
    for (size_t i = 0; i < N_OF(set_signs); i++) {
        if (sf_parser_is_sign(p, set_signs[i].sign))
            return &set_signs[i];
    }
    return NULL;
}

static const struct sf_word_number arithmetic[] = {
    {"+", SF_EXPR_ADD}, {"-", SF_EXPR_SUB}, {"*", SF_EXPR_MUL}, {"/", SF_EXPR_DIV}};

static bool arithmetic_in_hand(const struct sf_parser *p, enum sf_expr_op *out, unsigned *out_level)
{
    for (size_t i = 0; i < N_OF(arithmetic); i++) {
        if (sf_parser_is_sign(p, arithmetic[i].word)) {
            *out = (enum sf_expr_op)arithmetic[i].number;
            *out_level = i < 2 ? 4 : 6;
            return true;
        }
    }
    return false;
}

static struct operand parse_filter(struct sf_parser *p)
{
    struct operand out = {.kind = SPANSET, .place = p->token.place};
    struct sf_spanset *leaf = sf_parser_new(p, sizeof(*leaf));
    p->n_braces = 1;
    sf_parser_next(p);
    if (!leaf)
        return out;
    leaf->op = SF_SPANSET_FILTER;
    leaf->place = out.place;
    leaf->height = 1;
    if (!sf_parser_is_sign(p, "}")) {
        leaf->filter = sf_expr_parse(p);
        if (!leaf->filter)
            return out;
    }
    /* An unexpected token is reported first: it explains more than the type of what precedes it. */
    if (sf_parser_need_sign(p, "}") && leaf->filter)
        sf_expr_check_filter(p, leaf->filter);
    p->n_braces = 0;
    out.spanset = leaf;
    return out;
}

static void unexpected_stage(struct sf_parser *p)
{
    static const char *const words[] = {"by",
                                        "select",
                                        "coalesce",
                                        "count",
                                        "sum",
                                        "avg",
                                        "min",
                                        "max",
                                        "rate",
                                        "count_over_time",
                                        "min_over_time",
                                        "max_over_time",
                                        "avg_over_time",
                                        "sum_over_time",
                                        "quantile_over_time",
                                        "histogram_over_time",
                                        "compare"};
    if (sf_expr_parse_is_attr(p))
        sf_parser_unexpected(p, "{: conditions stand between { and }");
    else if (sf_parser_is_word(p, "topk") || sf_parser_is_word(p, "bottomk"))
        sf_parser_unexpected(p, "a metrics function before it, such as rate() by (name)");
    else
        sf_parser_unexpected_word(p, "{, ( or a stage such as count(), by() or select()", words,
                                  N_OF(words));
}

static struct operand pipeline_parse_primary(struct sf_parser *p, bool is_wrapped);

/* For numbers only: a series is negated by 0 - ({ } | rate()). */
static struct operand parse_negative(struct sf_parser *p, struct sf_place place)
{
    struct operand out = {.place = place};
    if (sf_parser_enter(p)) {
        out = pipeline_parse_primary(p, false);
        sf_parser_leave(p);
    }
    if (!p->err && out.kind != NUMBER)
        sf_parser_fail(p, SF_ERR_INPUT, place,
                       "syntax error: unexpected -, expecting a number behind it");
    out.place = place;
    if (out.kind == NUMBER)
        out.number = sf_expr_fold_unary(SF_EXPR_NEG, out.number);
    return out;
}

static struct operand pipeline_parse_primary(struct sf_parser *p, bool is_wrapped)
{
    struct operand out = {.place = p->token.place};
    if (sf_parser_is_sign(p, "{")) {
        if (!is_wrapped)
            return parse_filter(p);
        sf_parser_unexpected(p, "(: beside a pipeline in parentheses the other side has them, too");
        return out;
    }
    if (sf_parser_take_sign(p, "(")) {
        out = parse_whole(p);
        if (!p->err)
            sf_parser_need_sign(p, ")");
        if (!p->err && out.kind == SPANSET)
            out.is_wrapped |= is_wrapped || out.spanset->op == SF_SPANSET_PIPELINE;
        return out;
    }
    if (sf_const_parse_is_number(p)) {
        out.kind = NUMBER;
        sf_expr_parse_plain_literal(p, &out.number);
        return out;
    }
    if (sf_parser_take_sign(p, "-"))
        return parse_negative(p, out.place);
    unexpected_stage(p);
    return out;
}

static const struct sf_metrics *metrics_of(struct sf_parser *p, const struct operand *o)
{
    struct sf_metrics *m;
    if (o->kind == METRICS)
        return o->metrics;
    if (o->number.type == SF_TYPE_DURATION) {
        sf_parser_fail(p, SF_ERR_INPUT, o->place,
                       "duration cannot be used as a scalar operand in metric arithmetic");
        return NULL;
    }
    m = sf_parser_new(p, sizeof(*m));
    if (!m)
        return NULL;
    *m = (struct sf_metrics){.kind = SF_METRICS_NUMBER,
                             .place = o->place,
                             .height = 1,
                             .number = sf_expr_fold_number(o->number)};
    return m;
}

static struct operand combine_metrics(struct sf_parser *p, enum sf_expr_op op,
                                      const struct operand *l, const struct operand *r)
{
    struct operand out = {.kind = METRICS, .place = l->place};
    struct sf_metrics *m;
    if (l->kind == NUMBER && r->kind == NUMBER) {
        out.kind = NUMBER;
        sf_const_parse_fold(p, op, r->place, l->number, r->number, &out.number);
        return out;
    }
    if ((l->kind != METRICS && l->kind != NUMBER) || (r->kind != METRICS && r->kind != NUMBER)) {
        sf_parser_fail(p, SF_ERR_INPUT, l->place,
                       "syntax error: arithmetic takes metrics queries in parentheses and numbers");
        return out;
    }
    m = sf_parser_new(p, sizeof(*m));
    if (!m)
        return out;
    m->kind = SF_METRICS_BINARY;
    m->place = l->place;
    m->op = op;
    m->left = metrics_of(p, l);
    m->right = metrics_of(p, r);
    if (!m->left || !m->right ||
        !sf_parser_stack(p, l->place, m->left->height, m->right->height, &m->height))
        return out;
    if (!p->err && sf_metric_parse_has_compare(m))
        sf_parser_fail(p, SF_ERR_INPUT, l->place,
                       "`compare()` cannot be used with second stage functions or arithmetic");
    out.metrics = m;
    return out;
}

static struct operand combine_sets(struct sf_parser *p, const struct set_sign *sign,
                                   const struct operand *l, const struct operand *r)
{
    struct operand out = {.kind = SPANSET, .is_wrapped = l->is_wrapped, .place = l->place};
    struct sf_spanset *s;
    if (l->kind != SPANSET || r->kind != SPANSET) {
        sf_parser_fail(p, SF_ERR_INPUT, r->place, "syntax error: %s stands between spansets",
                       sign->sign);
        return out;
    }
    if (r->is_wrapped && !l->is_wrapped) {
        sf_parser_fail(p, SF_ERR_INPUT, r->place,
                       "syntax error: unexpected (: a pipeline to the right of %s expects one in "
                       "parentheses to its left",
                       sign->sign);
        return out;
    }
    s = sf_parser_new(p, sizeof(*s));
    if (!s)
        return out;
    s->op = sign->op;
    s->form = sign->form;
    s->place = l->place;
    s->left = l->spanset;
    s->right = r->spanset;
    if (sf_parser_stack(p, l->place, s->left->height, s->right->height, &s->height))
        out.spanset = s;
    return out;
}

static struct operand parse_operand(struct sf_parser *p, unsigned least, bool is_wrapped)
{
    struct operand left = {0};
    if (!sf_parser_enter(p))
        return left;
    left = pipeline_parse_primary(p, is_wrapped);
    while (!p->err) {
        const struct set_sign *sign = left.kind == SPANSET ? set_sign_in_hand(p) : NULL;
        enum sf_expr_op op = SF_EXPR_ADD;
        unsigned level = sign ? sign->level : 0;
        struct operand right;
        if (!sign && (left.kind == SPANSET || !arithmetic_in_hand(p, &op, &level)))
            break;
        if (level < least)
            break;
        sf_parser_next(p);
        right = parse_operand(p, level + 1, sign && left.is_wrapped);
        if (p->err)
            break;
        left = sign ? combine_sets(p, sign, &left, &right) : combine_metrics(p, op, &left, &right);
    }
    sf_parser_leave(p);
    return left;
}

/* ---- the whole query ---- */

static const struct sf_pipeline *pipeline_of(struct sf_parser *p, const struct sf_spanset *spanset)
{
    struct sf_pipeline *pipeline;
    struct sf_stage *stage;
    SF_ASSERT(spanset);
    if (spanset->op == SF_SPANSET_PIPELINE)
        return spanset->pipeline;
    pipeline = sf_parser_new(p, sizeof(*pipeline));
    stage = pipeline ? sf_parser_new(p, sizeof(*stage)) : NULL;
    if (!stage)
        return NULL;
    *stage = (struct sf_stage){
        .kind = SF_STAGE_SPANSET, .place = spanset->place, .spanset = spanset};
    pipeline->stages = stage;
    pipeline->n_stages = 1;
    return pipeline;
}

void sf_pipeline_parse(struct sf_parser *p, struct sf_query *q)
{
    struct operand o = parse_whole(p);
    if (p->err)
        return;
    if (o.kind == METRICS) {
        struct sf_metrics *m = sf_parser_new(p, sizeof(*m));
        if (!m)
            return;
        *m = *o.metrics;
        if (!sf_metric_parse_seconds(p, m))
            return;
        q->metrics = m;
    } else if (o.kind != SPANSET) { /* a number or an aggregate in redundant parentheses */
        sf_parser_unexpected(p, "a comparison such as count() > 5");
    } else {
        q->pipeline = pipeline_of(p, o.spanset);
    }
    while (!p->err && sf_parser_is_word(p, "with")) { /* the last one is used */
        if (!sf_hint_parse(p, q))
            return;
    }
    if (!p->err && p->token.kind != SF_TOKEN_END)
        sf_parser_unexpected(p, "the end of the query, | and a stage, or with(...)");
}
