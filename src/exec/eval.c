/* eval.c - evaluates pipelines over one trace.
 *
 * Stages process a spanset as one byte per span of the trace (1: in the set); so a structural
 * operator is one pass over the tree in each direction, whatever the trace looks like. */
#include "exec/eval.h"
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

#include "exec/eval_expr.h"
#include "exec/profile_conds.h"
#include "query/expr_fold.h"

enum { MAX_SETS = 1 << 20 };

struct set {
    uint8_t *has; /* n_spans bytes */
    uint32_t n;
    struct sf_spanset_attr *attrs;
    uint32_t n_attrs;
};

struct sets {
    struct set *list;
    uint32_t n;
};

struct run {
    struct sf_eval *eval;
    struct sf_trace_view *v;
    struct sf_arena *req;
    struct sf_why *why;
};

static enum sf_err eval_no_room(const struct run *r)
{
    return sf_fail(r->why, SF_ERR_LIMIT, "trace of %u spans does not fit the query's memory",
                   r->v->n_spans);
}

static bool new_set(const struct run *r, struct set *out)
{
    *out = (struct set){.has = sf_arena_raw(r->req, r->v->n_spans ? r->v->n_spans : 1, 1)};
    if (!out->has)
        return false;
    memset(out->has, 0, r->v->n_spans);
    return true;
}

static void eval_recount(const struct run *r, struct set *s)
{
    s->n = 0;
    for (uint32_t i = 0; i < r->v->n_spans; i++)
        s->n += s->has[i];
}

static enum sf_err run_pipeline(struct run *r, const struct sf_pipeline *p, struct sets *sets);
static enum sf_err coalesce(struct run *r, struct sets *sets);

/* ---- structure ---- */

/* Marks in `out` every span that has a span of `from` as its parent, ancestor, ... */
static void relate(const struct sf_trace_view *v, enum sf_spanset_op op, const uint8_t *from,
                   uint8_t *out, uint32_t *counts)
{
    uint32_t n_roots = 0;
    switch (op) {
    case SF_SPANSET_CHILD:
    case SF_SPANSET_DESCENDANT:
        for (uint32_t i = 0; i < v->n_order; i++) {
            uint32_t at = v->order[i], parent = v->parent[at];
            if (parent != SF_VIEW_NONE)
                out[at] = from[parent] || (op == SF_SPANSET_DESCENDANT && out[parent]);
        }
        break;
    case SF_SPANSET_PARENT:
    case SF_SPANSET_ANCESTOR:
        for (uint32_t i = v->n_order; i > 0; i--) {
            uint32_t at = v->order[i - 1], parent = v->parent[at];
            if (parent != SF_VIEW_NONE && (from[at] || (op == SF_SPANSET_ANCESTOR && out[at])))
                out[parent] = 1;
        }
        break;
    default: /* SIBLING */
        memset(counts, 0, v->n_spans * sizeof(*counts));
        for (uint32_t i = 0; i < v->n_order; i++) {
            uint32_t at = v->order[i], parent = v->parent[at];
            if (!from[at])
                continue;
            if (parent == SF_VIEW_NONE)
                n_roots++;
            else
                counts[parent]++;
        }
        for (uint32_t i = 0; i < v->n_order; i++) {
            uint32_t at = v->order[i], parent = v->parent[at];
            out[at] = (parent == SF_VIEW_NONE ? n_roots : counts[parent]) > (uint32_t)from[at];
        }
    }
}

static enum sf_spanset_op opposite(enum sf_spanset_op op)
{
    switch (op) {
    case SF_SPANSET_CHILD: return SF_SPANSET_PARENT;
    case SF_SPANSET_PARENT: return SF_SPANSET_CHILD;
    case SF_SPANSET_DESCENDANT: return SF_SPANSET_ANCESTOR;
    case SF_SPANSET_ANCESTOR: return SF_SPANSET_DESCENDANT;
    default: return op;
    }
}

static enum sf_err structural(struct run *r, const struct sf_spanset *s, const struct set *l,
                              const struct set *right, struct set *out)
{
    uint32_t n = r->v->n_spans;
    uint8_t *related = sf_arena_new(r->req, n ? n : 1);
    uint32_t *counts = sf_arena_new_n(r->req, n ? n : 1, sizeof(uint32_t));
    if (!related || !counts || !new_set(r, out))
        return eval_no_room(r);
    relate(r->v, s->op, l->has, related, counts);
    for (uint32_t i = 0; i < n; i++)
        out->has[i] = right->has[i] && (related[i] != 0) == (s->form != SF_FORM_NOT);
    if (s->form == SF_FORM_UNION) {
        memset(related, 0, n);
        relate(r->v, opposite(s->op), right->has, related, counts);
        for (uint32_t i = 0; i < n; i++)
            out->has[i] |= l->has[i] && related[i];
    }
    eval_recount(r, out);
    return SF_OK;
}

