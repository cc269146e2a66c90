/* slow_pipeline.c - stages over one trace, by examining every pair of spans. */
#include <string.h>

#include "slow_traceql.h"

struct run {
    const struct slow_trace *t;
    struct sf_arena *req;
    bool is_error;
};

static struct slow_sets run_stages(struct run *r, const struct sf_pipeline *p, struct slow_set in);

static struct slow_set empty_set(struct run *r)
{
    return (struct slow_set){.has = slow_new(r->req, r->t->n, sizeof(bool))};
}

static void put(struct slow_set *s, uint32_t span)
{
    s->n += !s->has[span];
    s->has[span] = true;
}

/* Does l stand left of the operator and r right of it? */
static bool is_related(const struct slow_trace *t, enum sf_spanset_op op, uint32_t l, uint32_t r)
{
    const int64_t *left = t->left, *right = t->right, *up = t->up;
    if (left[l] == 0 || left[r] == 0)
        return false;
    switch (op) {
    case SF_SPANSET_CHILD: return left[l] == up[r];
    case SF_SPANSET_DESCENDANT: return left[l] < left[r] && right[r] < right[l];
    case SF_SPANSET_PARENT: return left[r] == up[l];
    case SF_SPANSET_ANCESTOR: return left[r] < left[l] && right[l] < right[r];
    case SF_SPANSET_SIBLING: return l != r && up[l] == up[r];
    default: return false;
    }
}

static struct slow_set structural(struct run *r, const struct sf_spanset *s, struct slow_set l,
                                  struct slow_set right)
{
    struct slow_set out = empty_set(r);
    for (uint32_t k = 0; k < r->t->n; k++) {
        bool has_any = false;
        if (!right.has[k])
            continue;
        for (uint32_t i = 0; i < r->t->n; i++) {
            if (!l.has[i] || !is_related(r->t, s->op, i, k))
                continue;
            has_any = true;
            if (s->form == SF_FORM_UNION)
                put(&out, i);
        }
        if (has_any == (s->form != SF_FORM_NOT))
            put(&out, k);
    }
    return out;
}

/* One side of an operator: all spans of whatever spansets it leaves. */
static struct slow_set side(struct run *r, const struct sf_spanset *s, struct slow_set in,
                            bool is_structural);

static struct slow_set spanset(struct run *r, const struct sf_spanset *s, struct slow_set in)
{
    bool is_structural = s->op >= SF_SPANSET_CHILD;
    struct slow_set out = empty_set(r), l, right;
    if (s->op == SF_SPANSET_FILTER) {
        for (uint32_t i = 0; i < r->t->n; i++) {
            if (in.has[i] && (!s->filter || slow_is_true(s->filter, r->t, i, r->req)))
                put(&out, i);
        }
        return out;
    }
    l = side(r, s->left, in, is_structural);
    right = side(r, s->right, in, is_structural);
    if (is_structural)
        return structural(r, s, l, right);
    if (s->op == SF_SPANSET_AND && (l.n == 0 || right.n == 0))
        return out;
    for (uint32_t i = 0; i < r->t->n; i++) {
        if (l.has[i] || right.has[i])
            put(&out, i);
    }
    return out;
}

static struct slow_set side(struct run *r, const struct sf_spanset *s, struct slow_set in,
                            bool is_structural)
{
    struct slow_sets sets;
    struct slow_set all = empty_set(r);
    if (s->op != SF_SPANSET_PIPELINE)
        return spanset(r, s, in);
    in.n_attrs = 0;
    sets = run_stages(r, s->pipeline, in);
    if (is_structural && sets.n > 1)
        r->is_error = true;
    for (uint32_t i = 0; i < sets.n; i++) {
        for (uint32_t k = 0; k < r->t->n; k++) {
            if (sets.list[i].has[k])
                put(&all, k);
        }
    }
    return all;
}

/* ---- stages ---- */

static struct slow_set with_attr(struct run *r, struct slow_set s, sf_str name,
                                 struct sf_static val)
{
    struct slow_attr *list = slow_new(r->req, s.n_attrs + 1, sizeof(*list));
    if (s.n_attrs)
        memcpy(list, s.attrs, s.n_attrs * sizeof(*list));
    list[s.n_attrs] = (struct slow_attr){name, val};
    s.attrs = list;
    s.n_attrs++;
    return s;
}

/* An expression is a filter without braces: its value is what a comparison would see. */
static struct sf_static value_of(struct run *r, const struct sf_expr *x, uint32_t span)
{
    return slow_expr(x, r->t, span, r->req);
}

static bool is_number(struct sf_static v)
{
    return v.type == SF_TYPE_INT || v.type == SF_TYPE_FLOAT || v.type == SF_TYPE_DURATION;
}

