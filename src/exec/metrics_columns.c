/* metrics_columns.c - computes metrics from columns. Rows are filtered by the compiled filters,
 * then counted in the series of their by() values; equal values share a number, so the series is
 * looked up once per combination. The result of a granule that can no longer change is cached as a
 * partial; where the store forms groups of granules, the sum of a group is cached instead. If a
 * granule is within one step, its starts are not read; if all its rows count in one
 * series, no column is read. A row may stand for several spans that the store counted
 * (sf_span_grouping). */
#include "exec/metrics_columns.h"

#include <math.h>
#include <string.h>

#include "base/limits.h"
#include "exec/eval_attr.h"
#include "exec/metrics_filter.h"
#include "exec/metrics_grouping.h"
#include "exec/metrics_part.h"
#include "exec/metrics_partial.h"
#include "exec/metrics_tally.h"
#include "exec/profile_conds.h"
#include "exec/trace_stream.h"

enum {
    /* A value without scope depends on span and resource: two dimensions. */
    MAX_DIMS = 2 * SF_METRICS_BY,
    MAX_DENSE = 1 << 16, /* at most this many combinations of values get a number */
    MAX_TALLY = 1 << 16, /* up to this many numbers (times buckets) are counted in an array */
    BUCKETS = 65
};

struct dim { /* rows with equal numbers have equal values in this dimension */
    const uint32_t *wide;
    const uint8_t *narrow; /* or NULL: `wide` is used */
    uint32_t n;
    uint32_t add; /* 1: SF_NONE becomes 0 */
};

struct run {
    struct sf_metrics_count *c;
    struct sf_metrics_filter filter;
    struct sf_row_needs by, attr, all; /* all: also what exemplars show */
    struct sf_column_batch batch;
    uint8_t *mask;
    struct dim dims[MAX_DIMS];
    uint32_t n_dims;
    bool is_alone;                 /* values have no numbers: look up each row separately */
    struct sf_table_series **memo; /* by number of the values, then bucket */
    uint64_t memo_cap, n_memo, tables;
    struct sf_metrics_tally tally;
    bool is_plain_count; /* all rows count in one series */
    uint32_t step;
    uint64_t step_from, step_to; /* starts in (from, to] are in `step` */
    sf_trace_id last_exemplar;
    /* Granules that cannot change are counted separately, and their results cached. */
    struct sf_buf question; /* key of the cache; empty: nothing is cached */
    struct sf_buf partial;
    struct sf_metrics_part part; /* the current granule */
    bool is_outside;             /* a row of the granule starts outside the granule's time range */
    struct sf_metrics_part group_part;
    uint64_t group; /* number of the group that is counted in group_part; 0: none */
    bool is_group_incomplete;
    struct sf_why *why;
};

/* ---- which queries ---- */

static void add_spanset_needs(struct sf_row_needs *n, const struct sf_spanset *s)
{
    if (s->op == SF_SPANSET_OR) {
        add_spanset_needs(n, s->left);
        add_spanset_needs(n, s->right);
    } else {
        sf_column_batch_needs_add_expr(n, s->filter);
    }
}

/* `has_shown`: also what exemplars show. */
static struct sf_row_needs needs_of(const struct sf_metrics_count *c, bool has_shown)
{
    const struct sf_metric *m = &c->query->metric;
    struct sf_row_needs n = {0};
    for (uint32_t i = 0; i < c->query->pipeline->n_stages; i++) {
        if (c->query->pipeline->stages[i].spanset)
            add_spanset_needs(&n, c->query->pipeline->stages[i].spanset);
    }
    for (uint32_t i = 0; i < m->n_by; i++)
        sf_column_batch_needs_add(&n, &m->by[i]);
    if (sf_metrics_count_takes_attr(m->fn))
        sf_column_batch_needs_add(&n, &m->attr);
    for (uint32_t i = 0; has_shown && c->exemplars.n_max && i < c->exemplars.touched.n; i++)
        sf_column_batch_needs_add(&n, &c->exemplars.touched.attrs[i]);
    return n;
}

