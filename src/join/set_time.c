/* set_time.c - all time of the spans of a query as one graph. */
#include "join/set_time.h"

#include <math.h>

#include "join/cohort_set.h"
#include "join/set_breakdown.h"
#include "link/time_tree.h"
#include "link/trust.h"

enum { SET_TRACES = 2 * SF_COHORT_SPANS, FEWEST_SPANS = 50 };

struct work {
    struct sf_store *store;
    const struct sf_cohort_want *want;
    struct sf_query_ctx *q;
    struct sf_span_set set;
    struct sf_link_keep keep;
    struct sf_link_gathered *g;
    struct sf_set_breakdown b;
    double room;
    struct sf_cohort_view out;
};

static void find_room(struct work *w)
{
    double unknown_ns = 0, cut_ns = 0;
    for (uint32_t i = 0; i < w->g->n_read; i++) {
        unknown_ns += w->b.parts[i].ns[SF_PART_UNKNOWN];
        for (uint32_t part = 0; part < SF_PARTS; part++)
            cut_ns += w->b.parts[i].cut[part];
    }
    w->room = sf_ledger_costs_room(unknown_ns, cut_ns);
}

/* What the items of a part come to, by item; and the part itself. */
static double sum_part(struct work *w, uint32_t part, double *items, double *out_sum)
{
    double ns = 0;
    *out_sum = 0;
    for (uint32_t i = 0; i < w->b.n_items; i++)
        items[i] = 0;
    for (uint32_t i = 0; i < w->g->n_read; i++) {
        struct sf_ledger_parts parts = w->b.parts[i];
        sf_ledger_costs_fit(&parts, w->room);
        ns += parts.ns[part];
        if (w->b.estimates[i] >> part & 1 && parts.ns[part] > 0)
            w->out.view.is_estimate = true;
    }
    for (uint32_t i = 0; i < w->b.n_costs; i++) {
        const struct sf_set_breakdown_cost *c = &w->b.costs[i];
        if (c->part != part)
            continue;
        double cost = c->ns * sf_ledger_costs_scale(&w->b.parts[c->span], part, w->room);
        items[c->item] += cost;
        *out_sum += cost;
    }
    return ns;
}

/* Where samples say more than was measured they fill it and no more. */
static void add_part(struct work *w, struct sf_time_tree *t, uint32_t part, double *items)
{
    double sum, ns = sum_part(w, part, items, &sum);
    double by = w->want->is_sum ? 1 : 1.0 / w->g->n_read;
    double fit = sum > ns ? ns / sum : 1, given = 0;
    if (ns <= 0)
        return;
    for (uint32_t i = 0; i < w->b.n_items; i++) {
        if (items[i] <= 0)
            continue;
        int64_t value = llround(items[i] * fit * by);
        given += (double)value;
        if (i < w->b.n_code)
            sf_time_tree_add(t, 0, (enum sf_ledger_part)part, i, value);
        else
            sf_tree_builder_add(&t->b, sf_time_tree_bar(t, 0, w->b.items[i], SF_FRAME_SPAN), value,
                                0);
    }
    sf_time_tree_add(t, 0, (enum sf_ledger_part)part, 0, llround(ns * by - given));
}

/* Strings move to the answer's memory: the breakdown lies in what is reset. */
static enum sf_err keep_tree(struct work *w, const struct sf_tree *from, struct sf_why *why)
{
    struct sf_tree_builder b;
    sf_tree_builder_init(&b, w->q->req, 0, SF_TREE_COPIES);
    sf_tree_builder_add_tree(&b, from);
    enum sf_err err = sf_tree_builder_take(&b, SF_STR("nanoseconds"), &w->out.view.tree, why);
    sf_tree_builder_done(&b);
    w->out.view.tree.n_samples = w->b.n_samples;
    return err;
}

static enum sf_err draw(struct work *w, struct sf_why *why)
{
    struct sf_time_tree t = {0};
    struct sf_tree made;
    double *items = sf_arena_new_n(w->want->scratch, w->b.n_items + 1u, sizeof(*items));
    enum sf_err err = items && sf_time_tree_init(&t, &w->b.stacks, w->want->scratch)
                          ? SF_OK
                          : sf_no_room(why, "the query");
    find_room(w);
    w->out.view.is_estimate = false;
    for (uint32_t part = 0; !err && part < SF_PARTS; part++)
        add_part(w, &t, part, items);
    if (!err)
        err = sf_time_tree_take(&t, &made, why);
    sf_time_tree_done(&t);
    return err ? err : keep_tree(w, &made, why);
}

