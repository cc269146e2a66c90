/* trace_hot.c - finds the hottest function of every span of a trace, by its own samples. */
#include "join/trace_hot.h"

#include "base/num.h"
#include "flame/batch_tree.h"
#include "join/claims_fit.h"
#include "join/claims_view.h"
#include "join/link_set.h"
#include "link/hottest.h"
#include "link/trust.h"

struct sent { /* of a span's samples, before they are cut */
    int64_t own, estimated;
    int64_t below; /* for a local root: sum over all spans of its tree */
};

struct hots {
    const struct sf_hot *own;   /* by span: over its own samples */
    const struct sf_hot *below; /* by local root: over all spans of its tree */
    const struct sent *sent;    /* by span: number of samples */
    /* By span: the local root that has its estimated samples, or SF_NOBODY. */
    const uint32_t *within;
};

/* Copies the claims to the local roots, which certainly have what the spans of their tree share. */
static bool lift(const struct sf_link_set *set, const struct sf_attribution *a,
                 struct sf_arena *req, struct sf_attribution *out, uint32_t *within)
{
    struct sf_claim *claims = sf_arena_new_n(req, a->n_claims + 1u, sizeof(*claims));
    if (!claims)
        return false;
    for (uint32_t i = 0; i < set->n_own; i++)
        within[i] = SF_NOBODY;
    for (uint32_t i = 0; i < a->n_claims; i++) {
        const struct sf_claim *c = &a->claims[i];
        claims[i] = *c;
        if (c->within == SF_NOBODY)
            continue;
        claims[i].span = set->tree.places[c->span].local_root;
        claims[i].is_known = true;
        if (!c->is_known)
            /* Also for the root, which may have no claim itself. */
            within[c->span] = within[c->within] = c->within;
    }
    *out = *a;
    out->claims = claims;
    return true;
}

static bool trace_hot_add_up(const struct sf_link_set *set, const struct sf_attribution *a,
                             struct sf_arena *req, struct hots *out)
{
    struct sent *sent = sf_arena_new_n(req, set->tree.n_spans + 1u, sizeof(*sent));
    for (uint32_t i = 0; sent && i < a->n_claims; i++) {
        const struct sf_claim *c = &a->claims[i];
        int64_t *to = c->is_known ? &sent[c->span].own : &sent[c->span].estimated;
        *to = sf_add_sat_i64(*to, c->value);
        if (c->within != SF_NOBODY || c->is_known)
            to = &sent[c->within == SF_NOBODY ? c->span : set->tree.places[c->span].local_root]
                      .below;
        else
            continue;
        *to = sf_add_sat_i64(*to, c->value);
    }
    out->sent = sent;
    return sent;
}

static enum sf_err trace_hot_find(struct sf_link_set *set, struct sf_arena *req, struct hots *out,
                                  struct sf_why *why)
{
    struct sf_attribution a, lifted;
    uint32_t *within = sf_arena_new_n(req, set->n_own + 1u, sizeof(*within));
    int64_t cut;
    enum sf_err err = sf_link_set_attribute(set, NULL, req, &a, why);
    if (!err && !trace_hot_add_up(set, &a, req, out))
        err = sf_no_room(why, "the query");
    if (!err)
        err = sf_claims_fit(set, &a, SF_NOBODY, req, &cut, why);
    if (!err && (!within || !lift(set, &a, req, &lifted, within)))
        err = sf_no_room(why, "the query");
    if (!err)
        err = sf_hottest(&set->stacks, set->samples, &a, set->n_own, req, &out->own, why);
    if (!err)
        err = sf_hottest(&set->stacks, set->samples, &lifted, set->n_own, req, &out->below, why);
    out->within = within;
    return err;
}

static void trace_hot_give(const struct sf_link_set *set, const struct hots *hots, uint32_t span,
                           struct sf_trace_row *row)
{
    const struct sf_hot *hot = &hots->own[span];
    uint32_t within = hots->within[span];
    row->n_estimated = hot->n_estimated;
    row->known_id = within == SF_NOBODY ? 0 : set->spans[within].span_id;
    row->is_hot_below = hot->n_samples == 0 && within == span;
    if (row->is_hot_below)
        hot = &hots->below[span]; /* for the span alone nothing is certain */
    row->n_samples = hot->n_samples;
    row->estimated_taken = sf_claims_view_samples(set, hots->sent[span].estimated,
                                                  row->n_estimated);
    int64_t sent = row->is_hot_below ? hots->sent[span].below : hots->sent[span].own;
    double taken = row->taken = sf_claims_view_samples(set, sent, hot->n_samples);
    if (hot->n_samples == 0 || sf_claims_view_is_few(set, taken))
        return; /* too few samples: only their number is reported */
    row->hot = hot->function;
    row->hot_file = hot->file;
    row->hot_line = hot->line;
    row->hot_value = hot->value;
    row->hot_share = hot->all > 0 ? (double)hot->value / (double)hot->all : 0;
    double worth = sf_claims_view_worth(set, taken, hot->timed, hot->timed_squares);
    struct sf_interval in = sf_trust_share(row->hot_share * worth, worth);
    row->hot_low = in.low;
    row->hot_high = in.high;
}

enum sf_err sf_trace_hot_find(struct sf_store *store, const struct sf_trace *trace, sf_str type,
                              struct sf_query_ctx *q, struct sf_trace_rows *rows,
                              struct sf_why *why)
{
    struct sf_link_want want = {.type = type, .whole = trace};
    struct sf_link_set *set = sf_arena_new(q->req, sizeof(*set));
    /* A new list: the existing one must not be changed. */
    struct sf_trace_row *with = sf_arena_new_n(q->req, rows->n_rows + 1u, sizeof(*with));
    struct hots hots = {0};
    enum sf_err err = set && with ? sf_link_set_load(store, rows->trace_id, &want, q, set, why)
                                  : sf_no_room(why, "the query");
    if (!err && !sf_link_set_say_left_out(set->left_out, q->req, &rows->note))
        err = sf_no_room(why, "the query");
    if (!err && set->n_samples > 0)
        err = trace_hot_find(set, q->req, &hots, why);
    if (!err && hots.below && !sf_batch_tree_type_print(&set->type, q->req, &rows->hot_type))
        err = sf_no_room(why, "the query");
    if (err == SF_ERR_LIMIT) { /* answer with the trace, without hot functions */
        rows->hot_type = SF_STR_NONE;
        rows->note = SF_STR("the functions of its spans are left out: their samples do not fit a "
                            "query's memory (limits.query_memory)");
        return SF_OK;
    }
    if (err || !hots.below)
        return err;
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        with[i] = rows->rows[i];
        trace_hot_give(set, &hots, (uint32_t)(rows->rows[i].span - trace->spans.spans), &with[i]);
    }
    rows->rows = with;
    rows->hot_unit = set->type.sample_unit;
    return SF_OK;
}
