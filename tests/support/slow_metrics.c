#include "slow_metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/expr_text.h"

/* ---- the window: aligned to its step, one more step in front ---- */

int64_t slow_window_step(struct slow_window w, uint64_t start_ns, uint32_t *out_n_steps)
{
    int64_t first_ns, last_ns, at_ns = (int64_t)start_ns;
    *out_n_steps = 1;
    if (w.step_ns == 0)
        return at_ns >= w.from_ns && at_ns <= w.to_ns ? 0 : -1;
    first_ns = w.from_ns - w.from_ns % w.step_ns - w.step_ns;
    last_ns = (w.to_ns + w.step_ns - 1) / w.step_ns * w.step_ns;
    *out_n_steps = (uint32_t)((last_ns - first_ns) / w.step_ns);
    for (uint32_t i = 0; i < *out_n_steps; i++) {
        if (at_ns > first_ns + i * w.step_ns && at_ns <= first_ns + (i + 1) * w.step_ns)
            return i;
    }
    return -1;
}

static double step_seconds(struct slow_window w)
{
    return (double)(w.step_ns ? w.step_ns : w.to_ns - w.from_ns) / 1e9;
}

/* ---- series ---- */

struct slow_series *slow_series_add(struct slow_series_set *set, struct sf_arena *req)
{
    struct slow_series *s;
    if (set->n == set->cap) {
        uint32_t more = set->cap ? 2 * set->cap : 16;
        s = slow_new(req, more, sizeof(*s));
        if (set->n)
            memcpy(s, set->list, set->n * sizeof(*s));
        set->list = s;
        set->cap = more;
    }
    s = &set->list[set->n++];
    *s = (struct slow_series){.values = slow_new(req, set->n_steps, sizeof(double)),
                              .spans = slow_new(req, 1, sizeof(*s->spans))};
    for (uint32_t i = 0; i < set->n_steps; i++)
        s->values[i] = NAN;
    return s;
}

void slow_series_label(struct slow_series *s, sf_str key, struct sf_value val)
{
    if (s->n_labels == SLOW_LABELS)
        abort();
    s->labels[s->n_labels++] = (struct sf_attr){key, val};
}

struct sf_value slow_static_value(struct sf_static v, struct sf_arena *req)
{
    struct sf_value out = {.type = SF_VALUE_STR};
    struct sf_buf text = {0};
    switch (v.type) {
    case SF_TYPE_INT: return (struct sf_value){.type = SF_VALUE_INT, .i64 = v.i64};
    case SF_TYPE_FLOAT: return (struct sf_value){.type = SF_VALUE_DOUBLE, .f64 = v.f64};
    case SF_TYPE_BOOL: return (struct sf_value){.type = SF_VALUE_BOOL, .is_true = v.is_true};
    case SF_TYPE_STRING: out.str = v.str; return out;
    default: break;
    }
    sf_expr_text_static(v, &text);
    if (!sf_arena_copy(req, sf_buf_str(&text), &out.str))
        abort();
    sf_buf_done(&text);
    return out;
}

int slow_value_order(struct sf_value a, struct sf_value b)
{
    if (a.type != b.type)
        return a.type < b.type ? -1 : 1;
    switch (a.type) {
    case SF_VALUE_INT: return (a.i64 > b.i64) - (a.i64 < b.i64);
    case SF_VALUE_DOUBLE:
        if (isnan(a.f64) != isnan(b.f64))
            return isnan(a.f64) ? 1 : -1;
        return (a.f64 > b.f64) - (a.f64 < b.f64);
    case SF_VALUE_BOOL: return (int)a.is_true - (int)b.is_true;
    default: return sf_str_cmp(a.str, b.str);
    }
}

static int compare_series(const void *a, const void *b)
{
    const struct slow_series *x = a, *y = b;
    if (x->n_labels != y->n_labels)
        return x->n_labels < y->n_labels ? -1 : 1;
    for (uint32_t i = 0; i < x->n_labels; i++) {
        int c = sf_str_cmp(x->labels[i].key, y->labels[i].key);
        if (c == 0)
            c = slow_value_order(x->labels[i].val, y->labels[i].val);
        if (c)
            return c;
    }
    return 0;
}

