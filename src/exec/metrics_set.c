/* metrics_set.c - finished metric series: adds and sorts them, drops empty ones; second stages
 * (topk, bottomk, comparison with a number) and arithmetic between two sets, which pairs series
 * with equal labels by a sorted key. */
#include "exec/metrics_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "exec/static_value.h"
#include "query/expr_text.h"

static const sf_str name_key = {"__name__", 8};

/* ---- series ---- */

static bool copy_attr(struct sf_arena *req, const struct sf_attr *a, struct sf_attr *out)
{
    *out = *a;
    return sf_arena_copy(req, a->key, &out->key) &&
           (a->val.type != SF_VALUE_STR || sf_arena_copy(req, a->val.str, &out->val.str));
}

struct sf_metric_series *sf_metrics_set_add(struct sf_metrics_set *set, struct sf_attrs labels,
                                            struct sf_attr more)
{
    size_t mark = set->req->at;
    struct sf_attr *list = sf_arena_new_n(set->req, labels.n + 1, sizeof(*list));
    double *values = sf_arena_new_n(set->req, set->n_steps, sizeof(*values));
    uint32_t n = 0;
    bool has_room = list && values;
    for (; has_room && n < labels.n; n++)
        has_room = copy_attr(set->req, &labels.list[n], &list[n]);
    if (has_room && more.key.len)
        has_room = copy_attr(set->req, &more, &list[n++]);
    if (!has_room || !sf_list_room_in(set->req, &set->list, set->n, &set->cap, 64)) {
        set->req->at = mark;
        set->is_cut = true;
        return NULL;
    }
    for (uint32_t i = 0; i < set->n_steps; i++)
        values[i] = NAN;
    set->list[set->n] = (struct sf_metric_series){.labels = {list, n}, .values = values};
    return &set->list[set->n++];
}

static bool has_sample(const struct sf_metric_series *s, uint32_t n_steps)
{
    for (uint32_t i = 0; i < n_steps; i++) {
        if (!isnan(s->values[i]))
            return true;
    }
    return false;
}

void sf_metrics_set_drop_empty(struct sf_metrics_set *set)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        if (has_sample(&set->list[i], set->n_steps))
            set->list[n++] = set->list[i];
    }
    set->n = n;
}

/* NaN, which an attribute may be, is sorted after all numbers. */
static int metrics_set_compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (isnan(a) ? 1 : 0) - (isnan(b) ? 1 : 0);
    return (a > b) - (a < b);
}

static int compare_values(const struct sf_value *a, const struct sf_value *b)
{
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    switch (a->type) {
    case SF_VALUE_INT: return (a->i64 > b->i64) - (a->i64 < b->i64);
    case SF_VALUE_DOUBLE: return metrics_set_compare_numbers(a->f64, b->f64);
    case SF_VALUE_BOOL: return (int)a->is_true - (int)b->is_true;
    default: return sf_str_cmp(a->str, b->str);
    }
}

int sf_metrics_set_labels_compare(struct sf_attrs x, struct sf_attrs y)
{
    if (x.n != y.n)
        return x.n < y.n ? -1 : 1;
    for (uint32_t i = 0; i < x.n; i++) {
        int c = sf_str_cmp(x.list[i].key, y.list[i].key);
        if (c == 0)
            c = compare_values(&x.list[i].val, &y.list[i].val);
        if (c)
            return c;
    }
    return 0;
}

static int compare_series(const void *a, const void *b)
{
    const struct sf_metric_series *x = a, *y = b;
    return sf_metrics_set_labels_compare(x->labels, y->labels);
}

void sf_metrics_set_sort(struct sf_metrics_set *set)
{
    if (set->n)
        qsort(set->list, set->n, sizeof(*set->list), compare_series);
}

/* ---- second stages ---- */

struct ranked {
    double value;
    uint32_t series; /* sorted by label: topk keeps the first of equal ones, bottomk the last */
};

static int compare_up(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    int c = metrics_set_compare_numbers(x->value, y->value);
    return c ? c : (y->series > x->series) - (y->series < x->series);
}

static int compare_down(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    int c = metrics_set_compare_numbers(y->value, x->value);
    return c ? c : (x->series > y->series) - (x->series < y->series);
}

static enum sf_err keep_k(struct sf_metrics_set *set, const struct sf_second *s, struct sf_why *why)
{
    struct ranked *list = sf_heap_new_n(set->n ? set->n : 1, sizeof(*list));
    if (!list)
        return sf_no_memory(why, "the query");
    sf_metrics_set_sort(set);
    for (uint32_t step = 0; step < set->n_steps; step++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < set->n; i++) {
            if (!isnan(set->list[i].values[step]))
                list[n++] = (struct ranked){set->list[i].values[step], i};
        }
        if (n <= s->k)
            continue;
        qsort(list, n, sizeof(*list), s->kind == SF_SECOND_TOPK ? compare_down : compare_up);
        for (uint32_t i = s->k; i < n; i++)
            set->list[list[i].series].values[step] = NAN;
    }
    sf_heap_free(list);
    return SF_OK;
}

