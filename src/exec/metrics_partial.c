/* metrics_partial.c - partial results of a metrics query. The cache key consists of the parts of
 * the query that decide what a granule contributes; a partial is the table of one granule as bytes.
 * Writing visits the pages of the table; adding reads them into the table of a query whose steps
 * may begin elsewhere. */
#include "exec/metrics_partial.h"

#include <string.h>

#include "base/num.h"
#include "exec/filter_key.h"
#include "wire/pb.h"

/* ---- the query ---- */

static void add_str(struct sf_buf *out, sf_str s)
{
    sf_buf_add_varint(out, s.len);
    sf_buf_add_str(out, s);
}

/* Functions that count in the same way share results: they differ only in the final computation. */
static enum sf_metric_fn counted_as(enum sf_metric_fn fn)
{
    switch (fn) {
    case SF_FN_RATE: return SF_FN_COUNT;
    case SF_FN_AVG: return SF_FN_SUM;
    case SF_FN_HISTOGRAM: return SF_FN_QUANTILE;
    default: return fn;
    }
}

void sf_metrics_partial_question(const struct sf_metrics_count *c, struct sf_buf *out)
{
    const struct sf_metric *m = &c->query->metric;
    const struct sf_pipeline *p = c->query->pipeline;
    sf_buf_add_u8(out, (uint8_t)counted_as(m->fn));
    sf_buf_add_varint(out, c->window->is_instant ? 0 : (uint64_t)c->window->step_ns);
    for (uint32_t i = 0; i < p->n_stages; i++) {
        if (p->stages[i].kind != SF_STAGE_SPANSET)
            continue;
        sf_buf_add_u8(out, 1);
        sf_filter_key_spanset(out, p->stages[i].spanset);
    }
    sf_buf_add_u8(out, 0);
    if (sf_metrics_count_takes_attr(m->fn))
        sf_filter_key_attr(out, &m->attr);
    sf_buf_add_varint(out, m->n_by);
    for (uint32_t i = 0; i < m->n_by; i++)
        sf_filter_key_attr(out, &m->by[i]);
    sf_buf_add_varint(out, c->exemplars.n_max ? c->exemplars.touched.n : 0);
    for (uint32_t i = 0; c->exemplars.n_max && i < c->exemplars.touched.n; i++)
        sf_filter_key_attr(out, &c->exemplars.touched.attrs[i]);
}

/* ---- steps ---- */

bool sf_metrics_partial_window(const struct sf_metrics_window *w, int64_t min_ns, int64_t max_ns,
                               struct sf_metrics_window *out)
{
    int64_t first, end;
    if (w->is_instant) {
        *out = *w;
        return min_ns >= w->from_ns && max_ns <= w->to_ns;
    }
    if (min_ns <= 0 || max_ns < min_ns || max_ns > INT64_MAX - w->step_ns)
        return false;
    first = (min_ns - 1) / w->step_ns; /* steps are open on the left */
    end = (max_ns + w->step_ns - 1) / w->step_ns;
    if (end - first > SF_PARTIAL_STEPS)
        return false;
    *out = (struct sf_metrics_window){.from_ns = first * w->step_ns,
                                      .to_ns = end * w->step_ns,
                                      .step_ns = w->step_ns,
                                      .n_steps = sf_u32((uint64_t)(end - first))};
    return true;
}

/* ---- writing ---- */

static bool has_values(enum sf_metric_fn fn)
{
    return fn >= SF_FN_MIN && fn <= SF_FN_AVG;
}

static void add_double(struct sf_buf *out, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof(bits));
    sf_buf_add_u64le(out, bits);
}

static void add_page(struct sf_buf *out, const struct sf_metrics_page *p, bool has)
{
    unsigned mask = 0;
    sf_buf_add_varint(out, p->key >> 32);
    sf_buf_add_varint(out, (uint32_t)p->key);
    for (uint32_t i = 0; i < SF_METRICS_PAGE_CELLS; i++)
        mask |= (p->cells[i].n > 0 ? 1u : 0u) << i;
    sf_buf_add_u16le(out, (uint16_t)mask);
    for (uint32_t i = 0; i < SF_METRICS_PAGE_CELLS; i++) {
        if (!(mask >> i & 1))
            continue;
        sf_buf_add_varint(out, (uint64_t)p->cells[i].n); /* every span counts once */
        if (has)
            add_double(out, p->cells[i].value);
    }
}

