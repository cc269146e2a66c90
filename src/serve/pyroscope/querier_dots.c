/* querier_dots.c - exemplars and heatmap points. Detail rows are summed by span and time, filtered
 * by the stacks that were requested, and grouped by labels; for a time series only the largest of
 * each step is kept. A second query finds the labels that grouping removes. */
#include "serve/pyroscope/querier_dots.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/time_unit.h"
#include "serve/pyroscope/profile_uuid.h"

struct naming { /* groups of the series that detail rows belong to */
    struct sf_label *labels;
    uint32_t *ends, n_sets, n_labels;
};

static bool querier_dots_is_same(const struct naming *g, uint32_t set,
                                 const struct sf_label *labels, uint32_t n)
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
        return sf_no_room(&x->why, "the answer");
    for (uint32_t i = 0; i < list->n_series; i++) {
        struct sf_label *labels = &g.labels[g.n_labels];
        uint32_t n = 0, set = 0;
        for (size_t k = 0; k < n_keys; k++) {
            labels[n].key = x->ask->keys[k];
            if (!sf_querier_work_label(x->req, &list->series[i], labels[n].key, &labels[n].val))
                return sf_no_room(&x->why, "the answer");
            n += labels[n].val.len > 0;
        }
        while (set < g.n_sets && !querier_dots_is_same(&g, set, labels, n))
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

static int querier_dots_by_span(const void *a, const void *b)
{
    const struct sf_querier_dot *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (x->span != y->span)
        return x->span < y->span ? -1 : 1;
    return sf_trace_id_cmp(x->trace, y->trace);
}

/* Marks the nodes of the tree that end a requested stack; NULL: all do. */
static enum sf_err find_meant(struct sf_querier_work *x, const struct sf_tree *tree,
                              const bool **out)
{
    bool *is_meant;
    enum sf_err err;
    *out = NULL;
    if (!x->query.stacks)
        return SF_OK;
    is_meant = sf_arena_new_n(x->req, (size_t)tree->n_nodes + 1, sizeof(*is_meant));
    if (!is_meant)
        return sf_no_room(&x->why, "the answer");
    err = sf_stack_filter_nodes(x->query.stacks, tree, *x->req, is_meant, &x->why);
    *out = is_meant;
    return err;
}

enum sf_err sf_querier_dots_find(struct sf_querier_work *x, struct sf_querier_dot_list *out)
{
    struct sf_detail_query query = {.type = x->query.type,
                                    .match = x->query.match,
                                    .n_match = x->query.n_match,
                                    .from_ns = x->query.from_ns,
                                    .to_ns = x->query.to_ns};
    struct sf_detail_list list;
    uint32_t *groups = NULL;
    const bool *is_meant = NULL;
    size_t n = 0;
    enum sf_err err = x->store->ops->detail_list(x->store, &query, &x->q, &list, &x->why);
    if (err)
        return err;
    groups = sf_arena_new_n(x->req, (size_t)list.n_series + 1, sizeof(*groups));
    out->list = sf_arena_new_n(x->req, (size_t)list.rows.n_rows + 1, sizeof(*out->list));
    if (!groups || !out->list)
        return sf_no_room(&x->why, "the answer");
    err = name_groups(x, &list, groups, &out->sets);
    if (!err)
        err = find_meant(x, &list.tree, &is_meant);
    for (uint32_t i = 0; !err && i < list.rows.n_rows; i++) {
        if (list.rows.span_id[i] && (!is_meant || is_meant[list.rows.node[i]]))
            out->list[n++] = (struct sf_querier_dot){.group = groups[list.rows.series[i]],
                                                     .series = &list.series[list.rows.series[i]],
                                                     .time_ns = list.rows.start_ns[i],
                                                     .value = list.rows.value[i],
                                                     .span = list.rows.span_id[i],
                                                     .trace = list.rows.trace_id[i]};
    }
    if (n)
        qsort(out->list, n, sizeof(*out->list), querier_dots_by_span);
    for (size_t i = 0; i < n; i++) {
        struct sf_querier_dot *last = out->n ? &out->list[out->n - 1] : NULL;
        if (last && querier_dots_by_span(last, &out->list[i]) == 0)
            last->value = sf_add_sat_i64(last->value, out->list[i].value);
        else
            out->list[out->n++] = out->list[i];
    }
    return err;
}

/* ---- labels of single profiles ---- */

static int querier_dots_by_id(const void *a, const void *b)
{
    return memcmp(&((const struct sf_querier_owner *)a)->id,
                  &((const struct sf_querier_owner *)b)->id, sizeof(sf_profile_id));
}

static bool is_key(const sf_str *keys, size_t n, sf_str key)
{
    for (size_t i = 0; i < n; i++) {
        if (sf_str_eq(keys[i], key))
            return true;
    }
    return false;
}

/* Queries the same points again, grouped by the labels that the request does not group by: the
 * largest profile of a point is also the largest of its own labels, so it is found again with
 * them. */
enum sf_err sf_querier_dots_owners_find(struct sf_querier_work *x, int64_t step_ns,
                                        struct sf_querier_owners *out)
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
        out->list[out->n++] = (struct sf_querier_owner){points.points[i].id,
                                                        points.points[i].group};
    if (out->n)
        qsort(out->list, out->n, sizeof(*out->list), querier_dots_by_id);
    out->sets = points.groups;
    return SF_OK;
}

