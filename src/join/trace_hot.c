/* trace_hot.c - beside every span of a trace, the function its own samples are mostly in. */
#include "join/trace_hot.h"

#include "flame/batch_tree.h"
#include "join/claims_fit.h"
#include "join/claims_view.h"
#include "join/link_set.h"
#include "link/hottest.h"
#include "link/trust.h"

static enum sf_err find(struct sf_link_set *set, struct sf_arena *req, const struct sf_hot **out,
                        struct sf_why *why)
{
    struct sf_attribution a;
    int64_t cut;
    enum sf_err err = sf_link_set_attribute(set, NULL, req, &a, why);
    if (!err)
        err = sf_claims_fit(set, &a, SF_NOBODY, req, &cut, why);
    return err ? err : sf_hottest(&set->stacks, set->samples, &a, set->n_own, req, out, why);
}

enum sf_err sf_trace_hot_find(struct sf_store *store, const struct sf_trace *trace, sf_str type,
                              struct sf_query_ctx *q, struct sf_trace_rows *rows,
                              struct sf_why *why)
{
    struct sf_link_want want = {.type = type, .whole = trace};
    struct sf_link_set *set = sf_arena_new(q->req, sizeof(*set));
    /* A new list: the one that is there belongs to whoever made it. */
    struct sf_trace_row *with = sf_arena_new_n(q->req, rows->n_rows + 1u, sizeof(*with));
    const struct sf_hot *hots = NULL;
    enum sf_err err = set && with ? sf_link_set_load(store, rows->trace_id, &want, q, set, why)
                                  : sf_no_room(why, "the query");
    if (!err && set->n_samples > 0)
        err = find(set, q->req, &hots, why);
    if (!err && hots && !sf_profile_type_print(&set->type, q->req, &rows->hot_type))
        err = sf_no_room(why, "the query");
    if (err == SF_ERR_LIMIT)
        return SF_OK; /* the trace itself is more than nothing */
    if (err || !hots)
        return err;
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        const struct sf_hot *hot = &hots[rows->rows[i].span - trace->spans.spans];
        with[i] = rows->rows[i];
        with[i].n_samples = hot->n_samples;
        if (sf_claims_view_is_few(set, sf_claims_view_looks(set, hot->all, hot->n_samples)))
            continue; /* how many there are is all that is known */
        with[i].hot = hot->function;
        with[i].hot_value = hot->value;
        with[i].hot_share = hot->all > 0 ? (double)hot->value / (double)hot->all : 0;
        double looks = sf_claims_view_looks(set, hot->all, hot->n_samples);
        struct sf_interval in = sf_trust_share(with[i].hot_share * looks, looks);
        with[i].hot_low = in.low;
        with[i].hot_high = in.high;
    }
    rows->rows = with;
    rows->hot_unit = set->type.sample_unit;
    return SF_OK;
}
