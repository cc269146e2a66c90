/* querier_tree.c - the methods of Pyroscope's QuerierService whose answer is a tree of stacks. A
 * request is turned into a query, its stacks are merged (for spans by the rules of the join),
 * grouped by function, cut to the number of nodes, and written in the form requested: flamebearer,
 * tree bytes, call graph, table or pprof. */
#include "flame/flamebearer.h"
#include "flame/tree_cut.h"
#include "flame/tree_group.h"
#include "flame/tree_leaves.h"
#include "join/profile.h"
#include "join/spans_profile.h"
#include "render/dot.h"
#include "render/known.h"
#include "render/pprof.h"
#include "render/pyroscope_tree.h"
#include "serve/pyroscope/querier.h"
#include "serve/pyroscope/querier_calls.h"
#include "serve/pyroscope/querier_functions.h"
#include "serve/pyroscope/querier_sandwich.h"
#include "serve/pyroscope/querier_work.h"

enum { DEFAULT_NODES = 8192, MAX_NODES = 1 << 20, DOT_NODES = 100 };

/* ---- from samples to a tree ---- */

static enum sf_err querier_tree_check(const struct sf_querier_ask *a, struct sf_why *why)
{
    if (a->type.len == 0)
        return sf_fail(why, SF_ERR_INPUT, "profile_typeID is missing");
    if (a->max_nodes < 0 || a->max_nodes > MAX_NODES)
        return sf_fail(why, SF_ERR_INPUT, "max_nodes is 0 to %d", MAX_NODES);
    return SF_OK;
}

/* Selects samples of spans by the rules of the join: a child of a tagged span gets its share,
 * though no sample carries its id. */
static enum sf_err merge_spans(struct sf_querier_work *x, const struct sf_prof_query *query,
                               const struct sf_tree **out)
{
    struct sf_arena scratch = {0};
    bool is_estimate = false;
    enum sf_err err;
    if (!sf_arena_init(&scratch, x->call->service->query_memory_len))
        return sf_no_memory(&x->why, "the query");
    err = sf_spans_profile_merge(x->store, query, &scratch, &x->q, out, &is_estimate, &x->why);
    sf_arena_done(&scratch);
    x->is_estimate |= !err && is_estimate;
    return err;
}

static enum sf_err merge_stacks(struct sf_querier_work *x, const struct sf_prof_query *query,
                                struct sf_tree *out)
{
    bool is_linked = query->n_spans > 0 && query->n_traces == 0;
    const struct sf_tree *tree;
    enum sf_err err = is_linked ? merge_spans(x, query, &tree)
                                : x->store->ops->prof_merge(x->store, query, &x->q, &tree, &x->why);
    if (!err && query->stacks && is_linked)
        return sf_stack_filter_tree(query->stacks, tree, x->req, out, &x->why);
    if (!err)
        *out = *tree;
    return err;
}

static enum sf_err querier_tree_merge(struct sf_querier_work *x, const struct sf_querier_ask *a,
                                      const struct sf_prof_query *query, struct sf_tree *out)
{
    struct sf_prof_query filtered = *query;
    struct sf_stack_filter *stacks = NULL;
    enum sf_err err = querier_tree_check(a, &x->why);
    if (!err)
        err = sf_querier_work_stacks(a, &stacks, &x->why);
    filtered.stacks = stacks;
    if (!err)
        err = merge_stacks(x, &filtered, out);
    sf_stack_filter_free(stacks);
    if (!err && a->has_pgo) {
        struct sf_tree whole = *out;
        err = sf_tree_leaves(&whole, (uint32_t)a->keep_leaves, a->is_flat, x->req, out, &x->why);
    }
    return err;
}

static enum sf_err merge_functions(struct sf_querier_work *x, const struct sf_querier_ask *a,
                                   const struct sf_prof_query *query, struct sf_tree *out)
{
    struct sf_tree_grouping how = {.by = SF_GROUP_FUNCTION};
    struct sf_tree tree;
    enum sf_err err = querier_tree_merge(x, a, query, &tree);
    return err ? err : sf_tree_group(&tree, how, x->req, out, &x->why);
}

