/* set_breakdown.c - the time breakdown of each span of a set, by part and code. Samples of all
 * types are loaded for the whole set at once; then the time of each span is divided by its own
 * samples, children and figures, and its costs are assigned to functions or child names. */
#include "join/set_breakdown.h"

#include "base/buf.h"
#include "base/list.h"
#include "flame/batch_tree.h"
#include "flame/library_frame.h"
#include "flame/tree_builder.h"
#include "join/name_list.h"
#include "join/sample_count.h"
#include "join/time_samples.h"
#include "link/frame_functions.h"
#include "link/ledger_stacks.h"

enum { MAX_CHILD_NAMES = 4096 };
#define MAX_STACKS ((size_t)64 << 20) /* for tables while trees of several types are joined */

struct work {
    struct sf_store *store;
    struct sf_link_gathered *g;
    const struct sf_set_span *spans;
    enum sf_breakdown_by by;
    const uint32_t *owners; /* by node of the stacks, if owners are requested */
    double *line_ns;        /* by frame */
    struct sf_query_ctx *q;
    struct sf_link_set *first; /* the set loaded first: its tree has all spans */
    uint32_t *members;         /* indexes in the tree, or SF_NOBODY */
    bool *is_wanted;           /* by place */
    struct sf_time_samples times;
    struct sf_tree_builder builder;
    struct sf_tree stacks;
    struct sf_frame_functions functions;
    uint32_t *child_items; /* by place */
    double *sums;          /* by part and item, for the current span */
    uint32_t *touched;     /* indexes of sums that are not 0 */
    struct sf_set_breakdown out;
};

/* ---- what is known of all of them ---- */

static bool find_members(struct work *w)
{
    const struct sf_span_tree *t = &w->first->tree;
    w->members = sf_arena_new_n(w->q->req, w->g->n_read + 1u, sizeof(*w->members));
    w->is_wanted = sf_arena_new_n(w->q->req, t->n_spans + 1u, sizeof(*w->is_wanted));
    if (!w->members || !w->is_wanted)
        return false;
    for (uint32_t i = 0; i < w->g->n_read; i++) {
        w->members[i] = sf_span_tree_find(t, w->spans[i].trace, w->spans[i].id);
        if (w->members[i] != SF_NOBODY)
            w->is_wanted[w->members[i]] = true;
    }
    return true;
}

static enum sf_err set_breakdown_add_type(struct work *w, sf_str type, sf_str chosen,
                                          struct sf_why *why)
{
    enum sf_time_kind kind = sf_time_samples_kind_of(type);
    struct sf_link_set *set = w->first;
    if (kind == SF_TIME_NONE)
        return SF_OK;
    w->out.n_types++;
    w->out.has_waits = w->out.has_waits || kind == SF_TIME_WALL || kind == SF_TIME_OFF_CPU;
    if (!sf_str_eq(type, chosen)) {
        set = sf_arena_new(w->q->req, sizeof(*set));
        if (!set)
            return sf_no_room(why, "the query");
        enum sf_err err = sf_link_set_load_gathered(w->store, w->g, type, w->q, set, why);
        if (err)
            return err;
    }
    w->out.left_out |= set->left_out;
    return sf_time_samples_add(&w->times, set, kind, w->is_wanted, why);
}

static enum sf_err set_breakdown_load(struct work *w, struct sf_why *why)
{
    sf_str chosen = SF_STR_NONE;
    enum sf_err err = SF_OK;
    w->first = w->g->loaded ? w->g->loaded : sf_arena_new(w->q->req, sizeof(*w->first));
    if (!w->first)
        return sf_no_room(why, "the query");
    if (!w->g->loaded)
        err = sf_link_set_load_gathered(w->store, w->g, SF_STR_NONE, w->q, w->first, why);
    if (err)
        return err;
    if (!find_members(w) ||
        (w->first->n_types > 0 && !sf_batch_tree_type_print(&w->first->type, w->q->req, &chosen)))
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < w->first->n_types; i++)
        err = set_breakdown_add_type(w, w->first->types[i], chosen, why);
    if (!err)
        err = sf_tree_builder_take(&w->builder, SF_STR("nanoseconds"), &w->stacks, why);
    return err ? err : sf_frame_functions_make(&w->stacks, w->q->req, &w->functions, why);
}

