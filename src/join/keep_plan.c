#include "join/keep_plan.h"

#include "join/keep_walk.h"

_Static_assert((int)SF_KEEP_PINNED == (int)SF_KEEP_ROWS, "a row for each rule; pins are none");

static enum sf_err keep_plan_count(void *arg, const struct sf_keep_seen *t, struct sf_why *why)
{
    struct sf_keep_plan *out = arg;
    struct sf_keep_count one = {1, t->n_samples}, *to[2 + SF_KEEP_ROWS * 2] = {&out->all};
    uint32_t n_to = 1;
    (void)why;
    if (t->reasons)
        to[n_to++] = &out->kept;
    for (uint32_t i = 0; i < SF_KEEP_ROWS; i++) {
        if (t->reasons & 1u << i)
            to[n_to++] = &out->by[i];
        if (t->reasons == 1u << i)
            to[n_to++] = &out->alone[i];
    }
    for (uint32_t i = 0; i < n_to; i++) {
        to[i]->n_traces += one.n_traces;
        to[i]->n_samples += one.n_samples;
    }
    out->n_spans += t->tree->n_spans;
    return SF_OK;
}

enum sf_err sf_keep_plan_make(struct sf_store *store, const struct sf_keep_plan_want *want,
                              struct sf_query_ctx *q, struct sf_keep_plan *out, struct sf_why *why)
{
    struct sf_keep_plan plan = {
        .from_ns = want->from_ns, .until_ns = want->until_ns, .rule = want->rules.all};
    struct sf_keep_walk walk = {.from_ns = want->from_ns,
                                .until_ns = want->until_ns,
                                .usual_until_ns = want->from_ns,
                                .rules = &want->rules,
                                .scratch = want->scratch,
                                .see = keep_plan_count,
                                .arg = &plan};
    enum sf_err err = sf_keep_walk_run(&walk, store, q, why);
    if (err)
        return err;
    if (walk.is_cut)
        plan.reason = SF_STR("not all spans and samples fit a query's memory "
                             "(limits.query_memory): use a shorter time range");
    *out = plan;
    return SF_OK;
}
