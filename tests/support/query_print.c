#include "query_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/span.h"
#include "query/expr_text.h"
#include "query/query_parse.h"

static void say(struct sf_buf *out, const char *text)
{
    sf_buf_add_str(out, sf_str_from(text));
}

/* ---- attributes and literals ---- */

static bool needs_quotes(const struct sf_query_attr *a)
{
    if (a->scope == SF_SCOPE_ANY && a->name.p[0] >= '0' && a->name.p[0] <= '9')
        return true; /* .5 is a number */
    for (size_t i = 0; i < a->name.len; i++) {
        if ((unsigned char)a->name.p[i] <= ' ' || strchr("{}()=~!<>&|^,\"\\", a->name.p[i]))
            return true;
    }
    return false;
}

static void print_attr(const struct sf_query_attr *a, struct sf_buf *out)
{
    static const char *const prefixes[SF_SCOPES] = {"",       ".",     "resource.",       "span.",
                                                    "event.", "link.", "instrumentation."};
    if (a->intrinsic) {
        say(out, sf_expr_text_intrinsic(a->intrinsic));
        return;
    }
    say(out, prefixes[a->scope]);
    if (!needs_quotes(a)) {
        sf_buf_add_str(out, a->name);
        return;
    }
    say(out, "\"");
    for (size_t i = 0; i < a->name.len; i++) {
        if (a->name.p[i] == '"' || a->name.p[i] == '\\')
            say(out, "\\");
        sf_buf_add_u8(out, (uint8_t)a->name.p[i]);
    }
    say(out, "\"");
}

static void print_attrs(const struct sf_query_attr *list, uint32_t n, struct sf_buf *out)
{
    for (uint32_t i = 0; i < n; i++) {
        say(out, i ? ", " : "");
        print_attr(&list[i], out);
    }
}

static void print_literal(struct sf_static v, struct sf_buf *out)
{
    if (v.type == SF_TYPE_FLOAT && isnan(v.f64))
        say(out, "(0.0 / 0.0)");
    else if (v.type == SF_TYPE_FLOAT && isinf(v.f64))
        say(out, v.f64 > 0 ? "(1.0 / 0.0)" : "(-1.0 / 0.0)");
    else if (v.type == SF_TYPE_INT && v.i64 == INT64_MIN)
        say(out, "minInt");
    else
        sf_expr_text_static(v, out);
}

/* What series and aggregates are compared with has no words such as minInt. */
static void print_constant(struct sf_static v, struct sf_buf *out)
{
    if (v.type == SF_TYPE_INT && v.i64 == INT64_MIN)
        say(out, "(-9223372036854775807 - 1)");
    else
        print_literal(v, out);
}

static void print_number(double v, struct sf_buf *out)
{
    print_constant((struct sf_static){SF_TYPE_FLOAT, {.f64 = v}}, out);
}

/* ---- expressions ---- */

static unsigned level_of(enum sf_expr_op op)
{
    if (op == SF_EXPR_AND || op == SF_EXPR_OR)
        return 2;
    if (op <= SF_EXPR_NO_MATCH)
        return 3;
    if (op == SF_EXPR_ADD || op == SF_EXPR_SUB)
        return 4;
    return op == SF_EXPR_POW ? 7 : 6;
}

static void print_expr(const struct sf_expr *e, struct sf_buf *out);

static bool is_negative(const struct sf_expr *e)
{
    if (e->kind != SF_EXPR_LITERAL)
        return false;
    if (e->literal.type == SF_TYPE_FLOAT)
        return signbit(e->literal.f64) != 0 && isfinite(e->literal.f64);
    return (e->literal.type == SF_TYPE_INT || e->literal.type == SF_TYPE_DURATION) &&
           e->literal.i64 < 0 && e->literal.i64 != INT64_MIN;
}