/* ---- names ---- */

/* Local children are listed by name, remote ones with their service. */
static bool name_children(struct work *w, struct sf_name_list *names, struct sf_buf *text)
{
    const struct sf_link_set *set = w->first;
    for (uint32_t i = 0; i < set->tree.n_spans; i++) {
        uint32_t parent = set->tree.places[i].parent;
        w->child_items[i] = SF_NOBODY;
        if (parent == SF_NOBODY || !w->is_wanted[parent] || set->spans[i].name.len == 0)
            continue;
        sf_buf_reset(text);
        if (!sf_span_tree_is_local(&set->tree, i, parent) && set->services[i].len > 0)
            sf_buf_print(text, "%.*s: ", SF_STR_ARG(set->services[i]));
        sf_buf_add_str(text, set->spans[i].name);
        if (!sf_buf_ok(text) ||
            !sf_name_list_place(names, sf_buf_str(text), MAX_CHILD_NAMES, &w->child_items[i]))
            return false;
        if (w->child_items[i] != SF_NOBODY)
            w->child_items[i] += w->out.n_code;
    }
    return true;
}

/* Finds the names of spans that are children themselves. */
static bool name_spans(struct work *w)
{
    uint32_t *items = sf_arena_new_n(w->q->req, w->g->n_read + 1u, sizeof(*items));
    for (uint32_t i = 0; items && i < w->g->n_read; i++)
        items[i] = w->members[i] == SF_NOBODY ? SF_NOBODY : w->child_items[w->members[i]];
    w->out.span_items = items;
    return items != NULL;
}

static bool name_items(struct work *w)
{
    struct sf_name_list names;
    struct sf_buf text = {0};
    sf_name_list_init(&names, w->q->req);
    w->out.n_code = w->by == SF_BREAKDOWN_NODE ? w->stacks.n_nodes : w->functions.n;
    if (w->by == SF_BREAKDOWN_OWNER &&
        !(w->owners = sf_library_frame_owners(&w->stacks, w->q->req)))
        return false;
    w->child_items = sf_arena_new_n(w->q->req, w->first->tree.n_spans + 1u,
                                    sizeof(*w->child_items));
    bool is_ok = w->child_items && name_children(w, &names, &text) && name_spans(w);
    sf_buf_done(&text);
    if (!is_ok)
        return false;
    w->out.n_items = w->out.n_code + names.n;
    w->out.items = sf_arena_new_n(w->q->req, w->out.n_items + 1u, sizeof(*w->out.items));
    size_t n = (size_t)w->out.n_items * SF_PARTS;
    w->sums = sf_arena_new_n(w->q->req, n + 1, sizeof(*w->sums));
    w->touched = sf_arena_new_n(w->q->req, n + 1, sizeof(*w->touched));
    w->line_ns = sf_arena_new_n(w->q->req, w->stacks.n_frames + 1u, sizeof(*w->line_ns));
    w->out.frames = sf_arena_new_n(w->q->req, w->functions.n + 1u, sizeof(*w->out.frames));
    if (!w->out.items || !w->sums || !w->touched || !w->line_ns || !w->out.frames)
        return false;
    for (uint32_t i = 0; w->by != SF_BREAKDOWN_NODE && i < w->functions.n; i++)
        w->out.items[i] = w->functions.names[i];
    for (uint32_t i = 0; i < names.n; i++)
        w->out.items[w->out.n_code + i] = names.names[i];
    return true;
}

/* ---- span by span ---- */

