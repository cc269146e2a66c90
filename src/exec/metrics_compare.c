/* metrics_compare.c - compare(): how often each value of each attribute occurs in the selected
 * spans and in the others.
 *
 * The table has two kinds of series: totals, one per side and attribute, and the values of each
 * total. */
#include <math.h>
#include <stdlib.h>

#include "exec/eval_attr.h"
#include "exec/metrics_count.h"
#include "exec/static_value.h"
#include "model/span_rows.h"
#include "query/expr_text.h"

enum { MAX_VALUES = 4096 }; /* per attribute: ids would use up all memory */
enum { TOTAL = 'T', VALUE = 'V', BASELINE = 'b', SELECTION = 's' };

uint32_t sf_metrics_compare_columns(void)
{
    return SF_COL_ATTRS | SF_COL_SCOPE | SF_COL_STATUS_MSG;
}

struct seen { /* one attribute of one span */
    struct sf_metrics_count *c;
    const struct sf_trace_view *v;
    uint32_t span, step;
    char side;
    bool *has_exemplar;
};

/* ---- counting ---- */

static bool metrics_compare_make_labels(struct sf_metrics_count *c, struct sf_table_series *s,
                                        sf_str type, const struct sf_query_attr *a,
                                        struct sf_static val)
{
    struct sf_attr *list = sf_arena_new_n(c->table.req, 2, sizeof(*list));
    if (!list)
        return false;
    list[0] = (struct sf_attr){SF_STR("__meta_type"), {.type = SF_VALUE_STR, .str = type}};
    list[1].key = sf_expr_text_attr(a, c->table.req);
    if (!list[1].key.len || !sf_static_value_of(c->table.req, val, &list[1].val))
        return false;
    s->labels = (struct sf_attrs){list, 2};
    s->has_labels = true;
    return true;
}

static void make_key(struct seen *x, char kind, const struct sf_query_attr *a, struct sf_static val)
{
    struct sf_buf *key = &x->c->key;
    sf_buf_reset(key);
    sf_buf_add_u8(key, (uint8_t)kind);
    sf_buf_add_u8(key, (uint8_t)x->side);
    sf_buf_add_u8(key, (uint8_t)a->scope);
    sf_buf_add_u8(key, (uint8_t)a->intrinsic);
    sf_buf_add_u32le(key, (uint32_t)a->name.len);
    sf_buf_add_str(key, a->name);
    sf_metrics_count_key_add(key, val);
}

static void count_one(struct seen *x, struct sf_table_series *s)
{
    struct sf_metrics_cell *cell = sf_metrics_table_cell(&x->c->table, s, x->step);
    if (!cell)
        return;
    cell->n += x->c->weight;
    s->n += x->c->weight;
}

static struct sf_table_series *find_or_make(struct seen *x, char kind,
                                            const struct sf_query_attr *a, struct sf_static val,
                                            struct sf_table_series *owner)
{
    struct sf_metrics_count *c = x->c;
    bool is_base = x->side == BASELINE;
    sf_str type = kind == VALUE ? (is_base ? SF_STR("baseline") : SF_STR("selection"))
                                : (is_base ? SF_STR("baseline_total") : SF_STR("selection_total"));
    struct sf_table_series *s;
    make_key(x, kind, a, val);
    if (!sf_buf_ok(&c->key)) {
        c->err = c->key.err;
        return NULL;
    }
    s = sf_metrics_table_find(&c->table, sf_buf_str(&c->key));
    if (s)
        return s->has_labels ? s : NULL;
    if (owner && owner->n_values >= MAX_VALUES) {
        owner->n_values = MAX_VALUES + 1;
        c->is_lossy = true;
        return NULL;
    }
    s = sf_metrics_table_series(&c->table, sf_buf_str(&c->key));
    if (!s)
        return NULL;
    if (!metrics_compare_make_labels(c, s, type, a, val)) {
        c->table.is_full = true;
        return NULL;
    }
    s->owner = owner;
    if (owner)
        owner->n_values++;
    return s;
}

static void metrics_compare_see(struct seen *x, const struct sf_query_attr *a, struct sf_static val)
{
    struct sf_static nil = {.type = SF_TYPE_NIL};
    struct sf_table_series *total, *value;
    if (val.type == SF_TYPE_NIL || val.type == SF_TYPE_DURATION ||
        (a->intrinsic && val.type == SF_TYPE_STRING && val.str.len == 0))
        return;
    total = find_or_make(x, TOTAL, a, nil, NULL);
    if (!total)
        return;
    count_one(x, total);
    value = find_or_make(x, VALUE, a, val, total);
    if (value)
        count_one(x, value);
    if (!*x->has_exemplar)
        *x->has_exemplar = sf_exemplars_add(&x->c->exemplars, total, x->v, x->span, NAN);
}

static void see_attrs(struct seen *x, enum sf_attr_scope scope, struct sf_attrs attrs)
{
    for (uint32_t i = 0; i < attrs.n; i++) {
        struct sf_query_attr a = {.scope = scope, .name = attrs.list[i].key};
        bool is_last = true; /* of several with this key, the last one counts */
        for (uint32_t k = i + 1; k < attrs.n && is_last; k++)
            is_last = !sf_str_eq(attrs.list[k].key, a.name);
        if (is_last)
            metrics_compare_see(x, &a, sf_eval_attr_static_from_value(attrs.list[i].val));
    }
}

