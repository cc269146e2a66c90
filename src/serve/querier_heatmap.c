/* querier_heatmap.c - SelectHeatmap: how often which size came when.
 *
 * A dot is a stored profile, or what one span has of samples at one time. Sizes fall into twenty
 * equal rows between the smallest and the largest dot of all series; times into slots that end at
 * start, start + step, ... */
#include <stdlib.h>

#include "base/num.h"
#include "serve/querier.h"
#include "serve/querier_work.h"

enum { ROWS = 20 };

struct dot {
    uint32_t group;
    int64_t time_ns, slot_ns, value;
    sf_profile_id id;
    sf_span_id span;
    sf_trace_id trace;
};

struct map {
    struct dot *dots;
    size_t n;
    struct sf_label_sets sets;
    int64_t min, max;
    bool is_spans, has_exemplars;
};

static enum sf_err check(struct sf_querier_work *x)
{
    const struct sf_querier_ask *a = x->ask;
    if (a->type.len == 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "profile_typeID is missing");
    if (!(a->step_s >= 0.001) || a->step_s > 1e9)
        return sf_fail(&x->why, SF_ERR_INPUT, "step is at least 0.001 s");
    if (a->limit < 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "limit is not negative");
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
        return sf_querier_no_room(x);
    for (uint32_t i = 0; i < points.n_points; i++) {
        const struct sf_prof_point *p = &points.points[i];
        out->dots[out->n++] = (struct dot){
            .group = p->group, .time_ns = p->time_ns, .value = p->value, .id = p->id};
    }
    out->sets = points.groups;
    return SF_OK;
}

/* ---- dots of spans ---- */

struct naming { /* groups of the series that details belong to */
    struct sf_label *labels;
    uint32_t *ends, n_sets, n_labels;
};

static bool is_same(const struct naming *g, uint32_t set, const struct sf_label *labels, uint32_t n)
{
    uint32_t from = set ? g->ends[set - 1] : 0;
    if (g->ends[set] - from != n)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (!sf_str_eq(g->labels[from + i].key, labels[i].key) ||
            !sf_str_eq(g->labels[from + i].val, labels[i].val))
            return false;
    }
    return true;
}

static enum sf_err name_groups(struct sf_querier_work *x, const struct sf_detail_list *list,
                               uint32_t *out_groups, struct sf_label_sets *out)
{
    size_t n_keys = x->ask->n_keys;
    struct naming g = {.labels = sf_arena_new_n(x->req, ((size_t)list->n_series + 1) * (n_keys + 1),
                                                sizeof(*g.labels)),
                       .ends = sf_arena_new_n(x->req, (size_t)list->n_series + 1, sizeof(*g.ends))};
    if (!g.labels || !g.ends)
        return sf_querier_no_room(x);
    for (uint32_t i = 0; i < list->n_series; i++) {
        struct sf_label *labels = &g.labels[g.n_labels];
        uint32_t n = 0, set = 0;
        for (size_t k = 0; k < n_keys; k++) {
            labels[n].key = x->ask->keys[k];
            if (!sf_querier_label(x->req, &list->series[i], labels[n].key, &labels[n].val))
                return sf_querier_no_room(x);
            n += labels[n].val.len > 0;
        }
        while (set < g.n_sets && !is_same(&g, set, labels, n))
            set++;
        if (set == g.n_sets) {
            g.n_labels += n;
            g.ends[g.n_sets++] = g.n_labels;
        }
        out_groups[i] = set;
    }
    *out = (struct sf_label_sets){g.labels, g.ends, g.n_sets};
    return SF_OK;
}

static int by_span(const void *a, const void *b)
{
    const struct dot *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->span != y->span)
        return x->span < y->span ? -1 : 1;
    return sf_trace_id_cmp(x->trace, y->trace);
}

static enum sf_err find_spans(struct sf_querier_work *x, struct map *out)
{
    struct sf_detail_query query = {.type = x->query.type,
                                    .match = x->query.match,
                                    .n_match = x->query.n_match,
                                    .from_ns = x->query.from_ns,
                                    .to_ns = x->query.to_ns};
    struct sf_detail_list list;
    uint32_t *groups = NULL;
    size_t n = 0;
    enum sf_err err = x->store->ops->detail_list(x->store, &query, &x->q, &list, &x->why);
    if (err)
        return err;
    groups = sf_arena_new_n(x->req, (size_t)list.n_series + 1, sizeof(*groups));
    out->dots = sf_arena_new_n(x->req, (size_t)list.rows.n_rows + 1, sizeof(*out->dots));
    if (!groups || !out->dots)
        return sf_querier_no_room(x);
    err = name_groups(x, &list, groups, &out->sets);
    for (uint32_t i = 0; !err && i < list.rows.n_rows; i++) {
        if (list.rows.span_id[i])
            out->dots[n++] = (struct dot){.group = groups[list.rows.series[i]],
                                          .time_ns = list.rows.start_ns[i],
                                          .value = list.rows.value[i],
                                          .span = list.rows.span_id[i],
                                          .trace = list.rows.trace_id[i]};
    }
    if (n)
        qsort(out->dots, n, sizeof(*out->dots), by_span);
    for (size_t i = 0; i < n; i++) {
        struct dot *last = out->n ? &out->dots[out->n - 1] : NULL;
        if (last && by_span(last, &out->dots[i]) == 0)
            last->value = sf_add_sat_i64(last->value, out->dots[i].value);
        else
            out->dots[out->n++] = out->dots[i];
    }
    return err;
}