static void print_side(const struct sf_expr *e, unsigned level, bool is_left, struct sf_buf *out)
{
    bool has_parens = false;
    if (e->kind == SF_EXPR_UNARY || is_negative(e))
        has_parens = level >= 4; /* a sign takes * and ^ with it */
    if (e->kind == SF_EXPR_BINARY) {
        unsigned own = level_of(e->op);
        has_parens = level == 7 ? is_left || own < 7 : is_left ? own < level : own <= level;
    }
    say(out, has_parens ? "(" : "");
    print_expr(e, out);
    say(out, has_parens ? ")" : "");
}

static void print_expr(const struct sf_expr *e, struct sf_buf *out)
{
    bool has_parens;
    switch (e->kind) {
    case SF_EXPR_LITERAL: print_literal(e->literal, out); break;
    case SF_EXPR_ATTR: print_attr(&e->attr, out); break;
    case SF_EXPR_UNARY:
        has_parens = e->left->kind == SF_EXPR_BINARY && level_of(e->left->op) < 6;
        say(out, sf_expr_text_op(e->op));
        say(out, has_parens ? "(" : "");
        print_expr(e->left, out);
        say(out, has_parens ? ")" : "");
        break;
    case SF_EXPR_BINARY:
        print_side(e->left, level_of(e->op), true, out);
        sf_buf_print(out, " %s ", sf_expr_text_op(e->op));
        print_side(e->right, level_of(e->op), false, out);
        break;
    }
}

static void print_filter(const struct sf_expr *filter, struct sf_buf *out)
{
    say(out, "{ ");
    if (filter)
        print_expr(filter, out);
    say(out, " }");
}

/* ---- spansets and stages ---- */

static void print_pipeline(const struct sf_pipeline *p, struct sf_buf *out);

static bool has_pipeline(const struct sf_spanset *s)
{
    while (s->left) {
        if (has_pipeline(s->right))
            return true;
        s = s->left;
    }
    return s->op == SF_SPANSET_PIPELINE;
}

/* `is_wrapped`: beside pipelines in parentheses every filter stands in parentheses, too. */
static void print_spanset(const struct sf_spanset *s, unsigned least, bool is_wrapped,
                          struct sf_buf *out)
{
    static const char *const signs[SF_SPANSET_OPS] = {"",   "",  "&&", "||", ">",
                                                      ">>", "<", "<<", "~"};
    static const char *const forms[] = {"", "!", "&"};
    unsigned level = s->op <= SF_SPANSET_OR ? 2 : 3;
    if (s->op == SF_SPANSET_FILTER) {
        say(out, is_wrapped ? "(" : "");
        print_filter(s->filter, out);
        say(out, is_wrapped ? ")" : "");
        return;
    }
    if (s->op == SF_SPANSET_PIPELINE) {
        say(out, "(");
        print_pipeline(s->pipeline, out);
        say(out, ")");
        return;
    }
    say(out, level < least ? "(" : "");
    print_spanset(s->left, level, is_wrapped, out);
    sf_buf_print(out, " %s%s ", forms[s->form], signs[s->op]);
    print_spanset(s->right, level + 1, is_wrapped, out);
    say(out, level < least ? ")" : "");
}

static void print_stage(const struct sf_stage *s, struct sf_buf *out)
{
    static const char *const aggregates[] = {"count", "sum", "avg", "min", "max"};
    switch (s->kind) {
    case SF_STAGE_SPANSET: print_spanset(s->spanset, 0, has_pipeline(s->spanset), out); break;
    case SF_STAGE_COALESCE: say(out, "coalesce()"); break;
    case SF_STAGE_BY:
        say(out, "by(");
        print_expr(s->expr, out);
        say(out, ")");
        break;
    case SF_STAGE_SELECT:
        say(out, "select(");
        print_attrs(s->attrs, s->n_attrs, out);
        say(out, ")");
        break;
    case SF_STAGE_AGGREGATE:
        sf_buf_print(out, "%s(", aggregates[s->aggregate]);
        if (s->expr)
            print_expr(s->expr, out);
        sf_buf_print(out, ") %s ", sf_expr_text_op(s->cmp));
        print_constant(s->literal, out);
        break;
    }
}

