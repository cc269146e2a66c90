/* explain.c - explains why a span or a trace took so long. The time breakdowns of all spans of the
 * trace are loaded; for a span, its own and those of its descendants on the critical path are used,
 * for a trace all spans on the path. Child spans are grouped by service and name, and time that no
 * sample explains gets its likely reason. */
#include "join/explain.h"

#include <math.h>
#include <stdlib.h>

#include "base/num.h"
#include "flame/batch_tree.h"
#include "join/explain_focus.h"
#include "join/explain_holder.h"
#include "join/span_figures.h"
#include "join/thinned.h"
#include "link/explain_part.h"

#define SMALLEST 0.02 /* share of the duration from which a group of spans is listed */
#define COUNTED  1e-3 /* ns: a span is in its group, and takes no time */
enum {
    MOST_GROUPS = 64, /* at most this many groups of spans are listed separately */
    CHILD_FUNCTIONS = 3
}; /* at most this many functions listed for a part of a child */

struct group {     /* spans with the same service and name in a part */
    uint32_t span; /* the one with the largest time */
    double ns, most;
    uint32_t count;
};

struct groups {
    struct group list[MOST_GROUPS];
    uint32_t n, n_more;
};

struct work {
    struct sf_explain_times t;
    struct sf_query_ctx *q;
    sf_str focus;
    sf_str unknown_of; /* of a trace: the service with most of the unknown time */
    struct sf_explain_view out;
};

static bool explain_is_same(const struct sf_link_set *set, uint32_t a, uint32_t b)
{
    return sf_str_eq(set->spans[a].name, set->spans[b].name) &&
           sf_str_eq(set->services[a], set->services[b]);
}

static void explain_add_span(const struct sf_link_set *set, struct groups *g, uint32_t span,
                             double ns)
{
    if (ns <= 0)
        return;
    for (uint32_t i = 0; i < g->n; i++) {
        struct group *one = &g->list[i];
        if (!explain_is_same(set, one->span, span))
            continue;
        one->ns += ns;
        one->count++;
        if (ns > one->most) {
            one->most = ns;
            one->span = span;
        }
        return;
    }
    if (g->n < MOST_GROUPS)
        g->list[g->n++] = (struct group){span, ns, ns, 1};
    else
        g->n_more++;
}

static int explain_by_ns(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return (x->span > y->span) - (x->span < y->span);
}

/* With `is_deep` each is explained with all its descendants. */
static enum sf_err give_groups(struct work *w, struct groups *g, double whole, bool is_deep,
                               struct sf_explain_part *to, struct sf_why *why)
{
    const struct sf_link_set *set = w->t.set;
    struct sf_explain_span *list = sf_arena_new_n(w->q->req, SF_EXPLAIN_CHILDREN, sizeof(*list));
    uint32_t n = 0;
    enum sf_err err = list ? SF_OK : sf_no_room(why, "the query");
    qsort(g->list, g->n, sizeof(*g->list), explain_by_ns);
    for (uint32_t i = 0; !err && i < g->n && n < SF_EXPLAIN_CHILDREN; i++) {
        const struct group *one = &g->list[i];
        if (one->ns < whole * SMALLEST)
            break;
        struct sf_explain_span *s = &list[n++];
        *s = (struct sf_explain_span){.trace = set->spans[one->span].trace_id,
                                      .span = set->spans[one->span].span_id,
                                      .service = set->services[one->span],
                                      .name = set->spans[one->span].name,
                                      .ns = llround(one->ns),
                                      .duration_ns = sf_span_duration_ns(&set->spans[one->span]),
                                      .count = one->count,
                                      .most_ns = llround(one->most)};
        if (!is_deep)
            continue;
        struct sf_times_sum *sum = sf_arena_new(w->q->req, sizeof(*sum));
        struct sf_explain_part *parts;
        uint64_t path_ns;
        err = sum ? sf_explain_times_sum_path(sum, &w->t, one->span, &path_ns, NULL, why)
                  : sf_no_room(why, "the query");
        if (!err)
            err = sf_explain_parts_sum(sum, &w->t, path_ns, CHILD_FUNCTIONS, &parts, &s->n_parts,
                                       why);
        s->parts = err ? NULL : parts;
    }
    to->children = list;
    to->n_children = n;
    to->n_more_children = g->n - n + g->n_more;
    return err;
}

