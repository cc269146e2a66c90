/* explain_below.c - explains the child spans of a set of spans. */
#include "join/explain_below.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "join/explain.h"
#include "join/explain_mean.h"
#include "join/time_part.h"
#include "link/explain_part.h"

enum { SPANS = 8, GROUPS = SPANS * SF_PARTS * SF_EXPLAIN_CHILDREN, FUNCTIONS = 3 };
#define TIME     0.7  /* share of the query's remaining time */
#define WORTH    0.05 /* share of the duration from which children are listed */
#define CHILDREN 0.1  /* share of the duration in children below which they are not examined */

struct group {
    const char *part; /* the part of the parent that contains the child */
    struct sf_explain_span span;
    double ns;
    double n; /* spans */
    uint64_t longest_ns;
    struct sf_explain_mean mean;
};

struct work {
    struct sf_query_ctx *q;
    struct group *groups;
    uint32_t n_groups;
    struct {
        const char *part;
        uint32_t n_more; /* children that are not listed, of the span with most of them */
    } left[SF_PARTS];
    struct sf_explain_mean own;
    double n;
    double focus_ns;
    uint64_t duration_ns;
    bool is_estimate;
    sf_str service, name;
};

static bool add_child(struct work *w, const struct sf_explain_part *part,
                      const struct sf_explain_span *s)
{
    struct group *g = NULL;
    for (uint32_t i = 0; i < w->n_groups && !g; i++)
        if (strcmp(w->groups[i].part, part->name) == 0 &&
            sf_str_eq(w->groups[i].span.name, s->name) &&
            sf_str_eq(w->groups[i].span.service, s->service))
            g = &w->groups[i];
    SF_ASSERT(g || w->n_groups < GROUPS);
    if (!g) {
        g = &w->groups[w->n_groups++];
        *g = (struct group){.part = part->name, .span = *s};
        sf_explain_mean_init(&g->mean, w->q->req);
        g->span.duration_ns = 0;
        if (!sf_arena_copy(w->q->req, s->name, &g->span.name) ||
            !sf_arena_copy(w->q->req, s->service, &g->span.service))
            return false;
    }
    if (s->duration_ns > g->longest_ns) { /* keep it as the example */
        g->longest_ns = s->duration_ns;
        g->span.trace = s->trace;
        g->span.span = s->span;
    }
    g->ns += (double)s->ns;
    g->n += s->count;
    if (s->count > 1) /* only the longest was read, which may not be typical */
        return true;
    return sf_explain_mean_add(&g->mean, s->parts, s->n_parts);
}

static void count_left(struct work *w, const struct sf_explain_part *p)
{
    uint32_t at = 0;
    while (w->left[at].part && strcmp(w->left[at].part, p->name) != 0)
        at++;
    w->left[at].part = p->name;
    if (p->n_more_children > w->left[at].n_more)
        w->left[at].n_more = p->n_more_children;
}

static enum sf_err explain_below_look_at(struct work *w, struct sf_store *store,
                                         const struct sf_explain_trace_want *ask,
                                         struct sf_arena *scratch, struct sf_why *why)
{
    struct sf_query_ctx q = *w->q;
    struct sf_explain_view one;
    sf_arena_reset(scratch);
    q.req = scratch;
    enum sf_err err = sf_explain_trace(store, ask, &q, &one, why);
    w->q->stats = q.stats;
    if (err == SF_ERR_NOT_FOUND)
        return SF_OK; /* erased meanwhile */
    if (err)
        return err;
    bool is_ok = sf_explain_mean_add(&w->own, one.parts, one.n_parts);
    for (uint32_t i = 0; is_ok && i < one.n_parts; i++) {
        count_left(w, &one.parts[i]);
        for (uint32_t k = 0; is_ok && k < one.parts[i].n_children; k++)
            is_ok = add_child(w, &one.parts[i], &one.parts[i].children[k]);
    }
    w->n++;
    w->focus_ns += one.focus.ns;
    w->duration_ns += (uint64_t)one.duration_ns;
    if (is_ok && w->name.len == 0)
        is_ok = sf_arena_copy(w->q->req, one.name, &w->name) &&
                sf_arena_copy(w->q->req, one.service, &w->service);
    return is_ok ? SF_OK : sf_no_room(why, "the query");
}

static int explain_below_by_ns(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return x->ns > y->ns ? -1 : x->ns < y->ns ? 1 : sf_str_cmp(x->span.name, y->span.name);
}

/* Descendants of a child were read for a few spans only: its parts are scaled to the time that the
 * child takes in a request of the set, and are an estimate. */
static bool fit_below(struct work *w, struct sf_explain_span *s, struct sf_explain_part *parts,
                      int64_t mean_ns)
{
    double by = mean_ns > 0 ? (double)s->ns / (double)mean_ns : 0;
    for (uint32_t i = 0; i < s->n_parts; i++) {
        struct sf_explain_part *p = &parts[i];
        struct sf_explain_function *list = sf_arena_new_n(w->q->req, p->n_functions + 1u,
                                                          sizeof(*list));
        if (!list)
            return false;
        for (uint32_t k = 0; k < p->n_functions; k++) {
            list[k] = p->functions[k];
            list[k].ns *= by;
            list[k].low_ns = list[k].high_ns = NAN;
        }
        p->functions = list;
        p->ns = llround((double)p->ns * by);
        p->low_ns = p->high_ns = NAN;
        p->is_estimate = true;
    }
    sf_explain_parts_fit(parts, s->n_parts, s->ns);
    s->parts = parts;
    return true;
}