/* ---- spansets ---- */

static enum sf_err filter(struct run *r, const struct sf_spanset *s, const struct set *in,
                          struct set *out)
{
    if (!new_set(r, out))
        return eval_no_room(r);
    for (uint32_t i = 0; i < r->v->n_spans && sf_eval_goes_on(r->eval); i++) {
        out->has[i] = in->has[i] && (!s->filter || sf_eval_is_true(r->eval, s->filter, r->v, i));
        out->n += out->has[i];
    }
    return sf_eval_fault(r->eval, r->why);
}

static enum sf_err eval_spanset(struct run *r, const struct sf_spanset *s, const struct set *in,
                                struct set *out);

/* One side of an operator. A pipeline may result in several spansets: && and || use the union of
 * their spans, structural operators return an error. */
static enum sf_err eval_side(struct run *r, const struct sf_spanset *s, const struct set *in,
                             bool is_structural, struct set *out)
{
    struct set copy = *in;
    struct sets sets = {&copy, 1};
    enum sf_err err;
    if (s->op != SF_SPANSET_PIPELINE)
        return eval_spanset(r, s, in, out);
    err = run_pipeline(r, s->pipeline, &sets);
    if (err)
        return err;
    if (sets.n > 1 && is_structural)
        return sf_fail(r->why, SF_ERR_INPUT,
                       "spanset operators are not supported for multiple spansets per trace. "
                       "consider using coalesce()");
    if (sets.n == 0)
        return new_set(r, out) ? SF_OK : eval_no_room(r);
    err = coalesce(r, &sets);
    *out = sets.list[0];
    return err;
}

static enum sf_err eval_spanset(struct run *r, const struct sf_spanset *s, const struct set *in,
                                struct set *out)
{
    bool is_structural = s->op != SF_SPANSET_AND && s->op != SF_SPANSET_OR;
    struct set l, right;
    enum sf_err err;
    if (s->op == SF_SPANSET_FILTER)
        return filter(r, s, in, out);
    err = eval_side(r, s->left, in, is_structural, &l);
    if (!err)
        err = eval_side(r, s->right, in, is_structural, &right);
    if (err)
        return err;
    if (is_structural)
        return structural(r, s, &l, &right, out);
    if (!new_set(r, out))
        return eval_no_room(r);
    if (s->op == SF_SPANSET_AND && (l.n == 0 || right.n == 0))
        return SF_OK;
    for (uint32_t i = 0; i < r->v->n_spans; i++)
        out->has[i] = l.has[i] | right.has[i];
    eval_recount(r, out);
    return SF_OK;
}

/* ---- by, aggregates ---- */

static bool eval_add_attr(const struct run *r, struct set *s, sf_str name, struct sf_static val)
{
    struct sf_spanset_attr *list = sf_arena_new_n(r->req, s->n_attrs + 1, sizeof(*list));
    if (!list)
        return false;
    if (s->n_attrs)
        memcpy(list, s->attrs, s->n_attrs * sizeof(*list));
    list[s->n_attrs].name = name;
    list[s->n_attrs].val = val;
    s->attrs = list;
    s->n_attrs++;
    return true;
}

/* Groups are distinguished by type and value: 5, 5.0 and "5" are three groups. */
static bool same_group(struct sf_static a, struct sf_static b)
{
    if (a.type != b.type)
        return false;
    switch (a.type) {
    case SF_TYPE_NIL: return true;
    case SF_TYPE_STRING: return sf_str_eq(a.str, b.str);
    case SF_TYPE_BOOL: return a.is_true == b.is_true;
    default: return memcmp(&a.i64, &b.i64, sizeof(a.i64)) == 0;
    }
}

static bool eval_keep_text(const struct run *r, struct sf_static *v)
{
    return v->type != SF_TYPE_STRING || sf_arena_copy(r->req, v->str, &v->str);
}

static enum sf_err eval_split(struct run *r, const struct sf_stage *st, const struct set *in,
                              struct sets *out, uint32_t *cap)
{
    uint32_t first = out->n; /* groups of this spanset start here */
    for (uint32_t i = 0; i < r->v->n_spans; i++) {
        struct sf_static key;
        uint32_t at = first;
        if (!in->has[i])
            continue;
        key = sf_eval_expr(r->eval, st->expr, r->v, i);
        while (at < out->n && !same_group(out->list[at].attrs[out->list[at].n_attrs - 1].val, key))
            at++;
        if (at == out->n) {
            if (!sf_list_room_in_max(r->req, &out->list, at, cap, 8, MAX_SETS) ||
                !eval_keep_text(r, &key) || !new_set(r, &out->list[at]))
                return eval_no_room(r);
            out->list[at].attrs = in->attrs;
            out->list[at].n_attrs = in->n_attrs;
            if (!eval_add_attr(r, &out->list[at], st->text, key))
                return eval_no_room(r);
            out->n++;
        }
        out->list[at].has[i] = 1;
        out->list[at].n++;
    }
    return sf_eval_fault(r->eval, r->why);
}

