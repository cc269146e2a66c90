/* link_aggregate.c - samples of a process around a span, from profiles without ids and times. */
#include "join/link_aggregate.h"
#include "base/num.h"

/* What is left of the profiles that cover the span after subtracting detail rows. */
struct rest {
    const struct sf_tree **trees; /* by window */
    uint32_t **nodes;      /* by window and node of its tree: the node in the joined stacks */
    int64_t **values;      /* by window and node of the joined stacks */
    int64_t total, tagged; /* sum over all windows, and the part of it that names a span */
    int64_t from_ns, to_ns;
};

static enum sf_err merge_windows(struct sf_link_load *l, struct rest *r, struct sf_why *why)
{
    const struct sf_link_windows *ws = &l->windows;
    enum sf_err err = SF_OK;
    r->trees = sf_arena_new_n(l->q->req, ws->n + 1u, sizeof(*r->trees));
    r->nodes = sf_arena_new_n(l->q->req, ws->n + 1u, sizeof(*r->nodes));
    r->values = sf_arena_new_n(l->q->req, ws->n + 1u, sizeof(*r->values));
    if (!r->trees || !r->nodes || !r->values)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < ws->n; i++) {
        const struct sf_link_window *w = &ws->list[i];
        struct sf_prof_query ask = {.type = l->type,
                                    .match = ws->match,
                                    .n_match = ws->n_match,
                                    .from_ns = w->from_ns,
                                    .to_ns = ws->is_joined ? w->to_ns : w->from_ns + 1,
                                    .process = ws->process};
        err = l->store->ops->prof_merge(l->store, &ask, l->q, &r->trees[i], why);
        if (err)
            break;
        r->nodes[i] = sf_arena_new_n(l->q->req, r->trees[i]->n_nodes + 1u, sizeof(**r->nodes));
        if (!r->nodes[i])
            return sf_no_room(why, "the query");
        sf_tree_builder_shape(&l->stacks, r->trees[i], r->nodes[i]);
        r->total = sf_add_sat_i64(r->total, r->trees[i]->total);
        r->from_ns = w->from_ns < r->from_ns ? w->from_ns : r->from_ns;
        r->to_ns = w->to_ns > r->to_ns ? w->to_ns : r->to_ns;
    }
    return err;
}

static bool is_of_window(const struct sf_link_window *w, const struct sf_detail_rows *rows,
                         uint32_t row)
{
    int64_t at_ns = rows->start_ns[row];
    return rows->has_time[row] ? at_ns >= w->from_ns && at_ns < w->to_ns : at_ns == w->from_ns;
}

/* Detail rows are part of the aggregate, too. Their ids or times already decide their span, so they
 * are subtracted from what is shared. */
static void subtract_row(const struct sf_link_load *l, struct rest *r,
                         const struct sf_detail_rows *rows, uint32_t row, uint32_t node)
{
    int64_t value = rows->value[row];
    for (uint32_t i = 0; i < l->windows.n && value > 0; i++) {
        int64_t *left = &r->values[i][node];
        if (*left <= 0 || !is_of_window(&l->windows.list[i], rows, row))
            continue;
        int64_t part = value < *left ? value : *left;
        *left -= part;
        value -= part;
    }
}

/* LIMIT: there are more rows than a query can hold, so nearly everything has a row. */
static enum sf_err subtract_rows(struct sf_link_load *l, struct rest *r, struct sf_why *why)
{
    struct sf_detail_query ask = {.type = l->type,
                                  .match = l->windows.match,
                                  .n_match = l->windows.n_match,
                                  .process = l->windows.process,
                                  .from_ns = r->from_ns,
                                  .to_ns = r->to_ns};
    struct sf_detail_list list;
    enum sf_err err = l->store->ops->detail_list(l->store, &ask, l->q, &list, why);
    uint32_t *nodes = err ? NULL
                          : sf_arena_new_n(l->q->req, list.tree.n_nodes + 1u, sizeof(*nodes));
    if (err || !nodes)
        return err ? err : sf_no_room(why, "the query");
    sf_tree_builder_shape(&l->stacks, &list.tree, nodes);
    for (uint32_t i = 0; i < l->windows.n; i++) {
        r->values[i] = sf_arena_new_n(l->q->req, l->stacks.n_nodes + 1u, sizeof(**r->values));
        if (!r->values[i])
            return sf_no_room(why, "the query");
        for (uint32_t k = 1; k < r->trees[i]->n_nodes; k++)
            r->values[i][r->nodes[i][k]] += r->trees[i]->nodes[k].self;
    }
    for (uint32_t i = 0; i < list.rows.n_rows; i++) {
        if (list.rows.is_lent[i])
            continue; /* not part of the aggregate */
        if (list.rows.span_id[i] != 0)
            r->tagged = sf_add_sat_i64(r->tagged, list.rows.value[i]);
        subtract_row(l, r, &list.rows, i, nodes[list.rows.node[i]]);
    }
    return SF_OK;
}

/* Adds every stack of the profiles that start in a window as one sample that covers it. */
static enum sf_err link_aggregate_add_window(struct sf_link_load *l, const struct sf_link_window *w,
                                             const int64_t *values, uint32_t n_nodes,
                                             struct sf_why *why)
{
    for (uint32_t i = 1; i < n_nodes; i++) {
        struct sf_link_sample sample = {.process = l->spans.origins[l->set.span].process,
                                        .start_ns = w->from_ns,
                                        .length_ns = w->to_ns - w->from_ns,
                                        .value = values[i],
                                        .node = i};
        if (values[i] != 0 && !sf_link_load_sample(l, &sample))
            return sf_no_room(why, "the query");
    }
    return SF_OK;
}

enum sf_err sf_link_aggregate_add(struct sf_link_load *l, struct sf_why *why)
{
    struct rest r = {.from_ns = INT64_MAX, .to_ns = INT64_MIN};
    uint32_t before = l->n_samples;
    enum sf_err err = merge_windows(l, &r, why);
    if (err || r.total == 0)
        return err;
    l->set.source = SF_LINK_IDS;
    err = subtract_rows(l, &r, why);
    if (err || r.tagged >= r.total - r.tagged)
        return err == SF_ERR_LIMIT ? SF_OK : err;
    uint32_t n_nodes = l->stacks.n_nodes;
    for (uint32_t i = 0; !err && i < l->windows.n; i++)
        err = link_aggregate_add_window(l, &l->windows.list[i], r.values[i], n_nodes, why);
    if (err || l->n_samples == before)
        return err;
    l->set.source = SF_LINK_AGGREGATE;
    l->set.window_from_ns = r.from_ns;
    l->set.window_to_ns = r.to_ns;
    l->set.is_partial = l->set.is_partial || l->windows.is_joined;
    return SF_OK;
}