bool sf_metrics_columns_can(const struct sf_metrics_count *c, const struct sf_store *store)
{
    return store->ops->span_columns && c->query->metric.fn != SF_FN_COMPARE &&
           sf_metrics_filter_can(c->query->pipeline) && !(needs_of(c, true).sources & SF_FROM_TREE);
}

static enum sf_err metrics_columns_prepare(struct run *r)
{
    const struct sf_metric *m = &r->c->query->metric;
    if (!sf_metrics_filter_init(&r->filter, r->c->eval, r->c->query->pipeline, r->c->q->req))
        return sf_no_room(r->why, "the query");
    for (uint32_t i = 0; i < m->n_by; i++)
        sf_column_batch_needs_add(&r->by, &m->by[i]);
    if (sf_metrics_count_takes_attr(m->fn))
        sf_column_batch_needs_add(&r->attr, &m->attr);
    r->all = needs_of(r->c, true);
    r->all.sources |= SF_FROM_START | SF_FROM_DURATION;
    return SF_OK;
}

/* ---- steps ---- */

/* The step of a start, which is mostly that of the previous row. */
static bool metrics_columns_place(struct run *r, uint64_t start_ns)
{
    const struct sf_metrics_window *w = r->c->window;
    if (start_ns > r->step_from && start_ns <= r->step_to)
        return true;
    if (!sf_metrics_window_place(w, start_ns, &r->step))
        return false;
    /* The first instant of an instant query is not in this range, so it is looked up each time. */
    r->step_from = (uint64_t)w->from_ns + (uint64_t)r->step * (uint64_t)w->step_ns;
    r->step_to = r->step_from + (uint64_t)w->step_ns;
    return true;
}

/* ---- rows of equal values ---- */

static void add_dim(struct run *r, struct dim d)
{
    r->dims[r->n_dims++] = d;
}

static enum sf_err add_span_dim(struct run *r, sf_str name)
{
    struct sf_value_column column;
    enum sf_err err = sf_column_batch_value(&r->batch, name, &column, r->why);
    if (!err)
        add_dim(r, (struct dim){.wide = column.code, .n = column.n_vals + 1, .add = 1});
    return err;
}

static enum sf_err add_attr_dims(struct run *r, const struct sf_query_attr *a)
{
    const struct sf_span_rows *rows = &r->batch.cols->rows;
    enum sf_err err = SF_OK;
    if (a->scope == SF_SCOPE_SPAN || a->scope == SF_SCOPE_ANY)
        err = add_span_dim(r, a->name);
    if (!err && (a->scope == SF_SCOPE_RESOURCE || a->scope == SF_SCOPE_ANY))
        add_dim(r, (struct dim){.wide = rows->resource, .n = rows->n_resources});
    if (!err && a->scope == SF_SCOPE_INSTRUMENTATION)
        add_dim(r, (struct dim){.wide = rows->scope, .n = rows->n_scopes});
    return err;
}

static enum sf_err add_dims(struct run *r, const struct sf_query_attr *a)
{
    const struct sf_span_rows *rows = &r->batch.cols->rows;
    switch (a->intrinsic) {
    case SF_INTRINSIC_NONE: return add_attr_dims(r, a);
    case SF_INTRINSIC_NAME:
        add_dim(r, (struct dim){.wide = rows->name.code, .n = rows->name.n_dict});
        break;
    case SF_INTRINSIC_STATUS_MESSAGE:
        add_dim(r, (struct dim){.wide = rows->status_msg.code, .n = rows->status_msg.n_dict});
        break;
    case SF_INTRINSIC_KIND: add_dim(r, (struct dim){.narrow = rows->kind, .n = 256}); break;
    case SF_INTRINSIC_STATUS: add_dim(r, (struct dim){.narrow = rows->status, .n = 256}); break;
    case SF_INTRINSIC_SCOPE_NAME:
    case SF_INTRINSIC_SCOPE_VERSION:
        add_dim(r, (struct dim){.wide = rows->scope, .n = rows->n_scopes});
        break;
    default: r->is_alone = true;
    }
    return SF_OK;
}

