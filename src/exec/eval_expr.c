/* eval_expr.c - evaluates field expressions on one span.
 *
 * A comparison with an attribute that has many values (array elements, events, links) is true if
 * some value satisfies it; for != and !~ on an array all must satisfy it. As a condition by itself
 * such an attribute is true if some value is. Arithmetic uses the first value. Recursion is bounded
 * by the parser's depth. */
#include "exec/eval_expr.h"

#include "base/heap.h"
#include "exec/eval_attr.h"
#include "exec/profile_conds.h"
#include "os/clock.h"
#include "query/expr_fold.h"

static bool is_nil_literal(const struct sf_expr *e)
{
    return e->kind == SF_EXPR_LITERAL && e->literal.type == SF_TYPE_NIL;
}

static bool eval_expr_match(struct sf_eval *e, const struct sf_expr *x, struct sf_static v)
{
    enum sf_regex_result result;
    if (v.type != SF_TYPE_STRING)
        return false;
    result = sf_regex_match(e->patterns[x->number], v.str, e->scratch);
    if (result == SF_REGEX_GAVE_UP && e->err == SF_OK)
        e->err = sf_fail(&e->why, SF_ERR_NOMEM, "no memory for the pattern at col %u",
                         x->right->place.column);
    return (result == SF_REGEX_FOUND) == (x->op == SF_EXPR_MATCH);
}

bool sf_eval_matches(struct sf_eval *e, const struct sf_expr *expr, sf_str text)
{
    return eval_expr_match(e, expr, (struct sf_static){SF_TYPE_STRING, {.str = text}});
}

sf_str sf_eval_pattern_needs(const struct sf_eval *e, const struct sf_expr *expr)
{
    return sf_regex_needs(e->patterns[expr->number]);
}

static bool one_holds(struct sf_eval *e, const struct sf_expr *x, struct sf_static l,
                      struct sf_static r)
{
    if (x->op == SF_EXPR_MATCH || x->op == SF_EXPR_NO_MATCH)
        return eval_expr_match(e, x, l);
    return sf_expr_fold_compare(x->op, l, r);
}

struct one { /* one value of a side: a scalar, or an array of them */
    bool is_array;
    struct sf_value_list array;
    struct sf_static val;
};

/* Some element of an array must satisfy it, for != and !~ all of them. Two arrays are never
 * comparable. */
static bool pair_holds(struct sf_eval *e, const struct sf_expr *x, const struct one *l,
                       const struct one *r)
{
    bool wants_all = x->op == SF_EXPR_NE || x->op == SF_EXPR_NO_MATCH;
    struct sf_value_list list = l->is_array ? l->array : r->array;
    struct sf_attr element;
    if (!l->is_array && !r->is_array)
        return one_holds(e, x, l->val, r->val);
    if (l->is_array && r->is_array)
        return false;
    while (sf_value_list_next(&list, &element)) {
        struct sf_static val = sf_eval_attr_static_from_value(element.val);
        if (one_holds(e, x, l->is_array ? val : l->val, r->is_array ? val : r->val) != wants_all)
            return !wants_all;
    }
    return wants_all;
}

/* Fields of a span and a trace exist even if they are empty: the name, the parent of a root, the
 * root of a trace that has none. */
static bool exists(struct sf_eval *e, const struct sf_expr *x, const struct sf_trace_view *v,
                   uint32_t span)
{
    struct sf_eval_values values = {0};
    if (x->kind == SF_EXPR_ATTR)
        return sf_eval_attr_is_always_there(&x->attr) ||
               sf_eval_attr_values_next(&values, &x->attr, v, span);
    return sf_eval_expr(e, x, v, span).type != SF_TYPE_NIL;
}

static bool eval_expr_is_trace_id(const struct sf_expr *x)
{
    return x->kind == SF_EXPR_ATTR && (x->attr.intrinsic == SF_INTRINSIC_TRACE_ID ||
                                       x->attr.intrinsic == SF_INTRINSIC_LINK_TRACE_ID);
}

/* Ids are shown and typed with or without leading zeros. */
static struct sf_static without_zeros(struct sf_static v)
{
    while (v.type == SF_TYPE_STRING && v.str.len > 1 && v.str.p[0] == '0')
        v.str = sf_str_from_at(v.str, 1);
    return v;
}

/* Iterates over the values of one side of a comparison. */
struct side {
    const struct sf_expr *expr;
    struct sf_eval_values values; /* of an attribute */
    bool is_done, is_id;
};