/* ---- cells ---- */

static int by_slot(const void *a, const void *b)
{
    const struct dot *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    return x->slot_ns < y->slot_ns ? -1 : x->slot_ns > y->slot_ns;
}

static void settle(const struct sf_querier_work *x, struct map *map)
{
    int64_t from = x->query.from_ns, step = (int64_t)(x->ask->step_s * 1000 + 0.5) * 1000000;
    int64_t last = from + (x->query.to_ns - from) / step * step;
    map->min = INT64_MAX;
    map->max = INT64_MIN;
    for (size_t i = 0; i < map->n; i++) {
        struct dot *d = &map->dots[i];
        int64_t since = sf_sub_sat_i64(d->time_ns, from);
        d->slot_ns = since <= 0 ? from : from + (since - 1) / step * step + step;
        if (d->slot_ns > last)
            d->slot_ns = last;
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

static size_t row_of(const struct map *map, int64_t value)
{
    double share = ((double)value - (double)map->min) / ((double)map->max - (double)map->min);
    size_t row = (size_t)(share * ROWS);
    return row < ROWS ? row : ROWS - 1;
}

static void write_exemplar(struct sf_message *m, const struct map *map, const struct dot *d)
{
    char uuid[37], span[17], trace[33];
    size_t mark = sf_message_item(m, 4);
    sf_message_i64(m, 1, "timestamp", d->time_ns / 1000000);
    if (map->is_spans) {
        sf_span_id_render(d->span, span);
        sf_message_str(m, 3, "spanId", sf_str_from(span));
    } else {
        sf_profile_uuid_render(d->id, uuid);
        sf_message_str(m, 2, "profileId", sf_str_from(uuid));
    }
    sf_message_i64(m, 4, "value", d->value);
    if (!sf_trace_id_is_zero(d->trace)) {
        sf_trace_id_render(d->trace, trace);
        sf_message_str(m, 6, "traceId", sf_str_from(trace));
    }
    sf_message_end(m, mark);
}

static void write_slot(struct sf_message *m, const struct map *map, const struct dot *dots,
                       size_t n)
{
    const struct dot *largest[ROWS] = {0};
    int64_t counts[ROWS] = {0};
    double bounds[ROWS];
    size_t mark = sf_message_item(m, 2);
    for (size_t i = 0; i < ROWS; i++)
        bounds[i] = (double)(int64_t)((double)map->min +
                                      ((double)map->max - (double)map->min) * (double)i / ROWS);
    for (size_t i = 0; i < n; i++) {
        size_t row = row_of(map, dots[i].value);
        counts[row]++;
        if (!largest[row] || dots[i].value > largest[row]->value)
            largest[row] = &dots[i];
    }
    sf_message_i64(m, 1, "timestamp", dots[0].slot_ns / 1000000);
    sf_message_doubles(m, 2, "yMin", bounds, ROWS);
    sf_message_numbers(m, 3, "counts", counts, ROWS, false);
    if (map->has_exemplars) {
        sf_message_list(m, "exemplars");
        for (size_t i = 0; i < ROWS; i++) {
            if (largest[i])
                write_exemplar(m, map, largest[i]);
        }
        sf_message_list_end(m);
    }
    sf_message_end(m, mark);
}

static void write_group(struct sf_message *m, const struct map *map,
                        const struct sf_querier_group *g)
{
    const struct dot *dots = &map->dots[g->first];
    size_t mark = sf_message_item(m, 1), end;
    sf_querier_write_labels(m, 1, &map->sets, g->number);
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
    struct map map = {.is_spans = x->ask->dots == SF_QUERIER_DOTS_SPANS,
                      .has_exemplars = x->ask->exemplars >= SF_QUERIER_EXEMPLARS_PROFILES};
    struct sf_querier_group *groups;
    size_t n = 0;
    enum sf_err err = check(x);
    if (!err)
        err = map.is_spans ? find_spans(x, &map) : find_profiles(x, &map);
    if (err || map.n == 0)
        return err;
    settle(x, &map);
    groups = sf_arena_new_n(x->req, (size_t)map.sets.n_sets + 1, sizeof(*groups));
    if (!groups)
        return sf_querier_no_room(x);
    for (size_t i = 0; i < map.n; i++)
        sf_querier_group_add(groups, &n, map.dots[i].group, i, (double)map.dots[i].value);
    n = sf_querier_group_sort(groups, n, x->ask->limit);
    sf_message_list(&x->m, "series");
    for (size_t i = 0; i < n; i++)
        write_group(&x->m, &map, &groups[i]);
    sf_message_list_end(&x->m);
    return SF_OK;
}

bool sf_querier_heatmap(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_run(call, worker, SF_QUERIER_HEATMAP, SF_QUERIER_TIMES_REQUIRED,
                          answer_heatmap);
}