static void write_owner(struct sf_message *m, const struct sf_querier_owners *owners,
                        sf_profile_id id)
{
    struct sf_querier_owner wanted = {.id = id};
    const struct sf_querier_owner *owner = owners->n ? bsearch(&wanted, owners->list, owners->n,
                                                               sizeof(wanted), querier_dots_by_id)
                                                     : NULL;
    if (owner)
        sf_querier_work_write_labels(m, 5, &owners->sets, owner->set);
}

static void write_series(struct sf_message *m, const struct sf_series *s,
                         const struct sf_querier_ask *ask)
{
    sf_message_list(m, "labels");
    for (uint32_t i = 0; i < s->n_labels; i++) {
        if (!is_key(ask->keys, ask->n_keys, s->labels[i].key))
            sf_querier_work_write_label(m, 5, s->labels[i].key, s->labels[i].val);
    }
    sf_message_list_end(m);
}

void sf_querier_dots_write(struct sf_message *m, const struct sf_querier_dot *d,
                           const struct sf_querier_owners *owners, const struct sf_querier_ask *ask)
{
    char uuid[37], span[17], trace[33];
    size_t mark = sf_message_item(m, 4);
    sf_message_i64(m, 1, "timestamp", d->time_ns / SF_NS_PER_MS);
    if (d->span) {
        sf_span_id_render(d->span, span);
        sf_message_str(m, 3, "spanId", sf_str_from(span));
    } else {
        sf_profile_uuid_render(d->id, uuid);
        sf_message_str(m, 2, "profileId", sf_str_from(uuid));
    }
    sf_message_i64(m, 4, "value", d->value);
    if (d->series && ask)
        write_series(m, d->series, ask);
    else if (owners)
        write_owner(m, owners, d->id);
    if (!sf_trace_id_is_zero(d->trace)) {
        sf_trace_id_render(d->trace, trace);
        sf_message_str(m, 6, "traceId", sf_str_from(trace));
    }
    sf_message_end(m, mark);
}

/* ---- the largest dot of each step ---- */

static bool is_same_set(const struct sf_label_sets *a, uint32_t i, const struct sf_label_sets *b,
                        uint32_t k)
{
    uint32_t from_a = i ? a->ends[i - 1] : 0, from_b = k ? b->ends[k - 1] : 0;
    if (a->ends[i] - from_a != b->ends[k] - from_b)
        return false;
    for (uint32_t n = 0; from_a + n < a->ends[i]; n++) {
        if (!sf_str_eq(a->labels[from_a + n].key, b->labels[from_b + n].key) ||
            !sf_str_eq(a->labels[from_a + n].val, b->labels[from_b + n].val))
            return false;
    }
    return true;
}