static bool metrics_set_holds(enum sf_expr_op cmp, double a, double b)
{
    switch (cmp) {
    case SF_EXPR_EQ: return a == b;
    case SF_EXPR_NE: return a != b;
    case SF_EXPR_LT: return a < b;
    case SF_EXPR_LE: return a <= b;
    case SF_EXPR_GT: return a > b;
    default: return a >= b;
    }
}

enum sf_err sf_metrics_set_second(struct sf_metrics_set *set, const struct sf_second *s,
                                  struct sf_why *why)
{
    enum sf_err err = SF_OK;
    if (s->kind == SF_SECOND_CMP) {
        for (uint32_t i = 0; i < set->n; i++) {
            double *values = set->list[i].values;
            for (uint32_t step = 0; step < set->n_steps; step++) {
                if (!metrics_set_holds(s->cmp, values[step], s->value))
                    values[step] = NAN;
            }
        }
    } else {
        err = keep_k(set, s, why);
    }
    if (!err)
        sf_metrics_set_drop_empty(set);
    return err;
}

/* ---- arithmetic ---- */

static double metrics_set_apply(enum sf_expr_op op, double a, double b)
{
    switch (op) {
    case SF_EXPR_ADD: return a + b;
    case SF_EXPR_SUB: return a - b;
    case SF_EXPR_MUL: return a * b;
    default: return b == 0 ? NAN : a / b;
    }
}

static struct sf_attrs without_name(struct sf_arena *req, struct sf_attrs labels)
{
    struct sf_attr *list = sf_arena_new_n(req, labels.n + 1, sizeof(*list));
    uint32_t n = 0;
    for (uint32_t i = 0; list && i < labels.n; i++) {
        if (!sf_str_eq(labels.list[i].key, name_key))
            list[n++] = labels.list[i];
    }
    return (struct sf_attrs){list, n};
}

/* Writes all labels except the name, sorted, as bytes: equal sets have equal keys. */
static void metrics_set_add_key(struct sf_buf *out, struct sf_attrs labels)
{
    bool is_done[16] = {0};
    for (uint32_t round = 0; round < labels.n && round < 16; round++) {
        uint32_t best = labels.n;
        for (uint32_t i = 0; i < labels.n && i < 16; i++) {
            if (!is_done[i] &&
                (best == labels.n || sf_str_cmp(labels.list[i].key, labels.list[best].key) < 0))
                best = i;
        }
        is_done[best] = true;
        const struct sf_attr *a = &labels.list[best];
        if (sf_str_eq(a->key, name_key))
            continue;
        sf_buf_add_u32le(out, (uint32_t)a->key.len);
        sf_buf_add_str(out, a->key);
        sf_buf_add_u8(out, (uint8_t)a->val.type);
        if (a->val.type == SF_VALUE_STR) {
            sf_buf_add_u32le(out, (uint32_t)a->val.str.len);
            sf_buf_add_str(out, a->val.str);
        } else if (a->val.type == SF_VALUE_BOOL) {
            sf_buf_add_u8(out, a->val.is_true);
        } else {
            sf_buf_add_u64le(out, (uint64_t)a->val.i64);
        }
    }
}

struct keyed {
    sf_str key;
    struct sf_metric_series *series;
};

static int compare_keyed(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;
    return sf_str_cmp(x->key, y->key);
}

static bool make_keys(struct sf_metrics_set *set, struct keyed **out)
{
    struct keyed *list = sf_arena_new_n(set->req, set->n ? set->n : 1, sizeof(*list));
    struct sf_buf key = {0};
    bool has_room = list != NULL;
    for (uint32_t i = 0; has_room && i < set->n; i++) {
        sf_buf_reset(&key);
        metrics_set_add_key(&key, set->list[i].labels);
        list[i].series = &set->list[i];
        has_room = sf_buf_ok(&key) && sf_arena_copy(set->req, sf_buf_str(&key), &list[i].key);
    }
    sf_buf_done(&key);
    if (!has_room)
        return false;
    if (set->n)
        qsort(list, set->n, sizeof(*list), compare_keyed);
    *out = list;
    return true;
}

static bool name_pair(struct sf_arena *req, enum sf_expr_op op, const struct sf_metric_series *l,
                      const struct sf_metric_series *r, struct sf_metric_series *out)
{
    sf_str a = sf_attrs_str(l->labels, name_key), b = sf_attrs_str(r->labels, name_key), text;
    struct sf_attr *list;
    out->labels = without_name(req, out->labels);
    if (!out->labels.list)
        return false;
    if (!a.len || !b.len)
        return true;
    if (!sf_arena_print(req, &text, "(%.*s %s %.*s)", SF_STR_ARG(a), sf_expr_text_op(op),
                        SF_STR_ARG(b)))
        return false;
    list = sf_arena_new_n(req, out->labels.n + 1, sizeof(*list));
    if (!list)
        return false;
    list[0] = (struct sf_attr){name_key, {.type = SF_VALUE_STR, .str = text}};
    memcpy(list + 1, out->labels.list, out->labels.n * sizeof(*list));
    out->labels = (struct sf_attrs){list, out->labels.n + 1};
    return true;
}

