/* querier_points.c - SelectSeries: sums of profiles over time.
 *
 * Points stand at start, start + step, ... and no later than the end; each has what came in the
 * step before it, so the first one reaches back before the start. */
#include <stdlib.h>

#include "base/num.h"
#include "base/time_unit.h"
#include "serve/pyroscope/profile_uuid.h"
#include "serve/pyroscope/querier.h"
#include "serve/pyroscope/querier_dots.h"
#include "serve/pyroscope/querier_work.h"

/* ---- exemplars: the largest profile, or span, of each point ---- */

struct owner { /* whose profile it is */
    sf_profile_id id;
    uint32_t set;
};

struct owners {
    struct owner *list;
    uint32_t n;
    struct sf_label_sets sets;
};

static int by_id(const void *a, const void *b)
{
    return memcmp(&((const struct owner *)a)->id, &((const struct owner *)b)->id,
                  sizeof(sf_profile_id));
}

static bool is_key(const sf_str *keys, size_t n, sf_str key)
{
    for (size_t i = 0; i < n; i++) {
        if (sf_str_eq(keys[i], key))
            return true;
    }
    return false;
}

/* The same points again, apart by all labels that the groups leave out: the largest of a point is
 * the largest of its own labels too. */
static enum sf_err find_owners(struct sf_querier_work *x, int64_t step_ns, struct owners *out)
{
    sf_str *keys = sf_arena_new_n(x->req, SF_QUERIER_LIST, sizeof(*keys));
    struct sf_prof_points points;
    struct sf_prof_list list;
    size_t n = 0;
    enum sf_err err = keys ? x->store->ops->prof_list(x->store, &x->query, &x->q, &list, &x->why)
                           : sf_no_room(&x->why, "the answer");
    for (uint32_t i = 0; !err && i < list.n; i++) {
        for (uint32_t k = 0; k < list.series[i].n_labels && n < SF_QUERIER_LIST; k++) {
            sf_str key = list.series[i].labels[k].key;
            if (!is_key(keys, n, key) && !is_key(x->ask->keys, x->ask->n_keys, key))
                keys[n++] = key;
        }
    }
    if (!err)
        err = x->store->ops->prof_points(x->store, &x->query, keys, n, step_ns, &x->q, &points,
                                         &x->why);
    if (err)
        return err;
    out->list = sf_arena_new_n(x->req, (size_t)points.n_points + 1, sizeof(*out->list));
    if (!out->list)
        return sf_no_room(&x->why, "the answer");
    for (uint32_t i = 0; i < points.n_points; i++)
        out->list[out->n++] = (struct owner){points.points[i].id, points.points[i].group};
    if (out->n)
        qsort(out->list, out->n, sizeof(*out->list), by_id);
    out->sets = points.groups;
    return SF_OK;
}

static void write_exemplar(struct sf_message *m, const struct owners *owners,
                           const struct sf_prof_point *p)
{
    struct owner wanted = {.id = p->id};
    const struct owner *owner = owners->n ? bsearch(&wanted, owners->list, owners->n,
                                                    sizeof(wanted), by_id)
                                          : NULL;
    char uuid[37];
    size_t mark;
    sf_profile_uuid_render(p->id, uuid);
    sf_message_list(m, "exemplars");
    mark = sf_message_item(m, 4);
    sf_message_i64(m, 1, "timestamp", p->id_ns / SF_NS_PER_MS);
    sf_message_str(m, 2, "profileId", sf_str_from(uuid));
    sf_message_i64(m, 4, "value", p->id_value);
    if (owner)
        sf_querier_write_labels(m, 5, &owners->sets, owner->set);
    sf_message_end(m, mark);
    sf_message_list_end(m);
}

/* ---- points ---- */

static void write_span(struct sf_message *m, const struct sf_querier_dot_list *spans,
                       const struct sf_prof_point *p)
{
    const struct sf_querier_dot *d = sf_querier_dots_at(spans, p->group, p->time_ns);
    if (!d)
        return;
    sf_message_list(m, "exemplars");
    sf_querier_write_dot(m, d);
    sf_message_list_end(m);
}

