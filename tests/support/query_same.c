#include <math.h>
#include <stdlib.h>

#include "query/expr_text.h"
#include "query_print.h"

static bool same_double(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static bool same_static(struct sf_static a, struct sf_static b)
{
    if (a.type != b.type)
        return false;
    switch (a.type) {
    case SF_TYPE_NIL: return true;
    case SF_TYPE_STRING: return sf_str_eq(a.str, b.str);
    case SF_TYPE_BOOL: return a.is_true == b.is_true;
    case SF_TYPE_FLOAT: return same_double(a.f64, b.f64);
    default: return a.i64 == b.i64;
    }
}

/* Long runs of && and || are joined in halves, so that trees stay low: how the operands of one run
 * are grouped is not a difference. `list` takes them in order; NULL: count only. */
static uint32_t operands(const struct sf_expr *e, enum sf_expr_op op, const struct sf_expr **list)
{
    if (e->kind != SF_EXPR_BINARY || e->op != op) {
        if (list)
            *list = e;
        return 1;
    }
    uint32_t n = operands(e->left, op, list);
    return n + operands(e->right, op, list ? list + n : NULL);
}

static bool same_expr(const struct sf_expr *a, const struct sf_expr *b);

static bool same_run(const struct sf_expr *a, const struct sf_expr *b)
{
    uint32_t n = operands(a, a->op, NULL);
    const struct sf_expr **x = calloc(n, sizeof(*x)), **y = calloc(n, sizeof(*y));
    bool is_same = operands(b, a->op, NULL) == n && x && y;
    if (is_same) {
        operands(a, a->op, x);
        operands(b, a->op, y);
    }
    for (uint32_t i = 0; is_same && i < n; i++)
        is_same = same_expr(x[i], y[i]);
    free(x);
    free(y);
    return is_same;
}

static bool same_expr(const struct sf_expr *a, const struct sf_expr *b)
{
    if (!a || !b)
        return a == b;
    if (a->kind != b->kind || a->type != b->type)
        return false;
    switch (a->kind) {
    case SF_EXPR_LITERAL: return same_static(a->literal, b->literal);
    case SF_EXPR_ATTR: return sf_expr_text_attr_eq(&a->attr, &b->attr);
    default: break;
    }
    if (a->op != b->op)
        return false;
    if (a->kind == SF_EXPR_BINARY && (a->op == SF_EXPR_AND || a->op == SF_EXPR_OR))
        return same_run(a, b);
    return same_expr(a->left, b->left) && same_expr(a->right, b->right);
}

static bool same_attrs(const struct sf_query_attr *a, uint32_t n_a, const struct sf_query_attr *b,
                       uint32_t n_b)
{
    bool is_same = n_a == n_b;
    for (uint32_t i = 0; is_same && i < n_a; i++)
        is_same = sf_expr_text_attr_eq(&a[i], &b[i]);
    return is_same;
}

static bool same_pipeline(const struct sf_pipeline *a, const struct sf_pipeline *b);

static bool same_spanset(const struct sf_spanset *a, const struct sf_spanset *b)
{
    if (!a || !b)
        return a == b;
    return a->op == b->op && a->form == b->form && same_expr(a->filter, b->filter) &&
           same_pipeline(a->pipeline, b->pipeline) && same_spanset(a->left, b->left) &&
           same_spanset(a->right, b->right);
}

static bool same_stage(const struct sf_stage *a, const struct sf_stage *b)
{
    return a->kind == b->kind && same_spanset(a->spanset, b->spanset) &&
           a->aggregate == b->aggregate && a->cmp == b->cmp &&
           same_static(a->literal, b->literal) && same_expr(a->expr, b->expr) &&
           same_attrs(a->attrs, a->n_attrs, b->attrs, b->n_attrs) && sf_str_eq(a->text, b->text);
}

static bool same_pipeline(const struct sf_pipeline *a, const struct sf_pipeline *b)
{
    if (!a || !b)
        return a == b;
    if (a->n_stages != b->n_stages)
        return false;
    for (uint32_t i = 0; i < a->n_stages; i++) {
        if (!same_stage(&a->stages[i], &b->stages[i]))
            return false;
    }
    return true;
}

static bool same_metric(const struct sf_metric *a, const struct sf_metric *b)
{
    bool is_same = a->fn == b->fn && sf_expr_text_attr_eq(&a->attr, &b->attr) &&
                   a->n_quantiles == b->n_quantiles && same_attrs(a->by, a->n_by, b->by, b->n_by) &&
                   same_expr(a->selection, b->selection) && a->top_n == b->top_n &&
                   a->from_ns == b->from_ns && a->to_ns == b->to_ns;
    for (uint32_t i = 0; is_same && i < a->n_quantiles; i++)
        is_same = same_double(a->quantiles[i], b->quantiles[i]);
    return is_same;
}

static bool same_metrics(const struct sf_metrics *a, const struct sf_metrics *b)
{
    if (!a || !b)
        return a == b;
    if (a->kind != b->kind || a->op != b->op || !same_double(a->number, b->number) ||
        a->n_seconds != b->n_seconds || !same_pipeline(a->pipeline, b->pipeline) ||
        !same_metric(&a->metric, &b->metric))
        return false;
    for (uint32_t i = 0; i < a->n_seconds; i++) {
        if (a->seconds[i].kind != b->seconds[i].kind || a->seconds[i].k != b->seconds[i].k ||
            a->seconds[i].cmp != b->seconds[i].cmp ||
            !same_double(a->seconds[i].value, b->seconds[i].value))
            return false;
    }
    return same_metrics(a->left, b->left) && same_metrics(a->right, b->right);
}

bool query_is_same(const struct sf_query *a, const struct sf_query *b)
{
    if (a->n_hints != b->n_hints)
        return false;
    for (uint32_t i = 0; i < a->n_hints; i++) {
        if (!sf_str_eq(a->hints[i].name, b->hints[i].name) ||
            !same_static(a->hints[i].val, b->hints[i].val))
            return false;
    }
    return same_pipeline(a->pipeline, b->pipeline) && same_metrics(a->metrics, b->metrics);
}