static struct sf_explain_part *explain_find_part(struct work *w, enum sf_ledger_part part)
{
    struct sf_explain_part named = sf_explain_part_named(part);
    for (uint32_t i = 0; i < w->out.n_parts; i++)
        if (w->out.parts[i].name == named.name)
            return &w->out.parts[i];
    return NULL;
}

/* ---- one span ---- */

static double explain_overlap(const struct sf_span_tree *t, uint32_t child, uint32_t span)
{
    int64_t shift_ns = sf_span_tree_shift_ns(t, child, span);
    uint64_t start_ns = sf_shift_sat_u64(t->places[child].start_ns, shift_ns);
    uint64_t end_ns = sf_shift_sat_u64(t->places[child].end_ns, shift_ns);
    const struct sf_span_place *p = &t->places[span];
    start_ns = start_ns > p->start_ns ? start_ns : p->start_ns;
    end_ns = end_ns < p->end_ns ? end_ns : p->end_ns;
    return start_ns < end_ns ? (double)(end_ns - start_ns) : 0;
}

/* If waits are profiled, a call to another service is part of the waits for the network. */
static struct sf_explain_part *find_remote(struct work *w)
{
    static const enum sf_ledger_part parts[] = {SF_PART_REMOTE, SF_PART_NET, SF_PART_IO};
    struct sf_explain_part *best = NULL;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct sf_explain_part *p = explain_find_part(w, parts[i]);
        if (p && (!best || p->ns > best->ns))
            best = p;
    }
    return best;
}

/* Limits the sum to the part: children may have run in parallel. */
static void fit_groups(struct groups *g, double part_ns)
{
    double sum = 0;
    for (uint32_t i = 0; i < g->n; i++)
        sum += g->list[i].ns;
    for (uint32_t i = 0; i < g->n && sum > part_ns; i++) {
        g->list[i].ns *= part_ns / sum;
        g->list[i].most *= part_ns / sum;
    }
}

/* The time of each child, with all below it, on the critical path of the span; 0 for those that the
 * span does not wait for. Children beside others on the path take less than their duration. */
static enum sf_err find_waits(struct work *w, uint32_t span, uint64_t *child_ns, struct sf_why *why)
{
    const struct sf_span_tree *t = &w->t.set->tree;
    struct sf_times_sum *sum = sf_arena_new(w->q->req, sizeof(*sum));
    uint32_t *todo = sf_arena_new_n(w->q->req, t->n_spans + 1u, sizeof(*todo));
    const uint64_t *path_ns;
    uint64_t whole_ns;
    enum sf_err err = sum && todo
                          ? sf_explain_times_sum_path(sum, &w->t, span, &whole_ns, &path_ns, why)
                          : sf_no_room(why, "the query");
    for (uint32_t k = t->first[span]; !err && k < t->first[span + 1]; k++) {
        uint32_t n = 0;
        todo[n++] = t->children[k];
        while (n > 0) {
            uint32_t at = todo[--n];
            child_ns[t->children[k]] += at < w->t.set->n_own ? path_ns[at] : 0;
            for (uint32_t i = t->first[at]; i < t->first[at + 1]; i++)
                todo[n++] = t->children[i];
        }
    }
    return err;
}

