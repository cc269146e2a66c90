#include "slow_traceql.h"

#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/value_list.h"

void *slow_new(struct sf_arena *req, size_t n, size_t size)
{
    void *p = sf_arena_new_n(req, n ? n : 1, size);
    if (!p)
        abort();
    return p;
}

/* ---- traces ---- */

static int compare_rows(const void *a, const void *b)
{
    const struct sf_span *x = &(*(const struct slow_row *const *)a)->span,
                         *y = &(*(const struct slow_row *const *)b)->span;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->span_id != y->span_id)
        return x->span_id < y->span_id ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static bool is_replaced_by(const struct sf_span *a, const struct sf_span *b)
{
    if (b->end_ns != a->end_ns)
        return b->end_ns > a->end_ns;
    return b->attrs.n > a->attrs.n;
}

static void add_row(struct slow_trace *t, const struct slow_row *row)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->spans[i]->span.span_id != row->span.span_id ||
            t->spans[i]->span.kind != row->span.kind)
            continue;
        if (is_replaced_by(&t->spans[i]->span, &row->span))
            t->spans[i] = row;
        return;
    }
    t->spans[t->n++] = row;
}

static const struct slow_row *parent_of(const struct slow_trace *t, const struct slow_row *child)
{
    const struct slow_row *found = NULL;
    uint8_t wanted = child->span.kind == SF_KIND_SERVER ? SF_KIND_CLIENT : SF_KIND_SERVER;
    if (child->span.parent_id == 0)
        return NULL;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct slow_row *one = t->spans[i];
        if (one == child || one->span.span_id != child->span.parent_id)
            continue;
        if (!found || one->span.kind == wanted)
            found = one;
    }
    return found;
}

static int64_t number_from(struct slow_trace *t, uint32_t at, int64_t up, int64_t counter)
{
    t->up[at] = up;
    t->left[at] = ++counter;
    for (uint32_t i = 0; i < t->n; i++) {
        if (parent_of(t, t->spans[i]) == t->spans[at])
            counter = number_from(t, i, t->left[at], counter);
    }
    t->right[at] = ++counter;
    return counter;
}

static bool has_three_of_one_id(const struct slow_trace *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < t->n; k++)
            n += t->spans[k]->span.span_id == t->spans[i]->span.span_id;
        if (n > 2)
            return true;
    }
    return false;
}

static void finish_trace(struct slow_trace *t, struct sf_arena *req)
{
    int64_t counter = 0;
    qsort(t->spans, t->n, sizeof(t->spans[0]), compare_rows);
    t->left = slow_new(req, t->n, sizeof(int64_t));
    t->right = slow_new(req, t->n, sizeof(int64_t));
    t->up = slow_new(req, t->n, sizeof(int64_t));
    t->n_children = slow_new(req, t->n, sizeof(int64_t));
    t->start_ns = UINT64_MAX;
    for (uint32_t i = 0; i < t->n; i++) {
        const struct sf_span *s = &t->spans[i]->span;
        uint64_t end_ns = s->end_ns > s->start_ns ? s->end_ns : s->start_ns;
        t->start_ns = s->start_ns < t->start_ns ? s->start_ns : t->start_ns;
        t->end_ns = end_ns > t->end_ns ? end_ns : t->end_ns;
        if (!t->root && s->parent_id == 0)
            t->root = t->spans[i];
        for (uint32_t k = 0; k < t->n; k++)
            t->n_children[i] += parent_of(t, t->spans[k]) == t->spans[i];
    }
    for (uint32_t i = 0; i < t->n && !has_three_of_one_id(t); i++) {
        if (t->spans[i]->span.parent_id == 0)
            counter = number_from(t, i, -1, counter);
    }
}

static int compare_traces(const void *a, const void *b)
{
    const struct slow_trace *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns > y->start_ns ? -1 : 1;
    return sf_trace_id_cmp(x->id, y->id);
}