static uint32_t querier_tree_nodes_of(const struct sf_querier_ask *a)
{
    return a->max_nodes ? (uint32_t)a->max_nodes : DEFAULT_NODES;
}

/* ---- forms of the answer ---- */

static void querier_tree_write_flame(struct sf_message *m, const struct sf_flamebearer *f,
                                     bool is_double)
{
    size_t mark = sf_message_begin(m, 1, "flamegraph");
    sf_message_list(m, "names");
    for (uint32_t i = 0; i < f->n_names; i++)
        sf_message_item_str(m, 1, f->names[i]);
    sf_message_list_end(m);
    sf_message_list(m, "levels");
    for (uint32_t i = 0; i < f->n_levels; i++) {
        size_t level = sf_message_item(m, 2);
        sf_message_numbers(m, 1, "values", f->levels[i].values, f->levels[i].n, true);
        sf_message_end(m, level);
    }
    sf_message_list_end(m);
    sf_message_i64(m, 3, "total", f->total);
    sf_message_i64(m, 4, "maxSelf", f->max_self);
    if (is_double) {
        sf_message_i64(m, 5, "leftTicks", f->left_total);
        sf_message_i64(m, 6, "rightTicks", f->right_total);
    }
    sf_message_end(m, mark);
}

/* Puts estimated stacks under a frame that says so: these answers have no field for remarks. */
static enum sf_err querier_tree_mark(struct sf_querier_work *x, const struct sf_tree *grouped,
                                     struct sf_tree *out)
{
    struct sf_profile_view view = {.tree = *grouped, .is_estimate = x->is_estimate};
    return sf_known_tree(&view, x->req, out, &x->why);
}

static enum sf_err cut_marked(struct sf_querier_work *x, const struct sf_tree *grouped,
                              struct sf_tree *out)
{
    struct sf_tree marked;
    enum sf_err err = querier_tree_mark(x, grouped, &marked);
    return err ? err : sf_tree_cut(&marked, querier_tree_nodes_of(x->ask), x->req, out, &x->why);
}

static enum sf_err answer_flame(struct sf_querier_work *x, const struct sf_tree *grouped)
{
    struct sf_flamebearer flame;
    struct sf_tree cut;
    enum sf_err err = cut_marked(x, grouped, &cut);
    if (!err)
        err = sf_flamebearer_single(&cut, x->req, &flame, &x->why);
    if (!err)
        querier_tree_write_flame(&x->m, &flame, false);
    return err;
}

static enum sf_err answer_bytes(struct sf_querier_work *x, const struct sf_tree *grouped)
{
    struct sf_buf bytes = {0};
    struct sf_tree cut;
    enum sf_err err = cut_marked(x, grouped, &cut);
    if (!err)
        err = sf_pyroscope_tree_render(&cut, *x->req, &bytes, &x->why);
    if (!err)
        sf_message_bytes(&x->m, 2, "tree", sf_buf_bytes(&bytes));
    sf_buf_done(&bytes);
    return err;
}

static enum sf_err answer_graph(struct sf_querier_work *x, const struct sf_tree *grouped)
{
    struct sf_profile_view view = {.tree = *grouped, .is_estimate = x->is_estimate};
    struct sf_buf text = {0};
    enum sf_err err = sf_dot_render(&view,
                                    x->ask->max_nodes ? (uint32_t)x->ask->max_nodes : DOT_NODES,
                                    *x->req, &text, &x->why);
    if (!err)
        sf_message_str(&x->m, 3, "dot", sf_buf_str(&text));
    sf_buf_done(&text);
    return err;
}

static enum sf_err answer_calls(struct sf_querier_work *x, const struct sf_tree *grouped)
{
    struct sf_tree marked;
    enum sf_err err = querier_tree_mark(x, grouped, &marked);
    return err ? err : sf_querier_calls_write(x, x->ask, &marked);
}

static enum sf_err answer_sandwich(struct sf_querier_work *x, const struct sf_tree *grouped)
{
    struct sf_tree marked;
    enum sf_err err = querier_tree_mark(x, grouped, &marked);
    return err ? err : sf_querier_sandwich_write(x, &marked, querier_tree_nodes_of(x->ask));
}