static bool is_by_table(const struct sf_metric *m)
{
    for (uint32_t i = 0; i < m->n_by; i++) {
        if (m->by[i].intrinsic != SF_INTRINSIC_NONE || m->by[i].scope != SF_SCOPE_RESOURCE)
            return false;
    }
    return true;
}

static bool metrics_columns_has_buckets(const struct run *r)
{
    return r->c->query->metric.fn == SF_FN_QUANTILE || r->c->query->metric.fn == SF_FN_HISTOGRAM;
}

/* Cached series are valid as long as the numbers have the same meaning: for a batch, or as long as
 * the resources are the same if only these count. */
static void renew_memo(struct run *r)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < r->n_dims && n <= MAX_DENSE; i++)
        n *= r->dims[i].n ? r->dims[i].n : 1;
    r->is_alone = r->is_alone || n > MAX_DENSE;
    if (r->is_alone)
        return;
    n *= metrics_columns_has_buckets(r) ? BUCKETS : 1;
    r->n_memo = n;
    if (n > r->memo_cap) {
        uint64_t cap = n > r->memo_cap * 2 ? n : r->memo_cap * 2;
        r->memo = sf_arena_raw(r->c->q->req, cap * sizeof(*r->memo), 16);
        r->memo_cap = r->memo ? cap : 0;
        r->is_alone = !r->memo; /* slower, but without memory */
        r->tables = 0;
    }
    if (r->memo && (!is_by_table(&r->c->query->metric) || r->tables != r->batch.cols->tables))
        memset(r->memo, 0, n * sizeof(*r->memo));
    r->tables = r->batch.cols->tables;
}

static inline uint64_t metrics_columns_number_of(const struct run *r, uint32_t row)
{
    uint64_t n = 0;
    if (r->n_dims == 1 && r->dims[0].wide)
        return r->dims[0].wide[row] + r->dims[0].add;
    for (uint32_t i = 0; i < r->n_dims; i++) {
        const struct dim *d = &r->dims[i];
        uint32_t code = d->narrow ? d->narrow[row] : d->wide[row] + d->add;
        n = n * d->n + code;
    }
    return n;
}

static struct sf_table_series *metrics_columns_series_of(struct run *r, uint32_t row,
                                                         uint8_t bucket)
{
    struct sf_table_series **memo = NULL, *s;
    if (!r->is_alone) {
        uint64_t at = metrics_columns_number_of(r, row);
        memo = &r->memo[metrics_columns_has_buckets(r) ? at * BUCKETS + bucket : at];
        s = *memo;
        if (s)
            return s;
    }
    sf_column_batch_take(&r->batch, &r->by, row);
    s = sf_metrics_count_series(r->c, &r->batch.view, 0, bucket);
    if (memo)
        *memo = s;
    return s;
}

/* ---- counting ---- */

static struct sf_static metrics_columns_measured(struct run *r, uint32_t row,
                                                 char text[SF_EVAL_TEXT_LEN])
{
    const struct sf_query_attr *a = &r->c->query->metric.attr;
    if (a->intrinsic == SF_INTRINSIC_DURATION)
        return (struct sf_static){SF_TYPE_DURATION,
                                  {.i64 = (int64_t)r->batch.cols->rows.duration_ns[row]}};
    sf_column_batch_take(&r->batch, &r->attr, row);
    return sf_eval_attr_one(a, &r->batch.view, 0, text);
}

/* False: this row is not counted. */
static bool metrics_columns_measure(struct run *r, uint32_t row, double *out, uint8_t *out_bucket)
{
    enum sf_metric_fn fn = r->c->query->metric.fn;
    char text[SF_EVAL_TEXT_LEN];
    *out = 1;
    *out_bucket = 0;
    return !sf_metrics_count_takes_attr(fn) ||
           sf_metrics_count_measure(fn, metrics_columns_measured(r, row, text), out, out_bucket);
}

