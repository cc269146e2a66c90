/* querier_points.c - SelectSeries: sums of profiles over time.
 *
 * Points are at start, start + step, ...; each is the sum over the step that ends there. The first
 * covers its own time only; a last one, at the end, covers the rest after the last whole step. */
#include "base/time_unit.h"
#include "serve/pyroscope/querier.h"
#include "serve/pyroscope/querier_dots.h"
#include "serve/pyroscope/querier_work.h"

/* ---- exemplars: the largest profile, or span, of each point ---- */

static void write_exemplar(struct sf_message *m, const struct sf_querier_owners *owners,
                           const struct sf_prof_point *p)
{
    struct sf_querier_dot dot = {.time_ns = p->id_ns, .value = p->id_value, .id = p->id};
    sf_message_list(m, "exemplars");
    sf_querier_dots_write(m, &dot, owners, NULL);
    sf_message_list_end(m);
}

/* ---- points ---- */

static void querier_points_write_span(struct sf_message *m, const struct sf_querier_dot_list *spans,
                                      const struct sf_querier_ask *ask,
                                      const struct sf_prof_point *p)
{
    const struct sf_querier_dot *d = sf_querier_dots_at(spans, p->group, p->time_ns);
    if (!d)
        return;
    sf_message_list(m, "exemplars");
    sf_querier_dots_write(m, d, NULL, ask);
    sf_message_list_end(m);
}

static void querier_points_write_group(struct sf_querier_work *x,
                                       const struct sf_prof_points *points,
                                       const struct sf_querier_group *g,
                                       const struct sf_querier_owners *owners,
                                       const struct sf_querier_dot_list *spans)
{
    size_t mark = sf_message_item(&x->m, 1);
    sf_querier_work_write_labels(&x->m, 1, &points->groups, g->number);
    sf_message_list(&x->m, "points");
    for (size_t i = 0; i < g->n; i++) {
        const struct sf_prof_point *p = &points->points[g->first + i];
        size_t point = sf_message_item(&x->m, 2);
        double value = (double)p->value;
        if (x->ask->aggregation == 1 && p->n_profiles)
            value /= (double)p->n_profiles;
        sf_message_f64(&x->m, 1, "value", value);
        sf_message_i64(&x->m, 2, "timestamp", p->time_ns / SF_NS_PER_MS);
        if (owners)
            write_exemplar(&x->m, owners, p);
        if (spans)
            querier_points_write_span(&x->m, spans, x->ask, p);
        sf_message_end(&x->m, point);
    }
    sf_message_list_end(&x->m);
    sf_message_end(&x->m, mark);
}

static enum sf_err querier_points_check(struct sf_querier_work *x)
{
    const struct sf_querier_ask *a = x->ask;
    if (!(a->step_s >= 0.001) || a->step_s > 1e9)
        return sf_fail(&x->why, SF_ERR_INPUT, "step is at least 0.001 s");
    if (a->type.len == 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "profile_typeID is missing");
    if (a->limit < 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "limit must not be negative");
    if (a->has_pgo)
        return sf_fail(&x->why, SF_ERR_UNSUPPORTED, "go_pgo is not supported for time series");
    return SF_OK;
}

static enum sf_err querier_points_write_points(struct sf_querier_work *x)
{
    struct sf_prof_points points;
    struct sf_querier_owners owners = {0};
    struct sf_querier_dot_list spans = {0};
    struct sf_querier_group *groups;
    size_t n = 0;
    int64_t step_ns;
    bool has_exemplars = x->ask->exemplars == SF_QUERIER_EXEMPLARS_PROFILES;
    bool has_spans = x->ask->exemplars == SF_QUERIER_EXEMPLARS_SPANS;
    enum sf_err err;
    x->query.has_end = true;
    step_ns = (int64_t)(x->ask->step_s * 1000 + 0.5) * SF_NS_PER_MS;
    err = x->store->ops->prof_points(x->store, &x->query, x->ask->keys, x->ask->n_keys, step_ns,
                                     &x->q, &points, &x->why);
    if (!err && has_exemplars)
        err = sf_querier_dots_owners_find(x, step_ns, &owners);
    if (!err && has_spans)
        err = sf_querier_dots_of_steps(x, step_ns, &points.groups, &spans);
    if (err)
        return err;
    groups = sf_arena_new_n(x->req, (size_t)points.groups.n_sets + 1, sizeof(*groups));
    if (!groups)
        return sf_no_room(&x->why, "the answer");
    for (uint32_t i = 0; i < points.n_points; i++) {
        const struct sf_prof_point *p = &points.points[i];
        sf_querier_work_group_add(groups, &n, p->group, i, (double)p->value);
    }
    if (n == 0)
        return SF_OK;
    n = sf_querier_work_group_sort(groups, n, x->ask->limit);
    sf_message_list(&x->m, "series");
    for (size_t i = 0; i < n; i++)
        querier_points_write_group(x, &points, &groups[i], has_exemplars ? &owners : NULL,
                                   has_spans ? &spans : NULL);
    sf_message_list_end(&x->m);
    return SF_OK;
}

static enum sf_err answer_points(struct sf_querier_work *x)
{
    struct sf_stack_filter *stacks = NULL;
    enum sf_err err = querier_points_check(x);
    if (!err)
        err = sf_querier_work_stacks(x->ask, &stacks, &x->why);
    x->query.stacks = stacks;
    if (!err)
        err = querier_points_write_points(x);
    x->query.stacks = NULL;
    sf_stack_filter_free(stacks);
    return err;
}

bool sf_querier_points(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_work_run(call, worker, SF_QUERIER_POINTS, SF_QUERIER_TIMES_REQUIRED,
                               answer_points);
}
