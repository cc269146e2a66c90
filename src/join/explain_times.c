/* explain_times.c - the time breakdowns of the spans of one trace, with the code in each part.
 * Samples of all types are joined with the trace once, then the time of every span is divided
 * (link/ledger.h). Sums over several spans weight each by its share of the critical path. */
#include "join/explain_times.h"

#include <math.h>

#include "base/list.h"
#include "exec/traces.h"
#include "flame/batch_tree.h"
#include "join/sample_count.h"
#include "join/span_figures.h"
#include "link/critical_path.h"
#include "link/ledger_stacks.h"

#define MAX_STACKS ((size_t)64 << 20) /* for tables while trees of several types are joined */

/* ---- samples ---- */

static enum sf_err explain_times_add_type(struct sf_explain_times *t,
                                          const struct sf_link_want *about, sf_str type,
                                          sf_str chosen, struct sf_why *why)
{
    struct sf_link_want want = *about;
    want.type = type;
    enum sf_time_kind kind = sf_time_samples_kind_of(type);
    struct sf_link_set *set = t->set;
    enum sf_err err = SF_OK;
    if (kind == SF_TIME_NONE)
        return SF_OK;
    if (!sf_str_eq(type, chosen)) {
        set = sf_arena_new(t->q->req, sizeof(*set));
        err = set ? sf_link_set_load(t->store, t->whole.spans.spans[0].trace_id, &want, t->q, set,
                                     why)
                  : sf_no_room(why, "the query");
    }
    if (err)
        return err;
    bool *is_wanted = sf_arena_new_n(t->q->req, set->tree.n_spans + 1u, sizeof(*is_wanted));
    if (!is_wanted)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < t->set->n_own; i++)
        is_wanted[i] = t->spans[i].is_there;
    t->n_kinds[kind]++;
    t->left_out |= set->left_out;
    return sf_time_samples_add(&t->times, set, kind, is_wanted, why);
}

static bool mark_spans(struct sf_explain_times *t)
{
    uint32_t span = t->set->span;
    const bool *is_below = NULL;
    t->spans = sf_arena_new_n(t->q->req, t->set->n_own + 1u, sizeof(*t->spans));
    if (t->spans && span != SF_NOBODY)
        is_below = sf_span_tree_mark_below(&t->set->tree, span, t->q->req);
    if (!t->spans || (span != SF_NOBODY && !is_below))
        return false;
    for (uint32_t i = 0; i < t->set->n_own; i++)
        t->spans[i].is_there = !is_below || is_below[i];
    return true;
}

static enum sf_err load_samples(struct sf_explain_times *t, const struct sf_link_want *want,
                                struct sf_why *why)
{
    sf_str chosen = SF_STR_NONE;
    enum sf_err err = SF_OK;
    if (!mark_spans(t) ||
        (t->set->n_types > 0 && !sf_batch_tree_type_print(&t->set->type, t->q->req, &chosen)))
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < t->set->n_types; i++)
        err = explain_times_add_type(t, want, t->set->types[i], chosen, why);
    if (!err)
        err = sf_tree_builder_take(&t->builder, SF_STR("nanoseconds"), &t->stacks, why);
    return err ? err : sf_hot_code_init(&t->hot, &t->stacks, t->q->req, why);
}

/* ---- the breakdown of each span ---- */

static bool is_sampling(enum sf_time_kind kind)
{
    return kind == SF_TIME_CPU || kind == SF_TIME_WALL;
}

static unsigned explain_times_place_of(uint16_t has, enum sf_ledger_part part)
{
    return (unsigned)__builtin_popcount(has & ((1u << part) - 1));
}

uint64_t sf_explain_times_ns(const struct sf_span_times *s, enum sf_ledger_part part)
{
    return s->has_ns & 1u << part ? s->ns[explain_times_place_of(s->has_ns, part)] : 0;
}

const struct sf_part_seen *sf_explain_times_seen(const struct sf_span_times *s,
                                                 enum sf_ledger_part part)
{
    return s->has_seen & 1u << part ? &s->seen[explain_times_place_of(s->has_seen, part)] : NULL;
}

double sf_explain_times_own(const struct sf_span_times *s)
{
    double own = 0;
    for (int part = 0; part < SF_PARTS; part++)
        if (part != SF_PART_CHILD && part != SF_PART_REMOTE)
            own += (double)sf_explain_times_ns(s, (enum sf_ledger_part)part);
    return own;
}

static bool is_seen(const struct sf_part_seen *s)
{
    return s->sure_ns != 0 || s->sampled_ns != 0 || s->samples != 0 || s->estimated_ns != 0;
}