/* Is there only one series, which counts everything? */
static bool has_one_series(const struct sf_metrics_count *c)
{
    const struct sf_metric *m = &c->query->metric;
    return m->n_by == 0 && m->fn != SF_FN_QUANTILE && m->fn != SF_FN_HISTOGRAM &&
           c->table.n_series == 1;
}

static enum sf_err keep_exemplar(struct run *r, uint32_t row)
{
    struct sf_metrics_count *c = r->c;
    struct sf_table_series *s;
    double value;
    uint8_t bucket;
    uint64_t start_ns = r->batch.cols->rows.start_ns[row];
    enum sf_err err;
    if (!metrics_columns_measure(r, row, &value, &bucket))
        return SF_OK;
    s = metrics_columns_series_of(r, row, bucket);
    if (!s || !sf_exemplars_has_room(&c->exemplars, s, start_ns))
        return SF_OK;
    err = sf_column_batch_add(&r->batch, &r->all, r->why);
    if (err)
        return err;
    sf_column_batch_take(&r->batch, &r->all, row);
    if (sf_trace_id_eq(r->last_exemplar, r->batch.view.id))
        return SF_OK;
    if (sf_exemplars_add(&c->exemplars, s, &r->batch.view, 0,
                         sf_metrics_count_takes_attr(c->query->metric.fn) ? value : NAN))
        r->last_exemplar = r->batch.view.id;
    return SF_OK;
}

/* Counts the spans that a row stands for; their values are `value`, unless their sum is known. */
static void count_into(const struct run *r, struct sf_metrics_cell *cell, uint32_t row,
                       double value)
{
    const struct sf_metrics_count *c = r->c;
    const struct sf_span_columns *cols = r->batch.cols;
    enum sf_metric_fn fn = c->query->metric.fn;
    double n = cols->n_same ? (double)cols->n_same[row] : 1;
    if (!cols->n_same || !cols->sums || isnan(cols->sums[row]) ||
        (fn != SF_FN_SUM && fn != SF_FN_AVG)) {
        sf_metrics_count_into(fn, cell, value, n);
        return;
    }
    cell->value += c->query->metric.attr.intrinsic == SF_INTRINSIC_DURATION ? cols->sums[row] / 1e9
                                                                            : cols->sums[row];
    cell->n += n;
}

static void count_row(struct run *r, uint32_t row)
{
    struct sf_metrics_count *c = r->c;
    uint64_t n = r->batch.cols->n_same ? r->batch.cols->n_same[row] : 1;
    struct sf_table_series *s;
    struct sf_metrics_cell *cell;
    double value;
    uint8_t bucket;
    c->n_counted += n;
    s = metrics_columns_measure(r, row, &value, &bucket) ? metrics_columns_series_of(r, row, bucket)
                                                         : NULL;
    cell = s ? sf_metrics_table_cell(&c->table, s, r->step) : NULL;
    if (!cell)
        return;
    count_into(r, cell, row, value);
    s->n += (double)n;
}

/* Counts `n` rows of the series in the step; `s` may be NULL. */
static void metrics_columns_join(struct run *r, struct sf_table_series *s, uint32_t step,
                                 uint32_t n)
{
    struct sf_metrics_cell *cell = s ? sf_metrics_table_cell(&r->c->table, s, step) : NULL;
    struct sf_metrics_cell more = {.value = 1, .n = n};
    if (!cell)
        return;
    sf_metrics_count_join(r->c->query->metric.fn, cell, more);
    s->n += n;
}

static void add_tally(struct run *r, uint32_t step)
{
    struct sf_metrics_tally *t = &r->tally;
    for (uint32_t i = 0; i < t->n_order; i++) {
        uint32_t number = t->order[i];
        uint8_t bucket = metrics_columns_has_buckets(r) ? (uint8_t)(number % BUCKETS) : 0;
        struct sf_table_series *s = metrics_columns_series_of(r, t->rows[number], bucket);
        metrics_columns_join(r, s, step, t->counts[number]);
        t->counts[number] = 0;
    }
    t->n_order = 0;
}

/* All rows count in one series. Consecutive rows that start in the same step are counted together.
 */