/* Sorted, and without those that have no sample. */
static void settle(struct slow_series_set *set)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < set->n; i++) {
        bool has_sample = false;
        for (uint32_t k = 0; k < set->n_steps; k++)
            has_sample |= !isnan(set->list[i].values[k]);
        if (has_sample)
            set->list[n++] = set->list[i];
    }
    set->n = n;
    if (n)
        qsort(set->list, n, sizeof(*set->list), compare_series);
    for (uint32_t i = 1; i < n; i++)
        set->is_ambiguous |= compare_series(&set->list[i - 1], &set->list[i]) == 0;
}

/* ---- counting ---- */

static void count(struct slow_spans *spans, struct slow_counted one, struct sf_arena *req)
{
    if (spans->n == spans->cap) {
        uint32_t more = spans->cap ? 2 * spans->cap : 16;
        struct slow_counted *list = slow_new(req, more, sizeof(*list));
        if (spans->n)
            memcpy(list, spans->list, spans->n * sizeof(*list));
        spans->list = list;
        spans->cap = more;
    }
    spans->list[spans->n++] = one;
}

static bool takes_attr(enum sf_metric_fn fn)
{
    return fn != SF_FN_RATE && fn != SF_FN_COUNT && fn != SF_FN_COMPARE;
}

static bool has_buckets(enum sf_metric_fn fn)
{
    return fn == SF_FN_QUANTILE || fn == SF_FN_HISTOGRAM;
}

/* What is measured on a span, durations in seconds; NaN: nothing. For buckets the bound. */
static double measured(const struct sf_metric *m, struct slow_counted c, struct sf_arena *req)
{
    struct sf_static v;
    double bound = 2;
    if (!takes_attr(m->fn))
        return 1;
    v = slow_value(&m->attr, c.t, c.span, req);
    if (v.type == SF_TYPE_FLOAT)
        return has_buckets(m->fn) ? NAN : v.f64;
    if (v.type != SF_TYPE_INT && v.type != SF_TYPE_DURATION)
        return NAN;
    if (has_buckets(m->fn)) {
        if (v.i64 < 2)
            return NAN;
        while (bound < 0x1p62 && (int64_t)bound < v.i64)
            bound *= 2;
        return v.type == SF_TYPE_DURATION ? bound / 1e9 : bound;
    }
    return v.type == SF_TYPE_DURATION ? (double)v.i64 / 1e9 : (double)v.i64;
}

static bool is_of_group(const struct sf_metric *m, const struct slow_series *s,
                        struct slow_counted c, struct sf_arena *req)
{
    struct slow_counted first = s->spans->list[0];
    struct sf_arena before = *req;
    bool is_same = m->fn != SF_FN_HISTOGRAM || measured(m, c, req) == measured(m, first, req);
    for (uint32_t i = 0; is_same && i < m->n_by; i++)
        is_same = slow_static_eq(slow_value(&m->by[i], c.t, c.span, req),
                                 slow_value(&m->by[i], first.t, first.span, req));
    *req = before;
    return is_same;
}

static void label_group(const struct sf_metric *m, struct slow_series *s, struct slow_counted c,
                        struct sf_arena *req)
{
    static const char *const names[SF_FNS] = {"rate",          "count_over_time", "min_over_time",
                                              "max_over_time", "sum_over_time",   "avg_over_time"};
    for (uint32_t i = 0; i < m->n_by; i++) {
        struct sf_static v = slow_value(&m->by[i], c.t, c.span, req);
        if (v.type != SF_TYPE_NIL)
            slow_series_label(s, sf_expr_text_attr(&m->by[i], req), slow_static_value(v, req));
    }
    if (m->n_by && s->n_labels == 0)
        slow_series_label(s, sf_expr_text_attr(&m->by[0], req),
                          (struct sf_value){.type = SF_VALUE_STR, .str = SF_STR("nil")});
    if (m->fn == SF_FN_HISTOGRAM)
        slow_series_label(s, SF_STR("__bucket"),
                          (struct sf_value){.type = SF_VALUE_DOUBLE, .f64 = measured(m, c, req)});
    else if (m->n_by == 0 && m->fn != SF_FN_QUANTILE)
        slow_series_label(
            s, SF_STR("__name__"),
            (struct sf_value){.type = SF_VALUE_STR, .str = sf_str_from(names[m->fn])});
}

