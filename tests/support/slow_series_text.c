#include <math.h>
#include <stdlib.h>

#include "slow_answer.h"

struct named { /* a series by its labels */
    sf_str name;
    const double *values;
};

static int compare_named(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return sf_str_cmp(x->name, y->name);
}

static struct named name_series(struct sf_attrs labels, const double *values, struct sf_arena *req)
{
    struct named out = {.values = values};
    struct sf_buf text = {0};
    answer_attrs(&text, labels);
    if (!sf_arena_copy(req, sf_buf_str(&text), &out.name))
        abort();
    sf_buf_done(&text);
    return out;
}

/* Sums may be taken in another order: the last bits may differ. */
static bool is_near(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b));
}

static void write_series(struct sf_buf *out, const struct named *list, uint32_t n, uint32_t n_steps)
{
    for (uint32_t i = 0; i < n; i++) {
        sf_buf_print(out, "{%.*s }", SF_STR_ARG(list[i].name));
        for (uint32_t k = 0; k < n_steps; k++)
            sf_buf_print(out, " %.12g", list[i].values[k]);
        sf_buf_print(out, "\n");
    }
}

bool answer_metrics_is(const struct sf_metrics_result *result, const struct slow_series_set *set,
                       struct sf_arena *req, struct sf_buf *have, struct sf_buf *want)
{
    struct named *a = slow_new(req, result->n_series, sizeof(*a)),
                 *b = slow_new(req, set->n, sizeof(*b));
    bool is_same = result->n_series == set->n && result->n_steps == set->n_steps &&
                   !result->is_partial;
    for (uint32_t i = 0; i < result->n_series; i++)
        a[i] = name_series(result->series[i].labels, result->series[i].values, req);
    for (uint32_t i = 0; i < set->n; i++)
        b[i] = name_series((struct sf_attrs){set->list[i].labels, set->list[i].n_labels},
                           set->list[i].values, req);
    qsort(a, result->n_series, sizeof(*a), compare_named);
    qsort(b, set->n, sizeof(*b), compare_named);
    for (uint32_t i = 0; is_same && i < set->n; i++) {
        is_same = sf_str_eq(a[i].name, b[i].name);
        for (uint32_t k = 0; is_same && k < set->n_steps; k++)
            is_same = is_near(a[i].values[k], b[i].values[k]);
    }
    write_series(have, a, result->n_series, result->n_steps);
    write_series(want, b, set->n, set->n_steps);
    if (result->is_partial)
        sf_buf_print(have, "partial: %.*s\n", SF_STR_ARG(result->note));
    return is_same;
}

static bool has_span(const struct slow_traces *traces, const struct sf_metric_exemplar *e)
{
    sf_str text = sf_attrs_str(e->labels, SF_STR("trace:id"));
    for (uint32_t i = 0; i < traces->n; i++) {
        const struct slow_trace *t = &traces->list[i];
        char id[33];
        sf_trace_id_render(t->id, id);
        if (!text.len || !sf_str_ends(sf_str_from(id), text))
            continue;
        for (uint32_t k = 0; k < t->n; k++) {
            if ((int64_t)t->spans[k]->span.start_ns == e->time_ns)
                return true;
        }
    }
    return false;
}

const char *answer_exemplars_fault(const struct sf_metrics_result *result,
                                   const struct slow_traces *traces, uint32_t n_max)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < result->n_series; i++) {
        const struct sf_metric_series *s = &result->series[i];
        for (uint32_t k = 0; k < s->n_exemplars; k++, n++) {
            const struct sf_metric_exemplar *e = &s->exemplars[k];
            int64_t step = (e->time_ns - result->from_ns - 1) / result->step_ns;
            if (e->time_ns <= result->from_ns || step >= result->n_steps)
                return "an exemplar outside the window";
            if (isnan(s->values[step]) || isnan(e->value))
                return "an exemplar without a sample";
            if (!has_span(traces, e))
                return "an exemplar that is no span";
        }
    }
    return n > n_max ? "too many exemplars" : NULL;
}
