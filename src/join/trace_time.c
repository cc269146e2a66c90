/* trace_time.c - one graph of all the time of a trace. */
#include "join/trace_time.h"

#include "join/explain_times.h"
#include "link/share_cut.h"
#include "link/time_tree.h"
#include "link/trace_flame.h"

static bool trace_time_is_own(int part)
{
    return part != SF_PART_CHILD && part != SF_PART_REMOTE;
}

/* Adds the code of one part: each cost gets its share; the rest has no stack. */
static void fill_part(struct sf_time_tree *t, const struct sf_explain_times *times,
                      const struct sf_span_times *s, uint32_t bar, enum sf_ledger_part part,
                      int64_t ns)
{
    struct sf_share_cut cut = {.value = ns};
    for (uint32_t i = s->first; i < s->first + s->n; i++) {
        const struct sf_ledger_cost *c = &times->costs[i];
        if (c->part == part && c->item < times->stacks.n_nodes)
            sf_time_tree_add(t, bar, part, c->item,
                             sf_share_cut_next(&cut, c->ns / (double)sf_explain_times_ns(s, part)));
    }
    sf_time_tree_add(t, bar, part, 0, sf_share_cut_rest(&cut));
}

static void trace_time_fill_bar(struct sf_time_tree *t, const struct sf_explain_times *times,
                                uint32_t span, uint32_t bar, uint64_t weight_ns)
{
    const struct sf_span_times *s = &times->spans[span];
    struct sf_share_cut cut = {.value = weight_ns < INT64_MAX ? (int64_t)weight_ns : INT64_MAX};
    double own = sf_explain_times_own(s);
    for (int part = 0; part < SF_PARTS && own > 0; part++) {
        uint64_t ns = sf_explain_times_ns(s, (enum sf_ledger_part)part);
        if (trace_time_is_own(part) && ns > 0)
            fill_part(t, times, s, bar, (enum sf_ledger_part)part,
                      sf_share_cut_next(&cut, (double)ns / own));
    }
    sf_time_tree_add(t, bar, SF_PART_UNKNOWN, 0, sf_share_cut_rest(&cut));
}

enum sf_err sf_trace_time_make(struct sf_store *store, sf_trace_id trace,
                               const uint64_t *weights_ns, struct sf_query_ctx *q,
                               struct sf_tree *out, struct sf_why *why)
{
    struct sf_explain_times times = {0};
    struct sf_time_tree t = {0};
    enum sf_err err = sf_explain_times_load(&times, store, trace, 0, q, why);
    const uint32_t *bars = NULL;
    if (!err &&
        (!sf_time_tree_init(&t, &times.stacks, q->req) ||
         !(bars = sf_trace_flame_bars(&times.set->tree, times.set->services, &t.b, q->req))))
        err = sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < times.set->n_own; i++)
        if (weights_ns[i] > 0)
            trace_time_fill_bar(&t, &times, i, bars[i], weights_ns[i]);
    if (!err)
        err = sf_time_tree_take(&t, out, why);
    sf_time_tree_done(&t);
    sf_explain_times_done(&times);
    return err;
}
