/* findings_diff.c - describes in sentences what one side does more of than the other. */
#include "join/findings_diff.h"

#include "exec/profile_types.h"
#include "flame/batch_tree.h"
#include "flame/tree_group.h"
#include "join/cohort.h"
#include "join/compare.h"
#include "join/profile.h"
#include "link/share_cut.h"

static const struct sf_tree_grouping by_function = {SF_GROUP_FUNCTION, false};

const char *sf_findings_diff_kind_of_time(const struct sf_profile_type *type)
{
    if (sf_str_eq(type->sample_type, SF_STR("cpu")))
        return "CPU time";
    if (sf_str_eq(type->sample_unit, SF_STR("nanoseconds")))
        return sf_str_eq(type->sample_type, SF_STR("wall")) ? "wall time" : "time";
    return sf_str_eq(type->sample_unit, SF_STR("bytes")) ? "bytes" : "samples";
}

static enum sf_err findings_diff_find(const struct sf_tree sides[2], sf_str left, sf_str right,
                                      const struct sf_findings_want *want, struct sf_query_ctx *q,
                                      struct sf_findings_diff *out, struct sf_why *why)
{
    struct sf_tree grouped[2];
    struct sf_tree_diff diff;
    enum sf_err err = SF_OK;
    if (!sf_arena_print(q->req, &out->of, "the %s of %.*s against %.*s",
                        sf_findings_diff_kind_of_time(&out->type), SF_STR_ARG(right),
                        SF_STR_ARG(left)))
        return sf_no_room(why, "the query");
    for (int i = 0; i < 2 && !err; i++)
        err = sf_tree_group(&sides[i], by_function, q->req, &grouped[i], why);
    if (!err)
        err = sf_tree_diff(&grouped[0], &grouped[1], q->req, &diff, why);
    return err ? err : sf_findings_of_diff(&diff, out->of, &want->limits, q->req, &out->list, why);
}

/* ---- spans of two queries ---- */

static bool is_significant(const struct sf_comparison *c, sf_str function)
{
    for (uint32_t i = 0; i < c->n_rows; i++)
        if (sf_str_eq(c->rows[i].function, function))
            return c->rows[i].is_significant && c->rows[i].delta > 0;
    return false;
}

/* Keeps functions only if the comparison finds them significantly different. Findings about kinds
 * of work are kept if anything differs. */
static enum sf_err keep_significant(struct sf_store *store, const struct sf_findings_want *want,
                                    struct sf_query_ctx *q, struct sf_findings_diff *out,
                                    struct sf_why *why)
{
    struct sf_compare_want ask = {.left = want->left,
                                  .right = want->right,
                                  .type = want->type,
                                  .from_ns = want->from_ns,
                                  .to_ns = want->until_ns,
                                  .scratch = want->scratch};
    struct sf_comparison c;
    struct sf_finding *kept = sf_arena_new_n(q->req, out->list.n + 1u, sizeof(*kept));
    uint32_t n = 0;
    enum sf_err err = kept ? sf_compare_make(store, &ask, q, &c, why)
                           : sf_no_room(why, "the query");
    if (err)
        return err;
    for (uint32_t i = 0; i < out->list.n && c.n_significant > 0; i++)
        if (out->list.items[i].kind != SF_FINDING_LEAF ||
            is_significant(&c, out->list.items[i].subject))
            kept[n++] = out->list.items[i];
    out->list = (struct sf_finding_list){kept, n, n ? out->list.n_more : 0};
    out->reason = c.reason;
    out->note = c.note;
    return SF_OK;
}

enum sf_err sf_findings_diff_queries(struct sf_store *store, const struct sf_findings_want *want,
                                     struct sf_query_ctx *q, struct sf_findings_diff *out,
                                     struct sf_why *why)
{
    const sf_str queries[2] = {want->left, want->right};
    struct sf_cohort_view sides[2];
    enum sf_err err = SF_OK;
    *out = (struct sf_findings_diff){0};
    for (int i = 0; i < 2 && !err; i++) {
        struct sf_cohort_want ask = {.query = queries[i],
                                     .type = want->type,
                                     .from_ns = want->from_ns,
                                     .to_ns = want->until_ns,
                                     .scratch = want->scratch};
        err = sf_cohort_make(store, &ask, q, &sides[i], why);
    }
    if (err)
        return err;
    out->type = sides[1].view.type;
    out->n_samples = sides[0].known.n_samples + sides[1].known.n_samples;
    out->n_estimated = sides[0].known.n_estimated + sides[1].known.n_estimated;
    const struct sf_tree trees[2] = {sides[0].sure, sides[1].sure};
    err = findings_diff_find(trees, want->left, want->right, want, q, out, why);
    return err ? err : keep_significant(store, want, q, out, why);
}

