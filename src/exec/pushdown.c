#include "exec/pushdown.h"

#include <string.h>

#include "model/span_rows.h"
#include "query/expr_fold.h"
#include "regex/regex_literal.h"

enum { MAX_CONDS = 32, MAX_PATTERN_LEN = 1024 };

struct list {
    struct sf_cond conds[MAX_CONDS];
    size_t n;
    struct sf_arena *req;
};

/* ---- one comparison ---- */

static bool cond_op(enum sf_expr_op op, bool is_mirrored, enum sf_op *out)
{
    switch (op) {
    case SF_EXPR_EQ: *out = SF_OP_EQ; return true;
    case SF_EXPR_LT: *out = is_mirrored ? SF_OP_GT : SF_OP_LT; return true;
    case SF_EXPR_LE: *out = is_mirrored ? SF_OP_GE : SF_OP_LE; return true;
    case SF_EXPR_GT: *out = is_mirrored ? SF_OP_LT : SF_OP_GT; return true;
    case SF_EXPR_GE: *out = is_mirrored ? SF_OP_LE : SF_OP_GE; return true;
    default: return false;
    }
}

/* The store compares numbers of different types like the language. */
static bool literal_values(struct sf_static lit, struct sf_arena *req, const struct sf_value **out,
                           uint32_t *out_n)
{
    struct sf_value *v = sf_arena_new(req, sizeof(*v));
    if (!v)
        return false;
    *out = v;
    *out_n = 1;
    switch (lit.type) {
    case SF_TYPE_STRING: *v = (struct sf_value){.type = SF_VALUE_STR, .str = lit.str}; return true;
    case SF_TYPE_BOOL:
        *v = (struct sf_value){.type = SF_VALUE_BOOL, .is_true = lit.is_true};
        return true;
    case SF_TYPE_INT:
    case SF_TYPE_DURATION:
    case SF_TYPE_STATUS:
    case SF_TYPE_KIND: *v = (struct sf_value){.type = SF_VALUE_INT, .i64 = lit.i64}; return true;
    case SF_TYPE_FLOAT:
        *v = (struct sf_value){.type = SF_VALUE_DOUBLE, .f64 = lit.f64};
        return true;
    default: return false;
    }
}

static bool intrinsic_key(enum sf_intrinsic i, sf_str *out)
{
    switch (i) {
    case SF_INTRINSIC_NAME: *out = SF_STR("name"); return true;
    case SF_INTRINSIC_DURATION: *out = SF_STR("duration"); return true;
    case SF_INTRINSIC_STATUS: *out = SF_STR("status"); return true;
    case SF_INTRINSIC_KIND: *out = SF_STR("kind"); return true;
    case SF_INTRINSIC_STATUS_MESSAGE: *out = SF_STR("statusMessage"); return true;
    default: return false; /* needs the whole trace, or several values: not a column */
    }
}

/* A text that every match of a pattern contains; empty: none is known. */
static sf_str pattern_part(sf_str pattern, struct sf_arena *req)
{
    struct sf_buf literal = {0};
    sf_str part = SF_STR_NONE;
    bool is_all;
    if (pattern.len <= MAX_PATTERN_LEN)
        sf_regex_literal(pattern, &literal, &is_all);
    if (!sf_buf_ok(&literal) || !sf_arena_copy(req, sf_buf_str(&literal), &part))
        part = SF_STR_NONE;
    sf_buf_done(&literal);
    return part;
}

static void add_comparison(struct list *l, const struct sf_expr *e)
{
    bool is_mirrored = e->right->kind == SF_EXPR_ATTR && e->left->kind == SF_EXPR_LITERAL;
    const struct sf_expr *attr = is_mirrored ? e->right : e->left,
                         *lit = is_mirrored ? e->left : e->right;
    struct sf_cond c = {0};
    if (attr->kind != SF_EXPR_ATTR || lit->kind != SF_EXPR_LITERAL || l->n == MAX_CONDS)
        return;
    c.scope = attr->attr.scope;
    c.key = attr->attr.name;
    if (c.scope == SF_SCOPE_INTRINSIC && !intrinsic_key(attr->attr.intrinsic, &c.key))
        return;
    if (lit->literal.type == SF_TYPE_NIL) {
        if (e->op != SF_EXPR_NE || c.scope == SF_SCOPE_INTRINSIC ||
            (c.scope == SF_SCOPE_RESOURCE && sf_str_eq(c.key, SF_STR("service.name"))))
            return;
        c.op = SF_OP_EXISTS;
    } else if (cond_op(e->op, is_mirrored, &c.op)) {
        if (!literal_values(lit->literal, l->req, &c.vals, &c.n_vals))
            return;
    } else if (c.scope != SF_SCOPE_INTRINSIC && e->op != SF_EXPR_AND && e->op != SF_EXPR_OR &&
               e->op <= SF_EXPR_NO_MATCH) {
        c.op = SF_OP_EXISTS; /* !=, =~ and !~ are false for a missing attribute */
        if (e->op == SF_EXPR_MATCH && !is_mirrored && lit->literal.type == SF_TYPE_STRING)
            c.part = pattern_part(lit->literal.str, l->req);
    } else {
        return;
    }
    l->conds[l->n++] = c;
}