/* The profile has lines and files. Writes nothing when there are no samples. */
static enum sf_err querier_tree_write_profile(struct sf_querier_work *x)
{
    struct sf_profile_view view = {.time_ns = x->query.to_ns - 1, /* to_ns is exclusive */
                                   .duration_ns = x->query.to_ns - x->query.from_ns};
    struct sf_tree whole;
    enum sf_err err = querier_tree_merge(x, x->ask, &x->query, &whole);
    if (!err)
        err = sf_profile_type_of(x->store, &x->query, &x->q, &view.type, &x->why);
    if (err || whole.n_nodes <= 1)
        return err;
    view.tree = whole;
    view.is_estimate = x->is_estimate;
    if (x->ask->max_nodes)
        err = sf_tree_cut(&whole, (uint32_t)x->ask->max_nodes, x->req, &view.tree, &x->why);
    return err ? err : sf_pprof_message(&view, *x->req, &x->m, &x->why);
}

/* ---- the methods ---- */

static enum sf_err answer_stacktraces(struct sf_querier_work *x)
{
    struct sf_tree grouped;
    size_t outer, inner;
    enum sf_err err = sf_querier_sandwich_check(x->ask, &x->why);
    if (err)
        return err;
    if (x->ask->format == SF_QUERIER_PPROF) {
        outer = sf_message_begin(&x->m, 5, "pprof");
        inner = sf_message_begin(&x->m, 1, "profile");
        err = querier_tree_write_profile(x);
        sf_message_end(&x->m, inner);
        sf_message_end(&x->m, outer);
        return err;
    }
    err = x->ask->format == SF_QUERIER_FUNCTIONS ? sf_querier_functions_check(x->ask, &x->why)
          : x->ask->format == SF_QUERIER_CALLS   ? sf_querier_calls_check(x->ask, &x->why)
                                                 : SF_OK;
    if (!err)
        err = merge_functions(x, x->ask, &x->query, &grouped);
    if (err)
        return err;
    switch (x->ask->format) {
    case SF_QUERIER_TREE: return answer_bytes(x, &grouped);
    case SF_QUERIER_DOT: return answer_graph(x, &grouped);
    case SF_QUERIER_FUNCTIONS: return sf_querier_functions_write(x, &grouped);
    case SF_QUERIER_CALLS: return answer_calls(x, &grouped);
    case SF_QUERIER_SANDWICH: return answer_sandwich(x, &grouped);
    default: return answer_flame(x, &grouped);
    }
}

static enum sf_err answer_spans(struct sf_querier_work *x)
{
    struct sf_tree grouped;
    enum sf_err err;
    if (x->ask->n_spans == 0)
        return sf_fail(&x->why, SF_ERR_INPUT, "span_selector is missing");
    if (x->ask->format > SF_QUERIER_TREE || x->ask->format < 0)
        return sf_fail(&x->why, SF_ERR_UNSUPPORTED,
                       "SelectMergeSpanProfile does not support this format: use "
                       "SelectMergeStacktraces with span_selector");
    err = merge_functions(x, x->ask, &x->query, &grouped);
    if (err)
        return err;
    return x->ask->format == SF_QUERIER_TREE ? answer_bytes(x, &grouped)
                                             : answer_flame(x, &grouped);
}

static bool is_table(const struct sf_querier_ask *a)
{
    return a->format == SF_QUERIER_FUNCTIONS;
}

static enum sf_err check_types(struct sf_querier_work *x)
{
    if (sf_str_eq(x->ask->sides[0]->type, x->ask->sides[1]->type))
        return SF_OK;
    return sf_fail(&x->why, SF_ERR_INPUT, "both sides must have the same profile type");
}

/* Comparison in the newest API: each side has a format; the left one's is used. */
static enum sf_err answer_tables(struct sf_querier_work *x, const struct sf_tree trees[2])
{
    struct sf_querier_ask *const *sides = x->ask->sides;
    enum sf_err err = sf_querier_functions_check(sides[0], &x->why);
    if (!err)
        err = check_types(x);
    return err ? err : sf_querier_functions_write_diff(x, sides[0], trees, true);
}