static void tally_steps(struct run *r)
{
    const struct sf_span_rows *rows = &r->batch.cols->rows;
    struct sf_table_series *s = metrics_columns_series_of(r, 0, 0);
    uint32_t end;
    for (uint32_t i = 0; i < rows->n_rows; i = end) {
        end = i + 1;
        if (!metrics_columns_place(r, rows->start_ns[i])) {
            r->is_outside = true;
            continue;
        }
        while (end < rows->n_rows &&
               rows->start_ns[end] - r->step_from - 1 < r->step_to - r->step_from)
            end++;
        r->c->n_counted += end - i;
        metrics_columns_join(r, s, r->step, end - i);
    }
}

/* Counts by number, step by step: a series is looked up once for all of its rows in a step. */
static void tally_rows(struct run *r, bool is_one_step)
{
    const struct sf_span_rows *rows = &r->batch.cols->rows;
    bool has_attr = sf_metrics_count_takes_attr(r->c->query->metric.fn),
         has = metrics_columns_has_buckets(r);
    uint32_t step = r->step, n_counted = 0;
    double value;
    uint8_t bucket = 0;
    if (!is_one_step && !has_attr && r->n_dims == 0 && !memchr(r->mask, 0, rows->n_rows)) {
        tally_steps(r);
        return;
    }
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        uint64_t number;
        if (!r->mask[i])
            continue;
        if (!is_one_step && !metrics_columns_place(r, rows->start_ns[i])) {
            r->is_outside = true;
            continue;
        }
        if (r->step != step) {
            add_tally(r, step);
            step = r->step;
        }
        n_counted++;
        if (has_attr && !metrics_columns_measure(r, i, &value, &bucket))
            continue;
        number = metrics_columns_number_of(r, i);
        sf_metrics_tally_add(&r->tally, (uint32_t)(has ? number * BUCKETS + bucket : number), i);
    }
    r->c->n_counted += n_counted;
    add_tally(r, step);
}

static void metrics_columns_count_rows(struct run *r, bool is_one_step)
{
    const struct sf_span_rows *rows = &r->batch.cols->rows;
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        if (!r->mask[i])
            continue;
        if (is_one_step || metrics_columns_place(r, rows->start_ns[i]))
            count_row(r, i);
        else
            r->is_outside = true;
    }
}

static enum sf_err keep_exemplars(struct run *r)
{
    const struct sf_span_rows *rows = &r->batch.cols->rows;
    struct sf_exemplars *x = &r->c->exemplars;
    const struct sf_table_series *only = has_one_series(r->c) ? r->c->table.series[0] : NULL;
    uint64_t full_from = 0, full_len = 0; /* nothing that starts there is kept */
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < rows->n_rows && !x->is_full; i++) {
        uint64_t start_ns = rows->start_ns[i];
        if (!r->mask[i] || start_ns - full_from < full_len || !metrics_columns_place(r, start_ns))
            continue;
        if (sf_exemplars_has_room(x, only, start_ns))
            err = keep_exemplar(r, i);
        else
            sf_exemplars_full_piece(x, &full_from, &full_len);
    }
    return err;
}

/* Do all rows start in one step? Then it becomes the current one. */
static bool find_one_step(struct run *r, const struct sf_span_columns *cols)
{
    const struct sf_metrics_window *w = r->c->window;
    uint32_t first, last;
    if (!cols->keep || cols->has_strays ||
        !sf_metrics_window_place(w, (uint64_t)cols->min_ns, &first) ||
        !sf_metrics_window_place(w, (uint64_t)cols->max_ns, &last) || first != last)
        return false;
    r->step = first;
    r->step_from = r->step_to = 0;
    return true;
}

static bool can_tally(struct run *r)
{
    enum sf_metric_fn fn = r->c->query->metric.fn;
    /* An aggregate of values, not a count of rows. */
    bool is_number = fn >= SF_FN_MIN && fn <= SF_FN_AVG;
    return !is_number && !r->is_alone && !r->batch.cols->n_same && r->n_memo <= MAX_TALLY &&
           sf_metrics_tally_room(&r->tally, (uint32_t)r->n_memo, r->c->q->req);
}