struct slow_traces slow_traces_make(const struct slow_row *rows, uint32_t n, struct sf_arena *req)
{
    struct slow_traces all = {.list = slow_new(req, n, sizeof(*all.list))};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = 0;
        while (at < all.n && !sf_trace_id_eq(all.list[at].id, rows[i].span.trace_id))
            at++;
        if (at == all.n) {
            uint32_t n_spans = 0;
            for (uint32_t k = i; k < n; k++)
                n_spans += sf_trace_id_eq(rows[k].span.trace_id, rows[i].span.trace_id);
            all.list[all.n++] = (struct slow_trace){
                .id = rows[i].span.trace_id,
                .spans = slow_new(req, n_spans, sizeof(struct slow_row *))};
        }
        add_row(&all.list[at], &rows[i]);
    }
    for (uint32_t i = 0; i < all.n; i++)
        finish_trace(&all.list[i], req);
    qsort(all.list, all.n, sizeof(*all.list), compare_traces);
    return all;
}

/* ---- values ---- */

static struct sf_static nil(void)
{
    return (struct sf_static){.type = SF_TYPE_NIL};
}

static struct sf_static truth(bool is_true)
{
    return (struct sf_static){SF_TYPE_BOOL, {.is_true = is_true}};
}

static struct sf_static number(enum sf_static_type type, int64_t i64)
{
    return (struct sf_static){type, {.i64 = i64}};
}

static struct sf_static text(sf_str str)
{
    return (struct sf_static){SF_TYPE_STRING, {.str = str}};
}

static struct sf_static scalar(struct sf_value v)
{
    switch (v.type) {
    case SF_VALUE_STR: return text(v.str);
    case SF_VALUE_BOOL: return truth(v.is_true);
    case SF_VALUE_INT: return number(SF_TYPE_INT, v.i64);
    case SF_VALUE_DOUBLE: return (struct sf_static){SF_TYPE_FLOAT, {.f64 = v.f64}};
    default: return nil();
    }
}

/* An array of one scalar type can be seen; everything else but scalars is as if missing. */
static bool read_item(struct sf_value v, struct slow_item *out, struct sf_arena *req)
{
    struct sf_value_list list = sf_value_list_init(v), again = list;
    struct sf_attr element;
    *out = (struct slow_item){.one = scalar(v)};
    if (out->one.type != SF_TYPE_NIL)
        return true;
    if (v.type != SF_VALUE_ARRAY)
        return false;
    while (sf_value_list_next(&again, &element))
        out->n++;
    out->is_array = true;
    out->elements = slow_new(req, out->n, sizeof(*out->elements));
    for (uint32_t i = 0; sf_value_list_next(&list, &element); i++) {
        out->elements[i] = scalar(element.val);
        if (out->elements[i].type == SF_TYPE_NIL || out->elements[i].type != out->elements[0].type)
            return false;
    }
    return true;
}

static struct sf_value last_of(struct sf_attrs attrs, sf_str key)
{
    struct sf_value found = {0};
    for (uint32_t i = 0; i < attrs.n; i++) {
        if (sf_str_eq(attrs.list[i].key, key))
            found = attrs.list[i].val;
    }
    return found;
}

static void add_value(struct slow_items *items, struct sf_value v, struct sf_arena *req)
{
    if (read_item(v, &items->list[items->n], req))
        items->n++;
}

static void add_static(struct slow_items *items, struct sf_static v)
{
    if (v.type != SF_TYPE_NIL)
        items->list[items->n++] = (struct slow_item){.one = v};
}

static void add_resource_value(struct slow_items *items, const struct slow_row *row, sf_str name,
                               struct sf_arena *req)
{
    add_value(items, last_of(row->resource->attrs, name), req);
    if (items->n == 0 && sf_str_eq(name, SF_STR("service.name")))
        add_static(items, text(row->resource->service)); /* every span has a service */
}

static struct sf_static hex(const uint8_t *bytes, size_t len, bool has_zeros, struct sf_arena *req)
{
    char *p = slow_new(req, 2 * len + 1, 1);
    for (size_t i = 0; i < len; i++)
        snprintf(p + 2 * i, 3, "%02x", bytes[i]);
    while (!has_zeros && p[0] == '0' && p[1])
        p++;
    return text(sf_str_from(p));
}

static struct sf_static span_hex(sf_span_id id, struct sf_arena *req)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(id >> (56 - 8 * i));
    return hex(bytes, 8, true, req);
}

static int64_t ns_between(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (int64_t)(to_ns - from_ns) : 0;
}

