#include "serve/pyroscope/querier_calls.h"

#include "flame/frame_name.h"
#include "flame/tree_chain.h"
#include "flame/tree_order.h"

/* The messages have no field for this yet: it is requested by name and answered in JSON. */
enum { FIELD = 100 };

enum sf_err sf_querier_calls_check(const struct sf_querier_ask *ask, struct sf_why *why)
{
    if (ask->calls_of == SF_QUERIER_CALLS_UNSET || ask->calls_to == SF_QUERIER_CALLS_NOWHERE)
        return sf_fail(why, SF_ERR_INPUT,
                       "format_options.function_tree expects a selection and a direction");
    if (ask->calls_depth < 0 || ask->calls_depth > SF_QUERIER_CALLS_DEPTH)
        return sf_fail(why, SF_ERR_INPUT, "format_options.function_tree.max_depth is 0 to %d",
                       SF_QUERIER_CALLS_DEPTH);
    if (ask->max_nodes)
        return sf_fail(why, SF_ERR_INPUT,
                       "max_nodes cannot be combined with a tree of functions: use "
                       "format_options.function_tree.max_depth");
    if (ask->has_pgo)
        return sf_fail(why, SF_ERR_INPUT, "go_pgo cannot be combined with a tree of functions");
    for (size_t i = 0; i < ask->n_sites; i++)
        if (ask->sites[i].len == 0)
            return sf_fail(why, SF_ERR_INPUT, "call_site: a function without a name");
    if (ask->calls_of == SF_QUERIER_CALLS_FROM_ROOT && ask->calls_to != SF_QUERIER_CALLS_DOWN)
        return sf_fail(why, SF_ERR_INPUT, "a path from the root has callees only");
    if (ask->calls_of == SF_QUERIER_CALLS_OF_CHAIN && ask->n_sites == 0)
        return sf_fail(why, SF_ERR_INPUT, "call_site: a chain has at least one function");
    if (ask->calls_to == SF_QUERIER_CALLS_BOTH_WAYS && ask->n_sites != 1)
        return sf_fail(why, SF_ERR_INPUT,
                       "call_site: both directions require exactly one function");
    return SF_OK;
}

/* ---- writing ---- */

struct writing {
    struct sf_message *m;
    const struct sf_tree *tree;
    const int64_t *totals;
    struct sf_tree_order order;
    bool *has_children;
    int64_t max_depth; /* levels below the first node */
};

static void write_values(const struct writing *w, uint32_t node, sf_str name)
{
    sf_message_str(w->m, FIELD, "name", name);
    sf_message_i64(w->m, FIELD, "total", w->totals[node]);
    sf_message_i64(w->m, FIELD, "self", w->tree->nodes[node].self);
    if (w->has_children[node])
        sf_message_bool(w->m, FIELD, "hasChildren", true);
}

/* Writes the nodes from places[at] on, in preorder: a node's children follow it. */
static void write_nodes(const struct writing *w, uint32_t at, sf_str first_name)
{
    size_t marks[SF_QUERIER_CALLS_DEPTH + 1];
    uint32_t base = w->order.depths[at], n_open = 0;
    for (uint32_t i = at; i < w->tree->n_nodes; i++) {
        uint32_t node = w->order.places[i], depth = w->order.depths[i] - base;
        if (depth > w->max_depth)
            continue;
        for (; n_open > depth; n_open--) {
            sf_message_list_end(w->m);
            sf_message_end(w->m, marks[n_open - 1]);
        }
        marks[n_open++] = i == at ? sf_message_begin(w->m, FIELD, "root")
                                  : sf_message_item(w->m, FIELD);
        write_values(w, node,
                     i == at ? first_name : w->tree->frames[w->tree->nodes[node].frame].function);
        sf_message_list(w->m, "children");
    }
    for (; n_open > 0; n_open--) {
        sf_message_list_end(w->m);
        sf_message_end(w->m, marks[n_open - 1]);
    }
}

/* Writes `key` and a root; without the root when no stack contains the chain. */
static enum sf_err querier_calls_write_side(struct sf_querier_work *x, const char *key,
                                            const struct sf_tree *tree, int64_t max_depth,
                                            bool is_whole)
{
    struct writing w = {
        .m = &x->m, .tree = tree, .max_depth = max_depth ? max_depth : SF_QUERIER_CALLS_DEPTH};
    int64_t *totals = NULL;
    size_t mark;
    enum sf_err err = sf_tree_order_totals(tree, x->req, &totals, &x->why);
    if (!err)
        err = sf_tree_order(tree, totals, SF_TREE_BY_TOTAL, x->req, &w.order, &x->why);
    if (err)
        return err;
    w.totals = totals;
    w.has_children = sf_arena_new_n(x->req, tree->n_nodes, sizeof(*w.has_children));
    if (!w.has_children)
        return sf_no_room(&x->why, "the answer");
    for (uint32_t i = 1; i < tree->n_nodes; i++)
        w.has_children[tree->nodes[i].parent] = true;
    mark = sf_message_begin(&x->m, FIELD, key);
    if (is_whole)
        write_nodes(&w, 0, SF_STR("total"));
    else if (tree->n_nodes > 1)
        write_nodes(&w, 1, tree->frames[tree->nodes[w.order.places[1]].frame].function);
    sf_message_end(&x->m, mark);
    return SF_OK;
}

static enum sf_err write_sides(struct sf_querier_work *x, const struct sf_querier_ask *ask,
                               const struct sf_tree *tree)
{
    struct sf_tree_chain chain = {.names = ask->sites,
                                  .n = ask->n_sites,
                                  .is_from_root = ask->calls_of == SF_QUERIER_CALLS_FROM_ROOT};
    bool is_whole = ask->n_sites == 0;
    struct sf_tree part;
    enum sf_err err = SF_OK;
    if (ask->calls_to != SF_QUERIER_CALLS_DOWN) {
        err = sf_tree_chain_callers(tree, &chain, x->req, &part, &x->why);
        if (!err)
            err = querier_calls_write_side(x, "callers", &part, ask->calls_depth, is_whole);
    }
    if (!err && ask->calls_to != SF_QUERIER_CALLS_UP) {
        err = sf_tree_chain_callees(tree, &chain, x->req, &part, &x->why);
        if (!err)
            err = querier_calls_write_side(x, "callees", &part, ask->calls_depth, is_whole);
    }
    return err;
}

enum sf_err sf_querier_calls_write(struct sf_querier_work *x, const struct sf_querier_ask *ask,
                                   const struct sf_tree *tree)
{
    size_t mark = sf_message_begin(&x->m, FIELD, "functionTree");
    enum sf_err err = write_sides(x, ask, tree);
    sf_message_end(&x->m, mark);
    return err;
}

enum sf_err sf_querier_calls_write_diff(struct sf_querier_work *x,
                                        struct sf_querier_ask *const asks[2],
                                        const struct sf_tree trees[2])
{
    static const char *const sides[] = {"left", "right"};
    size_t mark = sf_message_begin(&x->m, FIELD, "functionTree");
    enum sf_err err = SF_OK;
    for (size_t i = 0; !err && i < 2; i++) {
        size_t side = sf_message_begin(&x->m, FIELD, sides[i]);
        err = write_sides(x, asks[i], &trees[i]);
        sf_message_end(&x->m, side);
    }
    sf_message_end(&x->m, mark);
    return err;
}