static enum sf_err metrics_columns_count_batch(struct run *r, struct sf_span_columns *cols)
{
    const struct sf_metric *m = &r->c->query->metric;
    bool has_any = false, is_one_step;
    enum sf_err err;
    sf_column_batch_init(&r->batch, cols);
    err = sf_metrics_filter_rows(&r->filter, &r->batch, &r->mask, &has_any, r->why);
    if (err || !has_any)
        return err;
    is_one_step = find_one_step(r, cols);
    if (!is_one_step || r->c->exemplars.n_max)
        err = cols->add(cols, SF_COL_START, r->why);
    if (!err)
        err = sf_column_batch_add(&r->batch, &r->by, r->why);
    if (!err)
        err = sf_column_batch_add(&r->batch, &r->attr, r->why);
    r->n_dims = 0;
    r->is_alone = false;
    for (uint32_t i = 0; !err && i < m->n_by; i++)
        err = add_dims(r, &m->by[i]);
    if (err)
        return err;
    renew_memo(r);
    if (can_tally(r))
        tally_rows(r, is_one_step);
    else
        metrics_columns_count_rows(r, is_one_step);
    return r->c->exemplars.n_max ? keep_exemplars(r) : SF_OK;
}

/* ---- all rows in one series and one step ---- */

static bool metrics_columns_has_filter(const struct sf_spanset *s)
{
    if (s->op == SF_SPANSET_OR)
        return metrics_columns_has_filter(s->left) || metrics_columns_has_filter(s->right);
    return s->filter != NULL;
}

static bool is_plain_count(const struct sf_metrics_count *c)
{
    const struct sf_pipeline *p = c->query->pipeline;
    const struct sf_metric *m = &c->query->metric;
    for (uint32_t i = 0; i < p->n_stages; i++) {
        if (p->stages[i].kind == SF_STAGE_SPANSET &&
            metrics_columns_has_filter(p->stages[i].spanset))
            return false;
    }
    return m->n_by == 0 && (m->fn == SF_FN_COUNT || m->fn == SF_FN_RATE);
}

/* *out_is_done false: count the granule normally. */
static void count_plainly(struct run *r, struct sf_span_columns *cols, bool *out_is_done)
{
    struct sf_metrics_count *c = r->c;
    struct sf_table_series *s;
    uint32_t n = cols->rows.n_rows;
    *out_is_done = false;
    if (!r->is_plain_count || !find_one_step(r, cols))
        return;
    for (uint32_t i = 0; cols->rows.is_in && i < cols->rows.n_rows; i++)
        n -= !cols->rows.is_in[i];
    *out_is_done = n == 0;
    if (n == 0)
        return;
    sf_column_batch_init(&r->batch, cols);
    s = sf_metrics_count_series(c, &r->batch.view, 0, 0);
    if (s &&
        sf_exemplars_may_keep(&c->exemplars, s, (uint64_t)cols->min_ns, (uint64_t)cols->max_ns))
        return; /* the rows must be examined */
    *out_is_done = true;
    c->n_counted += n;
    metrics_columns_join(r, s, r->step, n);
}

/* ---- granules by themselves ---- */

/* Cached series and steps belong to another table: clear them. */
static void turn_to(struct run *r, struct sf_metrics_count *c)
{
    r->c = c;
    r->tables = 0;
    r->step_from = r->step_to = 0;
}

static bool may_keep_exemplars(struct sf_metrics_count *c, const struct sf_span_columns *cols)
{
    int64_t min_ns = cols->min_ns, max_ns = cols->max_ns;
    const struct sf_table_series *only = has_one_series(c) ? c->table.series[0] : NULL;
    min_ns = min_ns > c->window->from_ns ? min_ns : c->window->from_ns;
    max_ns = max_ns < c->window->to_ns ? max_ns : c->window->to_ns;
    return min_ns <= max_ns &&
           sf_exemplars_may_keep(&c->exemplars, only, (uint64_t)min_ns, (uint64_t)max_ns);
}