static enum sf_err explain_give_children(struct work *w, uint32_t span, struct sf_why *why)
{
    const struct sf_span_tree *t = &w->t.set->tree;
    struct groups *here = sf_arena_new(w->q->req, sizeof(*here));
    struct groups *there = sf_arena_new(w->q->req, sizeof(*there));
    uint64_t *child_ns = sf_arena_new_n(w->q->req, t->n_spans + 1u, sizeof(*child_ns));
    struct sf_explain_part *local = explain_find_part(w, SF_PART_CHILD), *remote = find_remote(w);
    enum sf_err err = here && there && child_ns ? find_waits(w, span, child_ns, why)
                                                : sf_no_room(why, "the query");
    for (uint32_t k = t->first[span]; !err && k < t->first[span + 1]; k++) {
        uint32_t child = t->children[k];
        double overlap = child < w->t.set->n_own ? explain_overlap(t, child, span) : 0;
        bool is_waited = sf_span_tree_end_ns(t, child) <= sf_span_tree_end_ns(t, span);
        /* One that runs beside others only is counted. */
        if (overlap > 0)
            explain_add_span(w->t.set, sf_span_tree_is_local(t, child, span) ? here : there, child,
                             is_waited ? fmax(fmin((double)child_ns[child], overlap), COUNTED)
                                       : overlap);
    }
    if (!err && local) {
        fit_groups(here, (double)local->ns);
        err = give_groups(w, here, (double)w->out.duration_ns, true, local, why);
    }
    if (!err && remote) {
        fit_groups(there, (double)remote->ns);
        err = give_groups(w, there, (double)w->out.duration_ns, true, remote, why);
    }
    return err;
}

/* Computes the focus over the span and its descendants, along the critical path. */
static enum sf_err focus_span(struct work *w, uint32_t span, struct sf_why *why)
{
    struct sf_times_sum *sum = sf_arena_new(w->q->req, sizeof(*sum));
    const uint64_t *path_ns;
    uint64_t whole_ns;
    enum sf_err err = sum ? sf_explain_times_sum_path(sum, &w->t, span, &whole_ns, &path_ns, why)
                          : sf_no_room(why, "the query");
    return err ? err
               : sf_explain_focus_path(sum, &w->t, span, path_ns, w->focus, &w->out.focus, why);
}

static enum sf_err explain_of_span(struct work *w, struct sf_why *why)
{
    const struct sf_link_set *set = w->t.set;
    struct sf_times_sum *sum = sf_arena_new(w->q->req, sizeof(*sum));
    uint64_t whole_ns = sf_span_duration_ns(&set->spans[set->span]);
    w->out.of = SF_EXPLAIN_SPAN;
    w->out.span = set->spans[set->span].span_id;
    w->out.service = set->services[set->span];
    w->out.name = set->spans[set->span].name;
    w->out.duration_ns = (int64_t)(whole_ns < INT64_MAX ? whole_ns : INT64_MAX);
    enum sf_err err = sum ? sf_explain_times_sum_add(sum, &w->t, set->span, 1, true, why)
                          : sf_no_room(why, "the query");
    if (!err)
        sf_explain_times_sum_fit(sum, &w->t);
    if (!err)
        err = sf_explain_parts_sum(sum, &w->t, whole_ns, SF_EXPLAIN_FUNCTIONS, &w->out.parts,
                                   &w->out.n_parts, why);
    for (int part = 0; !err && part < SF_PART_CHILD; part++)
        w->out.n_samples += (uint64_t)sum->seen[part].samples;
    if (!err && w->focus.len > 0)
        err = focus_span(w, set->span, why);
    return err ? err : explain_give_children(w, set->span, why);
}

/* ---- the whole trace ---- */