static void group(const struct sf_metric *m, const struct slow_spans *spans,
                  struct slow_series_set *out, struct sf_arena *req)
{
    for (uint32_t i = 0; i < spans->n; i++) {
        struct slow_counted c = spans->list[i];
        uint32_t at = 0;
        if (isnan(measured(m, c, req)))
            continue;
        while (at < out->n && !is_of_group(m, &out->list[at], c, req))
            at++;
        if (at == out->n)
            label_group(m, slow_series_add(out, req), c, req);
        count(out->list[at].spans, c, req);
    }
}

/* ---- the value of one step ---- */

static double plain_value(const struct sf_metric *m, const struct slow_spans *spans, uint32_t step,
                          double seconds, struct sf_arena *req)
{
    double sum = 0, least = INFINITY, most = -INFINITY, n = 0;
    for (uint32_t i = 0; i < spans->n; i++) {
        double v;
        if (spans->list[i].step != step)
            continue;
        v = measured(m, spans->list[i], req);
        n++;
        sum += v;
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    switch (m->fn) {
    case SF_FN_RATE: return n / seconds;
    case SF_FN_MIN: return n > 0 ? least : NAN;
    case SF_FN_MAX: return n > 0 ? most : NAN;
    case SF_FN_SUM: return n > 0 ? sum : NAN;
    case SF_FN_AVG: return n > 0 ? sum / n : NAN;
    default: return n;
    }
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All bounds in order: the rank-th is in the right bucket, its place in it says how far. */
static double quantile_value(const struct sf_metric *m, const struct slow_spans *spans,
                             uint32_t step, double q, struct sf_arena *req)
{
    double *bounds = slow_new(req, spans->n, sizeof(*bounds));
    double high, low;
    int64_t n = 0, rank, first, last;
    for (uint32_t i = 0; i < spans->n; i++) {
        if (spans->list[i].step == step)
            bounds[n++] = measured(m, spans->list[i], req);
    }
    if (n == 0)
        return 0;
    qsort(bounds, (size_t)n, sizeof(*bounds), compare_doubles);
    rank = (int64_t)ceil(q * (double)n - 1e-9 * (double)n);
    rank = rank < 1 ? 1 : rank;
    first = last = rank - 1;
    while (first > 0 && bounds[first - 1] == bounds[rank - 1])
        first--;
    while (last + 1 < n && bounds[last + 1] == bounds[rank - 1])
        last++;
    if (rank == last + 1)
        return bounds[rank - 1];
    high = log2(bounds[rank - 1]);
    low = first ? log2(bounds[first - 1]) : high - 1;
    return exp2(low + (high - low) * (double)(rank - first) / (double)(last + 1 - first));
}

static void fill_quantiles(const struct sf_metric *m, struct slow_series_set *set,
                           struct sf_arena *req)
{
    struct slow_series_set all = {.n_steps = set->n_steps, .is_error = set->is_error};
    for (uint32_t i = 0; i < set->n; i++) {
        for (uint32_t k = 0; k < m->n_quantiles; k++) {
            struct slow_series *s = slow_series_add(&all, req);
            double *values = s->values;
            *s = set->list[i];
            s->values = values;
            slow_series_label(s, SF_STR("p"),
                              (struct sf_value){.type = SF_VALUE_DOUBLE, .f64 = m->quantiles[k]});
            for (uint32_t step = 0; step < set->n_steps; step++)
                values[step] = quantile_value(m, s->spans, step, m->quantiles[k], req);
        }
    }
    *set = all;
}

static struct slow_series_set query(const struct slow_traces *traces, const struct sf_metrics *m,
                                    struct slow_window w, struct sf_arena *req)
{
    struct slow_series_set set = {0};
    struct slow_spans spans = {0};
    slow_window_step(w, 0, &set.n_steps);
    for (uint32_t i = 0; i < traces->n; i++) {
        const struct slow_trace *t = &traces->list[i];
        struct slow_sets sets = slow_pipeline(m->pipeline, t, req);
        set.is_error |= sets.is_error;
        for (uint32_t k = 0; k < sets.n; k++) {
            for (uint32_t j = 0; j < t->n; j++) {
                uint32_t n;
                int64_t step = slow_window_step(w, t->spans[j]->span.start_ns, &n);
                if (sets.list[k].has[j] && step >= 0)
                    count(&spans, (struct slow_counted){t, j, (uint32_t)step}, req);
            }
        }
    }
    if (m->metric.fn == SF_FN_COMPARE) {
        slow_metrics_compare(&spans, &m->metric, &set, req);
        return set;
    }
    group(&m->metric, &spans, &set, req);
    if (m->metric.fn == SF_FN_QUANTILE)
        fill_quantiles(&m->metric, &set, req);
    for (uint32_t i = 0; m->metric.fn != SF_FN_QUANTILE && i < set.n; i++) {
        for (uint32_t step = 0; step < set.n_steps; step++)
            set.list[i].values[step] = plain_value(&m->metric, set.list[i].spans, step,
                                                   step_seconds(w), req);
    }
    return set;
}

/* ---- second stages and arithmetic ---- */

static bool is_better(const struct slow_series_set *set, const struct sf_second *s, uint32_t step,
                      uint32_t a, uint32_t b)
{
    double x = set->list[a].values[step], y = set->list[b].values[step];
    if (x != y)
        return s->kind == SF_SECOND_TOPK ? x > y : x < y;
    return s->kind == SF_SECOND_TOPK ? a < b : a > b;
}

static void second(struct slow_series_set *set, const struct sf_second *s, struct sf_arena *req)
{
    for (uint32_t step = 0; step < set->n_steps; step++) {
        bool *is_dropped = slow_new(req, set->n, sizeof(bool));
        for (uint32_t i = 0; i < set->n; i++) {
            uint32_t n_better = 0;
            struct sf_static have = {SF_TYPE_FLOAT, {.f64 = set->list[i].values[step]}},
                             want = {SF_TYPE_FLOAT, {.f64 = s->value}};
            if (isnan(have.f64))
                continue;
            for (uint32_t k = 0; k < set->n; k++)
                n_better += !isnan(set->list[k].values[step]) && is_better(set, s, step, k, i);
            is_dropped[i] = s->kind == SF_SECOND_CMP ? !slow_compare(s->cmp, have, want)
                                                     : n_better >= s->k;
        }
        for (uint32_t i = 0; i < set->n; i++) {
            if (is_dropped[i])
                set->list[i].values[step] = NAN;
        }
    }
    settle(set);
}

static const struct sf_attr *name_of(const struct slow_series *s)
{
    for (uint32_t i = 0; i < s->n_labels; i++) {
        if (sf_str_eq(s->labels[i].key, SF_STR("__name__")))
            return &s->labels[i];
    }
    return NULL;
}

static bool has_label(const struct slow_series *s, const struct sf_attr *a)
{
    for (uint32_t i = 0; i < s->n_labels; i++) {
        if (sf_str_eq(s->labels[i].key, a->key) && sf_value_eq(s->labels[i].val, a->val))
            return true;
    }
    return false;
}

static bool is_part_of(const struct slow_series *a, const struct slow_series *b)
{
    for (uint32_t i = 0; i < a->n_labels; i++) {
        if (&a->labels[i] != name_of(a) && !has_label(b, &a->labels[i]))
            return false;
    }
    return true;
}

static double apply(enum sf_expr_op op, double a, double b)
{
    switch (op) {
    case SF_EXPR_ADD: return a + b;
    case SF_EXPR_SUB: return a - b;
    case SF_EXPR_MUL: return a * b;
    default: return b == 0 ? NAN : a / b;
    }
}

/* l and r may be NULL: then the number stands there. Labels are those of `like`. */
static void add_pair(struct slow_series_set *out, const struct sf_metrics *m,
                     const struct slow_series *l, double l_number, const struct slow_series *r,
                     double r_number, const struct slow_series *like, struct sf_arena *req)
{
    struct slow_series *s = slow_series_add(out, req);
    const struct sf_attr *l_name = l ? name_of(l) : NULL, *r_name = r ? name_of(r) : NULL;
    if (l_name && r_name) {
        struct sf_value name = {.type = SF_VALUE_STR};
        sf_arena_print(req, &name.str, "(%.*s %s %.*s)", SF_STR_ARG(l_name->val.str),
                       sf_expr_text_op(m->op), SF_STR_ARG(r_name->val.str));
        slow_series_label(s, SF_STR("__name__"), name);
    }
    for (uint32_t i = 0; i < like->n_labels; i++) {
        if (!l || !r || &like->labels[i] != name_of(like))
            slow_series_label(s, like->labels[i].key, like->labels[i].val);
    }
    for (uint32_t i = 0; i < out->n_steps; i++)
        s->values[i] = apply(m->op, l ? l->values[i] : l_number, r ? r->values[i] : r_number);
}

static bool is_lone(const struct slow_series_set *s)
{
    return s->n == 1 && s->list[0].n_labels == (name_of(&s->list[0]) ? 1 : 0);
}

static struct slow_series_set combine(const struct sf_metrics *m, const struct slow_series_set *l,
                                      const struct slow_series_set *r, struct sf_arena *req)
{
    struct slow_series_set out = {.n_steps = l->is_number ? r->n_steps : l->n_steps,
                                  .is_error = l->is_error || r->is_error,
                                  .is_ambiguous = l->is_ambiguous || r->is_ambiguous};
    bool is_spread = is_lone(l) != is_lone(r);
    for (uint32_t i = 0; l->is_number && i < r->n; i++)
        add_pair(&out, m, NULL, l->number, &r->list[i], 0, &r->list[i], req);
    for (uint32_t i = 0; r->is_number && i < l->n; i++)
        add_pair(&out, m, &l->list[i], 0, NULL, r->number, &l->list[i], req);
    for (uint32_t i = 0; i < l->n; i++) {
        for (uint32_t k = 0; k < r->n; k++) {
            const struct slow_series *a = &l->list[i], *b = &r->list[k];
            if (is_spread || (is_part_of(a, b) && is_part_of(b, a)))
                add_pair(&out, m, a, 0, b, 0, is_spread && is_lone(l) ? b : a, req);
        }
    }
    return out;
}

/* An ungrouped rate or count of nothing is zero here. */
static void fill_operand(const struct sf_metrics *m, struct slow_series_set *set,
                         struct sf_arena *req)
{
    struct slow_series *s;
    if (set->n || m->metric.n_by || (m->metric.fn != SF_FN_RATE && m->metric.fn != SF_FN_COUNT))
        return;
    s = slow_series_add(set, req);
    slow_series_label(s, SF_STR("__name__"),
                      (struct sf_value){.type = SF_VALUE_STR,
                                        .str = m->metric.fn == SF_FN_RATE
                                                   ? SF_STR("rate")
                                                   : SF_STR("count_over_time")});
    for (uint32_t i = 0; i < set->n_steps; i++)
        s->values[i] = 0;
}

static struct slow_series_set answer(const struct slow_traces *traces, const struct sf_metrics *m,
                                     struct slow_window w, bool is_operand, struct sf_arena *req);

static struct slow_series_set operand(const struct slow_traces *traces, const struct sf_metrics *m,
                                      struct slow_window w, struct sf_arena *req)
{
    return answer(traces, m, w, true, req);
}

struct slow_series_set slow_metrics(const struct slow_traces *traces, const struct sf_metrics *m,
                                    struct slow_window w, struct sf_arena *req)
{
    return answer(traces, m, w, false, req);
}

static struct slow_series_set answer(const struct slow_traces *traces, const struct sf_metrics *m,
                                     struct slow_window w, bool is_operand, struct sf_arena *req)
{
    struct slow_series_set set = {0};
    if (m->kind == SF_METRICS_NUMBER) {
        set.is_number = true;
        set.number = m->number;
        return set;
    }
    if (m->kind == SF_METRICS_QUERY) {
        set = query(traces, m, w, req);
        if (m->metric.fn == SF_FN_COMPARE)
            return set;
        if (is_operand)
            fill_operand(m, &set, req);
    } else {
        struct slow_series_set l = operand(traces, m->left, w, req),
                               r = operand(traces, m->right, w, req);
        set = combine(m, &l, &r, req);
    }
    settle(&set);
    for (uint32_t i = 0; i < m->n_seconds; i++)
        second(&set, &m->seconds[i], req);
    return set;
}