/* *out_is_done false: count the granule normally. */
static enum sf_err count_part(struct run *r, struct sf_span_columns *cols, bool *out_is_done)
{
    struct sf_metrics_count *whole = r->c, *part = &r->part.count;
    sf_bytes question = sf_buf_bytes(&r->question), kept;
    enum sf_err err;
    *out_is_done = false;
    if (!question.len || !cols->keep ||
        !sf_metrics_part_begin(&r->part, whole, cols->min_ns, cols->max_ns))
        return SF_OK;
    if (cols->recall(cols, question, &kept)) {
        sf_metrics_partial_add(whole, kept, *cols->scratch);
        *out_is_done = true;
        return SF_OK;
    }
    if (!may_keep_exemplars(whole, cols))
        part->exemplars.n_max = 0;
    r->is_outside = false;
    turn_to(r, part);
    err = metrics_columns_count_batch(r, cols);
    turn_to(r, whole);
    if (err || part->err || part->table.is_full || r->is_outside)
        return err;
    sf_buf_reset(&r->partial);
    sf_metrics_partial_write(part, &r->partial);
    if (!sf_buf_ok(&r->partial))
        return SF_OK;
    sf_metrics_partial_add(whole, sf_buf_bytes(&r->partial), *cols->scratch);
    if (r->partial.len > SF_LIMIT_PARTIAL_LEN)
        sf_buf_reset(&r->question); /* the partials of other granules will be too large, too */
    else if (!r->group)
        cols->keep(cols, question, sf_buf_bytes(&r->partial));
    *out_is_done = true;
    return SF_OK;
}

static enum sf_err metrics_columns_count_granule(struct run *r, struct sf_span_columns *cols)
{
    bool is_done;
    enum sf_err err = SF_OK;
    count_plainly(r, cols, &is_done);
    if (!is_done)
        err = count_part(r, cols, &is_done);
    return err || is_done ? err : metrics_columns_count_batch(r, cols);
}

/* ---- groups of granules ---- */

/* Adds the group to the query's table. `cols`: its last rows, all of which were returned, so that
 * its result can be cached; NULL: rows are missing. */
static void metrics_columns_end_group(struct run *r, struct sf_span_columns *cols)
{
    struct sf_metrics_count *part = &r->group_part.count;
    sf_bytes question = sf_buf_bytes(&r->question);
    if (!r->group)
        return;
    r->group = 0;
    sf_buf_reset(&r->partial);
    sf_metrics_partial_write(part, &r->partial);
    if (!sf_buf_ok(&r->partial))
        r->c->err = SF_ERR_NOMEM;
    else
        sf_metrics_partial_add(r->c, sf_buf_bytes(&r->partial), r->group_part.room);
    if (part->err)
        r->c->err = part->err;
    r->c->table.is_full |= part->table.is_full;
    if (cols && cols->group.keep && question.len && !r->c->err && !r->c->table.is_full &&
        !r->is_group_incomplete && r->partial.len <= SF_LIMIT_PARTIAL_LEN)
        cols->group.keep(cols, question, sf_buf_bytes(&r->partial));
}

/* Counts rows in the part of their group; rows that do not fit its steps in the query's table. */
static enum sf_err count_in_group(struct run *r, struct sf_span_columns *cols)
{
    struct sf_metrics_count *whole = r->c;
    enum sf_err err = SF_OK;
    bool is_done = !cols->rows.n_rows;
    turn_to(r, &r->group_part.count);
    if (!is_done)
        count_plainly(r, cols, &is_done);
    if (!is_done)
        err = count_part(r, cols, &is_done);
    turn_to(r, whole);
    if (err || !is_done)
        r->is_group_incomplete = true;
    return err || is_done ? err : metrics_columns_count_batch(r, cols);
}

