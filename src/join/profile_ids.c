#include "join/profile_ids.h"

#include "flame/tree_builder.h"

/* Nodes are equal if their whole stacks are. */
static bool match_nodes(const struct sf_tree *tree, const struct sf_tree *rows,
                        struct sf_arena scratch, uint32_t *out)
{
    struct sf_tree_builder b;
    uint32_t *own = sf_arena_new_n(&scratch, (size_t)tree->n_nodes + 1, sizeof(*own));
    bool is_ok;
    if (!own)
        return false;
    sf_tree_builder_init(&b, &scratch, 0, SF_TREE_BORROWS);
    sf_tree_builder_shape(&b, tree, own);
    sf_tree_builder_shape(&b, rows, out);
    is_ok = !b.err;
    for (uint32_t i = 0; is_ok && i < rows->n_nodes; i++) {
        if (out[i] >= tree->n_nodes)
            out[i] = SF_NONE; /* it was added after the nodes of `tree`: not in it */
    }
    sf_tree_builder_done(&b);
    return is_ok;
}

enum sf_err sf_profile_ids(struct sf_store *store, const struct sf_prof_query *query,
                           const struct sf_tree *tree, struct sf_query_ctx *q, struct sf_owned *out,
                           struct sf_why *why)
{
    struct sf_detail_query ask = {.type = query->type,
                                  .match = query->match,
                                  .n_match = query->n_match,
                                  .trace_ids = query->trace_ids,
                                  .n_traces = query->n_traces,
                                  .from_ns = query->from_ns,
                                  .to_ns = query->to_ns,
                                  .is_tagged = true,
                                  .has_no_requests = query->n_traces == 0};
    struct sf_detail_list list = {0};
    struct sf_owned owned = {0};
    uint32_t *nodes, n = 0;
    enum sf_err err = store->ops->detail_list(store, &ask, q, &list, why);
    if (err == SF_ERR_LIMIT)
        return sf_fail(why, err,
                       "too many samples with ids for one answer: use a shorter time range, "
                       "or without ids");
    if (err)
        return err;
    nodes = sf_arena_new_n(q->req, (size_t)list.tree.n_nodes + 1, sizeof(*nodes));
    owned.list = sf_arena_new_n(q->req, (size_t)list.rows.n_rows + 1, sizeof(*owned.list));
    if (!nodes || !owned.list || !match_nodes(tree, &list.tree, *q->req, nodes))
        return sf_no_room(why, "the ids of samples");
    for (uint32_t i = 0; i < list.rows.n_rows; i++) {
        uint32_t node = nodes[list.rows.node[i]];
        if (node != SF_NONE)
            owned.list[n++] = (struct sf_profile_owned){node, list.rows.trace_id[i],
                                                        list.rows.span_id[i], list.rows.value[i]};
    }
    sf_owned_merge(&owned, n);
    sf_owned_fit(&owned, tree);
    *out = owned;
    return SF_OK;
}
