/* slow_values_compared.c - compare() the slow way: every value of every attribute is searched for
 * among all spans of its side. */
#include <stdlib.h>
#include <string.h>

#include "query/expr_text.h"
#include "slow_metrics.h"

enum { MAX_SEEN = 1024 };

struct seen { /* a value of an attribute on one side, or the attribute itself */
    struct sf_query_attr attr;
    struct sf_value val;
    double *counts;
    uint32_t total;
};

struct side {
    const char *type, *total_type;
    struct seen attrs[MAX_SEEN], values[MAX_SEEN];
    uint32_t n_attrs, n_values;
};

struct comparing {
    struct slow_series_set *out;
    struct sf_arena *req;
    uint32_t step;
};

static struct seen *find(struct comparing *c, struct seen *list, uint32_t *n,
                         const struct sf_query_attr *a, struct sf_value val)
{
    for (uint32_t i = 0; i < *n; i++) {
        if (sf_expr_text_attr_eq(&list[i].attr, a) && sf_value_eq(list[i].val, val))
            return &list[i];
    }
    if (*n == MAX_SEEN)
        abort();
    list[*n] = (struct seen){*a, val, slow_new(c->req, c->out->n_steps, sizeof(double)), 0};
    return &list[(*n)++];
}

static void see(struct comparing *c, struct side *s, const struct sf_query_attr *a,
                struct sf_static v)
{
    struct sf_value none = {.type = SF_VALUE_STR, .str = SF_STR("nil")};
    struct seen *one;
    if (v.type == SF_TYPE_NIL || v.type == SF_TYPE_DURATION)
        return;
    if (a->intrinsic && v.type == SF_TYPE_STRING && v.str.len == 0)
        return;
    one = find(c, s->attrs, &s->n_attrs, a, none);
    one->counts[c->step]++;
    one->total++;
    one = find(c, s->values, &s->n_values, a, slow_static_value(v, c->req));
    one->counts[c->step]++;
    one->total++;
}

static void see_named(struct comparing *c, struct side *s, enum sf_attr_scope scope,
                      struct sf_attrs attrs, struct slow_counted span)
{
    for (uint32_t i = 0; i < attrs.n; i++) {
        struct sf_query_attr a = {.scope = scope, .name = attrs.list[i].key};
        bool is_done = scope == SF_SCOPE_RESOURCE && sf_str_eq(a.name, SF_STR("service.name"));
        for (uint32_t k = 0; k < i; k++)
            is_done |= sf_str_eq(attrs.list[k].key, a.name);
        if (!is_done)
            see(c, s, &a, slow_value(&a, span.t, span.span, c->req));
    }
}

static void see_span(struct comparing *c, struct side *s, struct slow_counted span)
{
    static const enum sf_intrinsic intrinsics[] = {
        SF_INTRINSIC_NAME,       SF_INTRINSIC_STATUS,        SF_INTRINSIC_STATUS_MESSAGE,
        SF_INTRINSIC_KIND,       SF_INTRINSIC_ROOT_NAME,     SF_INTRINSIC_ROOT_SERVICE,
        SF_INTRINSIC_SCOPE_NAME, SF_INTRINSIC_SCOPE_VERSION, SF_INTRINSIC_CHILD_COUNT};
    const struct slow_row *row = span.t->spans[span.span];
    struct sf_query_attr service = {.scope = SF_SCOPE_RESOURCE, .name = SF_STR("service.name")};
    c->step = span.step;
    for (size_t i = 0; i < sizeof(intrinsics) / sizeof(intrinsics[0]); i++) {
        struct sf_query_attr a = {.scope = SF_SCOPE_INTRINSIC, .intrinsic = intrinsics[i]};
        see(c, s, &a, slow_value(&a, span.t, span.span, c->req));
    }
    see(c, s, &service, slow_value(&service, span.t, span.span, c->req));
    see_named(c, s, SF_SCOPE_SPAN, row->span.attrs, span);
    see_named(c, s, SF_SCOPE_RESOURCE, row->resource->attrs, span);
    see_named(c, s, SF_SCOPE_INSTRUMENTATION, row->scope->attrs, span);
}

static void add(struct comparing *c, const char *key, const char *type, const struct seen *one)
{
    struct slow_series *s = slow_series_add(c->out, c->req);
    slow_series_label(s, sf_str_from(key),
                      (struct sf_value){.type = SF_VALUE_STR, .str = sf_str_from(type)});
    slow_series_label(s, sf_expr_text_attr(&one->attr, c->req), one->val);
    if (one->counts)
        memcpy(s->values, one->counts, c->out->n_steps * sizeof(double));
}

/* The most frequent first, ties by value. */
static bool is_before(const struct seen *a, const struct seen *b)
{
    if (a->total != b->total)
        return a->total > b->total;
    return slow_value_order(a->val, b->val) < 0;
}

static uint32_t add_values(struct comparing *c, struct side *s, const struct seen *attr,
                           uint32_t top_n)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_values; i++) {
        const struct seen *one = &s->values[i];
        uint32_t place = 0;
        if (!sf_expr_text_attr_eq(&one->attr, &attr->attr))
            continue;
        n++;
        for (uint32_t k = 0; k < s->n_values; k++)
            place += sf_expr_text_attr_eq(&s->values[k].attr, &one->attr) &&
                     is_before(&s->values[k], one);
        if (place < top_n)
            add(c, "__meta_type", s->type, one);
    }
    return n;
}

void slow_metrics_compare(const struct slow_spans *spans, const struct sf_metric *m,
                          struct slow_series_set *out, struct sf_arena *req)
{
    struct comparing c = {.out = out, .req = req};
    struct side *sides[2] = {slow_new(req, 1, sizeof(struct side)),
                             slow_new(req, 1, sizeof(struct side))};
    struct seen too_many[MAX_SEEN];
    uint32_t n_too_many = 0;
    sides[0]->type = "baseline";
    sides[0]->total_type = "baseline_total";
    sides[1]->type = "selection";
    sides[1]->total_type = "selection_total";
    for (uint32_t i = 0; i < spans->n; i++) {
        struct slow_counted span = spans->list[i];
        int64_t start_ns = (int64_t)span.t->spans[span.span]->span.start_ns;
        bool is_in_time = (m->from_ns == 0 && m->to_ns == 0) ||
                          (start_ns > m->from_ns && start_ns <= m->to_ns);
        bool is_selected = is_in_time &&
                           (!m->selection || slow_is_true(m->selection, span.t, span.span, req));
        see_span(&c, sides[is_selected], span);
    }
    for (int i = 0; i < 2; i++) {
        for (uint32_t k = 0; k < sides[i]->n_attrs; k++) {
            struct seen none = sides[i]->attrs[k];
            add(&c, "__meta_type", sides[i]->total_type, &sides[i]->attrs[k]);
            if (add_values(&c, sides[i], &sides[i]->attrs[k], m->top_n) <= m->top_n)
                continue;
            none.counts = NULL;
            if (!find(&c, too_many, &n_too_many, &none.attr, none.val)->total++)
                add(&c, "__meta_error", "__too_many_values__", &none);
        }
    }
}