static void add_conjunction(struct list *l, const struct sf_expr *e)
{
    if (e->kind == SF_EXPR_ATTR && e->attr.scope != SF_SCOPE_INTRINSIC && l->n < MAX_CONDS)
        l->conds[l->n++] = (struct sf_cond){
            .scope = e->attr.scope, .op = SF_OP_EXISTS, .key = e->attr.name};
    if (e->kind != SF_EXPR_BINARY)
        return;
    if (e->op == SF_EXPR_AND) {
        add_conjunction(l, e->left);
        add_conjunction(l, e->right);
    } else if (e->op <= SF_EXPR_NO_MATCH) {
        add_comparison(l, e);
    }
}

/* How much a condition probably excludes; of equal ones the first is used. */
static int pushdown_weight(const struct sf_cond *c)
{
    if (c->op != SF_OP_EQ)
        return c->op == SF_OP_EXISTS ? 1 : 2;
    if (c->scope == SF_SCOPE_INTRINSIC)
        return sf_str_eq(c->key, SF_STR("name")) ? 6 : 3;
    return sf_str_eq(c->key, SF_STR("service.name")) ? 5 : 7;
}

static int pushdown_heaviest(const struct list *l)
{
    int most = 0;
    for (size_t i = 0; i < l->n; i++) {
        int w = pushdown_weight(&l->conds[i]);
        most = w > most ? w : most;
    }
    return most;
}

static struct sf_pushdown pushdown_keep(const struct list *l, bool is_all)
{
    struct sf_pushdown out = {.is_all = is_all};
    struct sf_cond *conds = l->n ? sf_arena_new_n(l->req, l->n, sizeof(*conds)) : NULL;
    if (!conds)
        return out;
    memcpy(conds, l->conds, l->n * sizeof(*conds));
    out.conds = conds;
    out.n = l->n;
    return out;
}

/* ---- spansets ---- */

static struct sf_pushdown pushdown_of_spanset(const struct sf_spanset *s, struct sf_arena *req);

static struct sf_pushdown pushdown_of_filter(const struct sf_expr *e, struct sf_arena *req)
{
    struct list l = {.req = req};
    struct sf_pushdown any = {0};
    if (!e)
        return any;
    if (e->kind == SF_EXPR_LITERAL) {
        any.is_never = !(e->literal.type == SF_TYPE_BOOL && e->literal.is_true);
        return any;
    }
    if (e->kind == SF_EXPR_BINARY && e->op == SF_EXPR_OR) {
        struct sf_pushdown sides[2] = {pushdown_of_filter(e->left, req),
                                       pushdown_of_filter(e->right, req)};
        for (int i = 0; i < 2; i++) {
            if (sides[i].is_never)
                return sides[1 - i];
            if (sides[i].n == 0)
                return any;
            /* Of an AND one part is enough; of an OR all are needed. */
            for (size_t k = 0; k < (sides[i].is_all ? 1 : sides[i].n) && l.n < MAX_CONDS; k++)
                l.conds[l.n++] = sides[i].conds[k];
        }
        return l.n < MAX_CONDS ? pushdown_keep(&l, false) : any;
    }
    add_conjunction(&l, e);
    return pushdown_keep(&l, true);
}

static int pushdown_value_of(const struct sf_pushdown *p)
{
    struct list l = {.n = p->n < MAX_CONDS ? p->n : MAX_CONDS};
    if (p->is_never)
        return 100;
    if (l.n)
        memcpy(l.conds, p->conds, l.n * sizeof(*l.conds));
    return p->n == 0 ? 0 : p->is_all ? pushdown_heaviest(&l) + 1 : 1;
}