static void metrics_partial_add_value(struct sf_buf *out, struct sf_value v)
{
    sf_buf_add_u8(out, (uint8_t)v.type);
    switch (v.type) {
    case SF_VALUE_STR: add_str(out, v.str); break;
    case SF_VALUE_BOOL: sf_buf_add_u8(out, v.is_true); break;
    case SF_VALUE_DOUBLE: add_double(out, v.f64); break;
    default: sf_buf_add_u64le(out, (uint64_t)v.i64); break;
    }
}

static void metrics_partial_add_exemplar(struct sf_buf *out, const struct sf_exemplars *x,
                                         uint32_t series, const struct sf_metric_exemplar *e)
{
    sf_buf_add_varint(out, series + 1);
    sf_buf_add_u64le(out, (uint64_t)e->time_ns);
    add_double(out, e->value);
    sf_buf_add_varint(out, e->labels.n);
    for (uint32_t i = 0; i < e->labels.n; i++) {
        uint32_t key = 0;
        while (key + 1 < x->touched.n && x->keys[key].p != e->labels.list[i].key.p)
            key++;
        sf_buf_add_varint(out, key);
        metrics_partial_add_value(out, e->labels.list[i].val);
    }
}

void sf_metrics_partial_write(const struct sf_metrics_count *part, struct sf_buf *out)
{
    const struct sf_metrics_table *t = &part->table;
    const struct sf_metrics_window *w = part->window;
    sf_buf_add_varint(out, w->is_instant ? 0 : (uint64_t)(w->from_ns / w->step_ns));
    sf_buf_add_varint(out, part->n_counted);
    sf_buf_add_varint(out, t->n_series);
    for (uint32_t i = 0; i < t->n_series; i++)
        add_str(out, t->series[i]->key);
    sf_buf_add_varint(out, t->n_pages);
    for (uint32_t i = 0; i < t->n_pages; i++)
        add_page(out, &t->pages[i], has_values(part->query->metric.fn));
    for (uint32_t i = 0; i < t->n_series; i++) {
        for (const struct sf_kept_exemplar *k = t->series[i]->exemplars; k; k = k->next)
            metrics_partial_add_exemplar(out, &part->exemplars, i, &k->is);
    }
    sf_buf_add_u8(out, 0);
}

/* ---- adding ---- */

struct adding {
    struct sf_metrics_count *c;
    struct sf_pb pb; /* used as a cursor only: there are no tags */
    sf_str *keys;
    struct sf_table_series **series; /* NULL: not found in the window so far */
    uint32_t n_series;
    int64_t first; /* the step of the window that is step 0 of the partial */
};

static sf_str metrics_partial_take(struct adding *a, uint64_t len)
{
    sf_str s = {(const char *)a->pb.at, (size_t)len};
    SF_ASSERT(len <= (size_t)(a->pb.end - a->pb.at)); /* trusted: written by this process */
    a->pb.at += len;
    return s;
}

static uint64_t take_u64(struct adding *a)
{
    return sf_load_u64le(metrics_partial_take(a, sizeof(uint64_t)).p);
}

static double take_double(struct adding *a)
{
    uint64_t bits = take_u64(a);
    double v;
    memcpy(&v, &bits, sizeof(v));
    return v;
}

static struct sf_table_series *metrics_partial_series_of(struct adding *a, uint32_t i)
{
    if (!a->series[i])
        a->series[i] = sf_metrics_count_keyed(a->c, a->keys[i]);
    return a->series[i];
}