static void write_group(struct sf_querier_work *x, const struct sf_prof_points *points,
                        const struct sf_querier_group *g, const struct owners *owners,
                        const struct sf_querier_dot_list *spans)
{
    size_t mark = sf_message_item(&x->m, 1);
    sf_querier_write_labels(&x->m, 1, &points->groups, g->number);
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
            write_span(&x->m, spans, p);
        sf_message_end(&x->m, point);
    }
    sf_message_list_end(&x->m);
    sf_message_end(&x->m, mark);
}

static enum sf_err check(struct sf_querier_work *x)
{
    const struct sf_querier_ask *a = x->ask;
    if (!(a->step_s >= 0.001) || a->step_s > 1e9)
        return sf_fail(&x->why, SF_ERR_INPUT, "step is at least 0.001 s");
    if (a->type.len == 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "profile_typeID is missing");
    if (a->limit < 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "limit is not negative");
    if (a->has_pgo)
        return sf_fail(&x->why, SF_ERR_UNSUPPORTED, "a time series has no stacks to cut: go_pgo");
    if ((a->n_sites || a->n_frames) && a->exemplars == SF_QUERIER_EXEMPLARS_SPANS)
        return sf_fail(
            &x->why, SF_ERR_UNSUPPORTED,
            "exemplars of spans are of all their stacks: leave stack_trace_selector out");
    return SF_OK;
}

static enum sf_err write_points(struct sf_querier_work *x)
{
    struct sf_prof_points points;
    struct owners owners = {0};
    struct sf_querier_dot_list spans = {0};
    struct sf_querier_group *groups;
    size_t n = 0;
    int64_t step_ns;
    bool has_exemplars = x->ask->exemplars == SF_QUERIER_EXEMPLARS_PROFILES;
    bool has_spans = x->ask->exemplars == SF_QUERIER_EXEMPLARS_SPANS;
    enum sf_err err;
    step_ns = (int64_t)(x->ask->step_s * 1000 + 0.5) * SF_NS_PER_MS;
    err = x->store->ops->prof_points(x->store, &x->query, x->ask->keys, x->ask->n_keys, step_ns,
                                     &x->q, &points, &x->why);
    if (!err && has_exemplars)
        err = find_owners(x, step_ns, &owners);
    if (!err && has_spans)
        err = sf_querier_dots_of_steps(x, step_ns, &points.groups, &spans);
    if (err)
        return err;
    groups = sf_arena_new_n(x->req, (size_t)points.groups.n_sets + 1, sizeof(*groups));
    if (!groups)
        return sf_no_room(&x->why, "the answer");
    for (uint32_t i = 0; i < points.n_points; i++) {
        const struct sf_prof_point *p = &points.points[i];
        sf_querier_group_add(groups, &n, p->group, i, (double)p->value);
    }
    if (n == 0)
        return SF_OK;
    n = sf_querier_group_sort(groups, n, x->ask->limit);
    sf_message_list(&x->m, "series");
    for (size_t i = 0; i < n; i++)
        write_group(x, &points, &groups[i], has_exemplars ? &owners : NULL,
                    has_spans ? &spans : NULL);
    sf_message_list_end(&x->m);
    return SF_OK;
}

static enum sf_err answer_points(struct sf_querier_work *x)
{
    struct sf_stack_filter *stacks = NULL;
    enum sf_err err = check(x);
    if (!err)
        err = sf_querier_stacks(x->ask, &stacks, &x->why);
    x->query.stacks = stacks;
    if (!err)
        err = write_points(x);
    x->query.stacks = NULL;
    sf_stack_filter_free(stacks);
    return err;
}

bool sf_querier_points(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_run(call, worker, SF_QUERIER_POINTS, SF_QUERIER_TIMES_REQUIRED,
                          answer_points);
}
