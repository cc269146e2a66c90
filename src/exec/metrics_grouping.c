#include "exec/metrics_grouping.h"

#include "exec/metrics_filter.h"

enum { MAX_DURATIONS = 16 };

struct durations { /* with which a filter compares the duration */
    int64_t list[MAX_DURATIONS];
    uint32_t n;
};

/* ---- filters ---- */

static bool grouping_is_duration(const struct sf_expr *e)
{
    return e->kind == SF_EXPR_ATTR && e->attr.intrinsic == SF_INTRINSIC_DURATION;
}

/* The duration may only be compared with literals: then the result of each comparison is all that
 * the filter knows of it. */
static bool see_durations(struct durations *d, const struct sf_expr *e)
{
    const struct sf_expr *other;
    if (!e)
        return true;
    if (grouping_is_duration(e))
        return false;
    if (e->kind != SF_EXPR_BINARY || e->op > SF_EXPR_GE ||
        (!grouping_is_duration(e->left) && !grouping_is_duration(e->right)))
        return see_durations(d, e->left) && see_durations(d, e->right);
    other = grouping_is_duration(e->left) ? e->right : e->left;
    if (other->kind != SF_EXPR_LITERAL || d->n == MAX_DURATIONS ||
        (other->literal.type != SF_TYPE_DURATION && other->literal.type != SF_TYPE_INT))
        return false;
    d->list[d->n++] = other->literal.i64;
    return true;
}

static bool see_spanset(struct durations *d, const struct sf_spanset *s)
{
    if (s->op == SF_SPANSET_OR)
        return see_spanset(d, s->left) && see_spanset(d, s->right);
    return see_durations(d, s->filter);
}

/* ---- the measured value ---- */

static enum sf_span_measure grouping_measure_of(enum sf_metric_fn fn)
{
    switch (fn) {
    case SF_FN_MIN: return SF_MEASURE_LEAST;
    case SF_FN_MAX: return SF_MEASURE_MOST;
    case SF_FN_SUM:
    case SF_FN_AVG: return SF_MEASURE_SUM;
    case SF_FN_QUANTILE:
    case SF_FN_HISTOGRAM: return SF_MEASURE_POWERS;
    default: return SF_MEASURE_NONE;
    }
}

static bool grouping_is_of_span(const struct sf_query_attr *a)
{
    return a->intrinsic == SF_INTRINSIC_NONE &&
           (a->scope == SF_SCOPE_SPAN || a->scope == SF_SCOPE_ANY);
}

static uint32_t count_uses(const struct sf_expr *e, sf_str name)
{
    if (!e)
        return 0;
    return (e->kind == SF_EXPR_ATTR && grouping_is_of_span(&e->attr) &&
            sf_str_eq(e->attr.name, name)) +
           count_uses(e->left, name) + count_uses(e->right, name);
}

static uint32_t count_uses_in(const struct sf_spanset *s, sf_str name)
{
    if (s->op == SF_SPANSET_OR)
        return count_uses_in(s->left, name) + count_uses_in(s->right, name);
    return count_uses(s->filter, name);
}

/* Does anything but the measured value depend on this attribute of spans? */
static bool is_used_elsewhere(const struct sf_metrics_count *c, sf_str name)
{
    const struct sf_pipeline *p = c->query->pipeline;
    const struct sf_metric *m = &c->query->metric;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->n_stages; i++)
        n += p->stages[i].spanset ? count_uses_in(p->stages[i].spanset, name) : 0;
    for (uint32_t i = 0; i < m->n_by; i++)
        n += grouping_is_of_span(&m->by[i]) && sf_str_eq(m->by[i].name, name);
    return n > 0;
}

static void set_measure(const struct sf_metrics_count *c, struct sf_span_grouping *g)
{
    const struct sf_metric *m = &c->query->metric;
    if (m->attr.intrinsic == SF_INTRINSIC_DURATION)
        g->measure = grouping_measure_of(m->fn);
    /* Any other value is a column like those of by(): equal in all spans of a group. */
    if (!grouping_is_of_span(&m->attr) || is_used_elsewhere(c, m->attr.name))
        return;
    g->measure = grouping_measure_of(m->fn);
    g->measured = (struct sf_key){m->attr.scope, m->attr.name};
}

/* ---- all ---- */

bool sf_metrics_grouping_make(const struct sf_metrics_count *c, const struct sf_row_needs *needs,
                              struct sf_span_grouping *out)
{
    static const uint32_t of_one = SF_FROM_TREE | SF_FROM_IDS | SF_FROM_PARENT | SF_FROM_TRACE;
    const struct sf_metrics_window *w = c->window;
    const struct sf_metric *m = &c->query->metric;
    const struct sf_pipeline *p = c->query->pipeline;
    struct durations found = {0};
    int64_t *list;
    if (needs->sources & of_one || sf_eval_profiles(c->eval))
        return false;
    for (uint32_t i = 0; i < m->n_by; i++) {
        if (m->by[i].intrinsic == SF_INTRINSIC_DURATION)
            return false;
    }
    for (uint32_t i = 0; i < p->n_stages; i++) {
        if (p->stages[i].spanset && !see_spanset(&found, p->stages[i].spanset))
            return false;
    }
    list = sf_arena_new_n(c->q->req, found.n + 1, sizeof(*list));
    if (!list)
        return false;
    for (uint32_t i = 0; i < found.n; i++)
        list[i] = found.list[i];
    *out = (struct sf_span_grouping){.from_ns = w->from_ns,
                                     .step_ns = w->step_ns,
                                     .n_steps = w->n_steps,
                                     .is_closed = w->is_instant,
                                     .durations = list,
                                     .n_durations = found.n};
    if (sf_metrics_count_takes_attr(m->fn))
        set_measure(c, out);
    return true;
}
