/* metrics_count.c - counts spans into series. The values of by() form a key; a table maps key and
 * bucket to a series whose cells are the time steps. Finishing turns cells into rates, averages or
 * quantiles, and attaches exemplars. */
#include "exec/metrics_count.h"
#include "exec/profile_conds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "exec/eval_attr.h"
#include "exec/metrics_columns.h"
#include "exec/pushdown.h"
#include "exec/sampling.h"
#include "exec/static_value.h"
#include "exec/trace_judge.h"
#include "exec/trace_stream.h"
#include "query/expr_text.h"

bool sf_metrics_count_takes_attr(enum sf_metric_fn fn)
{
    return fn >= SF_FN_MIN && fn <= SF_FN_HISTOGRAM;
}

static bool metrics_count_has_buckets(enum sf_metric_fn fn)
{
    return fn == SF_FN_QUANTILE || fn == SF_FN_HISTOGRAM;
}

static bool is_duration(const struct sf_query_attr *a)
{
    return a->intrinsic == SF_INTRINSIC_DURATION || a->intrinsic == SF_INTRINSIC_TRACE_DURATION ||
           a->intrinsic == SF_INTRINSIC_EVENT_TIME ||
           (sf_intrinsic_is_profile(a->intrinsic) && a->intrinsic != SF_INTRINSIC_PROFILE_ALLOC);
}

/* ---- one span ---- */

void sf_metrics_count_key_add(struct sf_buf *key, struct sf_static v)
{
    uint64_t bits = 0;
    sf_buf_add_u8(key, (uint8_t)v.type);
    switch (v.type) {
    case SF_TYPE_NIL: return;
    case SF_TYPE_STRING:
        sf_buf_add_u32le(key, (uint32_t)v.str.len);
        sf_buf_add_str(key, v.str);
        return;
    case SF_TYPE_BOOL: sf_buf_add_u8(key, v.is_true); return;
    case SF_TYPE_FLOAT: memcpy(&bits, &v.f64, sizeof(bits)); break;
    default: bits = (uint64_t)v.i64; break;
    }
    sf_buf_add_u64le(key, bits);
}

bool sf_metrics_count_measure(enum sf_metric_fn fn, struct sf_static val, double *out,
                              uint8_t *out_bucket)
{
    switch (val.type) {
    case SF_TYPE_INT: *out = (double)val.i64; break;
    case SF_TYPE_DURATION: *out = (double)val.i64 / 1e9; break;
    case SF_TYPE_FLOAT: *out = val.f64; return !isnan(val.f64) && !metrics_count_has_buckets(fn);
    default: return false;
    }
    if (!metrics_count_has_buckets(fn))
        return true;
    if (val.i64 < 2)
        return false;
    *out_bucket = (uint8_t)(64 - __builtin_clzll((uint64_t)val.i64 - 1));
    return true;
}

/* For sum() of profile times, uses the time as sampled, not limited to the span: over many spans,
 * limited values would sum up to too little. */
static struct sf_static metrics_count_measured(const struct sf_metric *m,
                                               const struct sf_trace_view *v, uint32_t span,
                                               char text[SF_EVAL_TEXT_LEN])
{
    struct sf_static val = sf_eval_attr_one(&m->attr, v, span, text);
    int64_t sent;
    if (m->fn == SF_FN_SUM && val.type == SF_TYPE_DURATION &&
        sf_intrinsic_is_profile(m->attr.intrinsic) &&
        sf_profile_conds_sent(v->profiles, m->attr.intrinsic, span, &sent))
        val.i64 = sent;
    return val;
}

static bool label_series(struct sf_metrics_count *c, struct sf_table_series *s,
                         const struct sf_static *vals)
{
    const struct sf_metric *m = &c->query->metric;
    struct sf_attr *list = sf_arena_new_n(c->table.req, m->n_by + 1, sizeof(*list));
    uint32_t n = 0;
    if (!list)
        return false;
    for (uint32_t i = 0; i < m->n_by; i++) {
        if (vals[i].type == SF_TYPE_NIL)
            continue;
        list[n].key = c->by_keys[i];
        if (!sf_static_value_of(c->table.req, vals[i], &list[n].val))
            return false;
        n++;
    }
    if (n == 0 && m->n_by)
        list[n++] = (struct sf_attr){c->by_keys[0], {.type = SF_VALUE_STR, .str = SF_STR("nil")}};
    s->labels = (struct sf_attrs){list, n};
    s->has_labels = true;
    return true;
}