static void forget_values(struct sf_metric_series *s)
{
    for (uint32_t i = 0; i < s->n_exemplars; i++)
        s->exemplars[i].value = NAN; /* the result is not a property of the span */
}

/* Combines two series, with the labels and exemplars of `whole`, which is one of them. */
static bool pair(enum sf_expr_op op, const struct sf_metric_series *l,
                 const struct sf_metric_series *r, const struct sf_metric_series *whole,
                 struct sf_metrics_set *out)
{
    struct sf_metric_series *s = sf_metrics_set_add(out, whole->labels, (struct sf_attr){0});
    if (!s || !name_pair(out->req, op, l, r, s))
        return false;
    for (uint32_t i = 0; i < out->n_steps; i++)
        s->values[i] = metrics_set_apply(op, l->values[i], r->values[i]);
    s->exemplars = whole->exemplars;
    s->n_exemplars = whole->n_exemplars;
    forget_values(s);
    return true;
}

/* If one side is a single series without labels, it is combined with every series of the other. */
static bool combine_lone(enum sf_expr_op op, struct sf_metrics_set *l, struct sf_metrics_set *r,
                         bool is_left, struct sf_metrics_set *out)
{
    struct sf_metrics_set *many = is_left ? r : l;
    for (uint32_t i = 0; i < many->n; i++) {
        const struct sf_metric_series *s = &many->list[i];
        if (!pair(op, is_left ? l->list : s, is_left ? s : r->list, s, out))
            return false;
    }
    return true;
}

static bool is_lone(const struct sf_metrics_set *s)
{
    return s->n == 1 &&
           (s->list[0].labels.n == 0 ||
            (s->list[0].labels.n == 1 && sf_str_eq(s->list[0].labels.list[0].key, name_key)));
}

static bool combine_pairs(enum sf_expr_op op, struct sf_metrics_set *l, struct sf_metrics_set *r,
                          struct sf_metrics_set *out)
{
    struct keyed *left, *right;
    uint32_t i = 0, k = 0;
    if (!make_keys(l, &left) || !make_keys(r, &right))
        return false;
    while (i < l->n && k < r->n) {
        int c = sf_str_cmp(left[i].key, right[k].key);
        if (c == 0 && !pair(op, left[i].series, right[k].series, left[i].series, out))
            return false;
        i += c <= 0;
        k += c >= 0;
    }
    return true;
}

static double with_number(enum sf_expr_op op, const struct sf_metrics_set *l,
                          const struct sf_metrics_set *r, double value)
{
    return l->is_number ? metrics_set_apply(op, l->number, value)
                        : metrics_set_apply(op, value, r->number);
}

/* Applies a number to every sample of every series; labels and name are unchanged. */
static void combine_number(enum sf_expr_op op, struct sf_metrics_set *l, struct sf_metrics_set *r,
                           struct sf_metrics_set *out)
{
    struct sf_metrics_set *set = l->is_number ? r : l;
    for (uint32_t i = 0; i < set->n; i++) {
        struct sf_metric_series *s = &set->list[i];
        for (uint32_t k = 0; k < set->n_steps; k++)
            s->values[k] = with_number(op, l, r, s->values[k]);
        for (uint32_t k = 0; k < s->n_exemplars; k++)
            s->exemplars[k].value = with_number(op, l, r, s->exemplars[k].value);
    }
    out->list = set->list;
    out->n = set->n;
    out->cap = set->cap;
}

enum sf_err sf_metrics_set_combine(enum sf_expr_op op, struct sf_metrics_set *l,
                                   struct sf_metrics_set *r, struct sf_metrics_set *out,
                                   struct sf_why *why)
{
    bool has_room = true;
    *out = (struct sf_metrics_set){
        .req = l->req, .n_steps = l->n_steps, .is_cut = l->is_cut || r->is_cut};
    if (l->is_number && r->is_number) {
        out->is_number = true;
        out->number = metrics_set_apply(op, l->number, r->number);
        return SF_OK;
    }
    if (l->is_number || r->is_number) {
        combine_number(op, l, r, out);
    } else if (is_lone(l) != is_lone(r)) {
        has_room = combine_lone(op, l, r, is_lone(l), out);
    } else {
        has_room = combine_pairs(op, l, r, out);
    }
    if (!has_room)
        return sf_no_room(why, "the list of series");
    sf_metrics_set_drop_empty(out);
    return SF_OK;
}