/* Stores only the parts that the span has. False: no space. */
static bool explain_times_keep(struct sf_span_times *s, const struct sf_ledger *l,
                               const struct sf_part_seen seen[SF_PARTS], struct sf_arena *req)
{
    for (unsigned part = 0; part < SF_PARTS; part++) {
        s->sources[part] = l->sources[part];
        s->has_ns |= (uint16_t)((l->ns[part] > 0) << part);
        s->has_seen |= (uint16_t)(is_seen(&seen[part]) << part);
    }
    size_t n_ns = (size_t)__builtin_popcount(s->has_ns);
    size_t n_seen = (size_t)__builtin_popcount(s->has_seen);
    uint64_t *ns = n_ns ? sf_arena_new_n(req, n_ns, sizeof(*ns)) : NULL;
    struct sf_part_seen *known = n_seen ? sf_arena_new_n(req, n_seen, sizeof(*known)) : NULL;
    if ((n_ns && !ns) || (n_seen && !known))
        return false;
    s->ns = ns;
    s->seen = known;
    for (unsigned part = 0; part < SF_PARTS; part++) {
        if (s->has_ns & 1u << part)
            *ns++ = l->ns[part];
        if (s->has_seen & 1u << part)
            *known++ = seen[part];
    }
    return true;
}

/* Stores the evidence for each part that has any. False: no space. */
static bool explain_times_see(struct sf_explain_times *t, const struct sf_ledger *l,
                              struct sf_span_times *s)
{
    struct sf_part_seen found[SF_PARTS] = {0};
    const struct sf_time_samples *h = &t->times;
    double sure[SF_PARTS] = {0}, sampled[SF_PARTS] = {0};
    for (uint32_t i = 0; i < h->n; i++) {
        const struct sf_ledger_sample *p = &h->samples[i];
        const struct sf_time_type *type = &h->types[h->origins[i].type];
        struct sf_part_seen *seen = &found[p->part];
        double worth = (double)p->worth_ns;
        if (!sf_ledger_stacks_has(l, h->samples, i, (enum sf_ledger_part)p->part))
            continue;
        seen->estimated_ns += h->origins[i].is_known ? 0 : worth;
        if (!is_sampling(type->kind)) {
            sure[p->part] += worth;
            continue;
        }
        sampled[p->part] += worth;
        bool is_counted = sf_sample_count_is_known(&type->set->type, type->set->period);
        double n = is_counted ? worth / (double)type->set->period : 1;
        seen->samples += n;
        seen->timed += p->has_time ? n : 0;
        seen->timed_squares += p->has_time ? n * n : 0;
    }
    for (int part = 0; part < SF_PART_UNKNOWN; part++) {
        double ns = (double)l->ns[part], all = sure[part] + sampled[part];
        bool is_sure = l->sources[part] == SF_SOURCE_EXACT || l->sources[part] == SF_SOURCE_SPANS;
        found[part].sampled_ns = is_sure || all <= 0 ? 0 : ns * sampled[part] / all;
        found[part].sure_ns = ns - found[part].sampled_ns;
    }
    return explain_times_keep(s, l, found, t->q->req);
}

static bool keep_costs(struct sf_explain_times *t, const struct sf_ledger_cost *costs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (!sf_list_room_in(t->q->req, &t->costs, t->n_costs, &t->cap_costs, 1024))
            return false;
        t->costs[t->n_costs++] = costs[i];
    }
    return true;
}

/* Reduces costs by the share that was removed from the part because it exceeded the span. */
static void cut_costs(const struct sf_ledger *l, struct sf_ledger_cost *costs, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        double ns = (double)l->ns[costs[i].part];
        double all = l->sources[costs[i].part] == SF_SOURCE_EXACT
                         ? ns
                         : ns + (double)l->cut_ns[costs[i].part];
        costs[i].ns *= all > 0 ? ns / all : 0;
    }
}

static enum sf_err explain_times_divide(struct sf_explain_times *t, uint32_t span,
                                        const uint32_t *child_items, struct sf_arena tmp,
                                        struct sf_why *why)
{
    const struct sf_span_tree *tree = &t->set->tree;
    struct sf_span_times *s = &t->spans[span];
    struct sf_ledger ledger;
    struct sf_ledger_exact exact = sf_span_figures_of(t->set, span);
    enum sf_err err = sf_time_samples_of(&t->times, span, why);
    if (!err)
        err = sf_ledger_make(tree, span, t->times.samples, t->times.n, &exact, &tmp, &ledger, why);
    if (err)
        return err;
    size_t n_most = (size_t)t->times.n + tree->first[span + 1] - tree->first[span] + 1;
    uint32_t *items = sf_arena_new_n(&tmp, t->times.n + 1u, sizeof(*items));
    struct sf_ledger_cost *costs = sf_arena_new_n(&tmp, n_most, sizeof(*costs));
    if (!items || !costs)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < t->times.n; i++) /* draw no conclusions from estimates */
        items[i] = t->times.origins[i].is_known ? t->times.origins[i].node : SF_NOBODY;
    struct sf_ledger_costs_input in = {.spans = tree,
                                       .span = span,
                                       .ledger = &ledger,
                                       .samples = t->times.samples,
                                       .items = items,
                                       .n_samples = t->times.n,
                                       .child_items = child_items};
    if (!explain_times_see(t, &ledger, s))
        return sf_no_room(why, "the query");
    uint32_t n = sf_ledger_costs_items(&in, costs);
    cut_costs(&ledger, costs, n);
    s->first = t->n_costs;
    s->n = n;
    return keep_costs(t, costs, n) ? SF_OK : sf_no_room(why, "the query");
}

