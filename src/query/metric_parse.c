/* metric_parse.c - the metrics stage of a query and the stages after it. */
#include "query/metric_parse.h"

#include "query/const_parse.h"
#include "query/expr_fold.h"
#include "query/expr_text.h"
#include "query/stage_parse.h"

enum { MAX_LIST = 64, MAX_SECONDS = 32, MAX_BY = 5, MAX_TOP = 1000, DEFAULT_TOP = 10 };
#define N_OF(list) (sizeof(list) / sizeof((list)[0]))

static const struct sf_word_number metric_words[] = {
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

static bool parse_quantiles(struct sf_parser *p, struct sf_metric *m)
{
    double list[MAX_LIST];
    double *kept;
    uint32_t n = 0;
    while (sf_parser_take_sign(p, ",")) {
        struct sf_static v;
        struct sf_place place = p->token.place;
        if (!sf_expr_parse_literal(p, &v))
            return false;
        if ((v.type != SF_TYPE_INT && v.type != SF_TYPE_FLOAT) || sf_expr_fold_number(v) < 0 ||
            sf_expr_fold_number(v) > 1 || n == MAX_LIST) {
            sf_parser_fail(p, SF_ERR_INPUT, place, "quantile must be between 0 and 1");
            return false;
        }
        list[n++] = sf_expr_fold_number(v);
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
    struct sf_place place = p->token.place;
    if (!sf_expr_parse_literal(p, &v))
        return false;
    if (v.type != SF_TYPE_INT) {
        sf_parser_fail(p, SF_ERR_INPUT, place, "expecting an integer");
        return false;
    }
    *out = v.i64;
    return true;
}

/* { expr } [, topN [, from, to]] */
static bool parse_compare(struct sf_parser *p, struct sf_metric *m)
{
    struct sf_place place = p->token.place;
    int64_t top_n = DEFAULT_TOP;
    if (!sf_parser_need_sign(p, "{"))
        return false;
    p->n_braces = 1;
    if (!sf_parser_is_sign(p, "}")) {
        m->selection = sf_expr_parse(p);
        if (!m->selection)
            return false;
    }
    if (!sf_parser_need_sign(p, "}") || (m->selection && !sf_expr_check_filter(p, m->selection)))
        return false;
    p->n_braces = 0;
    if (sf_parser_take_sign(p, ",")) {
        if (!parse_int(p, &top_n))
            return false;
        if (sf_parser_take_sign(p, ",")) {
            if (!parse_int(p, &m->from_ns) || !sf_parser_need_sign(p, ",") ||
                !parse_int(p, &m->to_ns))
                return false;
            if (m->from_ns >= m->to_ns) {
                sf_parser_fail(p, SF_ERR_INPUT, place, "compare() start must be before end");
                return false;
            }
        }
    }
    if (top_n < 1 || top_n > MAX_TOP) {
        sf_parser_fail(p, SF_ERR_INPUT, place,
                       "compare() top number of values must be between 1 and %d", MAX_TOP);
        return false;
    }
    m->top_n = (uint32_t)top_n;
    return true;
}

static bool parse_measured(struct sf_parser *p, struct sf_metric *m)
{
    struct sf_place place = p->token.place;
    return sf_expr_parse_attr(p, &m->attr) && sf_expr_check_one_value(p, &m->attr, place);
}

static bool parse_metric_arguments(struct sf_parser *p, struct sf_metric *m)
{
    switch (m->fn) {
    case SF_FN_RATE:
    case SF_FN_COUNT: return true;
    case SF_FN_COMPARE: return parse_compare(p, m);
    case SF_FN_QUANTILE: return parse_measured(p, m) && parse_quantiles(p, m);
    default: return parse_measured(p, m);
    }
}

bool sf_metric_parse(struct sf_parser *p, struct sf_metric *m)
{
    int which;
    struct sf_place place = p->token.place;
    uint32_t most;
    if (!sf_stage_parse_word(p, metric_words, N_OF(metric_words), &which))
        return false;
    m->fn = (enum sf_metric_fn)which;
    sf_parser_next(p);
    if (!sf_parser_need_sign(p, "(") || !parse_metric_arguments(p, m) ||
        !sf_parser_need_sign(p, ")"))
        return false;
    if (!sf_parser_is_word(p, "by") || m->fn == SF_FN_COMPARE)
        return true;
    sf_parser_next(p);
    if (!sf_stage_parse_attr_list(p, &m->by, &m->n_by))
        return false;
    most = m->fn == SF_FN_QUANTILE || m->fn == SF_FN_HISTOGRAM || m->fn == SF_FN_AVG ? MAX_BY - 1
                                                                                     : MAX_BY;
    if (m->n_by > most) {
        sf_parser_fail(p, SF_ERR_INPUT, place, "by() takes at most %u attributes here", most);
        return false;
    }
    for (uint32_t i = 0; i < m->n_by; i++)
        if (!sf_expr_check_one_value(p, &m->by[i], place))
            return false;
    return true;
}

/* topk(n), bottomk(n) after '|', or a comparison with a number. False without an error: neither. */
static bool parse_second(struct sf_parser *p, struct sf_second *s)
{
    struct sf_static v;
    int64_t k;
    struct sf_place place = p->token.place;
    if (sf_stage_parse_comparison(p, &s->cmp)) {
        s->kind = SF_SECOND_CMP;
        sf_parser_next(p);
        if (!sf_const_parse(p, &v))
            return false;
        s->value = v.type == SF_TYPE_DURATION ? (double)v.i64 / 1e9 : sf_expr_fold_number(v);
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
    if (k < 1) {
        sf_parser_fail(p, SF_ERR_INPUT, place, "topk() and bottomk() limit must be greater than 0");
        return false;
    }
    s->k = k < INT32_MAX ? (uint32_t)k : INT32_MAX; /* more than the possible number of series */
    return true;
}

bool sf_metric_parse_has_compare(const struct sf_metrics *m)
{
    if (m->kind == SF_METRICS_BINARY)
        return sf_metric_parse_has_compare(m->left) || sf_metric_parse_has_compare(m->right);
    return m->kind == SF_METRICS_QUERY && m->metric.fn == SF_FN_COMPARE;
}

bool sf_metric_parse_seconds(struct sf_parser *p, struct sf_metrics *m)
{
    struct sf_second list[MAX_SECONDS];
    struct sf_second *kept;
    uint32_t n = m->n_seconds;
    struct sf_place place = p->token.place;
    for (uint32_t i = 0; i < n; i++) /* those inside the parentheses come first */
        list[i] = m->seconds[i];
    while (n < MAX_SECONDS) {
        list[n] = (struct sf_second){0};
        if (!parse_second(p, &list[n]))
            break;
        n++;
    }
    if (p->err)
        return false;
    if (n == m->n_seconds)
        return true;
    if (sf_metric_parse_has_compare(m)) {
        sf_parser_fail(p, SF_ERR_INPUT, place,
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
