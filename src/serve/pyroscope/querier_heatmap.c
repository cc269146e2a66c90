/* querier_heatmap.c - SelectHeatmap: how often values of each size occur over time.
 *
 * A dot is a stored profile, or the sum of one span's samples at one time. Values are divided into
 * twenty equal rows between the smallest and the largest dot of all series, times into slots that
 * end at start, start + step, ... */
#include <stdlib.h>

#include "base/num.h"
#include "base/time_unit.h"
#include "serve/pyroscope/querier.h"
#include "serve/pyroscope/querier_dots.h"
#include "serve/pyroscope/querier_work.h"

enum { ROWS = 20 };

struct map {
    struct sf_querier_dot *dots;
    size_t n;
    struct sf_label_sets sets;
    int64_t min, max;
    struct sf_querier_owners owners;
    const struct sf_querier_ask *ask;
    bool is_spans, has_exemplars;
};

static enum sf_err querier_heatmap_check(struct sf_querier_work *x)
{
    const struct sf_querier_ask *a = x->ask;
    if (a->type.len == 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "profile_typeID is missing");
    if (!(a->step_s >= 0.001) || a->step_s > 1e9)
        return sf_fail(&x->why, SF_ERR_INPUT, "step is at least 0.001 s");
    if (a->limit < 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "limit must not be negative");
    if (a->start_ms >= a->end_ms)
        return sf_fail(&x->why, SF_ERR_INPUT, "the start of the time range lies after its end");
    return SF_OK;
}

/* ---- dots of profiles ---- */

static enum sf_err find_profiles(struct sf_querier_work *x, struct map *out)
{
    struct sf_prof_points points;
    enum sf_err err = x->store->ops->prof_points(x->store, &x->query, x->ask->keys, x->ask->n_keys,
                                                 0, &x->q, &points, &x->why);
    if (err)
        return err;
    out->dots = sf_arena_new_n(x->req, (size_t)points.n_points + 1, sizeof(*out->dots));
    if (!out->dots)
        return sf_no_room(&x->why, "the answer");
    for (uint32_t i = 0; i < points.n_points; i++) {
        const struct sf_prof_point *p = &points.points[i];
        out->dots[out->n++] = (struct sf_querier_dot){
            .group = p->group, .time_ns = p->time_ns, .value = p->value, .id = p->id};
    }
    out->sets = points.groups;
    return SF_OK;
}

static enum sf_err querier_heatmap_find_spans(struct sf_querier_work *x, struct map *out)
{
    struct sf_querier_dot_list all = {0};
    enum sf_err err = sf_querier_dots_find(x, &all);
    out->dots = all.list;
    out->n = all.n;
    out->sets = all.sets;
    return err;
}

/* ---- cells ---- */

static int by_slot(const void *a, const void *b)
{
    const struct sf_querier_dot *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->slot_ns < y->slot_ns ? -1 : x->slot_ns > y->slot_ns;
}

static void querier_heatmap_settle(const struct sf_querier_work *x, struct map *map)
{
    int64_t step_ns = (int64_t)(x->ask->step_s * 1000 + 0.5) * SF_NS_PER_MS;
    map->min = INT64_MAX;
    map->max = INT64_MIN;
    for (size_t i = 0; i < map->n; i++) {
        struct sf_querier_dot *d = &map->dots[i];
        d->slot_ns = sf_querier_dots_step_end(x, d->time_ns, step_ns);
        if (d->value < map->min)
            map->min = d->value;
        if (d->value > map->max)
            map->max = d->value;
    }
    if (map->max <= map->min)
        map->max = sf_add_sat_i64(map->min, 1);
    if (map->n)
        qsort(map->dots, map->n, sizeof(*map->dots), by_slot);
}

static size_t querier_heatmap_row_of(const struct map *map, int64_t value)
{
    double share = ((double)value - (double)map->min) / ((double)map->max - (double)map->min);
    size_t row = (size_t)(share * ROWS);
    return row < ROWS ? row : ROWS - 1;
}

static void write_slot(struct sf_message *m, const struct map *map,
                       const struct sf_querier_dot *dots, size_t n)
{
    const struct sf_querier_dot *largest[ROWS] = {0};
    int64_t counts[ROWS] = {0};
    double bounds[ROWS];
    size_t mark = sf_message_item(m, 2);
    for (size_t i = 0; i < ROWS; i++)
        bounds[i] = (double)(int64_t)((double)map->min +
                                      ((double)map->max - (double)map->min) * (double)i / ROWS);
    for (size_t i = 0; i < n; i++) {
        size_t row = querier_heatmap_row_of(map, dots[i].value);
        counts[row]++;
        if (!largest[row] || dots[i].value > largest[row]->value)
            largest[row] = &dots[i];
    }
    sf_message_i64(m, 1, "timestamp", dots[0].slot_ns / SF_NS_PER_MS);
    sf_message_doubles(m, 2, "yMin", bounds, ROWS);
    sf_message_numbers(m, 3, "counts", counts, ROWS, false);
    if (map->has_exemplars) {
        sf_message_list(m, "exemplars");
        for (size_t i = 0; i < ROWS; i++) {
            if (largest[i])
                sf_querier_dots_write(m, largest[i], &map->owners, map->ask);
        }
        sf_message_list_end(m);
    }
    sf_message_end(m, mark);
}

static void querier_heatmap_write_group(struct sf_message *m, const struct map *map,
                                        const struct sf_querier_group *g)
{
    const struct sf_querier_dot *dots = &map->dots[g->first];
    size_t mark = sf_message_item(m, 1), end;
    sf_querier_work_write_labels(m, 1, &map->sets, g->number);
    sf_message_list(m, "slots");
    for (size_t i = 0; i < g->n; i = end) {
        for (end = i; end < g->n && dots[end].slot_ns == dots[i].slot_ns;)
            end++;
        write_slot(m, map, &dots[i], end - i);
    }
    sf_message_list_end(m);
    sf_message_end(m, mark);
}

static enum sf_err answer_heatmap(struct sf_querier_work *x)
{
    struct map map = {.ask = x->ask,
                      .is_spans = x->ask->dots == SF_QUERIER_DOTS_SPANS,
                      .has_exemplars = x->ask->exemplars >= SF_QUERIER_EXEMPLARS_PROFILES};
    struct sf_querier_group *groups;
    size_t n = 0;
    enum sf_err err = querier_heatmap_check(x);
    if (!err)
        err = map.is_spans ? querier_heatmap_find_spans(x, &map) : find_profiles(x, &map);
    if (!err && !map.is_spans && map.has_exemplars)
        err = sf_querier_dots_owners_find(x, 0, &map.owners);
    if (err || map.n == 0)
        return err;
    querier_heatmap_settle(x, &map);
    groups = sf_arena_new_n(x->req, (size_t)map.sets.n_sets + 1, sizeof(*groups));
    if (!groups)
        return sf_no_room(&x->why, "the answer");
    for (size_t i = 0; i < map.n; i++)
        sf_querier_work_group_add(groups, &n, map.dots[i].group, i, (double)map.dots[i].value);
    n = sf_querier_work_group_sort(groups, n, x->ask->limit);
    sf_message_list(&x->m, "series");
    for (size_t i = 0; i < n; i++)
        querier_heatmap_write_group(&x->m, &map, &groups[i]);
    sf_message_list_end(&x->m);
    return SF_OK;
}

bool sf_querier_heatmap(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_work_run(call, worker, SF_QUERIER_HEATMAP, SF_QUERIER_TIMES_REQUIRED,
                               answer_heatmap);
}