static struct sf_pushdown either(struct sf_pushdown a, struct sf_pushdown b, struct sf_arena *req)
{
    struct list l = {.req = req};
    const struct sf_pushdown *sides[2] = {&a, &b};
    if (a.is_never)
        return b;
    if (b.is_never)
        return a;
    for (int i = 0; i < 2; i++) {
        const struct sf_pushdown *p = sides[i];
        if (p->n == 0 || l.n + (p->is_all ? 1 : p->n) > MAX_CONDS)
            return (struct sf_pushdown){0};
        for (size_t k = 0; k < (p->is_all ? 1 : p->n); k++)
            l.conds[l.n++] = p->conds[k];
    }
    return pushdown_keep(&l, false);
}

static struct sf_pushdown pushdown_of_spanset(const struct sf_spanset *s, struct sf_arena *req)
{
    struct sf_pushdown l, r;
    if (s->op == SF_SPANSET_FILTER)
        return pushdown_of_filter(s->filter, req);
    if (s->op == SF_SPANSET_PIPELINE)
        return sf_pushdown_make(s->pipeline, req);
    r = pushdown_of_spanset(s->right, req);
    if (s->form == SF_FORM_NOT)
        return r; /* the left side may be empty */
    l = pushdown_of_spanset(s->left, req);
    if (s->op == SF_SPANSET_OR)
        return either(l, r, req);
    return pushdown_value_of(&l) > pushdown_value_of(&r)
               ? l
               : r; /* both must exist: use the one that excludes more */
}

struct sf_pushdown sf_pushdown_make(const struct sf_pipeline *p, struct sf_arena *req)
{
    if (p->n_stages == 0 || p->stages[0].kind != SF_STAGE_SPANSET)
        return (struct sf_pushdown){0};
    return pushdown_of_spanset(p->stages[0].spanset, req);
}

/* ---- columns ---- */

uint32_t sf_pushdown_attr_columns(const struct sf_query_attr *a)
{
    switch (a->intrinsic) {
    case SF_INTRINSIC_NONE: break;
    case SF_INTRINSIC_STATUS_MESSAGE: return SF_COL_STATUS_MSG;
    case SF_INTRINSIC_EVENT_NAME:
    case SF_INTRINSIC_EVENT_TIME: return SF_COL_EVENTS;
    case SF_INTRINSIC_LINK_TRACE_ID:
    case SF_INTRINSIC_LINK_SPAN_ID: return SF_COL_LINKS;
    case SF_INTRINSIC_SCOPE_NAME:
    case SF_INTRINSIC_SCOPE_VERSION: return SF_COL_SCOPE;
    default: return 0; /* every search reads it anyway */
    }
    switch (a->scope) {
    case SF_SCOPE_ANY:
    case SF_SCOPE_SPAN: return SF_COL_ATTRS;
    case SF_SCOPE_EVENT: return SF_COL_EVENTS;
    case SF_SCOPE_LINK: return SF_COL_LINKS;
    case SF_SCOPE_INSTRUMENTATION: return SF_COL_SCOPE;
    default: return 0;
    }
}

uint32_t sf_pushdown_expr_columns(const struct sf_expr *e)
{
    if (!e)
        return 0;
    return (e->kind == SF_EXPR_ATTR ? sf_pushdown_attr_columns(&e->attr) : 0) |
           sf_pushdown_expr_columns(e->left) | sf_pushdown_expr_columns(e->right);
}

static uint32_t spanset_columns(const struct sf_spanset *s)
{
    if (!s)
        return 0;
    if (s->op == SF_SPANSET_PIPELINE)
        return sf_pushdown_columns(s->pipeline);
    return sf_pushdown_expr_columns(s->filter) | spanset_columns(s->left) |
           spanset_columns(s->right);
}

uint32_t sf_pushdown_columns(const struct sf_pipeline *p)
{
    /* Every answer needs tree, times, status, names and services. */
    uint32_t columns = SF_COL_PARENT | SF_COL_TIMES | SF_COL_KIND | SF_COL_NAME | SF_COL_RESOURCE;
    for (uint32_t i = 0; i < p->n_stages; i++) {
        const struct sf_stage *s = &p->stages[i];
        columns |= spanset_columns(s->spanset) | sf_pushdown_expr_columns(s->expr);
        for (uint32_t k = 0; k < s->n_attrs; k++)
            columns |= sf_pushdown_attr_columns(&s->attrs[k]);
    }
    return columns;
}
