/* member_costs.c - the cost of each span of a set, by function. */
#include "link/member_costs.h"

#include "base/account.h"
#include "link/claims_by_span.h"

struct work {
    const struct sf_member_input *in;
    struct sf_arena *req;
    struct sf_claims_by_span by_span;
    struct sf_cohort_cost *costs;
    uint32_t n_costs, cap_costs;
    int64_t *totals;
    uint64_t *n_samples, *n_known;
    uint32_t *first;
    int64_t *sums;     /* by function, for the current member */
    uint32_t *touched; /* functions that have been added to */
    bool *is_touched;
    uint32_t n_touched;
    uint32_t *todo; /* descendants still to be processed */
};

/* Does the sample certainly belong to that span or a descendant? Shared samples are certain for the
 * local root that has all of it. */
static bool member_costs_is_known(const struct work *w, const struct sf_claim *c, uint32_t span)
{
    return c->is_known || (!w->in->is_self && c->within == span);
}

static void member_costs_add_span(struct work *w, uint32_t member, uint32_t span)
{
    const struct sf_member_input *in = w->in;
    for (uint32_t k = w->by_span.first[span]; k < w->by_span.first[span + 1]; k++) {
        const struct sf_claim *c = &in->claims->claims[w->by_span.claims[k]];
        uint32_t node = in->samples[c->sample].node;
        w->n_samples[member]++;
        if (!member_costs_is_known(w, c, in->members[member]))
            continue;
        w->totals[member] += c->value;
        w->n_known[member]++;
        if (node == 0)
            continue;
        uint32_t f = in->functions->of[in->stacks->nodes[node].frame];
        if (!w->is_touched[f])
            w->touched[w->n_touched++] = f;
        w->is_touched[f] = true;
        w->sums[f] += c->value;
    }
}

/* False: the query must end. */
static bool member_costs_walk(struct work *w, uint32_t member)
{
    const struct sf_span_tree *t = w->in->spans;
    uint32_t span = w->in->members[member], n_todo = 0;
    if (span == SF_NOBODY)
        return true;
    w->todo[n_todo++] = span;
    while (n_todo > 0) {
        uint32_t at = w->todo[--n_todo];
        /* Members may be nested: shared descendants are processed once for each. */
        if (!sf_account_goes_on(1 + w->by_span.first[at + 1] - w->by_span.first[at]))
            return false;
        member_costs_add_span(w, member, at);
        for (uint32_t k = t->first[at]; !w->in->is_self && k < t->first[at + 1]; k++)
            if (sf_span_tree_is_local(t, t->children[k], span))
                w->todo[n_todo++] = t->children[k];
    }
    return true;
}

static bool member_costs_give(struct work *w, uint32_t member)
{
    if (w->n_touched > w->cap_costs - w->n_costs) {
        uint32_t cap = 2 * w->cap_costs + w->n_touched + 1024;
        struct sf_cohort_cost *grown = sf_arena_grow(
            w->req, w->costs, w->cap_costs * sizeof(*grown), cap * sizeof(*grown));
        if (!grown)
            return false;
        w->costs = grown;
        w->cap_costs = cap;
    }
    for (uint32_t i = 0; i < w->n_touched; i++) {
        uint32_t f = w->touched[i];
        if (w->sums[f] != 0)
            w->costs[w->n_costs++] = (struct sf_cohort_cost){member, f, (double)w->sums[f]};
        w->sums[f] = 0;
        w->is_touched[f] = false;
    }
    w->n_touched = 0;
    return true;
}

enum sf_err sf_member_costs_make(const struct sf_member_input *in, struct sf_arena *req,
                                 struct sf_member_costs *out, struct sf_why *why)
{
    struct work w = {.in = in, .req = req};
    bool has_room;
    w.totals = sf_arena_new_n(req, in->n_members + 1u, sizeof(*w.totals));
    w.n_samples = sf_arena_new_n(req, in->n_members + 1u, sizeof(*w.n_samples));
    w.n_known = sf_arena_new_n(req, in->n_members + 1u, sizeof(*w.n_known));
    w.first = sf_arena_new_n(req, in->n_members + 1u, sizeof(*w.first));
    w.sums = sf_arena_new_n(req, in->functions->n + 1u, sizeof(*w.sums));
    w.touched = sf_arena_new_n(req, in->functions->n + 1u, sizeof(*w.touched));
    w.is_touched = sf_arena_new_n(req, in->functions->n + 1u, sizeof(*w.is_touched));
    w.todo = sf_arena_new_n(req, in->spans->n_spans + 1u, sizeof(*w.todo));
    has_room = w.totals && w.n_samples && w.n_known && w.first && w.sums && w.touched &&
               w.is_touched && w.todo &&
               sf_claims_by_span_make(in->claims, in->spans->n_spans, req, &w.by_span);
    for (uint32_t i = 0; i < in->n_members && has_room; i++) {
        has_room = member_costs_walk(&w, i) && member_costs_give(&w, i);
        w.first[i + 1] = w.n_costs;
    }
    if (!has_room)
        return sf_fail(why, SF_ERR_LIMIT, "no memory for the costs of %u spans", in->n_members);
    *out = (struct sf_member_costs){w.costs, w.n_costs, w.totals, w.n_samples, w.n_known, w.first};
    return SF_OK;
}