static bool next_value(struct side *s, struct sf_eval *e, const struct sf_trace_view *v,
                       uint32_t span, struct one *out)
{
    if (s->expr->kind == SF_EXPR_ATTR) {
        if (!sf_eval_attr_values_next(&s->values, &s->expr->attr, v, span))
            return false;
        *out = (struct one){s->values.is_array, s->values.array, s->values.one};
    } else {
        if (s->is_done)
            return false;
        s->is_done = true;
        *out = (struct one){.val = sf_eval_expr(e, s->expr, v, span)};
        if (out->val.type == SF_TYPE_NIL)
            return false;
    }
    if (s->is_id && !out->is_array)
        out->val = without_zeros(out->val);
    return true;
}

/* True if some pair of values of the left and the right side satisfies it. */
static bool eval_expr_compare(struct sf_eval *e, const struct sf_expr *x,
                              const struct sf_trace_view *v, uint32_t span)
{
    bool is_id = x->op <= SF_EXPR_GE &&
                 (eval_expr_is_trace_id(x->left) || eval_expr_is_trace_id(x->right));
    struct side left = {.expr = x->left, .is_id = is_id};
    struct one l, r;
    if (is_nil_literal(x->right))
        return exists(e, x->left, v, span) == (x->op == SF_EXPR_NE);
    if (is_nil_literal(x->left))
        return exists(e, x->right, v, span) == (x->op == SF_EXPR_NE);
    if (x->left->kind == SF_EXPR_ATTR && x->left->attr.intrinsic == SF_INTRINSIC_PROFILE_FRAME)
        return sf_profile_conds_frame(v->profiles, x, span);
    while (next_value(&left, e, v, span, &l)) {
        struct side right = {.expr = x->right, .is_id = is_id};
        while (next_value(&right, e, v, span, &r)) {
            if (pair_holds(e, x, &l, &r))
                return true;
        }
    }
    return false;
}

static struct sf_static eval_expr_truth(bool is_true)
{
    return (struct sf_static){SF_TYPE_BOOL, {.is_true = is_true}};
}

/* 1: some value is true; 0: some is false; -1: none is a boolean. */
static int condition(const struct sf_query_attr *a, const struct sf_trace_view *v, uint32_t span)
{
    struct sf_eval_values values = {0};
    int found = -1;
    while (found < 1 && sf_eval_attr_values_next(&values, a, v, span)) {
        if (!values.is_array && values.one.type == SF_TYPE_BOOL)
            found = values.one.is_true;
    }
    return found;
}

bool sf_eval_is_true(struct sf_eval *e, const struct sf_expr *x, const struct sf_trace_view *v,
                     uint32_t span)
{
    struct sf_static val;
    if (x->kind == SF_EXPR_BINARY && x->op == SF_EXPR_AND)
        return sf_eval_is_true(e, x->left, v, span) && sf_eval_is_true(e, x->right, v, span);
    if (x->kind == SF_EXPR_BINARY && x->op == SF_EXPR_OR)
        return sf_eval_is_true(e, x->left, v, span) || sf_eval_is_true(e, x->right, v, span);
    if (x->kind == SF_EXPR_BINARY && x->op <= SF_EXPR_NO_MATCH)
        return eval_expr_compare(e, x, v, span);
    if (x->kind == SF_EXPR_ATTR)
        return condition(&x->attr, v, span) == 1;
    val = sf_eval_expr(e, x, v, span);
    return val.type == SF_TYPE_BOOL && val.is_true;
}

struct sf_static sf_eval_expr(struct sf_eval *e, const struct sf_expr *x,
                              const struct sf_trace_view *v, uint32_t span)
{
    switch (x->kind) {
    case SF_EXPR_LITERAL: return x->literal;
    case SF_EXPR_ATTR: return sf_eval_attr_one(&x->attr, v, span, e->texts[x->number].text);
    case SF_EXPR_UNARY:
        if (x->op == SF_EXPR_NOT && x->left->kind == SF_EXPR_ATTR)
            return eval_expr_truth(condition(&x->left->attr, v, span) == 0);
        return sf_expr_fold_unary(x->op, sf_eval_expr(e, x->left, v, span));
    case SF_EXPR_BINARY: break;
    }
    if (x->op <= SF_EXPR_OR)
        return eval_expr_truth(sf_eval_is_true(e, x, v, span));
    return sf_expr_fold_binary(x->op, sf_eval_expr(e, x->left, v, span),
                               sf_eval_expr(e, x->right, v, span));
}

bool sf_eval_expr_needs_tree(const struct sf_expr *x)
{
    return x && ((x->kind == SF_EXPR_ATTR && sf_eval_attr_needs_tree(&x->attr)) ||
                 sf_eval_expr_needs_tree(x->left) || sf_eval_expr_needs_tree(x->right));
}

/* Number of conditions evaluated between two reads of the clock, which costs as much as a few of
 * them. */
enum { CONDITIONS_AT_ONCE = 8192 };