static int by_step(const void *a, const void *b)
{
    const struct sf_querier_dot *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->slot_ns != y->slot_ns)
        return x->slot_ns < y->slot_ns ? -1 : 1;
    if (x->span != y->span)
        return x->span < y->span ? -1 : 1;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Keeps one dot for each span and step, then the largest dot of each step. */
static size_t keep_largest(struct sf_querier_dot *list, size_t n)
{
    size_t n_spans = 0, n_out = 0;
    for (size_t i = 0; i < n; i++) {
        struct sf_querier_dot *last = n_spans ? &list[n_spans - 1] : NULL;
        if (last && last->group == list[i].group && last->slot_ns == list[i].slot_ns &&
            last->span == list[i].span)
            last->value = sf_add_sat_i64(last->value, list[i].value);
        else
            list[n_spans++] = list[i];
    }
    for (size_t i = 0; i < n_spans; i++) {
        struct sf_querier_dot *last = n_out ? &list[n_out - 1] : NULL;
        if (!last || last->group != list[i].group || last->slot_ns != list[i].slot_ns)
            list[n_out++] = list[i];
        else if (list[i].value > last->value)
            *last = list[i];
    }
    return n_out;
}

int64_t sf_querier_dots_step_end(const struct sf_querier_work *x, int64_t time_ns, int64_t step_ns)
{
    int64_t from = x->query.from_ns, since = sf_sub_sat_i64(time_ns, from);
    int64_t most = x->query.to_ns > from ? (x->query.to_ns - 1 - from) / step_ns : 0;
    int64_t whole = x->query.has_end ? since - since % SF_NS_PER_MS : since;
    int64_t steps = whole <= 0 ? 0 : whole / step_ns + (whole % step_ns > 0);
    if (steps > most && x->query.has_end)
        return from + (x->query.to_ns - 1 - from) / SF_NS_PER_MS * SF_NS_PER_MS;
    return from + (steps < most ? steps : most) * step_ns;
}

enum sf_err sf_querier_dots_of_steps(struct sf_querier_work *x, int64_t step_ns,
                                     const struct sf_label_sets *groups,
                                     struct sf_querier_dot_list *out)
{
    enum sf_err err = sf_querier_dots_find(x, out);
    uint32_t *own = err ? NULL : sf_arena_new_n(x->req, (size_t)out->sets.n_sets + 1, sizeof(*own));
    if (err || !own)
        return err ? err : sf_no_room(&x->why, "the answer");
    for (uint32_t i = 0; i < out->sets.n_sets; i++)
        while (own[i] < groups->n_sets && !is_same_set(&out->sets, i, groups, own[i]))
            own[i]++;
    for (size_t i = 0; i < out->n; i++) {
        struct sf_querier_dot *d = &out->list[i];
        d->group = own[d->group];
        d->slot_ns = sf_querier_dots_step_end(x, d->time_ns, step_ns);
    }
    if (out->n)
        qsort(out->list, out->n, sizeof(*out->list), by_step);
    out->n = keep_largest(out->list, out->n);
    return SF_OK;
}

const struct sf_querier_dot *sf_querier_dots_at(const struct sf_querier_dot_list *dots,
                                                uint32_t group, int64_t slot_ns)
{
    size_t low = 0, high = dots->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct sf_querier_dot *d = &dots->list[mid];
        if (d->group < group || (d->group == group && d->slot_ns < slot_ns))
            low = mid + 1;
        else
            high = mid;
    }
    return low < dots->n && dots->list[low].group == group && dots->list[low].slot_ns == slot_ns
               ? &dots->list[low]
               : NULL;
}