/* The child spans that outlive a span on the path: the path is in the span, its time is in them. */
static void add_outliving(const struct work *w, struct groups *g, uint32_t span, bool is_local,
                          double ns)
{
    const struct sf_span_tree *t = &w->t.set->tree;
    double all = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t k = t->first[span]; k < t->first[span + 1]; k++) {
            uint32_t child = t->children[k];
            if (child >= w->t.set->n_own || sf_span_tree_is_local(t, child, span) != is_local ||
                sf_span_tree_end_ns(t, child) <= sf_span_tree_end_ns(t, span))
                continue;
            double in_it = explain_overlap(t, child, span);
            if (pass == 0)
                all += in_it;
            else
                explain_add_span(w->t.set, g, child, fmin(in_it, ns * in_it / all));
        }
}

/* Finds the service whose spans have most of the unknown time. */
static void find_unknown(struct work *w, const uint64_t *path_ns)
{
    const struct sf_link_set *set = w->t.set;
    double sums[MOST_GROUPS] = {0};
    uint32_t firsts[MOST_GROUPS], n = 0, best = 0;
    for (uint32_t i = 0; i < set->n_own; i++) {
        uint32_t at = 0;
        double own = sf_explain_times_own(&w->t.spans[i]);
        double ns = (double)sf_explain_times_ns(&w->t.spans[i], SF_PART_UNKNOWN);
        if (own <= 0 || ns <= 0)
            continue;
        while (at < n && !sf_str_eq(set->services[firsts[at]], set->services[i]))
            at++;
        if (at == MOST_GROUPS)
            continue;
        if (at == n)
            firsts[n++] = i;
        sums[at] += ns * fmin((double)path_ns[i] / own, 1);
        best = sums[at] > sums[best] ? at : best;
    }
    w->unknown_of = n > 0 ? set->services[firsts[best]] : SF_STR_NONE;
}

/* Lists the spans in which each part was spent. */
static enum sf_err give_places(struct work *w, const uint64_t *path_ns, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (int part = 0; !err && part < SF_PARTS; part++) {
        bool is_child = part == SF_PART_CHILD || part == SF_PART_REMOTE;
        struct sf_explain_part *to = explain_find_part(w, (enum sf_ledger_part)part);
        struct groups *g = to ? sf_arena_new(w->q->req, sizeof(*g)) : NULL;
        if (!to)
            continue;
        if (!g)
            return sf_no_room(why, "the query");
        for (uint32_t i = 0; i < w->t.set->n_own; i++) {
            const struct sf_span_times *s = &w->t.spans[i];
            double own = sf_explain_times_own(s), on_path = (double)path_ns[i];
            double ns = (double)sf_explain_times_ns(s, (enum sf_ledger_part)part);
            if (is_child && on_path > own)
                add_outliving(w, g, i, part == SF_PART_CHILD, fmin(ns, on_path - own));
            else if (!is_child && own > 0)
                explain_add_span(w->t.set, g, i, ns * fmin(on_path / own, 1));
        }
        err = give_groups(w, g, (double)w->out.duration_ns, is_child, to, why);
    }
    return err;
}

static uint32_t root_of(const struct sf_link_set *set)
{
    const struct sf_span_tree *t = &set->tree;
    uint32_t best = SF_NOBODY;
    for (uint32_t k = t->first[t->n_spans]; k < t->first[t->n_spans + 1]; k++) {
        uint32_t root = t->children[k];
        if (root < set->n_own && (best == SF_NOBODY || sf_span_duration_ns(&set->spans[root]) >
                                                           sf_span_duration_ns(&set->spans[best])))
            best = root;
    }
    return best;
}

/* The request is over when its roots have ended. False: no space. */
static bool note_later(struct work *w)
{
    const struct sf_link_set *set = w->t.set;
    const struct sf_span_tree *t = &set->tree;
    uint64_t end_ns = 0;
    uint32_t n = 0;
    for (uint32_t k = t->first[t->n_spans]; k < t->first[t->n_spans + 1]; k++)
        if (t->children[k] < set->n_own && sf_span_tree_end_ns(t, t->children[k]) > end_ns)
            end_ns = sf_span_tree_end_ns(t, t->children[k]);
    for (uint32_t i = 0; i < set->n_own; i++)
        n += sf_span_tree_end_ns(t, i) > sf_add_sat_u64(end_ns, (uint64_t)w->out.duration_ns / 10);
    return n == 0 || sf_arena_print(w->q->req, &w->out.note,
                                    n == 1 ? "%u span ran on after the root span had ended: its "
                                             "later time is not part of this"
                                           : "%u spans ran on after the root span had ended: their "
                                             "later time is not part of this",
                                    n);
}