static bool add_costs(struct work *w, uint32_t span, const struct sf_ledger_cost *costs, uint32_t n)
{
    uint32_t n_touched = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = costs[i].part * w->out.n_items + costs[i].item;
        if (w->sums[at] == 0)
            w->touched[n_touched++] = at;
        w->sums[at] += costs[i].ns;
    }
    for (uint32_t i = 0; i < n_touched; i++) {
        uint32_t at = w->touched[i];
        if (!sf_list_room_in(w->q->req, &w->out.costs, w->out.n_costs, &w->out.cap_costs, 1024))
            return false;
        w->out.costs[w->out.n_costs++] = (struct sf_set_breakdown_cost){
            span, at / w->out.n_items, at % w->out.n_items, w->sums[at]};
        w->sums[at] = 0;
    }
    return true;
}

static uint32_t set_breakdown_node_of(const struct work *w, uint32_t i)
{
    uint32_t node = w->times.origins[i].node;
    return w->owners && w->owners[node] != 0 ? w->owners[node] : node;
}

static void add_lines(struct work *w)
{
    for (uint32_t i = 0; i < w->times.n; i++)
        if (w->times.origins[i].node != 0)
            w->line_ns[w->stacks.nodes[set_breakdown_node_of(w, i)].frame] +=
                (double)w->times.samples[i].worth_ns;
}

/* Finds the line with the largest cost in each function. */
static void find_lines(struct work *w)
{
    double *most = w->sums; /* zeroed, and large enough: each function is an item */
    for (uint32_t i = 0; i < w->stacks.n_frames; i++) {
        uint32_t f = w->functions.of[i];
        if (w->line_ns[i] <= most[f])
            continue;
        most[f] = w->line_ns[i];
        w->out.frames[f] = &w->stacks.frames[i];
    }
}

static const uint32_t *items_of(const struct work *w, struct sf_arena *tmp)
{
    uint32_t *items = sf_arena_new_n(tmp, w->times.n + 1u, sizeof(*items));
    for (uint32_t i = 0; items && i < w->times.n; i++) {
        uint32_t node = w->times.origins[i].node;
        items[i] = node == 0 ? SF_NOBODY
                   : w->by == SF_BREAKDOWN_NODE
                       ? node
                       : w->functions.of[w->stacks.nodes[set_breakdown_node_of(w, i)].frame];
    }
    return items;
}

/* Counts the samples behind the parts, as for one span (join/explain_times.c). */
static void set_breakdown_count_samples(struct work *w, const struct sf_ledger *l)
{
    double sampled[SF_PARTS] = {0}, all[SF_PARTS] = {0};
    for (uint32_t k = 0; k < w->times.n; k++) {
        const struct sf_ledger_sample *s = &w->times.samples[k];
        const struct sf_time_type *type = &w->times.types[w->times.origins[k].type];
        if (!sf_ledger_stacks_has(l, w->times.samples, k, (enum sf_ledger_part)s->part))
            continue;
        w->out.part_samples[s->part]++;
        all[s->part] += (double)s->worth_ns;
        if (type->kind != SF_TIME_CPU && type->kind != SF_TIME_WALL)
            continue;
        sampled[s->part] += (double)s->worth_ns;
        w->out.part_taken[s->part] += sf_sample_count_is_known(&type->set->type, type->set->period)
                                          ? (double)s->worth_ns / (double)type->set->period
                                          : 1;
    }
    for (int part = 0; part < SF_PARTS; part++) {
        bool is_sure = l->sources[part] == SF_SOURCE_EXACT || l->sources[part] == SF_SOURCE_SPANS;
        double ns = is_sure || all[part] <= 0 ? 0 : (double)l->ns[part] * sampled[part] / all[part];
        w->out.part_sampled[part] += ns;
        w->out.part_sure[part] += (double)l->ns[part] - ns;
    }
}