static enum sf_err eval_group(struct run *r, const struct sf_stage *st, struct sets *sets)
{
    struct sets out = {0};
    uint32_t cap = 0;
    for (uint32_t i = 0; i < sets->n; i++) {
        enum sf_err err = eval_split(r, st, &sets->list[i], &out, &cap);
        if (err)
            return err;
    }
    *sets = out;
    return SF_OK;
}

static bool eval_is_number(struct sf_static v)
{
    return v.type == SF_TYPE_INT || v.type == SF_TYPE_FLOAT || v.type == SF_TYPE_DURATION;
}

static struct sf_static eval_add(struct sf_static a, struct sf_static b)
{
    if (a.type == SF_TYPE_FLOAT)
        a.f64 += b.f64;
    else
        a.i64 = (int64_t)((uint64_t)a.i64 + (uint64_t)b.i64);
    return a;
}

static struct sf_static average(struct sf_static sum, uint64_t n)
{
    if (sum.type == SF_TYPE_DURATION)
        return (struct sf_static){SF_TYPE_DURATION, {.i64 = sum.i64 / (int64_t)n}};
    return (struct sf_static){SF_TYPE_FLOAT, {.f64 = sf_expr_fold_number(sum) / (double)n}};
}

/* NIL: no span has a value. */
static struct sf_static aggregate(struct run *r, const struct sf_stage *st, const struct set *in)
{
    struct sf_static out = {.type = SF_TYPE_NIL};
    uint64_t n = 0;
    if (st->aggregate == SF_AGG_COUNT)
        return (struct sf_static){SF_TYPE_INT, {.i64 = in->n}};
    for (uint32_t i = 0; i < r->v->n_spans; i++) {
        struct sf_static val;
        if (!in->has[i])
            continue;
        val = sf_eval_expr(r->eval, st->expr, r->v, i);
        if (!eval_is_number(val))
            continue;
        if (out.type == SF_TYPE_NIL)
            out = val;
        else if (st->aggregate == SF_AGG_MIN)
            out = sf_expr_fold_compare(SF_EXPR_LT, val, out) ? val : out;
        else if (st->aggregate == SF_AGG_MAX)
            out = sf_expr_fold_compare(SF_EXPR_GT, val, out) ? val : out;
        else if (val.type != out.type)
            continue; /* the type of the first value decides */
        else
            out = eval_add(out, val);
        n++;
    }
    return out.type != SF_TYPE_NIL && st->aggregate == SF_AGG_AVG ? average(out, n) : out;
}

static enum sf_err keep_where(struct run *r, const struct sf_stage *st, struct sets *sets)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sets->n; i++) {
        struct set s = sets->list[i];
        struct sf_static val = aggregate(r, st, &s);
        if (val.type == SF_TYPE_NIL || !sf_expr_fold_compare(st->cmp, val, st->literal))
            continue;
        if (!eval_add_attr(r, &s, st->text, val))
            return eval_no_room(r);
        sets->list[kept++] = s;
    }
    sets->n = kept;
    return sf_eval_fault(r->eval, r->why);
}

static enum sf_err coalesce(struct run *r, struct sets *sets)
{
    struct set all;
    if (sets->n == 0)
        return SF_OK;
    if (!new_set(r, &all))
        return eval_no_room(r);
    for (uint32_t i = 0; i < sets->n; i++) {
        for (uint32_t k = 0; k < r->v->n_spans; k++)
            all.has[k] |= sets->list[i].has[k];
    }
    eval_recount(r, &all);
    sets->list[0] = all;
    sets->n = 1;
    return SF_OK;
}

static enum sf_err eval_narrow(struct run *r, const struct sf_spanset *s, struct sets *sets)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < sets->n; i++) {
        struct set in = sets->list[i], out;
        enum sf_err err = eval_spanset(r, s, &in, &out);
        if (err)
            return err;
        if (out.n == 0)
            continue;
        out.attrs = in.attrs;
        out.n_attrs = in.n_attrs;
        sets->list[kept++] = out;
    }
    sets->n = kept;
    return SF_OK;
}

/* Parentheses around stages, without an operator beside them, have no effect. Each spanset is
 * processed separately and may result in several. */