static struct sf_static aggregate(struct run *r, const struct sf_stage *st, struct slow_set s)
{
    struct sf_static out = {.type = SF_TYPE_NIL};
    int64_t n = 0;
    if (st->aggregate == SF_AGG_COUNT)
        return (struct sf_static){SF_TYPE_INT, {.i64 = s.n}};
    for (uint32_t i = 0; i < r->t->n; i++) {
        struct sf_static v;
        if (!s.has[i])
            continue;
        v = value_of(r, st->expr, i);
        if (!is_number(v))
            continue;
        if (out.type == SF_TYPE_NIL) {
            out = v;
        } else if (st->aggregate == SF_AGG_MIN) {
            if (slow_compare(SF_EXPR_LT, v, out))
                out = v;
        } else if (st->aggregate == SF_AGG_MAX) {
            if (slow_compare(SF_EXPR_GT, v, out))
                out = v;
        } else if (v.type != out.type) {
            continue; /* sum and avg: the first value's type decides */
        } else if (v.type == SF_TYPE_FLOAT) {
            out.f64 += v.f64;
        } else {
            out.i64 = (int64_t)((uint64_t)out.i64 + (uint64_t)v.i64);
        }
        n++;
    }
    if (st->aggregate != SF_AGG_AVG || out.type == SF_TYPE_NIL)
        return out;
    if (out.type == SF_TYPE_DURATION)
        out.i64 /= n;
    else
        out = (struct sf_static){
            SF_TYPE_FLOAT,
            {.f64 = (out.type == SF_TYPE_FLOAT ? out.f64 : (double)out.i64) / (double)n}};
    return out;
}

static void add_set(struct run *r, struct slow_sets *sets, struct slow_set s)
{
    struct slow_set *list;
    if (s.n == 0)
        return;
    list = slow_new(r->req, sets->n + 1, sizeof(*list));
    if (sets->n)
        memcpy(list, sets->list, sets->n * sizeof(*list));
    list[sets->n] = s;
    sets->list = list;
    sets->n++;
}

static void add_groups(struct run *r, const struct sf_stage *st, struct slow_set in,
                       struct slow_sets *out)
{
    uint32_t first = out->n;
    for (uint32_t i = 0; i < r->t->n; i++) {
        struct sf_static key;
        uint32_t at = first;
        if (!in.has[i])
            continue;
        key = value_of(r, st->expr, i);
        while (at < out->n &&
               !slow_static_eq(out->list[at].attrs[out->list[at].n_attrs - 1].val, key))
            at++;
        if (at < out->n) {
            put(&out->list[at], i);
        } else {
            struct slow_set fresh = empty_set(r);
            fresh.attrs = in.attrs;
            fresh.n_attrs = in.n_attrs;
            put(&fresh, i);
            add_set(r, out, with_attr(r, fresh, st->text, key));
        }
    }
}

static void add_narrowed(struct run *r, const struct sf_spanset *s, struct slow_set in,
                         struct slow_sets *out)
{
    struct slow_set narrowed;
    if (s->op == SF_SPANSET_PIPELINE) { /* parentheses around stages change nothing */
        struct slow_sets inner = run_stages(r, s->pipeline, in);
        for (uint32_t i = 0; i < inner.n; i++)
            add_set(r, out, inner.list[i]);
        return;
    }
    narrowed = spanset(r, s, in);
    narrowed.attrs = in.attrs;
    narrowed.n_attrs = in.n_attrs;
    add_set(r, out, narrowed);
}

static struct slow_sets run_stage(struct run *r, const struct sf_stage *st, struct slow_sets in)
{
    struct slow_sets out = {0};
    struct slow_set all = empty_set(r);
    for (uint32_t i = 0; i < in.n; i++) {
        struct sf_static val;
        switch (st->kind) {
        case SF_STAGE_SPANSET: add_narrowed(r, st->spanset, in.list[i], &out); break;
        case SF_STAGE_BY: add_groups(r, st, in.list[i], &out); break;
        case SF_STAGE_SELECT: add_set(r, &out, in.list[i]); break;
        case SF_STAGE_AGGREGATE:
            val = aggregate(r, st, in.list[i]);
            if (val.type != SF_TYPE_NIL && slow_compare(st->cmp, val, st->literal))
                add_set(r, &out, with_attr(r, in.list[i], st->text, val));
            break;
        case SF_STAGE_COALESCE:
            for (uint32_t k = 0; k < r->t->n; k++) {
                if (in.list[i].has[k])
                    put(&all, k);
            }
            break;
        }
    }
    if (st->kind == SF_STAGE_COALESCE)
        add_set(r, &out, all);
    return out;
}

static struct slow_sets run_stages(struct run *r, const struct sf_pipeline *p, struct slow_set in)
{
    struct slow_sets sets = {0};
    add_set(r, &sets, in);
    for (uint32_t i = 0; i < p->n_stages; i++)
        sets = run_stage(r, &p->stages[i], sets);
    return sets;
}

static uint32_t first_span(struct slow_set s)
{
    uint32_t i = 0;
    while (!s.has[i])
        i++;
    return i;
}

struct slow_sets slow_pipeline(const struct sf_pipeline *p, const struct slow_trace *t,
                               struct sf_arena *req)
{
    struct run r = {.t = t, .req = req};
    struct slow_set all = empty_set(&r);
    struct slow_sets out;
    for (uint32_t i = 0; i < t->n; i++)
        put(&all, i);
    out = run_stages(&r, p, all);
    for (uint32_t i = 1; i < out.n; i++) { /* spansets never share a span */
        for (uint32_t k = i; k > 0 && first_span(out.list[k]) < first_span(out.list[k - 1]); k--) {
            struct slow_set swap = out.list[k];
            out.list[k] = out.list[k - 1];
            out.list[k - 1] = swap;
        }
    }
    out.is_error = r.is_error;
    return out;
}