static enum sf_err set_breakdown_divide(struct work *w, uint32_t i, struct sf_arena tmp,
                                        struct sf_why *why)
{
    const struct sf_span_tree *tree = &w->first->tree;
    uint32_t span = w->members[i];
    struct sf_ledger ledger;
    w->out.parts[i].ns[SF_PART_UNKNOWN] = (double)w->spans[i].duration_ns;
    if (span == SF_NOBODY)
        return SF_OK;
    enum sf_err err = sf_time_samples_of(&w->times, span, why);
    if (err)
        return err;
    uint32_t n_children = tree->first[span + 1] - tree->first[span];
    struct sf_ledger_exact exact = sf_span_figures_of(w->first, span);
    struct sf_ledger_cost *costs = sf_arena_new_n(&tmp, (size_t)w->times.n + n_children + 1,
                                                  sizeof(*costs));
    const uint32_t *items = items_of(w, &tmp);
    if (!costs || !items)
        return sf_no_room(why, "the query");
    err = sf_ledger_make(tree, span, w->times.samples, w->times.n, &exact, &tmp, &ledger, why);
    if (err)
        return err;
    struct sf_ledger_costs_input in = {.spans = tree,
                                       .span = span,
                                       .ledger = &ledger,
                                       .samples = w->times.samples,
                                       .items = items,
                                       .n_samples = w->times.n,
                                       .child_items = w->child_items};
    sf_ledger_costs_parts(&ledger, &w->out.parts[i]);
    sf_runnable_sum_add(&w->out.runnable, (double)sf_span_figures_runnable(w->first, span),
                        w->out.parts[i].ns[SF_PART_RUN_QUEUE]);
    for (int part = 0; part < SF_PARTS; part++)
        if (ledger.sources[part] == SF_SOURCE_ESTIMATE)
            w->out.estimates[i] |= (uint16_t)(1u << part);
    w->out.n_samples += ledger.n_samples;
    for (uint32_t k = tree->first[span]; k < tree->first[span + 1]; k++)
        if (!sf_span_tree_is_local(tree, tree->children[k], span))
            w->out.remote_ns[i] += (double)sf_span_duration_ns(&tree->spans[tree->children[k]]);
    add_lines(w);
    set_breakdown_count_samples(w, &ledger);
    return add_costs(w, i, costs, sf_ledger_costs_items(&in, costs)) ? SF_OK
                                                                     : sf_no_room(why, "the query");
}

enum sf_err sf_set_breakdown_make(struct sf_store *store, struct sf_link_gathered *g,
                                  const struct sf_set_span *spans, enum sf_breakdown_by by,
                                  struct sf_arena scratch, struct sf_query_ctx *q,
                                  struct sf_set_breakdown *out, struct sf_why *why)
{
    struct work w = {.store = store, .g = g, .spans = spans, .q = q, .by = by};
    _Static_assert(SF_PARTS <= 16, "a bit for each part");
    w.times = (struct sf_time_samples){.req = q->req, .stacks = &w.builder, .is_known_only = true};
    w.out.parts = sf_arena_new_n(q->req, g->n_read + 1u, sizeof(*w.out.parts));
    w.out.estimates = sf_arena_new_n(q->req, g->n_read + 1u, sizeof(*w.out.estimates));
    w.out.remote_ns = sf_arena_new_n(q->req, g->n_read + 1u, sizeof(*w.out.remote_ns));
    if (!w.out.parts || !w.out.estimates || !w.out.remote_ns)
        return sf_no_room(why, "the query");
    sf_tree_builder_init(&w.builder, q->req, MAX_STACKS, SF_TREE_BORROWS);
    enum sf_err err = set_breakdown_load(&w, why);
    sf_tree_builder_done(&w.builder);
    if (!err && !name_items(&w))
        err = sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < g->n_read; i++)
        err = set_breakdown_divide(&w, i, scratch, why);
    w.out.n_estimated = w.times.n_estimated;
    w.out.stacks = w.stacks;
    if (!err && by != SF_BREAKDOWN_NODE)
        find_lines(&w);
    if (!err)
        *out = w.out;
    return err;
}