static enum sf_err divide_all(struct sf_explain_times *t, struct sf_why *why)
{
    uint32_t *child_items = sf_arena_new_n(t->q->req, t->set->tree.n_spans + 1u,
                                           sizeof(*child_items));
    struct sf_arena scratch = {0};
    enum sf_err err = child_items && sf_arena_init(&scratch, t->q->req->cap)
                          ? SF_OK
                          : sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < t->set->tree.n_spans; i++)
        child_items[i] = t->stacks.n_nodes + i;
    for (uint32_t i = 0; !err && i < t->set->n_own; i++)
        if (t->spans[i].is_there)
            err = explain_times_divide(t, i, child_items, scratch, why);
    sf_arena_done(&scratch);
    return err;
}

enum sf_err sf_explain_times_load(struct sf_explain_times *t, struct sf_store *store,
                                  sf_trace_id trace, sf_span_id span, struct sf_query_ctx *q,
                                  struct sf_why *why)
{
    struct sf_link_want want = {.span = span, .whole = &t->whole, .has_others = true};
    char id[33];
    *t = (struct sf_explain_times){.store = store, .q = q};
    t->times = (struct sf_time_samples){.req = q->req, .stacks = &t->builder};
    sf_tree_builder_init(&t->builder, q->req, MAX_STACKS, SF_TREE_BORROWS);
    t->set = sf_arena_new(q->req, sizeof(*t->set));
    enum sf_err err = t->set ? sf_traces_get_one_bare(store, trace, 0, 0, q, &t->whole, why)
                             : sf_no_room(why, "the query");
    if (!err && t->whole.spans.n_spans == 0) {
        sf_trace_id_render(trace, id);
        err = sf_fail(why, SF_ERR_NOT_FOUND, "trace %s not found", id);
    }
    if (!err)
        err = sf_link_set_load(store, trace, &want, q, t->set, why);
    if (!err)
        err = load_samples(t, &want, why);
    return err ? err : divide_all(t, why);
}

void sf_explain_times_done(struct sf_explain_times *t)
{
    sf_tree_builder_done(&t->builder);
}

/* ---- sums ---- */

static void add_seen(struct sf_part_seen *to, const struct sf_part_seen *from, double share)
{
    to->sure_ns += from->sure_ns * share;
    to->sampled_ns += from->sampled_ns * share;
    to->estimated_ns += from->estimated_ns * share;
    to->samples += from->samples * share;
    to->timed += from->timed * share;
    to->timed_squares += from->timed_squares * share;
}

enum sf_err sf_explain_times_sum_add(struct sf_times_sum *sum, const struct sf_explain_times *t,
                                     uint32_t span, double share, bool has_children,
                                     struct sf_why *why)
{
    const struct sf_span_times *s = &t->spans[span];
    for (int part = 0; part < SF_PARTS; part++) {
        const struct sf_part_seen *seen = sf_explain_times_seen(s, (enum sf_ledger_part)part);
        uint64_t ns = sf_explain_times_ns(s, (enum sf_ledger_part)part);
        if (ns == 0 || (!has_children && (part == SF_PART_CHILD || part == SF_PART_REMOTE)))
            continue;
        sum->ns[part] += (double)ns * share;
        if (part == SF_PART_RUN_QUEUE)
            sf_runnable_sum_add(&sum->runnable, (double)sf_span_figures_runnable(t->set, span),
                                (double)ns * share);
        if (seen)
            add_seen(&sum->seen[part], seen, share);
        sum->exact |= (uint16_t)((s->sources[part] == SF_SOURCE_EXACT) << part);
        sum->estimate |= (uint16_t)((s->sources[part] == SF_SOURCE_ESTIMATE) << part);
    }
    for (uint32_t i = s->first; i < s->first + s->n; i++) {
        const struct sf_ledger_cost *c = &t->costs[i];
        if (c->part >= SF_PART_CHILD)
            continue;
        double **nodes = &sum->nodes[c->part];
        if (!*nodes)
            *nodes = sf_arena_new_n(t->q->req, t->stacks.n_nodes + 1u, sizeof(**nodes));
        if (!*nodes)
            return sf_no_room(why, "the query");
        (*nodes)[c->item] += c->ns * share;
    }
    sum->n_spans++;
    return SF_OK;
}