static enum sf_err nest(struct run *r, const struct sf_pipeline *p, struct sets *sets)
{
    struct sets out = {0};
    for (uint32_t i = 0; i < sets->n; i++) {
        struct sets one = {&sets->list[i], 1};
        struct set *longer;
        enum sf_err err = run_pipeline(r, p, &one);
        if (err)
            return err;
        longer = out.n + one.n > MAX_SETS
                     ? NULL
                     : sf_arena_new_n(r->req, out.n + one.n + 1, sizeof(*longer));
        if (!longer)
            return eval_no_room(r);
        if (out.n)
            memcpy(longer, out.list, out.n * sizeof(*longer));
        if (one.n)
            memcpy(longer + out.n, one.list, one.n * sizeof(*longer));
        out.list = longer;
        out.n += one.n;
    }
    *sets = out;
    return SF_OK;
}

static enum sf_err run_pipeline(struct run *r, const struct sf_pipeline *p, struct sets *sets)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; i < p->n_stages && !err && sets->n; i++) {
        const struct sf_stage *st = &p->stages[i];
        switch (st->kind) {
        case SF_STAGE_SPANSET:
            err = st->spanset->op == SF_SPANSET_PIPELINE ? nest(r, st->spanset->pipeline, sets)
                                                         : eval_narrow(r, st->spanset, sets);
            break;
        case SF_STAGE_AGGREGATE: err = keep_where(r, st, sets); break;
        case SF_STAGE_BY: err = eval_group(r, st, sets); break;
        case SF_STAGE_COALESCE: err = coalesce(r, sets); break;
        case SF_STAGE_SELECT: break; /* only selects what the answer shows */
        }
    }
    return err;
}

/* ---- the whole ---- */

static bool eval_needs_tree(const struct sf_pipeline *p);

static bool spanset_needs_tree(const struct sf_spanset *s)
{
    if (!s)
        return false;
    if (s->op == SF_SPANSET_FILTER)
        return sf_eval_expr_needs_tree(s->filter);
    if (s->op == SF_SPANSET_PIPELINE)
        return eval_needs_tree(s->pipeline);
    return s->op >= SF_SPANSET_CHILD || spanset_needs_tree(s->left) || spanset_needs_tree(s->right);
}

static bool eval_needs_tree(const struct sf_pipeline *p)
{
    for (uint32_t i = 0; i < p->n_stages; i++) {
        if (spanset_needs_tree(p->stages[i].spanset) || sf_eval_expr_needs_tree(p->stages[i].expr))
            return true;
    }
    return false;
}

static int compare_first(const void *a, const void *b)
{
    const struct sf_spanset_result *x = a, *y = b;
    return (x->spans[0] > y->spans[0]) - (x->spans[0] < y->spans[0]); /* spansets are disjoint */
}

static enum sf_err hand_out(const struct run *r, const struct sets *sets, struct sf_spansets *out)
{
    struct sf_spanset_result *list = sf_arena_new_n(r->req, sets->n, sizeof(*list));
    if (!list)
        return eval_no_room(r);
    for (uint32_t i = 0; i < sets->n; i++) {
        const struct set *s = &sets->list[i];
        uint32_t *spans = sf_arena_new_n(r->req, s->n, sizeof(*spans));
        uint32_t n = 0;
        if (!spans)
            return eval_no_room(r);
        for (uint32_t k = 0; k < r->v->n_spans; k++) {
            if (s->has[k])
                spans[n++] = k;
        }
        list[i] = (struct sf_spanset_result){spans, n, s->attrs, s->n_attrs};
    }
    qsort(list, sets->n, sizeof(*list), compare_first);
    *out = (struct sf_spansets){list, sets->n};
    return SF_OK;
}

enum sf_err sf_eval_pipeline(struct sf_eval *e, const struct sf_pipeline *pipeline,
                             struct sf_trace_view *v, struct sf_arena *req, struct sf_spansets *out,
                             struct sf_why *why)
{
    struct run r = {e, v, req, why};
    struct set all;
    struct sets sets = {&all, 1};
    enum sf_err err;
    if (e->asked != pipeline) {
        e->asked = pipeline;
        e->asked_needs_tree = eval_needs_tree(pipeline);
    }
    if (e->asked_needs_tree && !v->left) {
        err = sf_trace_view_link(v, req, why);
        if (err)
            return err;
    }
    if (e->profiles && !v->profiles) {
        err = sf_profile_conds_apply(e->profiles, v, req, why);
        if (err)
            return err;
    }
    if (!new_set(&r, &all))
        return eval_no_room(&r);
    memset(all.has, 1, v->n_spans);
    all.n = v->n_spans;
    if (v->n_spans == 0)
        sets.n = 0;
    err = run_pipeline(&r, pipeline, &sets);
    return err ? err : hand_out(&r, &sets, out);
}