void sf_metrics_count_into(enum sf_metric_fn fn, struct sf_metrics_cell *cell, double value,
                           double weight)
{
    if (fn == SF_FN_SUM || fn == SF_FN_AVG)
        cell->value += value * weight;
    else if (!(cell->n > 0) || (fn == SF_FN_MIN ? value < cell->value : value > cell->value))
        cell->value = value;
    cell->n += weight;
}

struct sf_table_series *sf_metrics_count_series(struct sf_metrics_count *c,
                                                const struct sf_trace_view *v, uint32_t span,
                                                uint8_t bucket)
{
    const struct sf_metric *m = &c->query->metric;
    struct sf_static vals[SF_METRICS_BY];
    char texts[SF_METRICS_BY][SF_EVAL_TEXT_LEN];
    struct sf_table_series *s;
    sf_buf_reset(&c->key);
    for (uint32_t i = 0; i < m->n_by; i++) {
        vals[i] = sf_eval_attr_one(&m->by[i], v, span, texts[i]);
        sf_metrics_count_key_add(&c->key, vals[i]);
    }
    /* Last, so that the keys of buckets of one group differ only there. */
    sf_buf_add_u8(&c->key, bucket);
    if (!sf_buf_ok(&c->key)) {
        c->err = c->key.err;
        return NULL;
    }
    s = sf_metrics_table_series(&c->table, sf_buf_str(&c->key));
    if (s && !s->has_labels && !label_series(c, s, vals)) {
        c->table.is_full = true;
        return NULL;
    }
    return s;
}

/* Reads a value that sf_metrics_count_key_add wrote; a string is borrowed from the key. */
static struct sf_static value_of_key(sf_str *io_key)
{
    struct sf_static v = {.type = (enum sf_static_type) * io_key->p};
    const char *p = io_key->p + 1;
    size_t len = 8;
    uint64_t bits = 0;
    switch (v.type) {
    case SF_TYPE_NIL: len = 0; break;
    case SF_TYPE_BOOL:
        v.is_true = *p != 0;
        len = 1;
        break;
    case SF_TYPE_STRING:
        len = 4 + sf_load_u32le(p);
        v.str = (sf_str){p + 4, len - 4};
        break;
    default:
        bits = sf_load_u64le(p);
        if (v.type == SF_TYPE_FLOAT)
            memcpy(&v.f64, &bits, sizeof(bits));
        else
            v.i64 = (int64_t)bits;
        break;
    }
    *io_key = (sf_str){p + len, io_key->len - 1 - len};
    return v;
}

struct sf_table_series *sf_metrics_count_keyed(struct sf_metrics_count *c, sf_str key)
{
    struct sf_static vals[SF_METRICS_BY];
    struct sf_table_series *s = sf_metrics_table_series(&c->table, key);
    if (!s || s->has_labels)
        return s;
    for (uint32_t i = 0; i < c->query->metric.n_by; i++)
        vals[i] = value_of_key(&key);
    if (label_series(c, s, vals))
        return s;
    c->table.is_full = true;
    return NULL;
}

void sf_metrics_count_join(enum sf_metric_fn fn, struct sf_metrics_cell *cell,
                           struct sf_metrics_cell more)
{
    if (fn == SF_FN_SUM || fn == SF_FN_AVG)
        cell->value += more.value;
    else if (!(cell->n > 0) ||
             (fn == SF_FN_MIN ? more.value < cell->value : more.value > cell->value))
        cell->value = more.value;
    cell->n += more.n;
}

static void count_span(struct sf_metrics_count *c, const struct sf_trace_view *v, uint32_t span,
                       bool *has_exemplar)
{
    const struct sf_metric *m = &c->query->metric;
    char text[SF_EVAL_TEXT_LEN];
    struct sf_table_series *s;
    struct sf_metrics_cell *cell;
    double value = 1;
    uint8_t bucket = 0;
    uint32_t step;
    if (!sf_metrics_window_place(c->window, v->spans[span].start_ns, &step))
        return;
    c->n_counted++;
    c->weight = c->is_extrapolated ? sf_sampling_weight(v->spans[span].trace_state) : 1;
    if (m->fn == SF_FN_COMPARE) {
        sf_metrics_compare_span(c, v, span, step, has_exemplar);
        return;
    }
    if (sf_metrics_count_takes_attr(m->fn) &&
        !sf_metrics_count_measure(m->fn, metrics_count_measured(m, v, span, text), &value, &bucket))
        return;
    s = sf_metrics_count_series(c, v, span, bucket);
    if (!s)
        return;
    cell = sf_metrics_table_cell(&c->table, s, step);
    if (!cell)
        return;
    sf_metrics_count_into(m->fn, cell, value, c->weight);
    s->n += c->weight;
    if (!*has_exemplar)
        *has_exemplar = sf_exemplars_add(&c->exemplars, s, v, span,
                                         sf_metrics_count_takes_attr(m->fn) ? value : NAN);
}