static enum sf_err divide(struct work *w, struct sf_why *why)
{
    struct sf_query_ctx q = *w->q;
    struct sf_link_many many = {.spans = w->set.spans,
                                .n = w->set.n,
                                .kept = &w->keep,
                                .scratch = w->want->scratch,
                                .has_calls = true};
    w->g = sf_arena_new(w->q->req, sizeof(*w->g));
    enum sf_err err = w->g ? sf_link_set_gather(w->store, &many, w->q, w->g, why)
                           : sf_no_room(why, "the query");
    sf_arena_reset(w->want->scratch);
    q.req = w->want->scratch;
    if (!err)
        err = sf_set_breakdown_make(w->store, w->g, w->set.spans, SF_BREAKDOWN_NODE, *w->q->req, &q,
                                    &w->b, why);
    w->q->stats = q.stats;
    return !err && w->g->n_read > 0 ? draw(w, why) : err;
}

static enum sf_err find(struct work *w, struct sf_why *why)
{
    struct sf_span_set_want ask = {.query = w->want->query,
                                   .from_ns = w->want->from_ns,
                                   .to_ns = w->want->to_ns,
                                   .limit_traces = SET_TRACES,
                                   .scratch = w->want->scratch,
                                   .keep = &w->keep};
    if (!sf_link_keep_init(&w->keep, SET_TRACES, w->q->req) || !sf_link_keep_figures(&w->keep))
        return sf_no_room(why, "the query");
    enum sf_err err = sf_span_set_find(w->store, &ask, w->q, &w->set, why);
    if (err)
        return err;
    sf_link_keep_end(&w->keep);
    sf_span_set_sort(&w->set);
    w->out.n_found = sf_span_set_found(&w->set);
    return SF_OK;
}

static enum sf_err fill(struct work *w, struct sf_why *why)
{
    uint32_t most = SF_COHORT_SPANS;
    enum sf_err err;
    do { /* fewer where they do not fit */
        if (!sf_span_set_thin(&w->set, most, w->q->req))
            return sf_no_room(why, "the query");
        err = divide(w, why);
        most = w->set.n / 2;
    } while (err == SF_ERR_LIMIT && most >= FEWEST_SPANS);
    if (err)
        return err;
    w->set.n = w->g->n_read;
    w->out.n_spans = w->out.n_sampled = w->set.n;
    double sum = 0;
    for (uint32_t i = 0; i < w->set.n; i++)
        sum += (double)w->set.spans[i].duration_ns;
    w->out.mean_duration_ns = w->out.mean_value = w->set.n > 0 ? sum / w->set.n : 0;
    w->out.known.n_samples = w->b.n_samples;
    w->out.known.n_estimated = w->b.n_estimated;
    w->out.trust = sf_trust_name(sf_trust_of(w->b.n_samples));
    struct sf_set_cut cut = sf_span_set_cut(&w->set, w->out.n_found, w->set.n);
    w->out.is_sample = w->out.n_found > w->set.n;
    return sf_set_cut_note(&cut, "", w->q->req, &w->out.note) ? SF_OK
                                                              : sf_no_room(why, "the query");
}

enum sf_err sf_set_time_make(struct sf_store *store, const struct sf_cohort_want *want,
                             struct sf_query_ctx *q, struct sf_cohort_view *out, struct sf_why *why)
{
    struct work w = {.store = store, .want = want, .q = q};
    w.out = (struct sf_cohort_view){.query = want->query,
                                    .type = SF_STR("time"),
                                    .is_sum = want->is_sum,
                                    .trust = sf_trust_name(sf_trust_of(0))};
    w.out.view.type = (struct sf_profile_type){.name = SF_STR("ledger"),
                                               .sample_type = SF_STR("time"),
                                               .sample_unit = SF_STR("nanoseconds")};
    enum sf_err err = find(&w, why);
    if (!err && w.set.n == 0)
        w.out.reason = SF_STR("no spans match the query in this time");
    else if (!err)
        err = fill(&w, why);
    if (!err)
        *out = w.out;
    return err;
}