static struct sf_static intrinsic(enum sf_intrinsic which, const struct slow_trace *t, uint32_t at,
                                  struct sf_arena *req)
{
    const struct slow_row *row = t->spans[at];
    const struct sf_span *s = &row->span;
    switch (which) {
    case SF_INTRINSIC_NAME: return text(s->name);
    case SF_INTRINSIC_DURATION: return number(SF_TYPE_DURATION, ns_between(s->start_ns, s->end_ns));
    case SF_INTRINSIC_STATUS: return number(SF_TYPE_STATUS, s->status);
    case SF_INTRINSIC_STATUS_MESSAGE: return text(s->status_msg);
    case SF_INTRINSIC_KIND: return number(SF_TYPE_KIND, s->kind);
    case SF_INTRINSIC_SPAN_ID: return span_hex(s->span_id, req);
    case SF_INTRINSIC_PARENT_ID: return s->parent_id ? span_hex(s->parent_id, req) : nil();
    case SF_INTRINSIC_CHILD_COUNT: return number(SF_TYPE_INT, t->n_children[at]);
    case SF_INTRINSIC_TRACE_DURATION:
        return number(SF_TYPE_DURATION, ns_between(t->start_ns, t->end_ns));
    case SF_INTRINSIC_ROOT_NAME: return text(t->root ? t->root->span.name : SF_STR(""));
    case SF_INTRINSIC_ROOT_SERVICE: return text(t->root ? t->root->resource->service : SF_STR(""));
    case SF_INTRINSIC_TRACE_ID: return hex(t->id.b, 16, false, req);
    case SF_INTRINSIC_SCOPE_NAME: return text(row->scope->name);
    case SF_INTRINSIC_SCOPE_VERSION: return text(row->scope->version);
    case SF_INTRINSIC_NESTED_LEFT: return number(SF_TYPE_INT, t->left[at]);
    case SF_INTRINSIC_NESTED_RIGHT: return number(SF_TYPE_INT, t->right[at]);
    case SF_INTRINSIC_NESTED_PARENT: return number(SF_TYPE_INT, t->up[at]);
    default: return nil();
    }
}

static void add_event_values(struct slow_items *items, const struct sf_query_attr *a,
                             const struct sf_span *s, struct sf_arena *req)
{
    for (uint32_t i = 0; i < s->n_events; i++) {
        const struct sf_event *e = &s->events[i];
        if (a->intrinsic == SF_INTRINSIC_EVENT_NAME)
            add_static(items, text(e->name));
        else if (a->intrinsic == SF_INTRINSIC_EVENT_TIME)
            add_static(items, number(SF_TYPE_DURATION, (int64_t)(e->time_ns - s->start_ns)));
        else
            add_value(items, last_of(e->attrs, a->name), req);
    }
}

static void add_link_values(struct slow_items *items, const struct sf_query_attr *a,
                            const struct sf_span *s, struct sf_arena *req)
{
    for (uint32_t i = 0; i < s->n_links; i++) {
        const struct sf_link *l = &s->links[i];
        if (a->intrinsic == SF_INTRINSIC_LINK_TRACE_ID)
            add_static(items, hex(l->trace_id.b, 16, false, req));
        else if (a->intrinsic == SF_INTRINSIC_LINK_SPAN_ID)
            add_static(items, span_hex(l->span_id, req));
        else
            add_value(items, last_of(l->attrs, a->name), req);
    }
}

struct slow_items slow_values(const struct sf_query_attr *a, const struct slow_trace *t,
                              uint32_t span, struct sf_arena *req)
{
    const struct slow_row *row = t->spans[span];
    struct slow_items items = {
        .list = slow_new(req, row->span.n_events + row->span.n_links + 2, sizeof(*items.list))};
    switch (a->intrinsic) {
    case SF_INTRINSIC_NONE: break;
    case SF_INTRINSIC_EVENT_NAME:
    case SF_INTRINSIC_EVENT_TIME: add_event_values(&items, a, &row->span, req); return items;
    case SF_INTRINSIC_LINK_TRACE_ID:
    case SF_INTRINSIC_LINK_SPAN_ID: add_link_values(&items, a, &row->span, req); return items;
    default: add_static(&items, intrinsic(a->intrinsic, t, span, req)); return items;
    }
    switch (a->scope) {
    case SF_SCOPE_EVENT: add_event_values(&items, a, &row->span, req); break;
    case SF_SCOPE_LINK: add_link_values(&items, a, &row->span, req); break;
    case SF_SCOPE_SPAN: add_value(&items, last_of(row->span.attrs, a->name), req); break;
    case SF_SCOPE_RESOURCE: add_resource_value(&items, row, a->name, req); break;
    case SF_SCOPE_INSTRUMENTATION:
        add_value(&items, last_of(row->scope->attrs, a->name), req);
        break;
    default:
        add_value(&items, last_of(row->span.attrs, a->name), req);
        if (items.n == 0)
            add_resource_value(&items, row, a->name, req);
    }
    return items;
}

