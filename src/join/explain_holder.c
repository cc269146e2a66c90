#include "join/explain_holder.h"

#include "flame/batch_tree.h"
#include "link/hot_code.h"

enum { TIP = 4 }; /* number of innermost frames in which an unlock is searched */

/* Is one of the innermost frames an unlock function? */
static bool is_unlock(const struct sf_tree *t, uint32_t node)
{
    size_t at;
    for (int i = 0; i < TIP && node != 0; i++, node = t->nodes[node].parent) {
        sf_str f = t->frames[t->nodes[node].frame].function;
        if (sf_str_find(f, SF_STR("Unlock"), &at) || sf_str_eq(f, SF_STR("runtime.unlock")))
            return true;
    }
    return false;
}

static enum sf_err find_holder(const struct sf_tree *t, struct sf_arena *req,
                               struct sf_hot_piece *out, double *out_share, struct sf_why *why)
{
    double *values = sf_arena_new_n(req, t->n_nodes + 1u, sizeof(*values)), all = 0;
    struct sf_hot_code hot;
    struct sf_hot_pieces found;
    enum sf_err err = values ? sf_hot_code_init(&hot, t, req, why) : sf_no_room(why, "the query");
    *out = (struct sf_hot_piece){0};
    for (uint32_t i = 1; !err && i < t->n_nodes; i++) {
        values[i] = is_unlock(t, i) ? (double)t->nodes[i].self : 0;
        all += values[i];
    }
    if (err || all <= 0)
        return err;
    err = sf_hot_code_find(&hot, values, 1, req, &found, why);
    if (!err && found.n) {
        *out = found.list[0];
        *out_share = out->value / all;
    }
    return err;
}

enum sf_err sf_explain_holder(struct sf_store *store, const struct sf_explain_holder_want *want,
                              struct sf_query_ctx *q, sf_str *out, struct sf_why *why)
{
    struct sf_matcher service = {SF_STR("service_name"), SF_OP_EQ, want->service};
    struct sf_prof_query ask = {.match = &service,
                                .n_match = 1,
                                .from_ns = want->from_ns,
                                .to_ns = want->to_ns,
                                .select = SF_PROF_OVERLAP};
    struct sf_prof_list list = {0};
    const struct sf_tree *tree = NULL;
    struct sf_hot_piece piece = {0};
    double share = 0;
    sf_str line = SF_STR_NONE;
    enum sf_err err = store->ops->prof_list(store, &ask, q, &list, why);
    *out = SF_STR_NONE;
    for (uint32_t i = 0; !err && !piece.function.len && i < list.n; i++) {
        const struct sf_profile_type *type = &list.series[i].type;
        if (!sf_str_eq(type->sample_type, SF_STR("delay")) ||
            !sf_str_eq(type->sample_unit, SF_STR("nanoseconds")))
            continue;
        if (!sf_batch_tree_type_print(type, q->req, &ask.type))
            return sf_no_room(why, "the query");
        err = store->ops->prof_merge(store, &ask, q, &tree, why);
        if (!err)
            err = find_holder(tree, q->req, &piece, &share, why);
    }
    if (err || !piece.function.len)
        return err;
    if (piece.file.len && piece.line &&
        !sf_arena_print(q->req, &line, " (%.*s:%u)", SF_STR_ARG(piece.file), piece.line))
        return sf_no_room(why, "the query");
    return sf_arena_print(
               q->req, out, "held in %.*s%.*s: %.0f %% of the lock contention of %.*s then",
               SF_STR_ARG(piece.function), SF_STR_ARG(line), 100 * share, SF_STR_ARG(want->service))
               ? SF_OK
               : sf_no_room(why, "the query");
}
