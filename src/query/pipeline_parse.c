/* pipeline_parse.c - spansets, pipelines and metrics.
 *
 * Parentheses may hold a spanset, a pipeline, a metrics query or arithmetic over several, and which
 * one is known only at the closing one. So operands are parsed into one `struct operand` and the
 * operator that follows decides what was allowed. */
#include "query/pipeline_parse.h"
#include "base/invariant.h"
#include "query/attr_text.h"
#include "query/expr_fold.h"
#include "query/parser.h"

enum {
    MAX_STAGES = 64,
    MAX_LIST = 64,
    MAX_SECONDS = 32,
    MAX_BY = 5,
    MAX_TOP = 1000,
    DEFAULT_TOP = 10
};

enum operand_kind { NOTHING, SPANSET, METRICS, NUMBER };

struct operand {
    enum operand_kind kind;
    const struct sf_spanset *spanset;
    const struct sf_metrics *metrics;
    struct sf_static number;
    uint32_t column;
};

static struct operand parse_operand(struct sf_parser *p, unsigned least);

/* ---- stages ---- */

struct word_number {
    const char *word;
    int number;
};

static bool word_in_hand(const struct sf_parser *p, const struct word_number *list, size_t n,
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

static const struct word_number aggregates[] = {
    {"count", SF_AGG_COUNT}, {"sum", SF_AGG_SUM}, {"avg", SF_AGG_AVG},
    {"min", SF_AGG_MIN},     {"max", SF_AGG_MAX},
};
static const struct word_number metric_words[] = {
    {"rate", SF_FN_RATE},
    {"count_over_time", SF_FN_COUNT},
    {"min_over_time", SF_FN_MIN},
    {"max_over_time", SF_FN_MAX},
    {"sum_over_time", SF_FN_SUM},
    {"avg_over_time", SF_FN_AVG},
    {"quantile_over_time", SF_FN_QUANTILE},
    {"histogram_over_time", SF_FN_HISTOGRAM},
    {"compare", SF_FN_COMPARE},
};
#define N_OF(list) (sizeof(list) / sizeof((list)[0]))

static bool comparison_in_hand(const struct sf_parser *p, enum sf_expr_op *out)
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

static enum sf_expr_op mirrored(enum sf_expr_op op)
{
    switch (op) {
    case SF_EXPR_LT: return SF_EXPR_GT;
    case SF_EXPR_LE: return SF_EXPR_GE;
    case SF_EXPR_GT: return SF_EXPR_LT;
    case SF_EXPR_GE: return SF_EXPR_LE;
    default: return op;
    }
}

static void name_stage(struct sf_parser *p, struct sf_stage *s, const char *function)
{
    struct sf_buf text = {0};
    if (s->expr)
        sf_expr_text(s->expr, &text);
    if (!sf_buf_ok(&text) ||
        !sf_arena_print(p->req, &s->text, "%s(%.*s)", function, SF_STR_ARG(sf_buf_str(&text))))
        sf_parser_fail(p, SF_ERR_LIMIT, s->column, "query is too large");
    sf_buf_done(&text);
}

/* "avg ( expr )" with the word in hand. */
static bool parse_aggregate(struct sf_parser *p, struct sf_stage *s)
{
    int which = 0;
    sf_str word = p->token.text;
    char name[8] = "";
    if (!word_in_hand(p, aggregates, N_OF(aggregates), &which)) {
        sf_parser_unexpected(p, "count(), sum(...), avg(...), min(...) or max(...)");
        return false;
    }
    s->kind = SF_STAGE_AGGREGATE;
    s->aggregate = (enum sf_aggregate)which;
    for (size_t i = 0; i < word.len && i < sizeof(name) - 1; i++)
        name[i] = word.p[i];
    sf_parser_next(p);
    if (!sf_parser_need_sign(p, "("))
        return false;
    if (s->aggregate != SF_AGG_COUNT) {
        s->expr = sf_parser_expr(p);
        if (!s->expr)
            return false;
        if (!sf_expr_has_attr(s->expr)) {
            sf_parser_fail(p, SF_ERR_INPUT, s->expr->column,
                           "aggregate field expressions must reference the span");
            return false;
        }
        if (s->expr->type != SF_TYPE_UNKNOWN && !sf_type_is_number(s->expr->type)) {
            sf_parser_fail(p, SF_ERR_INPUT, s->expr->column,
                           "aggregate field expressions must resolve to a number type, not %s",
                           sf_static_type_name(s->expr->type));
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
            sf_parser_fail(p, SF_ERR_INPUT, p->token.column,
                           "scalar filter lhs of type arithmetic not yet supported: compare one "
                           "aggregate with one value");
            return true;
        }
    }
    return false;
}

/* aggregate cmp literal */
static bool parse_scalar_filter(struct sf_parser *p, struct sf_stage *s)
{
    if (!parse_aggregate(p, s) || refuse_scalar_arithmetic(p))
        return false;
    if (!comparison_in_hand(p, &s->cmp)) {
        sf_parser_unexpected(p, "a comparison such as > 5");
        return false;
    }
    sf_parser_next(p);
    if (!sf_parser_literal(p, &s->literal))
        return false;
    if (!sf_type_is_number(s->literal.type)) {
        sf_parser_fail(p, SF_ERR_INPUT, s->column,
                       "scalar filter rhs of type %s not yet supported: expecting a number",
                       sf_static_type_name(s->literal.type));
        return false;
    }
    return !refuse_scalar_arithmetic(p);
}

/* literal cmp aggregate, the literal already read. */
static bool parse_mirrored_filter(struct sf_parser *p, struct sf_static literal, struct sf_stage *s)
{
    enum sf_expr_op cmp;
    if (!comparison_in_hand(p, &cmp)) {
        sf_parser_unexpected(p, "a comparison with an aggregate such as count()");
        return false;
    }
    sf_parser_next(p);
    if (!parse_aggregate(p, s))
        return false;
    s->cmp = mirrored(cmp);
    s->literal = literal;
    return true;
}

static bool parse_attr_list(struct sf_parser *p, const struct sf_query_attr **out, uint32_t *out_n)
{
    struct sf_query_attr list[MAX_LIST];
    struct sf_query_attr *kept;
    uint32_t n = 0;
    if (!sf_parser_need_sign(p, "("))
        return false;
    do {
        if (n == MAX_LIST) {
            sf_parser_fail(p, SF_ERR_LIMIT, p->token.column, "more than %d attributes", MAX_LIST);
            return false;
        }
        if (!sf_parser_attr(p, &list[n]))
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
    s->expr = sf_parser_expr(p);
    if (!s->expr)
        return false;
    if (!sf_expr_has_attr(s->expr)) {
        sf_parser_fail(p, SF_ERR_INPUT, s->expr->column,
                       "grouping field expressions must reference the span");
        return false;
    }
    name_stage(p, s, "by");
    return sf_parser_need_sign(p, ")");
}

/* A stage that is not a spanset. False without a fault: it is none of these. */
static bool parse_word_stage(struct sf_parser *p, bool is_first, struct sf_stage *s)
{
    int which;
    if (sf_parser_is_word(p, "by"))
        return parse_by(p, s);
    if (sf_parser_is_word(p, "select")) {
        s->kind = SF_STAGE_SELECT;
        sf_parser_next(p);
        return parse_attr_list(p, &s->attrs, &s->n_attrs);
    }
    if (sf_parser_is_word(p, "coalesce") && !is_first) {
        s->kind = SF_STAGE_COALESCE;
        sf_parser_next(p);
        return sf_parser_need_sign(p, "(") && sf_parser_need_sign(p, ")");
    }
    if (word_in_hand(p, aggregates, N_OF(aggregates), &which))
        return parse_scalar_filter(p, s);
    return false;
}

/* ---- metrics ---- */

static bool parse_quantiles(struct sf_parser *p, struct sf_metric *m)
{
    double list[MAX_LIST];
    double *kept;
    uint32_t n = 0;
    while (sf_parser_take_sign(p, ",")) {
        struct sf_static v;
        uint32_t column = p->token.column;
        if (!sf_parser_literal(p, &v))
            return false;
        if ((v.type != SF_TYPE_INT && v.type != SF_TYPE_FLOAT) || sf_static_number(v) < 0 ||
            sf_static_number(v) > 1 || n == MAX_LIST) {
            sf_parser_fail(p, SF_ERR_INPUT, column, "quantile must be between 0 and 1");
            return false;
        }
        list[n++] = sf_static_number(v);
    }
    if (n == 0) {
        sf_parser_unexpected(p, ", and a quantile such as 0.99");
        return false;
    }
    kept = sf_parser_new(p, n * sizeof(*kept));
    if (!kept)
        return false;
    for (uint32_t i = 0; i < n; i++)
        kept[i] = list[i];
    m->quantiles = kept;
    m->n_quantiles = n;
    return true;
}

static bool parse_int(struct sf_parser *p, int64_t *out)
{
    struct sf_static v;
    uint32_t column = p->token.column;
    if (!sf_parser_literal(p, &v))
        return false;
    if (v.type != SF_TYPE_INT) {
        sf_parser_fail(p, SF_ERR_INPUT, column, "expecting an integer");
        return false;
    }
    *out = v.i64;
    return true;
}

/* { expr } [, topN [, from, to]] */
static bool parse_compare(struct sf_parser *p, struct sf_metric *m)
{
    uint32_t column = p->token.column;
    int64_t top_n = DEFAULT_TOP;
    if (!sf_parser_need_sign(p, "{"))
        return false;
    if (!sf_parser_is_sign(p, "}")) {
        m->selection = sf_parser_expr(p);
        if (!m->selection || !sf_parser_check_filter(p, m->selection))
            return false;
    }
    if (!sf_parser_need_sign(p, "}"))
        return false;
    if (sf_parser_take_sign(p, ",")) {
        if (!parse_int(p, &top_n))
            return false;
        if (sf_parser_take_sign(p, ",")) {
            if (!parse_int(p, &m->from_ns) || !sf_parser_need_sign(p, ",") ||
                !parse_int(p, &m->to_ns))
                return false;
            if (m->from_ns >= m->to_ns) {
                sf_parser_fail(p, SF_ERR_INPUT, column, "compare() start must be before end");
                return false;
            }
        }
    }
    if (top_n < 1 || top_n > MAX_TOP) {
        sf_parser_fail(p, SF_ERR_INPUT, column,
                       "compare() top number of values must be between 1 and %d", MAX_TOP);
        return false;
    }
    m->top_n = (uint32_t)top_n;
    return true;
}

static bool parse_metric_arguments(struct sf_parser *p, struct sf_metric *m)
{
    switch (m->fn) {
    case SF_FN_RATE:
    case SF_FN_COUNT: return true;
    case SF_FN_COMPARE: return parse_compare(p, m);
    case SF_FN_QUANTILE: return sf_parser_attr(p, &m->attr) && parse_quantiles(p, m);
    default: return sf_parser_attr(p, &m->attr);
    }
}

static bool parse_metric(struct sf_parser *p, struct sf_metric *m)
{
    int which;
    uint32_t column = p->token.column, most;
    if (!word_in_hand(p, metric_words, N_OF(metric_words), &which))
        return false;
    m->fn = (enum sf_metric_fn)which;
    sf_parser_next(p);
    if (!sf_parser_need_sign(p, "(") || !parse_metric_arguments(p, m) ||
        !sf_parser_need_sign(p, ")"))
        return false;
    if (!sf_parser_is_word(p, "by") || m->fn == SF_FN_COMPARE)
        return true;
    sf_parser_next(p);
    if (!parse_attr_list(p, &m->by, &m->n_by))
        return false;
    most = m->fn == SF_FN_QUANTILE || m->fn == SF_FN_HISTOGRAM || m->fn == SF_FN_AVG ? MAX_BY - 1
                                                                                     : MAX_BY;
    if (m->n_by > most) {
        sf_parser_fail(p, SF_ERR_INPUT, column, "by() takes at most %u attributes here", most);
        return false;
    }
    return true;
}

/* topk(n), bottomk(n) after '|', or a comparison with a number. False without a fault: neither. */
static bool parse_second(struct sf_parser *p, struct sf_second *s)
{
    struct sf_static v;
    int64_t k;
    uint32_t column = p->token.column;
    if (comparison_in_hand(p, &s->cmp)) {
        s->kind = SF_SECOND_CMP;
        sf_parser_next(p);
        if (!sf_parser_literal(p, &v))
            return false;
        if (!sf_type_is_number(v.type)) {
            sf_parser_fail(p, SF_ERR_INPUT, column, "a series is compared with a number, not a %s",
                           sf_static_type_name(v.type));
            return false;
        }
        s->value = v.type == SF_TYPE_DURATION ? (double)v.i64 / 1e9 : sf_static_number(v);
        return true;
    }
    if (!sf_parser_take_sign(p, "|"))
        return false;
    if (!sf_parser_is_word(p, "topk") && !sf_parser_is_word(p, "bottomk")) {
        sf_parser_unexpected(p, "topk(n) or bottomk(n)");
        return false;
    }
    s->kind = sf_parser_is_word(p, "topk") ? SF_SECOND_TOPK : SF_SECOND_BOTTOMK;
    sf_parser_next(p);
    if (!sf_parser_need_sign(p, "(") || !parse_int(p, &k) || !sf_parser_need_sign(p, ")"))
        return false;
    if (k < 1 || k > INT32_MAX) {
        sf_parser_fail(p, SF_ERR_INPUT, column,
                       "topk() and bottomk() limit must be greater than 0");
        return false;
    }
    s->k = (uint32_t)k;
    return true;
}

static bool has_compare(const struct sf_metrics *m)
{
    if (m->kind == SF_METRICS_BINARY)
        return has_compare(m->left) || has_compare(m->right);
    return m->kind == SF_METRICS_QUERY && m->metric.fn == SF_FN_COMPARE;
}

static bool parse_seconds(struct sf_parser *p, struct sf_metrics *m)
{
    struct sf_second list[MAX_SECONDS];
    struct sf_second *kept;
    uint32_t n = 0, column = p->token.column;
    while (n < MAX_SECONDS) {
        list[n] = (struct sf_second){0};
        if (!parse_second(p, &list[n]))
            break;
        n++;
    }
    if (p->err)
        return false;
    if (n == 0)
        return true;
    if (has_compare(m)) {
        sf_parser_fail(p, SF_ERR_INPUT, column,
                       "`compare()` cannot be used with second stage functions");
        return false;
    }
    kept = sf_parser_new(p, n * sizeof(*kept));
    if (!kept)
        return false;
    for (uint32_t i = 0; i < n; i++)
        kept[i] = list[i];
    m->seconds = kept;
    m->n_seconds = n;
    return true;
}

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

/* stage { "|" stage } [ "|" metric ]; what the first operand was decides whether there can be more.
 */
static bool parse_stages(struct sf_parser *p, struct stages *s, struct operand *out)
{
    for (;;) {
        struct sf_stage *stage = &s->list[s->n];
        struct operand o = {0};
        if (s->n == MAX_STAGES) {
            sf_parser_fail(p, SF_ERR_LIMIT, p->token.column, "more than %d stages", MAX_STAGES);
            return false;
        }
        *stage = (struct sf_stage){.column = p->token.column};
        if (s->n && p->token.kind == SF_TOKEN_WORD) {
            struct sf_metric metric = {0};
            if (parse_metric(p, &metric)) {
                struct sf_metrics *m = sf_parser_new(p, sizeof(*m));
                const struct sf_pipeline *pipeline = keep_pipeline(p, s);
                if (!m || !pipeline)
                    return false;
                *m = (struct sf_metrics){.kind = SF_METRICS_QUERY,
                                         .column = out->column,
                                         .pipeline = pipeline,
                                         .metric = metric};
                out->kind = METRICS;
                out->metrics = m;
                return parse_seconds(p, m);
            }
        }
        if (!p->err && !parse_word_stage(p, s->n == 0, stage) && !p->err) {
            o = parse_operand(p, 2);
            if (p->err)
                return false;
            if (o.kind == NUMBER && !parse_mirrored_filter(p, o.number, stage))
                return false;
            if (o.kind == METRICS) {
                if (s->n) {
                    sf_parser_unexpected(p, "a stage: metrics queries come first or last");
                    return false;
                }
                *out = o;
                return true;
            }
            if (o.kind == SPANSET) {
                stage->kind = SF_STAGE_SPANSET;
                stage->spanset = o.spanset;
            }
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
    /* Too large for the stack of a recursive call: 128 levels of it would be megabytes. */
    struct operand out = {.column = p->token.column};
    struct stages *s = sf_parser_new(p, sizeof(*s));
    struct sf_spanset *leaf;
    if (!s || !parse_stages(p, s, &out) || out.kind == METRICS)
        return out;
    if (s->n == 1 && s->list[0].kind == SF_STAGE_SPANSET) {
        out.spanset = s->list[0].spanset;
        return out;
    }
    leaf = sf_parser_new(p, sizeof(*leaf));
    if (!leaf)
        return out;
    leaf->op = SF_SPANSET_PIPELINE;
    leaf->column = out.column;
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

static const struct word_number arithmetic[] = {
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
    struct operand out = {.kind = SPANSET, .column = p->token.column};
    struct sf_spanset *leaf = sf_parser_new(p, sizeof(*leaf));
    sf_parser_next(p);
    if (!leaf)
        return out;
    leaf->op = SF_SPANSET_FILTER;
    leaf->column = out.column;
    if (!sf_parser_is_sign(p, "}")) {
        leaf->filter = sf_parser_expr(p);
        if (!leaf->filter || !sf_parser_check_filter(p, leaf->filter))
            return out;
    }
    sf_parser_need_sign(p, "}");
    out.spanset = leaf;
    return out;
}

static struct operand parse_primary(struct sf_parser *p)
{
    struct operand out = {.column = p->token.column};
    if (sf_parser_is_sign(p, "{"))
        return parse_filter(p);
    if (sf_parser_take_sign(p, "(")) {
        out = parse_whole(p);
        if (!p->err)
            sf_parser_need_sign(p, ")");
        return out;
    }
    if (p->token.kind == SF_TOKEN_INT || p->token.kind == SF_TOKEN_FLOAT ||
        p->token.kind == SF_TOKEN_DURATION || sf_parser_is_sign(p, "-")) {
        out.kind = NUMBER;
        sf_parser_literal(p, &out.number);
        return out;
    }
    sf_parser_unexpected(p, "{, ( or a stage such as count(), by() or select()");
    return out;
}

static const struct sf_metrics *metrics_of(struct sf_parser *p, const struct operand *o)
{
    struct sf_metrics *m;
    if (o->kind == METRICS)
        return o->metrics;
    if (o->number.type == SF_TYPE_DURATION) {
        sf_parser_fail(p, SF_ERR_INPUT, o->column,
                       "duration cannot be used as a scalar operand in metric arithmetic");
        return NULL;
    }
    m = sf_parser_new(p, sizeof(*m));
    if (!m)
        return NULL;
    *m = (struct sf_metrics){
        .kind = SF_METRICS_NUMBER, .column = o->column, .number = sf_static_number(o->number)};
    return m;
}

static struct operand combine_metrics(struct sf_parser *p, enum sf_expr_op op,
                                      const struct operand *l, const struct operand *r)
{
    struct operand out = {.kind = METRICS, .column = l->column};
    struct sf_metrics *m;
    if ((l->kind != METRICS && r->kind != METRICS) || l->kind == SPANSET || r->kind == SPANSET) {
        sf_parser_fail(p, SF_ERR_INPUT, l->column,
                       "syntax error: arithmetic takes metrics queries in parentheses and numbers");
        return out;
    }
    m = sf_parser_new(p, sizeof(*m));
    if (!m)
        return out;
    m->kind = SF_METRICS_BINARY;
    m->column = l->column;
    m->op = op;
    m->left = metrics_of(p, l);
    m->right = metrics_of(p, r);
    if (!p->err && has_compare(m))
        sf_parser_fail(p, SF_ERR_INPUT, l->column,
                       "`compare()` cannot be used with second stage functions or arithmetic");
    out.metrics = m;
    return out;
}

static struct operand combine_sets(struct sf_parser *p, const struct set_sign *sign,
                                   const struct operand *l, const struct operand *r)
{
    struct operand out = {.kind = SPANSET, .column = l->column};
    struct sf_spanset *s;
    if (l->kind != SPANSET || r->kind != SPANSET) {
        sf_parser_fail(p, SF_ERR_INPUT, r->column, "syntax error: %s stands between spansets",
                       sign->sign);
        return out;
    }
    s = sf_parser_new(p, sizeof(*s));
    if (!s)
        return out;
    s->op = sign->op;
    s->form = sign->form;
    s->column = l->column;
    s->left = l->spanset;
    s->right = r->spanset;
    out.spanset = s;
    return out;
}

static struct operand parse_operand(struct sf_parser *p, unsigned least)
{
    struct operand left = {0};
    if (!sf_parser_enter(p))
        return left;
    left = parse_primary(p);
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
        right = parse_operand(p, level + 1);
        if (p->err)
            break;
        left = sign ? combine_sets(p, sign, &left, &right) : combine_metrics(p, op, &left, &right);
    }
    sf_parser_leave(p);
    return left;
}

/* ---- hints and the whole ---- */

static bool parse_hints(struct sf_parser *p, struct sf_query *q)
{
    struct sf_hint list[MAX_LIST];
    struct sf_hint *kept;
    uint32_t n = 0;
    sf_parser_next(p);
    if (!sf_parser_need_sign(p, "("))
        return false;
    do {
        if (p->token.kind != SF_TOKEN_WORD || n == MAX_LIST) {
            sf_parser_unexpected(p, "a hint such as most_recent=true");
            return false;
        }
        list[n].name = p->token.text;
        sf_parser_next(p);
        if (!sf_parser_need_sign(p, "=") || !sf_parser_literal(p, &list[n].val))
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
    q->hints = kept;
    q->n_hints = n;
    return true;
}

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
        .kind = SF_STAGE_SPANSET, .column = spanset->column, .spanset = spanset};
    pipeline->stages = stage;
    pipeline->n_stages = 1;
    return pipeline;
}

void sf_parser_query(struct sf_parser *p, struct sf_query *q)
{
    struct operand o = parse_whole(p);
    if (p->err)
        return;
    if (o.kind == METRICS) {
        struct sf_metrics *m = sf_parser_new(p, sizeof(*m));
        if (!m)
            return;
        *m = *o.metrics;
        if (m->n_seconds == 0 && !parse_seconds(p, m))
            return;
        q->metrics = m;
    } else {
        q->pipeline = pipeline_of(p, o.spanset);
    }
    if (sf_parser_is_word(p, "with") && !parse_hints(p, q))
        return;
    if (!p->err && p->token.kind != SF_TOKEN_END)
        sf_parser_unexpected(p, "the end of the query, | and a stage, or with(...)");
}