static struct sf_static first_scalar(struct slow_items items)
{
    for (uint32_t i = 0; i < items.n; i++) {
        if (!items.list[i].is_array)
            return items.list[i].one;
    }
    return nil();
}

struct sf_static slow_value(const struct sf_query_attr *a, const struct slow_trace *t,
                            uint32_t span, struct sf_arena *req)
{
    return first_scalar(slow_values(a, t, span, req));
}

/* ---- expressions ---- */

static bool is_number(struct sf_static v)
{
    return v.type == SF_TYPE_INT || v.type == SF_TYPE_FLOAT || v.type == SF_TYPE_DURATION;
}

static double as_double(struct sf_static v)
{
    return v.type == SF_TYPE_FLOAT ? v.f64 : (double)v.i64;
}

static bool by_order(enum sf_expr_op op, bool is_less, bool is_equal, bool is_more)
{
    switch (op) {
    case SF_EXPR_EQ: return is_equal;
    case SF_EXPR_NE: return !is_equal;
    case SF_EXPR_LT: return is_less;
    case SF_EXPR_LE: return is_less || is_equal;
    case SF_EXPR_GT: return is_more;
    case SF_EXPR_GE: return is_more || is_equal;
    default: return false;
    }
}

bool slow_compare(enum sf_expr_op op, struct sf_static a, struct sf_static b)
{
    if (is_number(a) && is_number(b)) {
        double x = as_double(a), y = as_double(b);
        if (a.type == SF_TYPE_FLOAT || b.type == SF_TYPE_FLOAT)
            return by_order(op, x<y, x == y, x> y);
        return by_order(op, a.i64<b.i64, a.i64 == b.i64, a.i64> b.i64);
    }
    if (a.type != b.type)
        return false;
    if (a.type == SF_TYPE_STRING) {
        size_t len = a.str.len < b.str.len ? a.str.len : b.str.len;
        int c = len ? memcmp(a.str.p, b.str.p, len) : 0;
        if (c == 0)
            c = (a.str.len > b.str.len) - (a.str.len < b.str.len);
        return by_order(op, c<0, c == 0, c> 0);
    }
    if (op != SF_EXPR_EQ && op != SF_EXPR_NE)
        return false;
    if (a.type == SF_TYPE_BOOL)
        return (a.is_true == b.is_true) == (op == SF_EXPR_EQ);
    if (a.type == SF_TYPE_STATUS || a.type == SF_TYPE_KIND)
        return (a.i64 == b.i64) == (op == SF_EXPR_EQ);
    return false;
}

/* The C library's expressions: another engine than the one that is judged. */
static bool matches(sf_str pattern, sf_str str)
{
    char whole[600], subject[4096];
    bool is_caseless = sf_str_starts(pattern, SF_STR("(?i)"));
    regex_t re;
    bool is_match;
    if (is_caseless)
        pattern = sf_str_from_at(pattern, 4);
    snprintf(whole, sizeof(whole), "^(%.*s)$", SF_STR_ARG(pattern));
    snprintf(subject, sizeof(subject), "%.*s", SF_STR_ARG(str));
    if (regcomp(&re, whole, REG_EXTENDED | REG_NOSUB | (is_caseless ? REG_ICASE : 0))) {
        fprintf(stderr, "# %s is no pattern for the C library\n", whole);
        abort();
    }
    is_match = regexec(&re, subject, 0, NULL, 0) == 0;
    regfree(&re);
    return is_match;
}