static bool explain_below_give_children(struct work *w, struct sf_explain_part *to, double whole)
{
    struct sf_explain_span *list = sf_arena_new_n(w->q->req, SF_EXPLAIN_CHILDREN, sizeof(*list));
    double sum = 0;
    if (!list)
        return false;
    for (uint32_t i = 0; i < w->n_groups; i++)
        sum += strcmp(w->groups[i].part, to->name) == 0 ? w->groups[i].ns / w->n : 0;
    double fit = sum > (double)to->ns ? (double)to->ns / sum
                                      : 1; /* computed from some of the spans */
    for (uint32_t i = 0; i < w->n_groups; i++) {
        struct group *g = &w->groups[i];
        double ns = g->ns / w->n * fit;
        if (strcmp(g->part, to->name) != 0)
            continue;
        if (ns < whole * WORTH || to->n_children == SF_EXPLAIN_CHILDREN) {
            to->n_more_children++;
            continue;
        }
        struct sf_explain_span *s = &list[to->n_children++];
        struct sf_explain_part *parts;
        int64_t mean_ns = 0;
        *s = g->span;
        s->ns = llround(ns);
        s->count = (uint32_t)fmax(1, round(g->n / w->n));
        s->n_parts = 0;
        s->parts = NULL;
        if (g->mean.n > 0 &&
            (!sf_explain_mean_give(&g->mean, g->mean.n, FUNCTIONS, &parts, &s->n_parts, &mean_ns) ||
             !fit_below(w, s, parts, mean_ns)))
            return false;
        s->duration_ns = (uint64_t)(g->mean.n > 0 ? (double)mean_ns : g->ns / g->n);
    }
    for (uint32_t i = 0; i < SF_PARTS && w->left[i].part; i++)
        if (strcmp(w->left[i].part, to->name) == 0)
            to->n_more_children += w->left[i].n_more;
    to->children = list;
    return true;
}

static bool has_children(const struct sf_explain_view *v)
{
    double ns = 0;
    for (uint32_t i = 0; i < v->n_parts; i++)
        if (strcmp(v->parts[i].name, "child") == 0 || strcmp(v->parts[i].name, "remote") == 0 ||
            strcmp(v->parts[i].name, "net") == 0 || strcmp(v->parts[i].name, "io") == 0)
            ns += (double)v->parts[i].ns;
    return ns > (double)v->duration_ns * CHILDREN;
}

static bool explain_below_give_all(struct work *w, struct sf_explain_view *io)
{
    int64_t ns;
    if (!sf_explain_mean_give(&w->own, w->n, SF_EXPLAIN_FUNCTIONS, &io->parts, &io->n_parts, &ns))
        return false;
    io->duration_ns = ns;
    io->n_spans = (uint64_t)w->n;
    return sf_arena_print(
        w->q->req, &io->note,
        "%.*s%sno sample carries the id of one of these spans: %.0f of them, evenly chosen, were "
        "examined one by one",
        SF_STR_ARG(io->note), io->note.len ? "; " : "", w->n);
}

enum sf_err sf_explain_below(struct sf_store *store, const struct sf_explain_below_want *want,
                             struct sf_query_ctx *q, struct sf_explain_view *io, struct sf_why *why)
{
    struct work w = {.q = q};
    struct sf_span_set set = {.n = want->n};
    int64_t until_ns = sf_time_part(q, TIME);
    enum sf_err err = SF_OK;
    bool needs_more = want->is_all || want->focus.len > 0 || has_children(io);
    set.spans = sf_arena_new_n(q->req, want->n + 1u, sizeof(*set.spans));
    w.groups = sf_arena_new_n(q->req, GROUPS, sizeof(*w.groups));
    if (!set.spans || !w.groups)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < want->n; i++)
        set.spans[i] = want->spans[i];
    sf_explain_mean_init(&w.own, q->req);
    if (!sf_span_set_thin(&set, needs_more ? SPANS : 1, q->req))
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < set.n; i++) {
        if (i > 0 && sf_time_part_is_over(until_ns)) {
            io->is_partial = io->is_partial || want->is_all;
            break;
        }
        struct sf_explain_trace_want ask = {set.spans[i].trace, set.spans[i].id, want->focus};
        err = explain_below_look_at(&w, store, &ask, want->scratch, why);
    }
    if (err)
        return err;
    qsort(w.groups, w.n_groups, sizeof(*w.groups), explain_below_by_ns);
    if (w.n > 0 && want->is_all && !explain_below_give_all(&w, io))
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; needs_more && w.n > 0 && i < io->n_parts; i++)
        if (!explain_below_give_children(&w, &io->parts[i], (double)io->duration_ns))
            return sf_no_room(why, "the query");
    if (w.n > 0 && want->focus.len > 0)
        io->focus = (struct sf_explain_focus){want->focus, w.focus_ns / w.n, NAN, NAN, 0, true};
    io->service = w.service;
    io->name = w.name;
    return SF_OK;
}
