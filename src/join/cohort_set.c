/* cohort_set.c - joins spans of many traces with their samples at once, and computes the cost of
 * each. */
#include "join/cohort_set.h"

#include "base/account.h"

enum sf_err sf_cohort_set_load_gathered(struct sf_store *store, struct sf_link_gathered *g,
                                        const struct sf_set_span *spans, sf_str type, bool is_self,
                                        struct sf_query_ctx *q, struct sf_cohort_set *out,
                                        struct sf_why *why)
{
    uint32_t *members = sf_arena_new_n(q->req, g->n_read + 1u, sizeof(*members));
    enum sf_err err = members ? sf_link_set_load_gathered(store, g, type, q, &out->link, why)
                              : sf_no_room(why, "the query");
    if (err)
        return err;
    struct sf_member_input costs = {.spans = &out->link.tree,
                                    .claims = &out->claims,
                                    .samples = out->link.samples,
                                    .stacks = &out->link.stacks,
                                    .functions = &out->functions,
                                    .members = members,
                                    .n_members = g->n_read,
                                    .is_self = is_self};
    for (uint32_t i = 0; i < g->n_read; i++)
        members[i] = sf_span_tree_find(&out->link.tree, spans[i].trace, spans[i].id);
    out->n = g->n_read;
    out->members = members;
    err = sf_link_set_attribute(&out->link, NULL, q->req, &out->claims, why);
    if (!err)
        err = sf_frame_functions_make(&out->link.stacks, q->req, &out->functions, why);
    return err ? err : sf_member_costs_make(&costs, q->req, &out->costs, why);
}

enum sf_err sf_cohort_set_load(struct sf_store *store, const struct sf_link_many *many,
                               bool is_self, struct sf_query_ctx *q, struct sf_cohort_set *out,
                               struct sf_why *why)
{
    struct sf_link_gathered *g = sf_arena_new(q->req, sizeof(*g));
    enum sf_err err = g ? sf_link_set_gather(store, many, q, g, why) : sf_no_room(why, "the query");
    return err ? err
               : sf_cohort_set_load_gathered(store, g, many->spans, many->type, is_self, q, out,
                                             why);
}

bool sf_cohort_set_cover(const struct sf_cohort_set *c, bool is_self, struct sf_arena *req,
                         bool *is_asked, bool *is_covered)
{
    const struct sf_span_tree *t = &c->link.tree;
    struct sf_arena scratch = *req;
    bool *is_known = sf_arena_new_n(&scratch, t->n_spans + 1u, sizeof(*is_known));
    if (!is_known)
        return false;
    for (uint32_t i = 0; i < c->n; i++)
        if (c->members[i] != SF_NOBODY)
            is_asked[c->members[i]] = true;
    for (uint32_t i = 0; i < t->n_spans; i++) {
        uint32_t at = i;
        while (!is_self && !is_known[at] && !is_asked[at] && t->places[at].depth > 0)
            at = sf_account_goes_on(1) ? t->places[at].parent : t->places[at].local_root;
        bool is_below = is_known[at] ? is_covered[at] : is_asked[at];
        /* Stored for all ancestors on the way; otherwise a long chain of parents takes quadratic
         * time. */
        for (uint32_t on_way = i; on_way != at; on_way = t->places[on_way].parent) {
            is_known[on_way] = true;
            is_covered[on_way] = is_below;
        }
        is_known[at] = true;
        is_covered[at] = is_below;
    }
    return true;
}