static void print_pipeline(const struct sf_pipeline *p, struct sf_buf *out)
{
    for (uint32_t i = 0; i < p->n_stages; i++) {
        say(out, i ? " | " : "");
        print_stage(&p->stages[i], out);
    }
}

/* ---- metrics ---- */

static void print_metric(const struct sf_metric *m, struct sf_buf *out)
{
    static const char *const names[SF_FNS] = {
        "rate",          "count_over_time", "min_over_time",      "max_over_time",
        "sum_over_time", "avg_over_time",   "quantile_over_time", "histogram_over_time",
        "compare"};
    sf_buf_print(out, "%s(", names[m->fn]);
    if (m->fn == SF_FN_COMPARE) {
        print_filter(m->selection, out);
        sf_buf_print(out, ", %u", m->top_n);
        if (m->from_ns || m->to_ns)
            sf_buf_print(out, ", %" PRId64 ", %" PRId64, m->from_ns, m->to_ns);
    } else if (m->fn >= SF_FN_MIN) {
        print_attr(&m->attr, out);
    }
    for (uint32_t i = 0; i < m->n_quantiles; i++) {
        say(out, ", ");
        print_number(m->quantiles[i], out);
    }
    say(out, ")");
    if (m->n_by) {
        say(out, " by (");
        print_attrs(m->by, m->n_by, out);
        say(out, ")");
    }
}

static void print_seconds(const struct sf_metrics *m, struct sf_buf *out)
{
    for (uint32_t i = 0; i < m->n_seconds; i++) {
        const struct sf_second *s = &m->seconds[i];
        if (s->kind != SF_SECOND_CMP) {
            sf_buf_print(out, " | %s(%u)", s->kind == SF_SECOND_TOPK ? "topk" : "bottomk", s->k);
            continue;
        }
        sf_buf_print(out, " %s ", sf_expr_text_op(s->cmp));
        print_number(s->value, out);
    }
}

static void print_metrics(const struct sf_metrics *m, unsigned least, struct sf_buf *out)
{
    unsigned level = m->op == SF_EXPR_ADD || m->op == SF_EXPR_SUB ? 4 : 6;
    switch (m->kind) {
    case SF_METRICS_NUMBER: print_number(m->number, out); break;
    case SF_METRICS_QUERY:
        say(out, least ? "(" : "");
        print_pipeline(m->pipeline, out);
        say(out, " | ");
        print_metric(&m->metric, out);
        print_seconds(m, out);
        say(out, least ? ")" : "");
        break;
    case SF_METRICS_BINARY:
        say(out, level < least ? "(" : "");
        print_metrics(m->left, level, out);
        sf_buf_print(out, " %s ", sf_expr_text_op(m->op));
        print_metrics(m->right, level + 1, out);
        print_seconds(m, out); /* only the outermost has any */
        say(out, level < least ? ")" : "");
        break;
    }
}

void query_print(const struct sf_query *q, struct sf_buf *out)
{
    if (q->pipeline)
        print_pipeline(q->pipeline, out);
    else
        print_metrics(q->metrics, 0, out);
    for (uint32_t i = 0; i < q->n_hints; i++) {
        sf_buf_print(out, "%s%.*s=", i ? ", " : " with(", SF_STR_ARG(q->hints[i].name));
        print_literal(q->hints[i].val, out);
    }
    say(out, q->n_hints ? ")" : "");
}

const char *query_print_fault(const struct sf_query *q, struct sf_arena *req, struct sf_buf *text)
{
    static char words[600];
    const struct sf_query *again = NULL;
    struct sf_why why = {0};
    enum sf_err err;
    sf_buf_reset(text);
    query_print(q, text);
    if (!sf_buf_ok(text))
        return NULL;
    err = sf_query_parse(sf_buf_str(text), req, &again, NULL, &why);
    if (err == SF_ERR_LIMIT)
        return NULL;
    if (!err && query_is_same(q, again))
        return NULL;
    snprintf(words, sizeof(words), "%.300s %.200s", err ? "does not parse:" : "is another query",
             why.text);
    return words;
}