void sf_explain_times_sum_fit(struct sf_times_sum *sum, const struct sf_explain_times *t)
{
    for (int part = 0; part < SF_PART_CHILD; part++) {
        double *nodes = sum->nodes[part], all = 0;
        for (uint32_t i = 0; nodes && i < t->stacks.n_nodes; i++)
            all += nodes[i];
        for (uint32_t i = 0; nodes && i < t->stacks.n_nodes && all > sum->ns[part]; i++)
            nodes[i] *= sum->ns[part] / all;
    }
}

struct below { /* a span and its descendants, as a separate tree */
    struct sf_span_tree tree;
    const uint32_t *places; /* indexes of its spans in the whole tree; NULL: it is the whole tree */
};

static enum sf_err find_below(const struct sf_explain_times *t, uint32_t span, struct below *out,
                              struct sf_why *why)
{
    struct sf_arena *req = t->q->req;
    uint32_t n_own = t->set->n_own, n = 0;
    const struct sf_span_tree *from = &t->set->tree;
    if (span == SF_NOBODY && from->n_spans == n_own) {
        *out = (struct below){*from, NULL};
        return SF_OK;
    }
    const bool *is_below = span == SF_NOBODY ? NULL : sf_span_tree_mark_below(from, span, req);
    struct sf_span *spans = sf_arena_new_n(req, n_own + 1u, sizeof(*spans));
    struct sf_span_origin *origins = sf_arena_new_n(req, n_own + 1u, sizeof(*origins));
    uint32_t *places = sf_arena_new_n(req, n_own + 1u, sizeof(*places));
    int64_t *shifts_ns = sf_arena_new_n(req, n_own + 1u, sizeof(*shifts_ns));
    if (!spans || !origins || !places || !shifts_ns || (span != SF_NOBODY && !is_below))
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < n_own; i++) {
        if (is_below && !is_below[i])
            continue;
        shifts_ns[n] = from->shifts_ns ? from->shifts_ns[i] : 0;
        origins[n] = (struct sf_span_origin){from->places[i].process, from->places[i].thread};
        spans[n] = from->spans[i];
        places[n++] = i;
    }
    out->places = places;
    enum sf_err err = sf_span_tree_build(spans, origins, n, req, &out->tree, why);
    out->tree.shifts_ns = from->shifts_ns ? shifts_ns : NULL;
    return err;
}

/* Time on the path beyond the span's own: of child spans that outlive it, which are not on the
 * path. What the span itself does in its own time says nothing about it. */
static void add_uncovered(struct sf_times_sum *sum, const struct sf_span_times *s, double ns)
{
    double child = (double)sf_explain_times_ns(s, SF_PART_CHILD);
    double remote = (double)sf_explain_times_ns(s, SF_PART_REMOTE);
    double known = fmin(ns, child + remote);
    if (known > 0) {
        sum->ns[SF_PART_CHILD] += known * child / (child + remote);
        sum->ns[SF_PART_REMOTE] += known * remote / (child + remote);
    }
    sum->ns[SF_PART_UNKNOWN] += ns - known;
}

enum sf_err sf_explain_times_sum_path(struct sf_times_sum *sum, const struct sf_explain_times *t,
                                      uint32_t span, uint64_t *out_whole_ns,
                                      const uint64_t **out_path_ns, struct sf_why *why)
{
    struct sf_critical_path path;
    struct below below;
    struct sf_arena scratch = {0}; /* freed with the search for the path */
    uint64_t *path_ns = sf_arena_new_n(t->q->req, t->set->n_own + 1u, sizeof(*path_ns));
    enum sf_err err = path_ns ? find_below(t, span, &below, why) : sf_no_room(why, "the query");
    if (!err && !sf_arena_init(&scratch, t->q->req->cap))
        err = sf_no_room(why, "the query");
    if (!err)
        err = sf_critical_path_find(&below.tree, &scratch, &path, why);
    for (uint32_t i = 0; !err && i < below.tree.n_spans; i++) {
        uint32_t place = below.places ? below.places[i] : i;
        double own = sf_explain_times_own(&t->spans[place]), on_path = (double)path.critical_ns[i];
        path_ns[place] = path.critical_ns[i];
        if (on_path > 0 && own > 0)
            err = sf_explain_times_sum_add(sum, t, place, fmin(on_path / own, 1), false, why);
        add_uncovered(sum, &t->spans[place], fmax(on_path - own, 0));
    }
    sf_arena_done(&scratch);
    if (err)
        return err;
    sf_explain_times_sum_fit(sum, t);
    sum->ns[SF_PART_UNKNOWN] += (double)path.gap_ns;
    *out_whole_ns = path.total_ns + path.gap_ns;
    if (out_path_ns)
        *out_path_ns = path_ns;
    return SF_OK;
}
