#include "serve/pyroscope/querier_sandwich.h"

#include "flame/tree_builder.h"
#include "flame/tree_cut.h"
#include "flame/tree_order.h"
#include "flame/tree_sandwich.h"

/* The messages have no field for this yet: it is requested by name and answered in JSON. */
enum { FIELD = 100 };

struct half {
    struct sf_tree tree; /* the root, the function below it, and its callers or callees below
                          * that */
    const int64_t *totals;
    struct sf_tree_order order;
    uint32_t *names; /* index in the table of names, for each node */
};

enum sf_err sf_querier_sandwich_check(const struct sf_querier_ask *ask, struct sf_why *why)
{
    if (ask->format != SF_QUERIER_SANDWICH && ask->function.len)
        return sf_fail(why, SF_ERR_INPUT,
                       "sandwich_function goes with the format PROFILE_FORMAT_SANDWICH");
    if (ask->format == SF_QUERIER_SANDWICH && ask->function.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "sandwich_function is required: name a function");
    return SF_OK;
}

static enum sf_err querier_sandwich_prepare(struct sf_querier_work *x, const struct sf_tree *whole,
                                            uint32_t max_nodes, struct sf_tree_builder *names,
                                            struct half *out)
{
    int64_t *totals = NULL;
    enum sf_err err = SF_OK;
    out->tree = *whole;
    if (whole->n_nodes - 1 > max_nodes)
        err = sf_tree_cut(whole, max_nodes, x->req, &out->tree, &x->why);
    if (!err)
        err = sf_tree_order_totals(&out->tree, x->req, &totals, &x->why);
    if (!err)
        err = sf_tree_order(&out->tree, totals, SF_TREE_BY_TOTAL, x->req, &out->order, &x->why);
    if (err)
        return err;
    out->totals = totals;
    out->names = sf_arena_new_n(x->req, out->tree.n_nodes, sizeof(*out->names));
    if (!out->names)
        return sf_no_room(&x->why, "the answer");
    for (uint32_t i = 1; i < out->tree.n_nodes; i++)
        out->names[i] = sf_tree_builder_frame(names, &out->tree.frames[out->tree.nodes[i].frame]);
    return SF_OK;
}

static void querier_sandwich_write_node(struct sf_message *m, const struct half *h, uint32_t node)
{
    sf_message_u32(m, FIELD, "nameIndex", h->names[node]);
    sf_message_i64(m, FIELD, "total", h->totals[node]);
    sf_message_i64(m, FIELD, "self", h->tree.nodes[node].self);
    sf_message_bool(m, FIELD, "truncated",
                    sf_tree_cut_is_other(&h->tree.frames[h->tree.nodes[node].frame]));
}

static enum sf_err write_half(struct sf_querier_work *x, const char *key, const struct half *h)
{
    struct sf_message *m = &x->m;
    size_t *marks = sf_arena_new_n(x->req, (size_t)h->order.max_depth + 1, sizeof(*marks));
    bool *is_open = sf_arena_new_n(x->req, (size_t)h->order.max_depth + 1, sizeof(*is_open));
    uint32_t n_open = 0;
    if (!marks || !is_open)
        return sf_no_room(&x->why, "the answer");
    if (h->tree.n_nodes == 1) /* no stack contains it: a function with value 0 and the first name */
        sf_message_end(m, sf_message_begin(m, FIELD, key));
    for (uint32_t i = 1; i <= h->tree.n_nodes; i++) {
        uint32_t depth = i < h->tree.n_nodes ? h->order.depths[i] - 1 : 0;
        for (; n_open > depth; n_open--) {
            if (is_open[n_open - 1])
                sf_message_list_end(m);
            sf_message_end(m, marks[n_open - 1]);
        }
        if (i == h->tree.n_nodes)
            break;
        if (depth > 0 && !is_open[depth - 1]) {
            sf_message_list(m, "children");
            is_open[depth - 1] = true;
        }
        is_open[n_open] = false;
        marks[n_open++] = depth ? sf_message_item(m, FIELD) : sf_message_begin(m, FIELD, key);
        querier_sandwich_write_node(m, h, h->order.places[i]);
    }
    return SF_OK;
}

static enum sf_err querier_sandwich_write_all(struct sf_querier_work *x,
                                              const struct sf_tree_sandwich *s, uint32_t max_nodes,
                                              struct sf_tree_builder *names)
{
    const struct sf_frame function = {.function = x->ask->function};
    struct half callers, callees;
    enum sf_err err;
    sf_tree_builder_frame(names, &function); /* added first, so that it is the first name of both
                                              * halves */
    err = querier_sandwich_prepare(x, &s->callers, max_nodes, names, &callers);
    if (!err)
        err = querier_sandwich_prepare(x, &s->callees, max_nodes, names, &callees);
    if (!err)
        err = names->err;
    if (err)
        return err;
    sf_message_list(&x->m, "names");
    for (uint32_t i = 0; i < names->n_frames; i++)
        sf_message_item_str(&x->m, FIELD, names->frames[i].function);
    sf_message_list_end(&x->m);
    err = write_half(x, "callers", &callers);
    if (!err)
        err = write_half(x, "callees", &callees);
    sf_message_i64(&x->m, FIELD, "total", s->total);
    sf_message_i64(&x->m, FIELD, "self", s->self);
    return err;
}

enum sf_err sf_querier_sandwich_write(struct sf_querier_work *x, const struct sf_tree *tree,
                                      uint32_t max_nodes)
{
    struct sf_tree_builder names;
    struct sf_tree_sandwich s;
    size_t mark = sf_message_begin(&x->m, FIELD, "sandwich");
    enum sf_err err = SF_OK;
    sf_tree_builder_init(&names, x->req, 0, SF_TREE_BORROWS);
    if (tree->n_nodes > 1)
        err = sf_tree_sandwich(tree, x->ask->function, x->req, &s, &x->why);
    if (!err && tree->n_nodes > 1)
        err = querier_sandwich_write_all(x, &s, max_nodes, &names);
    sf_tree_builder_done(&names);
    sf_message_end(&x->m, mark);
    return err;
}