static bool one_holds(enum sf_expr_op op, struct sf_static a, struct sf_static b)
{
    if (op != SF_EXPR_MATCH && op != SF_EXPR_NO_MATCH)
        return slow_compare(op, a, b);
    return a.type == SF_TYPE_STRING && b.type == SF_TYPE_STRING &&
           matches(b.str, a.str) == (op == SF_EXPR_MATCH);
}

/* Of an array some element must satisfy; for the negative operators all of them. */
static bool pair_holds(enum sf_expr_op op, struct slow_item a, struct slow_item b)
{
    bool wants_all = op == SF_EXPR_NE || op == SF_EXPR_NO_MATCH;
    uint32_t n_holding = 0, n = a.is_array ? a.n : b.n;
    if (!a.is_array && !b.is_array)
        return one_holds(op, a.one, b.one);
    if (a.is_array && b.is_array)
        return false;
    for (uint32_t i = 0; i < n; i++)
        n_holding += one_holds(op, a.is_array ? a.elements[i] : a.one,
                               b.is_array ? b.elements[i] : b.one);
    return wants_all ? n_holding == n : n_holding > 0;
}

static struct sf_static evaluate(const struct sf_expr *x, const struct slow_trace *t, uint32_t span,
                                 struct sf_arena *req);

static struct slow_items items_of(const struct sf_expr *x, const struct slow_trace *t,
                                  uint32_t span, struct sf_arena *req)
{
    struct slow_items items;
    if (x->kind == SF_EXPR_ATTR)
        return slow_values(&x->attr, t, span, req);
    items = (struct slow_items){.list = slow_new(req, 1, sizeof(*items.list))};
    add_static(&items, evaluate(x, t, span, req));
    return items;
}

static bool is_trace_id(const struct sf_expr *x)
{
    return x->kind == SF_EXPR_ATTR && (x->attr.intrinsic == SF_INTRINSIC_TRACE_ID ||
                                       x->attr.intrinsic == SF_INTRINSIC_LINK_TRACE_ID);
}

static void strip_zeros(struct slow_items items)
{
    for (uint32_t i = 0; i < items.n; i++) {
        struct slow_item *item = &items.list[i];
        for (uint32_t k = 0; k < (item->is_array ? item->n : 1); k++) {
            struct sf_static *v = item->is_array ? &item->elements[k] : &item->one;
            while (v->type == SF_TYPE_STRING && v->str.len > 1 && v->str.p[0] == '0')
                v->str = sf_str_from_at(v->str, 1);
        }
    }
}

static bool is_nil_literal(const struct sf_expr *x)
{
    return x->kind == SF_EXPR_LITERAL && x->literal.type == SF_TYPE_NIL;
}

/* Some fields every span has, whatever they hold: the parser refuses = nil on them. */
static bool is_always_there(const struct sf_expr *x)
{
    if (x->kind != SF_EXPR_ATTR)
        return false;
    switch (x->attr.intrinsic) {
    case SF_INTRINSIC_NONE:
        return x->attr.scope == SF_SCOPE_RESOURCE &&
               sf_str_eq(x->attr.name, SF_STR("service.name"));
    case SF_INTRINSIC_EVENT_NAME:
    case SF_INTRINSIC_EVENT_TIME:
    case SF_INTRINSIC_LINK_TRACE_ID:
    case SF_INTRINSIC_LINK_SPAN_ID: return false;
    default: return !sf_intrinsic_is_profile(x->attr.intrinsic);
    }
}

static bool comparison(const struct sf_expr *x, const struct slow_trace *t, uint32_t span,
                       struct sf_arena *req)
{
    struct slow_items l = items_of(x->left, t, span, req), r = items_of(x->right, t, span, req);
    if (is_nil_literal(x->left) || is_nil_literal(x->right))
        return (l.n + r.n > 0 || is_always_there(x->left) || is_always_there(x->right)) ==
               (x->op == SF_EXPR_NE);
    if (x->op <= SF_EXPR_GE && (is_trace_id(x->left) || is_trace_id(x->right))) {
        strip_zeros(l);
        strip_zeros(r);
    }
    for (uint32_t i = 0; i < l.n; i++) {
        for (uint32_t k = 0; k < r.n; k++) {
            if (pair_holds(x->op, l.list[i], r.list[k]))
                return true;
        }
    }
    return false;
}