static enum sf_err count_columns(struct run *r, struct sf_span_columns *cols)
{
    const struct sf_column_group *g = &cols->group;
    enum sf_err err;
    if (r->group != g->number)
        metrics_columns_end_group(r, NULL);
    if (cols->recalled.len) {
        sf_metrics_partial_add(r->c, cols->recalled, *cols->scratch);
        return SF_OK;
    }
    if (g->number && !r->group && r->question.len &&
        sf_metrics_part_begin(&r->group_part, r->c, g->min_ns, g->max_ns)) {
        r->group = g->number;
        r->is_group_incomplete = false;
    }
    if (!r->group)
        return cols->rows.n_rows ? metrics_columns_count_granule(r, cols) : SF_OK;
    err = count_in_group(r, cols);
    if (!err && g->is_end)
        metrics_columns_end_group(r, cols);
    return err;
}

static uint64_t count_spans(const struct sf_span_columns *cols)
{
    uint64_t n = 0;
    for (uint32_t i = 0; cols->n_same && i < cols->rows.n_rows; i++)
        n += cols->n_same[i];
    return cols->n_same ? n : cols->rows.n_rows;
}

static enum sf_err metrics_columns_walk(struct run *r, struct sf_column_cursor *cursor)
{
    struct sf_metrics_count *c = r->c;
    struct sf_span_columns *cols;
    enum sf_err err = SF_OK;
    while (!err && (cols = cursor->next(cursor))) {
        err = count_columns(r, cols);
        if (err == SF_ERR_CORRUPT)
            err = SF_OK; /* the store has noted it, and the answer reports it */
        c->n_traces += cols->n_traces;
        c->n_spans += count_spans(cols);
        if (!err && c->err)
            err = sf_fail(r->why, c->err, "no memory for the query");
        if (!err && c->on_trace)
            c->on_trace(c, c->on_trace_arg);
    }
    metrics_columns_end_group(r, NULL);
    if (!err && cursor->err) {
        err = cursor->err;
        if (r->why)
            *r->why = cursor->why;
    }
    if (err == SF_ERR_DEADLINE && c->n_counted) {
        c->is_late = true;
        return SF_OK;
    }
    return err;
}

enum sf_err sf_metrics_columns_run(struct sf_metrics_count *c, struct sf_store *store,
                                   const struct sf_pushdown *down, struct sf_why *why)
{
    struct run *r = sf_arena_new(c->q->req, sizeof(*r));
    struct sf_key keys[SF_BATCH_KEYS];
    struct sf_column_cursor *cursor;
    struct sf_span_grouping grouping;
    struct sf_row_needs needs = needs_of(c, false);
    struct sf_span_query query = {.from_ns = c->window->from_ns,
                                  .to_ns = c->window->to_ns,
                                  .conds = down->conds,
                                  .n_conds = down->n,
                                  .is_all = down->is_all,
                                  .want_keys = keys};
    enum sf_err err;
    if (!r)
        return sf_no_room(why, "the query");
    r->c = c;
    r->why = why;
    err = metrics_columns_prepare(r);
    if (err)
        return err;
    query.columns = sf_column_batch_needs_columns(&r->all);
    for (uint32_t i = 0; i < r->all.n_names; i++)
        keys[query.n_want++] = (struct sf_key){SF_SCOPE_SPAN, r->all.names[i]};
    sf_metrics_part_init(&r->part, c);
    sf_metrics_part_init(&r->group_part, c);
    r->is_plain_count = is_plain_count(c);
    if (!sf_eval_profiles(c->eval)) /* profiles may still change */
        sf_metrics_partial_question(c, &r->question);
    if (!sf_buf_ok(&r->question))
        sf_buf_reset(&r->question);
    query.question = sf_buf_bytes(&r->question);
    query.is_group_inside = c->window->is_instant;
    if (sf_metrics_grouping_make(c, &needs, &grouping))
        query.grouping = &grouping;
    err = store->ops->span_columns(store, &query, c->q, &cursor, why);
    if (!err) {
        err = metrics_columns_walk(r, cursor);
        c->left_out = sf_trace_stream_left_out_note(cursor->n_left_out, cursor->left_out,
                                                    c->q->req);
        cursor->close(cursor);
    }
    sf_metrics_part_done(&r->part);
    sf_metrics_part_done(&r->group_part);
    sf_buf_done(&r->question);
    sf_buf_done(&r->partial);
    return err;
}
