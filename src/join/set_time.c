/* set_time.c - one graph of all the time of the spans of a query. */
#include "join/set_time.h"

#include <math.h>

#include "join/cohort_set.h"
#include "join/set_load.h"
#include "link/time_tree.h"
#include "link/trust.h"

enum { SET_TRACES = 2 * SF_COHORT_SPANS, FEWEST_SPANS = 50 };

struct work {
    struct sf_store *store;
    const struct sf_cohort_want *want;
    struct sf_query_ctx *q;
    struct sf_set_load l;
    double room;
    struct sf_cohort_view out;
};

static void set_time_find_room(struct work *w)
{
    double unknown_ns = 0, cut_ns = 0;
    for (uint32_t i = 0; i < w->l.gathered->n_read; i++) {
        unknown_ns += w->l.b.parts[i].ns[SF_PART_UNKNOWN];
        for (uint32_t part = 0; part < SF_PARTS; part++)
            cut_ns += w->l.b.parts[i].cut[part];
    }
    w->room = sf_ledger_costs_room(unknown_ns, cut_ns);
}

/* Sums the items of a part, by item; returns the part itself. */
static double set_time_sum_part(struct work *w, uint32_t part, double *items, double *out_sum)
{
    double ns = 0;
    *out_sum = 0;
    for (uint32_t i = 0; i < w->l.b.n_items; i++)
        items[i] = 0;
    for (uint32_t i = 0; i < w->l.gathered->n_read; i++) {
        struct sf_ledger_parts parts = w->l.b.parts[i];
        sf_ledger_costs_fit(&parts, w->room);
        ns += parts.ns[part];
        if (w->l.b.estimates[i] >> part & 1 && parts.ns[part] > 0)
            w->out.view.is_estimate = true;
    }
    for (uint32_t i = 0; i < w->l.b.n_costs; i++) {
        const struct sf_set_breakdown_cost *c = &w->l.b.costs[i];
        if (c->part != part)
            continue;
        double cost = c->ns * sf_ledger_costs_scale(&w->l.b.parts[c->span], part, w->room);
        items[c->item] += cost;
        *out_sum += cost;
    }
    return ns;
}

/* If samples sum up to more than was measured, they are scaled to it. */
static void set_time_add_part(struct work *w, struct sf_time_tree *t, uint32_t part, double *items)
{
    double sum, ns = set_time_sum_part(w, part, items, &sum);
    double by = w->want->is_sum ? 1 : 1.0 / w->l.gathered->n_read;
    double fit = sum > ns ? ns / sum : 1, given = 0;
    if (ns <= 0)
        return;
    for (uint32_t i = 0; i < w->l.b.n_items; i++) {
        if (items[i] <= 0)
            continue;
        int64_t value = llround(items[i] * fit * by);
        given += (double)value;
        if (i < w->l.b.n_code)
            sf_time_tree_add(t, 0, (enum sf_ledger_part)part, i, value);
        else
            sf_tree_builder_add(&t->b, sf_time_tree_bar(t, 0, w->l.b.items[i], SF_FRAME_SPAN),
                                value, 0);
    }
    sf_time_tree_add(t, 0, (enum sf_ledger_part)part, 0, llround(ns * by - given));
}

/* Copies strings to the answer's memory: the breakdown is in memory that is reset. */
static enum sf_err keep_tree(struct work *w, const struct sf_tree *from, struct sf_why *why)
{
    struct sf_tree_builder b;
    sf_tree_builder_init(&b, w->q->req, 0, SF_TREE_COPIES);
    sf_tree_builder_add_tree(&b, from);
    enum sf_err err = sf_tree_builder_take(&b, SF_STR("nanoseconds"), &w->out.view.tree, why);
    sf_tree_builder_done(&b);
    w->out.view.tree.n_samples = w->l.b.n_samples;
    return err;
}

static enum sf_err set_time_draw(struct work *w, struct sf_why *why)
{
    struct sf_time_tree t = {0};
    struct sf_tree made;
    double *items = sf_arena_new_n(w->want->scratch, w->l.b.n_items + 1u, sizeof(*items));
    enum sf_err err = items && sf_time_tree_init(&t, &w->l.b.stacks, w->want->scratch)
                          ? SF_OK
                          : sf_no_room(why, "the query");
    set_time_find_room(w);
    w->out.view.is_estimate = false;
    for (uint32_t part = 0; !err && part < SF_PARTS; part++)
        set_time_add_part(w, &t, part, items);
    if (!err)
        err = sf_time_tree_take(&t, &made, why);
    sf_time_tree_done(&t);
    return err ? err : keep_tree(w, &made, why);
}

static enum sf_err set_time_fill(struct work *w, struct sf_why *why)
{
    uint32_t most = SF_COHORT_SPANS;
    enum sf_err err;
    w->out.n_found = sf_span_set_found(&w->l.set);
    do { /* with fewer spans if they do not fit */
        if (!sf_span_set_thin(&w->l.set, most, w->q->req))
            return sf_no_room(why, "the query");
        err = sf_set_load_divide(w->store, w->want->scratch, w->q, &w->l, why);
        if (!err && w->l.gathered->n_read > 0)
            err = set_time_draw(w, why);
        most = w->l.set.n / 2;
    } while (err == SF_ERR_LIMIT && most >= FEWEST_SPANS);
    if (err)
        return err;
    w->l.set.n = w->l.gathered->n_read;
    w->out.n_spans = w->out.n_sampled = w->l.set.n;
    double sum = 0;
    for (uint32_t i = 0; i < w->l.set.n; i++)
        sum += (double)w->l.set.spans[i].duration_ns;
    w->out.mean_duration_ns = w->out.mean_value = w->l.set.n > 0 ? sum / w->l.set.n : 0;
    w->out.known.n_samples = w->l.b.n_samples;
    w->out.known.n_estimated = w->l.b.n_estimated;
    w->out.trust = sf_trust_name(sf_trust_of(w->l.b.n_samples));
    struct sf_set_cut cut = sf_span_set_cut(&w->l.set, w->out.n_found, w->l.set.n);
    w->out.is_sample = w->out.n_found > w->l.set.n;
    bool is_said = sf_span_set_cut_note(&cut, SF_STR_NONE, w->q->req, &w->out.note) &&
                   sf_link_set_say_left_out(w->l.b.n_samples > 0 ? w->l.b.left_out : 0, w->q->req,
                                            &w->out.note);
    return is_said ? SF_OK : sf_no_room(why, "the query");
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
    struct sf_set_load_want ask = {.query = want->query,
                                   .from_ns = want->from_ns,
                                   .to_ns = want->to_ns,
                                   .most_traces = SET_TRACES,
                                   .scratch = want->scratch};
    enum sf_err err = sf_set_load_find(store, &ask, q, &w.l, why);
    if (!err && w.l.set.n == 0)
        w.out.reason = SF_STR("no spans match the query in this time");
    else if (!err)
        err = set_time_fill(&w, why);
    if (!err)
        *out = w.out;
    return err;
}