/* ---- all spans ---- */

static enum sf_err metrics_count_walk(struct sf_metrics_count *c, struct sf_trace_stream *stream,
                                      bool has_tree, struct sf_why *why)
{
    struct sf_trace_view v;
    enum sf_err err = SF_OK;
    while (sf_trace_stream_next(stream, &v, &err, why)) {
        struct sf_spansets sets = {0};
        bool has_exemplar = false;
        if (has_tree)
            err = sf_trace_view_link(&v, stream->req, why);
        if (!err)
            err = sf_eval_pipeline(c->eval, c->query->pipeline, &v, stream->req, &sets, why);
        if (err == SF_ERR_LIMIT && !sf_eval_fault(c->eval, NULL)) {
            sf_trace_stream_leave_out(stream, v.id);
            err = SF_OK;
            continue;
        }
        if (err)
            break;
        for (uint32_t i = 0; i < sets.n; i++) {
            for (uint32_t k = 0; k < sets.list[i].n_spans; k++)
                count_span(c, &v, sets.list[i].spans[k], &has_exemplar);
        }
        if (c->err)
            return sf_fail(why, c->err, "no memory for the query");
        c->n_traces = stream->n_traces;
        c->n_spans = stream->n_spans;
        if (c->on_trace)
            c->on_trace(c, c->on_trace_arg);
    }
    if (err == SF_ERR_DEADLINE && c->n_counted) {
        c->is_late = true;
        return SF_OK;
    }
    return err ? err : sf_eval_fault(c->eval, why);
}

static uint32_t metrics_count_columns_of(const struct sf_metrics_count *c)
{
    const struct sf_metric *m = &c->query->metric;
    uint32_t columns = sf_pushdown_columns(c->query->pipeline);
    for (uint32_t i = 0; i < c->exemplars.touched.n; i++)
        columns |= sf_pushdown_attr_columns(&c->exemplars.touched.attrs[i]);
    if (m->fn == SF_FN_COMPARE)
        columns |= sf_metrics_compare_columns();
    if (c->is_extrapolated)
        columns |= SF_COL_REST; /* for the trace state */
    return columns;
}

static enum sf_err metrics_count_prepare(struct sf_metrics_count *c, struct sf_why *why)
{
    const struct sf_metric *m = &c->query->metric;
    SF_ASSERT(m->n_by <= SF_METRICS_BY);
    for (uint32_t i = 0; i < m->n_by; i++) {
        c->by_keys[i] = sf_expr_text_attr(&m->by[i], c->q->req);
        if (!c->by_keys[i].len)
            return sf_no_room(why, "the query");
        sf_touched_add(&c->exemplars.touched, &m->by[i]);
    }
    if (sf_metrics_count_takes_attr(m->fn))
        sf_touched_add(&c->exemplars.touched, &m->attr);
    sf_touched_add_expr(&c->exemplars.touched, m->selection);
    sf_touched_add_pipeline(&c->exemplars.touched, c->query->pipeline);
    sf_exemplars_init(&c->exemplars);
    return SF_OK;
}