/* Applies the options of the left side to each side's own call site. */
static enum sf_err take_options(struct sf_querier_work *x)
{
    struct sf_querier_ask *left = x->ask->sides[0], *right = x->ask->sides[1];
    enum sf_err err;
    if (!left || left->format != SF_QUERIER_CALLS || !right)
        return SF_OK;
    right->format = left->format;
    right->calls_of = left->calls_of;
    right->calls_to = left->calls_to;
    right->calls_depth = left->calls_depth;
    err = sf_querier_calls_check(left, &x->why);
    if (!err)
        err = sf_querier_calls_check(right, &x->why);
    return err ? err : check_types(x);
}

static enum sf_err answer_diff(struct sf_querier_work *x)
{
    struct sf_tree trees[2];
    struct sf_tree_diff whole, cut;
    struct sf_flamebearer flame;
    uint32_t max_nodes = 0;
    enum sf_err err = SF_OK;
    if (x->ask->format > SF_QUERIER_FLAMEGRAPH || x->ask->format < SF_QUERIER_FUNCTIONS)
        return sf_fail(&x->why, SF_ERR_UNSUPPORTED,
                       "a comparison is available as a flame graph only");
    err = take_options(x);
    for (size_t i = 0; !err && i < 2; i++) {
        struct sf_querier_ask *side = x->ask->sides[i];
        struct sf_prof_query query;
        if (!side)
            return sf_fail(&x->why, SF_ERR_INPUT, "%s is missing", i ? "right" : "left");
        if (side->format == SF_QUERIER_SANDWICH || side->function.len)
            return sf_fail(&x->why, SF_ERR_UNSUPPORTED, "a comparison has no sandwich");
        if (side->is_async || side->request_id.len)
            return sf_fail(&x->why, SF_ERR_UNSUPPORTED, "a comparison is not asynchronous");
        err = sf_querier_work_query(side, SF_QUERIER_TIMES_REQUIRED, &query, &x->why);
        if (!err)
            err = merge_functions(x, side, &query, &trees[i]);
        if (querier_tree_nodes_of(side) > max_nodes)
            max_nodes = querier_tree_nodes_of(side);
    }
    for (size_t i = 0; !err && i < 2; i++) { /* mark both, or their stacks would differ */
        struct sf_tree plain = trees[i];
        err = querier_tree_mark(x, &plain, &trees[i]);
    }
    if (!err && is_table(x->ask))
        return sf_querier_functions_write_diff(x, x->ask, trees, false);
    if (!err && is_table(x->ask->sides[0]))
        return answer_tables(x, trees);
    if (!err && x->ask->sides[0]->format == SF_QUERIER_CALLS)
        return sf_querier_calls_write_diff(x, x->ask->sides, trees);
    if (!err)
        err = sf_tree_diff(&trees[0], &trees[1], x->req, &whole, &x->why);
    if (!err)
        err = sf_tree_diff_cut(&whole, max_nodes, x->req, &cut, &x->why);
    if (!err)
        err = sf_flamebearer_double(&cut, x->req, &flame, &x->why);
    if (!err)
        querier_tree_write_flame(&x->m, &flame, true);
    return err;
}

bool sf_querier_tree_stacktraces(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_work_run(call, worker, SF_QUERIER_STACKTRACES, SF_QUERIER_TIMES_REQUIRED,
                               answer_stacktraces);
}
bool sf_querier_tree_spans(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_work_run(call, worker, SF_QUERIER_SPANS, SF_QUERIER_TIMES_REQUIRED,
                               answer_spans);
}
bool sf_querier_tree_profile(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_work_run(call, worker, SF_QUERIER_PROFILE, SF_QUERIER_TIMES_REQUIRED,
                               querier_tree_write_profile);
}
bool sf_querier_tree_diff(struct sf_call *call, struct sf_worker *worker)
{
    return sf_querier_work_run(call, worker, SF_QUERIER_DIFF, SF_QUERIER_TIMES_NONE, answer_diff);
}