static bool is_selected(struct sf_metrics_count *c, const struct sf_trace_view *v, uint32_t span)
{
    const struct sf_metric *m = &c->query->metric;
    uint64_t start_ns = v->spans[span].start_ns;
    if ((m->from_ns || m->to_ns) &&
        (start_ns <= (uint64_t)m->from_ns || start_ns > (uint64_t)m->to_ns))
        return false;
    return !m->selection || sf_eval_is_true(c->eval, m->selection, v, span);
}

void sf_metrics_compare_span(struct sf_metrics_count *c, const struct sf_trace_view *v,
                             uint32_t span, uint32_t step, bool *has_exemplar)
{
    static const enum sf_intrinsic intrinsics[] = {
        SF_INTRINSIC_NAME,       SF_INTRINSIC_STATUS,        SF_INTRINSIC_STATUS_MESSAGE,
        SF_INTRINSIC_KIND,       SF_INTRINSIC_ROOT_NAME,     SF_INTRINSIC_ROOT_SERVICE,
        SF_INTRINSIC_SCOPE_NAME, SF_INTRINSIC_SCOPE_VERSION, SF_INTRINSIC_CHILD_COUNT};
    const struct sf_span *s = &v->spans[span];
    const struct sf_resource *r = &v->resources[s->resource];
    struct sf_query_attr service = {.scope = SF_SCOPE_RESOURCE, .name = SF_STR("service.name")};
    struct seen x = {c,           v, span, step, is_selected(c, v, span) ? SELECTION : BASELINE,
                     has_exemplar};
    for (size_t i = 0; i < sizeof(intrinsics) / sizeof(intrinsics[0]); i++) {
        struct sf_query_attr a = {.scope = SF_SCOPE_INTRINSIC, .intrinsic = intrinsics[i]};
        char text[SF_EVAL_TEXT_LEN];
        metrics_compare_see(&x, &a, sf_eval_attr_one(&a, v, span, text));
    }
    see_attrs(&x, SF_SCOPE_SPAN, s->attrs);
    see_attrs(&x, SF_SCOPE_RESOURCE, r->attrs);
    if (sf_attrs_get(r->attrs, service.name).type == SF_VALUE_NONE)
        metrics_compare_see(&x, &service, (struct sf_static){SF_TYPE_STRING, {.str = r->service}});
    see_attrs(&x, SF_SCOPE_INSTRUMENTATION, v->scopes[s->scope].attrs);
}

/* ---- series ---- */

/* Sorts values below their total, the most frequent first; ties in the order of series. */
static int compare_places(const void *a, const void *b)
{
    const struct sf_table_series *const *x = a, *const *y = b;
    uint32_t owner_x = (*x)->owner ? (*x)->owner->number + 1 : 0,
             owner_y = (*y)->owner ? (*y)->owner->number + 1 : 0;
    int c;
    if (owner_x != owner_y)
        return owner_x < owner_y ? -1 : 1;
    if ((*x)->n > (*y)->n || (*x)->n < (*y)->n)
        return (*x)->n > (*y)->n ? -1 : 1;
    c = sf_metrics_set_labels_compare((*x)->labels, (*y)->labels);
    return c ? c : sf_str_cmp((*x)->key, (*y)->key);
}

static bool metrics_compare_add_series(struct sf_metrics_count *c, struct sf_metrics_set *out,
                                       const struct sf_table_series *from)
{
    struct sf_metric_series *to = sf_metrics_set_add(out, from->labels, (struct sf_attr){0});
    if (!to)
        return false;
    for (uint32_t step = 0; step < out->n_steps; step++)
        to->values[step] = sf_metrics_table_get(&c->table, from, step).n;
    sf_metrics_count_take_exemplars(from, out->req, to);
    return true;
}

/* Was the same attribute already listed for the other side? */
static bool is_said_already(struct sf_table_series *const *list, uint32_t n,
                            const struct sf_table_series *s, uint32_t top_n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!list[i]->owner && list[i]->n_values > top_n &&
            sf_str_eq(list[i]->labels.list[1].key, s->labels.list[1].key))
            return true;
    }
    return false;
}

static bool add_too_many(struct sf_metrics_set *out, const struct sf_table_series *s)
{
    struct sf_attr labels[2] = {
        {SF_STR("__meta_error"), {.type = SF_VALUE_STR, .str = SF_STR("__too_many_values__")}},
        {s->labels.list[1].key, {.type = SF_VALUE_STR, .str = SF_STR("nil")}}};
    return sf_metrics_set_add(out, (struct sf_attrs){labels, 2}, (struct sf_attr){0}) != NULL;
}

void sf_metrics_compare_finish(struct sf_metrics_count *c, struct sf_metrics_set *out)
{
    uint32_t top_n = c->query->metric.top_n, n_below = 0;
    struct sf_table_series **list = sf_metrics_table_list(&c->table, out->req);
    if (!list) {
        out->is_cut = true;
        return;
    }
    qsort(list, c->table.n_series, sizeof(struct sf_table_series *), compare_places);
    for (uint32_t i = 0; i < c->table.n_series; i++) {
        const struct sf_table_series *s = list[i];
        if (!s->has_labels || s->n == 0)
            continue;
        n_below = s->owner && i && list[i - 1]->owner == s->owner ? n_below + 1 : 0;
        if (s->owner && n_below >= top_n)
            continue;
        if (!metrics_compare_add_series(c, out, s))
            return;
        if (!s->owner && s->n_values > top_n && !is_said_already(list, i, s, top_n) &&
            !add_too_many(out, s))
            return;
    }
}