enum sf_err sf_metrics_count_run(struct sf_metrics_count *c, struct sf_store *store,
                                 struct sf_why *why)
{
    const struct sf_pipeline *p = c->query->pipeline;
    struct sf_pushdown down = sf_pushdown_make(p, c->q->req);
    struct sf_trace_stream stream = {.req = c->scratch};
    struct sf_trace_judge judge;
    enum sf_err err = metrics_count_prepare(c, why);
    struct sf_span_query query = {.from_ns = c->window->from_ns,
                                  .to_ns = c->window->to_ns,
                                  .has_whole_traces = true,
                                  .is_newest_first = true,
                                  .columns = metrics_count_columns_of(c)};
    bool has_tree = sf_touched_needs_tree(&c->exemplars.touched) ||
                    c->query->metric.fn == SF_FN_COMPARE;
    if (err || down.is_never)
        return err;
    /* The store scans the window; spans that count are in it, and each satisfies a filter of the
     * first stage, which the judge checks. The conditions may be satisfied by another span of the
     * trace. */
    if (!c->is_extrapolated && sf_metrics_columns_can(c, store))
        return sf_metrics_columns_run(c, store, &down, why);
    err = sf_trace_judge_init(&judge, c->eval, p, c->q->req, why);
    if (err)
        return err;
    query.judge = judge.root ? &judge.base : NULL;
    err = store->ops->span_scan(store, &query, c->q, &stream.cursor, why);
    if (err)
        return err;
    err = metrics_count_walk(c, &stream, has_tree, why);
    c->left_out = sf_trace_stream_note(&stream, c->q->req);
    if (!c->left_out.len && c->q->may_miss_far && judge.base.wants_parts)
        /* Other judges examine single spans, which are in the window. */
        c->left_out = SF_MISSES_FAR;
    stream.cursor->close(stream.cursor);
    c->n_traces = stream.n_traces;
    c->n_spans = stream.n_spans;
    return err;
}

/* ---- finished series ---- */