static enum sf_err explain_of_trace(struct work *w, struct sf_why *why)
{
    const struct sf_link_set *set = w->t.set;
    struct sf_times_sum *sum = sf_arena_new(w->q->req, sizeof(*sum));
    const uint64_t *path_ns = NULL;
    uint64_t whole_ns = 0;
    uint32_t root = root_of(set);
    w->out.of = SF_EXPLAIN_TRACE;
    if (root != SF_NOBODY) {
        w->out.service = set->services[root];
        w->out.name = set->spans[root].name;
    }
    enum sf_err err = sum ? sf_explain_times_sum_path(sum, &w->t, SF_NOBODY, &whole_ns, &path_ns,
                                                      why)
                          : sf_no_room(why, "the query");
    if (!err)
        err = sf_explain_parts_sum(sum, &w->t, whole_ns, SF_EXPLAIN_FUNCTIONS, &w->out.parts,
                                   &w->out.n_parts, why);
    w->out.duration_ns = (int64_t)(whole_ns < INT64_MAX ? whole_ns : INT64_MAX);
    for (int part = 0; !err && part < SF_PART_CHILD; part++)
        w->out.n_samples += (uint64_t)sum->seen[part].samples;
    if (!err && w->focus.len > 0)
        err = sf_explain_focus_path(sum, &w->t, SF_NOBODY, path_ns, w->focus, &w->out.focus, why);
    if (!err && !note_later(w))
        return sf_no_room(why, "the query");
    if (!err)
        find_unknown(w, path_ns);
    return err ? err : give_places(w, path_ns, why);
}

/* ---- what is unknown ---- */

static bool has_samples(const struct sf_explain_times *t, sf_str service)
{
    for (uint32_t i = 0; i < t->set->n_own; i++) {
        if (!sf_str_eq(t->set->services[i], service))
            continue;
        for (int part = 0; part < SF_PART_CHILD; part++) {
            const struct sf_part_seen *seen = sf_explain_times_seen(&t->spans[i],
                                                                    (enum sf_ledger_part)part);
            if (seen && seen->samples + seen->sure_ns > 0)
                return true;
        }
    }
    return false;
}

/* A span of the service that samples name, if the own time of no span is known from samples: the
 * first span of the request, known together with its children. 0: none. */
static sf_span_id find_named(const struct sf_explain_times *t, sf_str service)
{
    for (uint32_t k = 0; k < t->times.n_types; k++) {
        const struct sf_link_set *set = t->times.types[k].set;
        for (uint32_t i = 0; i < set->n_samples; i++) {
            const struct sf_link_sample *s = &set->samples[i];
            uint32_t at = s->span_id == 0
                              ? SF_NOBODY
                              : sf_span_tree_find(&t->set->tree, s->trace_id, s->span_id);
            if (at < t->set->n_own && sf_str_eq(t->set->services[at], service))
                return s->span_id;
        }
    }
    return 0;
}

static bool explain_is_thinned(const struct sf_keep_state *s)
{
    return s->fate == SF_FATE_THINNED && s->has_tags;
}