static void metrics_partial_add_cell(struct adding *a, uint32_t series, int64_t step,
                                     struct sf_metrics_cell more)
{
    struct sf_table_series *s;
    struct sf_metrics_cell *cell;
    if (step < 0 || step >= a->c->window->n_steps)
        return;
    s = metrics_partial_series_of(a, series);
    cell = s ? sf_metrics_table_cell(&a->c->table, s, (uint32_t)step) : NULL;
    if (!cell)
        return;
    sf_metrics_count_join(a->c->query->metric.fn, cell, more);
    s->n += more.n;
}

static void take_page(struct adding *a)
{
    uint32_t series = (uint32_t)sf_pb_raw_varint(&a->pb);
    int64_t step = a->first + (int64_t)sf_pb_raw_varint(&a->pb) * SF_METRICS_PAGE_CELLS;
    uint8_t low = (uint8_t)*metrics_partial_take(a, 1).p,
            high = (uint8_t)*metrics_partial_take(a, 1).p;
    unsigned mask = low | (unsigned)high << 8;
    for (uint32_t i = 0; i < SF_METRICS_PAGE_CELLS; i++) {
        struct sf_metrics_cell cell = {.value = 1};
        if (!(mask >> i & 1))
            continue;
        cell.n = (double)sf_pb_raw_varint(&a->pb);
        if (has_values(a->c->query->metric.fn))
            cell.value = take_double(a);
        metrics_partial_add_cell(a, series, step + i, cell);
    }
}

static struct sf_value metrics_partial_take_value(struct adding *a)
{
    struct sf_value v = {.type = (enum sf_value_type) * metrics_partial_take(a, 1).p};
    switch (v.type) {
    case SF_VALUE_STR: v.str = metrics_partial_take(a, sf_pb_raw_varint(&a->pb)); break;
    case SF_VALUE_BOOL: v.is_true = *metrics_partial_take(a, 1).p != 0; break;
    case SF_VALUE_DOUBLE: v.f64 = take_double(a); break;
    default: v.i64 = (int64_t)take_u64(a); break;
    }
    return v;
}

static void take_exemplar(struct adding *a, uint32_t series)
{
    struct sf_exemplars *x = &a->c->exemplars;
    struct sf_attr labels[SF_TOUCHED_MAX];
    struct sf_metric_exemplar e = {.labels = {labels, 0}};
    uint32_t n, step;
    e.time_ns = (int64_t)take_u64(a);
    e.value = take_double(a);
    n = (uint32_t)sf_pb_raw_varint(&a->pb);
    SF_ASSERT(n <= SF_TOUCHED_MAX);
    for (; e.labels.n < n; e.labels.n++) {
        labels[e.labels.n].key = x->keys[sf_pb_raw_varint(&a->pb)];
        labels[e.labels.n].val = metrics_partial_take_value(a);
    }
    if (a->series[series] && sf_metrics_window_place(a->c->window, (uint64_t)e.time_ns, &step))
        sf_exemplars_keep(x, a->series[series], &e);
}

void sf_metrics_partial_add(struct sf_metrics_count *c, sf_bytes partial, struct sf_arena scratch)
{
    const struct sf_metrics_window *w = c->window;
    struct adding a = {.c = c, .pb = sf_pb_init(partial)};
    uint64_t n;
    a.first = (int64_t)sf_pb_raw_varint(&a.pb);
    a.first = w->is_instant ? 0 : a.first - w->from_ns / w->step_ns;
    c->n_counted += sf_pb_raw_varint(&a.pb);
    a.n_series = (uint32_t)sf_pb_raw_varint(&a.pb);
    a.keys = sf_arena_new_n(&scratch, a.n_series + 1, sizeof(*a.keys));
    a.series = sf_arena_new_n(&scratch, a.n_series + 1, sizeof(struct sf_table_series *));
    if (!a.keys || !a.series) {
        c->table.is_full = true;
        return;
    }
    for (uint32_t i = 0; i < a.n_series; i++)
        a.keys[i] = metrics_partial_take(&a, sf_pb_raw_varint(&a.pb));
    for (n = sf_pb_raw_varint(&a.pb); n; n--)
        take_page(&a);
    while ((n = sf_pb_raw_varint(&a.pb)))
        take_exemplar(&a, (uint32_t)n - 1);
}