static struct sf_static ints(enum sf_expr_op op, int64_t a, int64_t b)
{
    __int128 wide = 0;
    switch (op) {
    case SF_EXPR_ADD: wide = (__int128)a + b; break;
    case SF_EXPR_SUB: wide = (__int128)a - b; break;
    case SF_EXPR_MUL: wide = (__int128)a * b; break;
    case SF_EXPR_DIV:
        if (b == 0)
            return nil();
        wide = (__int128)a / b;
        break;
    default:
        if (b == 0)
            return nil();
        wide = (__int128)a % b;
    }
    return number(SF_TYPE_INT, (int64_t)(uint64_t)wide);
}

static struct sf_static arithmetic(enum sf_expr_op op, struct sf_static a, struct sf_static b)
{
    struct sf_static out = {.type = SF_TYPE_FLOAT};
    if (!is_number(a) || !is_number(b))
        return nil();
    if (a.type == SF_TYPE_INT && b.type == SF_TYPE_INT && op != SF_EXPR_POW)
        return ints(op, a.i64, b.i64);
    switch (op) {
    case SF_EXPR_ADD: out.f64 = as_double(a) + as_double(b); break;
    case SF_EXPR_SUB: out.f64 = as_double(a) - as_double(b); break;
    case SF_EXPR_MUL: out.f64 = as_double(a) * as_double(b); break;
    case SF_EXPR_DIV: out.f64 = as_double(a) / as_double(b); break;
    case SF_EXPR_MOD: out.f64 = fmod(as_double(a), as_double(b)); break;
    default: out.f64 = pow(as_double(a), as_double(b)); break;
    }
    return out;
}

/* As a condition: 1 true, 0 false, -1 not a boolean. One value of many that is true is enough. */
static int condition(const struct sf_expr *x, const struct slow_trace *t, uint32_t span,
                     struct sf_arena *req)
{
    struct slow_items items = items_of(x, t, span, req);
    int found = -1;
    for (uint32_t i = 0; i < items.n; i++) {
        struct slow_item *item = &items.list[i];
        if (!item->is_array && item->one.type == SF_TYPE_BOOL && found < item->one.is_true)
            found = item->one.is_true;
    }
    return found;
}

static struct sf_static evaluate(const struct sf_expr *x, const struct slow_trace *t, uint32_t span,
                                 struct sf_arena *req)
{
    struct sf_static v;
    switch (x->kind) {
    case SF_EXPR_LITERAL: return x->literal;
    case SF_EXPR_ATTR: return slow_value(&x->attr, t, span, req);
    case SF_EXPR_UNARY:
        if (x->op == SF_EXPR_NOT)
            return truth(condition(x->left, t, span, req) == 0);
        v = evaluate(x->left, t, span, req);
        if (v.type == SF_TYPE_FLOAT)
            v.f64 = -v.f64;
        else if (is_number(v))
            v.i64 = (int64_t)(0 - (uint64_t)v.i64);
        else
            return nil();
        return v;
    case SF_EXPR_BINARY: break;
    }
    if (x->op == SF_EXPR_AND)
        return truth(condition(x->left, t, span, req) == 1 &&
                     condition(x->right, t, span, req) == 1);
    if (x->op == SF_EXPR_OR)
        return truth(condition(x->left, t, span, req) == 1 ||
                     condition(x->right, t, span, req) == 1);
    if (x->op <= SF_EXPR_NO_MATCH)
        return truth(comparison(x, t, span, req));
    return arithmetic(x->op, evaluate(x->left, t, span, req), evaluate(x->right, t, span, req));
}

struct sf_static slow_expr(const struct sf_expr *x, const struct slow_trace *t, uint32_t span,
                           struct sf_arena *req)
{
    return evaluate(x, t, span, req);
}

bool slow_is_true(const struct sf_expr *x, const struct slow_trace *t, uint32_t span,
                  struct sf_arena *req)
{
    return condition(x, t, span, req) == 1;
}

bool slow_static_eq(struct sf_static a, struct sf_static b)
{
    if (a.type != b.type)
        return false;
    switch (a.type) {
    case SF_TYPE_NIL: return true;
    case SF_TYPE_STRING: return sf_str_eq(a.str, b.str);
    case SF_TYPE_BOOL: return a.is_true == b.is_true;
    default: return a.i64 == b.i64;
    }
}