/* Have profiles of the service been received, and of its time? */
static enum sf_err explain_find_profiles(const struct work *w, struct sf_store *store,
                                         sf_str service, bool *out_has_any, bool *out_has_time,
                                         struct sf_why *why)
{
    const struct sf_explain_times *t = &w->t;
    struct sf_prof_query ask = {.from_ns = INT64_MAX, .select = SF_PROF_OVERLAP};
    struct sf_prof_list list = {0};
    for (uint32_t i = 0; i < t->set->n_own; i++) {
        int64_t start_ns = (int64_t)t->set->spans[i].start_ns;
        int64_t end_ns = sf_add_sat_i64(start_ns, (int64_t)sf_span_duration_ns(&t->set->spans[i]));
        if (!sf_str_eq(t->set->services[i], service))
            continue;
        ask.from_ns = start_ns < ask.from_ns ? start_ns : ask.from_ns;
        ask.to_ns = end_ns > ask.to_ns ? end_ns : ask.to_ns;
    }
    enum sf_err err = store->ops->prof_list(store, &ask, w->q, &list, why);
    *out_has_any = *out_has_time = false;
    for (uint32_t i = 0; !err && i < list.n; i++) {
        sf_str name;
        if (!sf_str_eq(list.series[i].service, service))
            continue;
        *out_has_any = true;
        if (!sf_batch_tree_type_print(&list.series[i].type, w->q->req, &name))
            return sf_no_room(why, "the query");
        *out_has_time = *out_has_time || sf_time_samples_kind_of(name) != SF_TIME_NONE;
    }
    return err;
}

/* The span with most of the unknown time; SF_NOBODY: none is named. */
static uint32_t explain_unknown_span(const struct work *w, const struct sf_explain_part *p)
{
    const struct sf_link_set *set = w->t.set;
    uint32_t at = set->span;
    if (w->out.of == SF_EXPLAIN_TRACE)
        at = p->n_children > 0
                 ? sf_span_tree_find(&set->tree, p->children[0].trace, p->children[0].span)
                 : SF_NOBODY;
    return at < set->n_own ? at : SF_NOBODY;
}

/* A call that lasted longer than the span of the service that was called, with nothing else seen
 * in it: the time is between the two. Empty: it is not so. */
static bool explain_call(const struct work *w, const struct sf_explain_part *p, sf_str *out)
{
    const struct sf_link_set *set = w->t.set;
    const struct sf_span_tree *t = &set->tree;
    uint32_t at = explain_unknown_span(w, p);
    if (at == SF_NOBODY || set->spans[at].kind != SF_KIND_CLIENT)
        return true;
    const struct sf_span_times *s = &w->t.spans[at];
    uint64_t unknown_ns = sf_explain_times_ns(s, SF_PART_UNKNOWN);
    if (sf_explain_times_own(s) > 1.1 * (double)unknown_ns || (int64_t)unknown_ns < p->ns / 2)
        return true;
    for (uint32_t k = t->first[at]; k < t->first[at + 1]; k++)
        if (t->children[k] < set->n_own && !sf_span_tree_is_local(t, t->children[k], at))
            return sf_arena_print(w->q->req, out,
                                  "the call lasted longer than the span of %.*s: network, or a "
                                  "queue there",
                                  SF_STR_ARG(set->services[t->children[k]]));
    return true;
}