static bool match_goes_on(void *arg)
{
    struct sf_eval *e = arg;
    e->n_spans = 0; /* check the clock now: it took long already */
    return sf_eval_goes_on(e);
}

void sf_eval_watch(struct sf_eval *e, const struct sf_query_ctx *q)
{
    e->watched = q;
    e->n_spans = 0;
    sf_regex_scratch_watch(e->scratch, match_goes_on, e);
}

void sf_eval_set_profiles(struct sf_eval *e, const struct sf_profile_conds *profiles)
{
    e->profiles = profiles;
}

const struct sf_profile_conds *sf_eval_profiles(const struct sf_eval *e)
{
    return e->profiles;
}

bool sf_eval_goes_on(struct sf_eval *e)
{
    const struct sf_query_ctx *q = e->watched;
    if (e->n_spans-- > 0)
        return true;
    e->n_spans = CONDITIONS_AT_ONCE / (e->n + 1);
    if (e->err || !q)
        return !e->err;
    if (q->cancel && atomic_load(q->cancel))
        e->err = sf_fail(&e->why, SF_ERR_CANCELLED, "query: the client disconnected");
    else if (q->deadline_ns && sf_clock_mono_ns() > q->deadline_ns)
        e->err = sf_fail(&e->why, SF_ERR_DEADLINE, "query: took too long; narrow the time range");
    return !e->err;
}

enum sf_err sf_eval_fault(const struct sf_eval *e, struct sf_why *why)
{
    if (e->err && why)
        *why = e->why;
    return e->err;
}

/* ---- patterns ---- */

static enum sf_err compile_expr(struct sf_eval *e, const struct sf_expr *x, struct sf_why *why)
{
    enum sf_err err;
    if (!x)
        return SF_OK;
    if (x->kind == SF_EXPR_BINARY && (x->op == SF_EXPR_MATCH || x->op == SF_EXPR_NO_MATCH)) {
        err = sf_regex_new_whole(x->right->literal.str, &e->patterns[x->number], why);
        if (err)
            return err;
    }
    err = compile_expr(e, x->left, why);
    return err ? err : compile_expr(e, x->right, why);
}

static enum sf_err compile_pipeline(struct sf_eval *e, const struct sf_pipeline *p,
                                    struct sf_why *why);

static enum sf_err compile_spanset(struct sf_eval *e, const struct sf_spanset *s,
                                   struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (!s)
        return SF_OK;
    if (s->op == SF_SPANSET_PIPELINE)
        return compile_pipeline(e, s->pipeline, why);
    err = compile_expr(e, s->filter, why);
    if (!err)
        err = compile_spanset(e, s->left, why);
    return err ? err : compile_spanset(e, s->right, why);
}

static enum sf_err compile_pipeline(struct sf_eval *e, const struct sf_pipeline *p,
                                    struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; p && i < p->n_stages && !err; i++) {
        err = compile_spanset(e, p->stages[i].spanset, why);
        if (!err)
            err = compile_expr(e, p->stages[i].expr, why);
    }
    return err;
}

static enum sf_err compile_metrics(struct sf_eval *e, const struct sf_metrics *m,
                                   struct sf_why *why)
{
    enum sf_err err;
    if (!m)
        return SF_OK;
    err = compile_pipeline(e, m->pipeline, why);
    if (!err)
        err = compile_expr(e, m->metric.selection, why);
    if (!err)
        err = compile_metrics(e, m->left, why);
    return err ? err : compile_metrics(e, m->right, why);
}

enum sf_err sf_eval_new(const struct sf_query *query, struct sf_eval **out, struct sf_why *why)
{
    enum sf_err err;
    struct sf_eval *e = sf_heap_new(sizeof(*e));
    if (!e)
        return sf_no_memory(why, "the query");
    e->n = query->n_exprs;
    e->patterns = sf_heap_new_n(e->n ? e->n : 1, sizeof(struct sf_regex *));
    e->texts = sf_heap_new_n(e->n ? e->n : 1, sizeof(*e->texts));
    e->scratch = sf_regex_scratch_new();
    if (!e->patterns || !e->texts || !e->scratch) {
        sf_eval_free(e);
        return sf_no_memory(why, "the query");
    }
    err = compile_pipeline(e, query->pipeline, why);
    if (!err)
        err = compile_metrics(e, query->metrics, why);
    if (err) {
        sf_eval_free(e);
        return err;
    }
    *out = e;
    return SF_OK;
}

void sf_eval_free(struct sf_eval *e)
{
    if (!e)
        return;
    for (uint32_t i = 0; e->patterns && i < e->n; i++)
        sf_regex_free(e->patterns[i]);
    sf_regex_scratch_free(e->scratch);
    sf_heap_free(e->patterns);
    sf_heap_free(e->texts);
    sf_heap_free(e);
}
