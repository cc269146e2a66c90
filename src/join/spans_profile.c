/* spans_profile.c - the merged profile of spans given by id. */
#include "join/spans_profile.h"

#include "flame/tree_builder.h"
#include "join/span_find.h"
#include "join/span_profile.h"

#define MAX_TREE_LEN ((size_t)64 << 20)

static bool is_ruled_out(const struct sf_prof_query *query, sf_str service)
{
    for (size_t i = 0; i < query->n_match; i++)
        if (sf_str_eq(query->match[i].key, SF_STR("service_name")) &&
            query->match[i].op == SF_OP_EQ && !sf_str_eq(query->match[i].val, service))
            return true;
    return false;
}

/* The span's own flame graph; *out_is_known false: not possible for this span. */
static enum sf_err spans_profile_ask_link(struct sf_store *store, const struct sf_prof_query *query,
                                          sf_span_id span, struct sf_arena *scratch,
                                          struct sf_query_ctx *q, struct sf_profile_view *out,
                                          bool *out_is_known, struct sf_why *why)
{
    struct sf_query_ctx inner = *q;
    struct sf_span_profile p;
    struct sf_span_profile_want want = {.span = span, .type = query->type};
    enum sf_err err = sf_span_find(store, span, query->from_ns, query->to_ns, scratch, q,
                                   &want.trace, why);
    if (!err) {
        sf_arena_reset(scratch);
        inner.req = scratch;
        err = sf_span_profile_make(store, &want, &inner, &p, why);
        q->stats = inner.stats;
    }
    *out_is_known = !err && !is_ruled_out(query, p.service);
    if (*out_is_known)
        *out = p.view;
    return err == SF_ERR_NOT_FOUND || err == SF_ERR_INPUT ? SF_OK : err;
}

enum sf_err sf_spans_profile_merge(struct sf_store *store, const struct sf_prof_query *query,
                                   struct sf_arena *scratch, struct sf_query_ctx *q,
                                   const struct sf_tree **out, bool *out_is_estimate,
                                   struct sf_why *why)
{
    struct sf_tree_builder b;
    struct sf_tree *tree = sf_arena_new(q->req, sizeof(*tree));
    enum sf_err err = SF_OK;
    *out_is_estimate = false;
    if (query->n_spans > SF_SPANS_PROFILE_MAX)
        return store->ops->prof_merge(store, query, q, out, why);
    if (!tree)
        return sf_no_room(why, "the query");
    sf_tree_builder_init(&b, q->req, MAX_TREE_LEN, SF_TREE_COPIES);
    for (size_t i = 0; !err && i < query->n_spans; i++) {
        struct sf_prof_query one = *query;
        struct sf_profile_view known;
        const struct sf_tree *tagged;
        bool is_known = false;
        one.span_ids = &query->span_ids[i];
        one.n_spans = 1;
        err = spans_profile_ask_link(store, query, query->span_ids[i], scratch, q, &known,
                                     &is_known, why);
        if (!err && is_known) {
            sf_tree_builder_add_tree(&b, &known.tree);
            *out_is_estimate |= known.is_estimate;
        }
        if (!err && !is_known)
            err = store->ops->prof_merge(store, &one, q, &tagged, why);
        if (!err && !is_known)
            sf_tree_builder_add_tree(&b, tagged);
    }
    if (!err)
        err = sf_tree_builder_take(&b, SF_STR_NONE, tree, why);
    sf_tree_builder_done(&b);
    if (!err)
        *out = tree;
    return err;
}