static enum sf_err explain_unknown(struct work *w, struct sf_store *store, struct sf_why *why)
{
    struct sf_explain_part *p = explain_find_part(w, SF_PART_UNKNOWN);
    const struct sf_explain_times *t = &w->t;
    sf_str who = w->unknown_of.len > 0 ? w->unknown_of : w->out.service;
    bool is_ok = true, has_any = false, has_time = false;
    if (!p || p->ns <= w->out.duration_ns / 10)
        return SF_OK;
    if (!explain_call(w, p, &p->reason))
        return sf_no_room(why, "the query");
    if (p->reason.len > 0)
        return SF_OK;
    if (has_samples(t, who)) {
        if (t->n_kinds[SF_TIME_WALL] + t->n_kinds[SF_TIME_OFF_CPU] == 0)
            is_ok = sf_arena_print(w->q->req, &p->reason, "waits of %.*s are not profiled",
                                   SF_STR_ARG(who));
        else
            p->reason = SF_STR("no sample covers it");
        return is_ok ? SF_OK : sf_no_room(why, "the query");
    }
    if (explain_is_thinned(&t->set->keep)) {
        is_ok = sf_thinned_say(&t->set->keep, w->q->req, &w->out.reason) &&
                sf_arena_print(w->q->req, &p->reason, "its samples were thinned by rule set %u",
                               t->set->keep.version);
        return is_ok ? SF_OK : sf_no_room(why, "the query");
    }
    sf_span_id named = find_named(t, who);
    char id[17];
    sf_span_id_render(named, id);
    enum sf_err err = named ? SF_OK
                            : explain_find_profiles(w, store, who, &has_any, &has_time, why);
    if (err)
        return err;
    is_ok = named ? sf_arena_print(w->q->req, &p->reason,
                                   "samples of %.*s name only span %s, not its child spans",
                                   SF_STR_ARG(who), id)
                  : sf_arena_print(w->q->req, &p->reason,
                                   has_time  ? "no sample of %.*s could be assigned to it"
                                   : has_any ? "no profiles of CPU or waiting time of %.*s were "
                                               "received for its time"
                                             : "no profiles of %.*s were received for its time",
                                   SF_STR_ARG(who));
    return is_ok ? SF_OK : sf_no_room(why, "the query");
}

/* For contended locks: finds the holder. */
static enum sf_err explain_lock(struct work *w, struct sf_store *store, struct sf_why *why)
{
    struct sf_explain_part *p = explain_find_part(w, SF_PART_LOCK);
    const struct sf_link_set *set = w->t.set;
    struct sf_explain_holder_want want = {.from_ns = INT64_MAX};
    if (!p || p->ns < w->out.duration_ns / 20)
        return SF_OK;
    want.service = p->n_children > 0 ? p->children[0].service : w->out.service;
    for (uint32_t i = 0; i < set->n_own; i++) {
        int64_t from_ns = (int64_t)(set->spans[i].start_ns & INT64_MAX);
        int64_t to_ns = (int64_t)(set->spans[i].end_ns & INT64_MAX);
        bool is_it = w->out.of == SF_EXPLAIN_SPAN ? i == set->span
                                                  : sf_str_eq(set->services[i], want.service);
        if (!is_it)
            continue;
        want.from_ns = from_ns < want.from_ns ? from_ns : want.from_ns;
        want.to_ns = to_ns > want.to_ns ? to_ns : want.to_ns;
    }
    return want.from_ns < want.to_ns ? sf_explain_holder(store, &want, w->q, &p->reason, why)
                                     : SF_OK;
}

enum sf_err sf_explain_trace(struct sf_store *store, const struct sf_explain_trace_want *want,
                             struct sf_query_ctx *q, struct sf_explain_view *out,
                             struct sf_why *why)
{
    struct work w = {.q = q,
                     .focus = want->focus,
                     .out = {.trace = want->trace, .n_spans = 1, .low_ns = NAN, .high_ns = NAN}};
    enum sf_err err = sf_explain_times_load(&w.t, store, want->trace, want->span, q, why);
    if (!err)
        err = want->span != 0 ? explain_of_span(&w, why) : explain_of_trace(&w, why);
    if (!err)
        err = explain_lock(&w, store, why);
    if (!err)
        err = explain_unknown(&w, store, why);
    if (!err && (!sf_link_set_say_left_out(w.t.left_out, q->req, &w.out.note) ||
                 !sf_span_figures_say(w.t.set, w.t.set->span, q->req, &w.out.note)))
        err = sf_no_room(why, "the query");
    if (!err) {
        w.out.is_partial = w.t.set->is_partial;
        w.out.from_ns = (int64_t)w.t.set->spans[0].start_ns;
        *out = w.out;
    }
    sf_explain_times_done(&w.t);
    return err;
}
