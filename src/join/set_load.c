#include "join/set_load.h"

enum sf_err sf_set_load_find(struct sf_store *store, const struct sf_set_load_want *want,
                             struct sf_query_ctx *q, struct sf_set_load *out, struct sf_why *why)
{
    struct sf_span_set_want ask = {.query = want->query,
                                   .from_ns = want->from_ns,
                                   .to_ns = want->to_ns,
                                   .limit_traces = want->most_traces,
                                   .scratch = want->scratch,
                                   .keep = &out->keep};
    if (!sf_link_keep_init(&out->keep, want->most_traces, q->req) ||
        !sf_link_keep_figures(&out->keep))
        return sf_no_room(why, "the query");
    enum sf_err err = sf_span_set_find(store, &ask, q, &out->set, why);
    if (err)
        return err;
    sf_link_keep_end(&out->keep);
    sf_span_set_sort(&out->set);
    return SF_OK;
}

enum sf_err sf_set_load_divide(struct sf_store *store, struct sf_arena *scratch,
                               struct sf_query_ctx *q, struct sf_set_load *io, struct sf_why *why)
{
    struct sf_query_ctx own = *q;
    struct sf_link_many many = {.spans = io->set.spans,
                                .n = io->set.n,
                                .kept = &io->keep,
                                .scratch = scratch,
                                .has_calls = true};
    io->gathered = sf_arena_new(q->req, sizeof(*io->gathered));
    enum sf_err err = io->gathered ? sf_link_set_gather(store, &many, q, io->gathered, why)
                                   : sf_no_room(why, "the query");
    sf_arena_reset(scratch);
    own.req = scratch;
    own.stats = q->stats;
    if (!err)
        err = sf_set_breakdown_make(store, io->gathered, io->set.spans, SF_BREAKDOWN_NODE, *q->req,
                                    &own, &io->b, why);
    q->stats = own.stats;
    return err;
}