static int compare_times(const void *a, const void *b)
{
    const struct sf_metric_exemplar *x = a, *y = b;
    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

void sf_metrics_count_take_exemplars(const struct sf_table_series *from, struct sf_arena *req,
                                     struct sf_metric_series *to)
{
    uint32_t n = to->n_exemplars;
    struct sf_metric_exemplar *list;
    for (const struct sf_kept_exemplar *k = from->exemplars; k; k = k->next)
        n++;
    list = n > to->n_exemplars ? sf_arena_new_n(req, n, sizeof(*list)) : NULL;
    if (!list)
        return;
    if (to->n_exemplars)
        memcpy(list, to->exemplars, to->n_exemplars * sizeof(*list));
    n = to->n_exemplars;
    for (const struct sf_kept_exemplar *k = from->exemplars; k; k = k->next)
        list[n++] = k->is;
    qsort(list, n, sizeof(*list), compare_times);
    to->exemplars = list;
    to->n_exemplars = n;
}

static double finished(const struct sf_metrics_count *c, struct sf_metrics_cell cell)
{
    switch (c->query->metric.fn) {
    case SF_FN_RATE: return cell.n / ((double)c->window->step_ns / 1e9);
    case SF_FN_MIN:
    case SF_FN_MAX:
    case SF_FN_SUM: return cell.n > 0 ? cell.value : NAN;
    case SF_FN_AVG: return cell.n > 0 ? cell.value / cell.n : NAN;
    default: return cell.n;
    }
}

static double bound_of(const struct sf_metrics_count *c, const struct sf_table_series *s)
{
    double bound = ldexp(1, (uint8_t)s->key.p[s->key.len - 1]);
    return is_duration(&c->query->metric.attr) ? bound / 1e9 : bound;
}

static struct sf_attr extra_label(const struct sf_metrics_count *c, const struct sf_table_series *s)
{
    static const char *const names[SF_FNS] = {
        [SF_FN_RATE] = "rate",         [SF_FN_COUNT] = "count_over_time",
        [SF_FN_MIN] = "min_over_time", [SF_FN_MAX] = "max_over_time",
        [SF_FN_SUM] = "sum_over_time", [SF_FN_AVG] = "avg_over_time"};
    const struct sf_metric *m = &c->query->metric;
    if (m->fn == SF_FN_HISTOGRAM)
        return (struct sf_attr){SF_STR("__bucket"),
                                {.type = SF_VALUE_DOUBLE, .f64 = bound_of(c, s)}};
    if (m->n_by)
        return (struct sf_attr){0};
    return (struct sf_attr){SF_STR("__name__"),
                            {.type = SF_VALUE_STR, .str = sf_str_from(names[m->fn])}};
}

static void finish_plain(struct sf_metrics_count *c, struct sf_metrics_set *out)
{
    for (uint32_t i = 0; i < c->table.n_series; i++) {
        const struct sf_table_series *from = c->table.series[i];
        struct sf_metric_series *to;
        if (!(from->n > 0))
            continue;
        to = sf_metrics_set_add(out, from->labels, extra_label(c, from));
        if (!to)
            return;
        for (uint32_t step = 0; step < out->n_steps; step++)
            to->values[step] = finished(c, sf_metrics_table_get(&c->table, from, step));
        sf_metrics_count_take_exemplars(from, out->req, to);
    }
}

/* ---- quantiles: a group is the series that differ in their bucket only ---- */

static int compare_keys(const void *a, const void *b)
{
    const struct sf_table_series *const *x = a, *const *y = b;
    return sf_str_cmp((*x)->key, (*y)->key);
}

static bool is_same_group(const struct sf_table_series *a, const struct sf_table_series *b)
{
    return a->key.len == b->key.len && memcmp(a->key.p, b->key.p, a->key.len - 1) == 0;
}

static double quantile(const struct sf_metrics_count *c, struct sf_table_series *const *group,
                       uint32_t n, uint32_t step, double q)
{
    double total = 0, below = 0, rank, last_bound = 0;
    for (uint32_t i = 0; i < n; i++)
        total += sf_metrics_table_get(&c->table, group[i], step).n;
    if (!(total > 0))
        return 0;
    rank = fmax(1, ceil(q * total - 1e-9 * total)); /* so that 0.07 * 100 is 7 */
    for (uint32_t i = 0; i < n; i++) {
        double in_bucket = sf_metrics_table_get(&c->table, group[i], step).n;
        double bound = bound_of(c, group[i]);
        if (!(in_bucket > 0))
            continue;
        if (rank == below + in_bucket)
            return bound;
        if (rank < below + in_bucket) {
            double high = log2(bound), low = last_bound > 0 ? log2(last_bound) : high - 1;
            return exp2(low + (high - low) * (rank - below) / in_bucket);
        }
        below += in_bucket;
        last_bound = bound;
    }
    return last_bound;
}

/* Assigns each exemplar to the lowest quantile that is not below it. */
static void share_exemplars(struct sf_metrics_count *c, struct sf_metrics_set *out, uint32_t first,
                            const struct sf_table_series *from)
{
    for (const struct sf_kept_exemplar *k = from->exemplars; k; k = k->next) {
        struct sf_kept_exemplar one = {.is = k->is};
        struct sf_table_series alone = {.exemplars = &one};
        uint32_t best = out->n - 1, step;
        if (!sf_metrics_window_place(c->window, (uint64_t)k->is.time_ns, &step))
            continue;
        for (uint32_t i = first; i < out->n; i++) {
            double at = out->list[i].values[step], best_at = out->list[best].values[step];
            if (at >= k->is.value && (best_at < k->is.value || at < best_at))
                best = i;
        }
        sf_metrics_count_take_exemplars(&alone, out->req, &out->list[best]);
    }
}

static void finish_quantiles(struct sf_metrics_count *c, struct sf_metrics_set *out)
{
    const struct sf_metric *m = &c->query->metric;
    struct sf_table_series **list = sf_metrics_table_list(&c->table, out->req);
    uint32_t n;
    if (!list) {
        out->is_cut = true;
        return;
    }
    qsort(list, c->table.n_series, sizeof(struct sf_table_series *), compare_keys);
    for (uint32_t at = 0; at < c->table.n_series; at += n) {
        uint32_t first = out->n;
        for (n = 1; at + n < c->table.n_series && is_same_group(list[at], list[at + n]);)
            n++;
        for (uint32_t i = 0; i < m->n_quantiles; i++) {
            struct sf_attr p = {SF_STR("p"), {.type = SF_VALUE_DOUBLE, .f64 = m->quantiles[i]}};
            struct sf_metric_series *to = sf_metrics_set_add(out, list[at]->labels, p);
            if (!to)
                return;
            for (uint32_t step = 0; step < out->n_steps; step++)
                to->values[step] = quantile(c, list + at, n, step, m->quantiles[i]);
        }
        for (uint32_t i = 0; i < n; i++)
            share_exemplars(c, out, first, list[at + i]);
    }
}

void sf_metrics_count_finish(struct sf_metrics_count *c, struct sf_metrics_set *out)
{
    if (c->query->metric.fn == SF_FN_QUANTILE)
        finish_quantiles(c, out);
    else
        finish_plain(c, out);
    sf_metrics_set_drop_empty(out);
}