/* ---- profiles of two selectors ---- */

/* Chooses the type among the comparison's series; the baseline must have it, too. */
static enum sf_err findings_diff_choose_type(struct sf_store *store,
                                             const struct sf_findings_want *want,
                                             struct sf_query_ctx *q, struct sf_profile_type *out,
                                             struct sf_why *why)
{
    struct sf_prof_query ask = {.match = want->comparison_match.list,
                                .n_match = want->comparison_match.n,
                                .from_ns = want->from_ns,
                                .to_ns = want->until_ns};
    struct sf_prof_list list;
    const struct sf_batch_type *types;
    uint32_t n = 0, chosen = 0;
    enum sf_err err = store->ops->prof_list(store, &ask, q, &list, why);
    if (!err && list.n == 0)
        return sf_fail(why, SF_ERR_NOT_FOUND, "no profiles of %.*s in this time",
                       SF_STR_ARG(want->comparison));
    if (!err)
        err = sf_profile_types(&list, q->req, &types, &n, why);
    if (!err)
        err = sf_batch_tree_choose(types, n, want->type, &chosen, why);
    if (!err)
        *out = types[chosen].type;
    return err;
}

/* Scales the values of `t` so that they sum up to `total`. */
static enum sf_err findings_diff_scale(struct sf_tree *t, int64_t total, struct sf_arena *req,
                                       struct sf_why *why)
{
    struct sf_tree_node *nodes = sf_arena_new_n(req, t->n_nodes + 1u, sizeof(*nodes));
    struct sf_share_cut cut = {.value = total};
    if (!nodes)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        nodes[i] = t->nodes[i];
        nodes[i].self = sf_share_cut_next(&cut, (double)t->nodes[i].self / (double)t->total);
    }
    t->nodes = nodes;
    t->total = total;
    return SF_OK;
}

enum sf_err sf_findings_diff_selectors(struct sf_store *store, const struct sf_findings_want *want,
                                       struct sf_query_ctx *q, struct sf_findings_diff *out,
                                       struct sf_why *why)
{
    const struct sf_label_selector *match[2] = {&want->baseline_match, &want->comparison_match};
    struct sf_tree sides[2];
    struct sf_prof_query ask = {.from_ns = want->from_ns, .to_ns = want->until_ns};
    *out = (struct sf_findings_diff){0};
    enum sf_err err = findings_diff_choose_type(store, want, q, &out->type, why);
    if (!err && !sf_batch_tree_type_print(&out->type, q->req, &ask.type))
        err = sf_no_room(why, "the query");
    for (int i = 0; i < 2 && !err; i++) {
        const struct sf_tree *tree;
        ask.match = match[i]->list;
        ask.n_match = match[i]->n;
        err = store->ops->prof_merge(store, &ask, q, &tree, why);
        if (err)
            return err;
        sides[i] = *tree;
        out->n_samples += tree->n_samples;
    }
    if (!err && sides[0].total <= 0)
        return sf_arena_print(q->req, &out->reason,
                              "no profiles of %.*s in this time: nothing to compare with",
                              SF_STR_ARG(want->baseline))
                   ? SF_OK
                   : sf_no_room(why, "the query");
    double by = sides[1].total > 0 ? (double)sides[1].total / (double)sides[0].total : 1;
    if (!err && sides[1].total > 0)
        err = findings_diff_scale(&sides[0], sides[1].total, q->req, why);
    if (!err)
        err = findings_diff_find(sides, want->baseline, want->comparison, want, q, out, why);
    if (err || by == 1)
        return err;
    return sf_arena_print(q->req, &out->reason,
                          "%sthe baseline is multiplied by %.3g: both sides have the same sum, so "
                          "that shares are compared",
                          out->list.n == 0 ? "no findings; " : "", by)
               ? SF_OK
               : sf_no_room(why, "the query");
}
