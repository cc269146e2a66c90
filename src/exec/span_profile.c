/* span_profile.c - the flame graph of one span, with how far it can be believed. */
#include "exec/span_profile.h"

#include "exec/no_room.h"
#include "flame/frame_name.h"
#include "flame/tree_builder.h"
#include "flame/tree_group.h"
#include "flame/tree_top.h"
#include "link/trust.h"

#define MAX_TREE_LEN ((size_t)64 << 20)

enum { SUBTREE = 1 }; /* place in the answer's grades; the others follow enum sf_grade */

/* The span, and unless only itself is wanted all below it in its process. */
static bool *mark_wanted(const struct sf_link_set *set, bool is_self, struct sf_arena *req)
{
    bool *wanted = sf_arena_new_n(req, set->tree.n_spans + 1u, sizeof(*wanted));
    if (!wanted)
        return NULL;
    for (uint32_t i = 0; i < set->n_own; i++)
        wanted[i] = i == set->span ||
                    (!is_self && sf_span_tree_is_local(&set->tree, i, set->span) &&
                     sf_span_tree_is_below(&set->tree, i, set->span));
    return wanted;
}

static void count_grades(const struct sf_link_set *set, const struct sf_attribution *a,
                         struct sf_span_profile *out)
{
    static const char *const names[] = {"exact", "subtree", "inherited", "shared", "window"};
    uint32_t last = SF_NONE;
    out->n_grades = sizeof(names) / sizeof(names[0]);
    for (uint32_t i = 0; i < out->n_grades; i++)
        out->grades[i].name = names[i];
    for (uint32_t i = 0; i < a->n_claims; i++) {
        const struct sf_claim *c = &a->claims[i];
        uint32_t grade = c->grade == SF_GRADE_EXACT ? (c->span == set->span ? 0 : SUBTREE)
                                                    : (uint32_t)c->grade + 1;
        out->grades[grade].value += c->value;
        out->grades[grade].n_samples += c->sample != last; /* shared by several of its spans */
        out->n_samples += c->sample != last;
        last = c->sample;
    }
}

static enum sf_err build_tree(const struct sf_link_set *set, const struct sf_attribution *a,
                              struct sf_arena *req, struct sf_tree *out, struct sf_why *why)
{
    struct sf_tree_builder b;
    uint32_t *nodes = sf_arena_new_n(req, set->stacks.n_nodes + 1u, sizeof(*nodes));
    uint32_t *frames = sf_arena_new_n(req, set->stacks.n_frames + 1u, sizeof(*frames));
    int64_t *self = sf_arena_new_n(req, set->stacks.n_nodes + 1u, sizeof(*self));
    bool *is_used = sf_arena_new_n(req, set->stacks.n_nodes + 1u, sizeof(*is_used));
    if (!nodes || !frames || !self || !is_used)
        return sf_exec_no_room(why);
    for (uint32_t i = 0; i < a->n_claims; i++) {
        uint32_t node = set->samples[a->claims[i].sample].node;
        self[node] += a->claims[i].value;
        is_used[node] = true;
    }
    for (uint32_t i = set->stacks.n_nodes; i-- > 1;) /* a used node needs its parents */
        if (is_used[i])
            is_used[set->stacks.nodes[i].parent] = true;
    sf_tree_builder_init(&b, req, MAX_TREE_LEN, SF_TREE_BORROWS);
    for (uint32_t i = 1; i < set->stacks.n_nodes; i++) {
        const struct sf_tree_node *n = &set->stacks.nodes[i];
        if (!is_used[i])
            continue;
        uint32_t frame = sf_tree_builder_frame(&b, &set->stacks.frames[n->frame]);
        nodes[i] = sf_tree_builder_child(&b, nodes[n->parent], frame);
        sf_tree_builder_add(&b, nodes[i], self[i], 0);
    }
    enum sf_err err = sf_tree_builder_take(&b, set->type.sample_unit, out, why);
    sf_tree_builder_done(&b);
    return err;
}

/* The largest function and the interval of its share. */
static enum sf_err find_top(struct sf_span_profile *p, struct sf_arena *req, struct sf_why *why)
{
    const struct sf_top_row *rows;
    struct sf_tree by_function;
    uint32_t n;
    enum sf_err err = sf_tree_group(
        &p->view.tree, (struct sf_tree_grouping){SF_GROUP_FUNCTION, false}, req, &by_function, why);
    if (!err)
        err = sf_tree_top(&by_function, SF_TOP_BY_SELF, req, &rows, &n, why);
    if (err || n == 0 || p->view.tree.total <= 0)
        return err;
    double share = (double)rows[0].self / (double)p->view.tree.total;
    struct sf_interval i = sf_trust_share(share * (double)p->n_samples, (double)p->n_samples);
    p->top = by_function.frames[rows[0].frame].function;
    p->top_low = i.low;
    p->top_high = i.high;
    return SF_OK;
}

/* ---- the reason, in words ---- */

static bool explain(const struct sf_link_set *set, const struct sf_attribution *a,
                    struct sf_span_profile *p, struct sf_arena *req)
{
    sf_str service = p->service;
    if (set->n_types == 0)
        return sf_arena_print(req, &p->reason,
                              "no profiles from %.*s around this time: point its profiler at this "
                              "server, or upload a profile of it",
                              SF_STR_ARG(service));
    if (p->n_samples == 0 && set->source == SF_LINK_NOTHING)
        return sf_arena_print(req, &p->reason,
                              "%.*s sends profiles, but none of this type while the span ran",
                              SF_STR_ARG(service));
    if (p->n_samples == 0)
        return sf_arena_print(
            req, &p->reason,
            "no sample of %.*s fell into this span%s: it is short for the sampling rate, or it "
            "waited; %llu samples belong to other spans",
            SF_STR_ARG(service), p->most_samples < 1 ? " (less than one was to be expected)" : "",
            (unsigned long long)set->n_samples - a->n_samples[SF_GRADE_NONE]);
    if (set->source == SF_LINK_PROCESS || set->source == SF_LINK_AGGREGATE)
        return sf_arena_print(
            req, &p->reason,
            "profiles from %.*s carry no span ids: its SDK does not tag them; showing what the "
            "%s did during this span, shared among the requests it worked on",
            SF_STR_ARG(service), set->is_by_service ? "service" : "process");
    if (p->grades[3].n_samples > 0) /* shared */
        return sf_arena_print(
            req, &p->reason,
            "%.*s tags samples with the request's first span and no time: each span gets its "
            "share by self time, an estimate",
            SF_STR_ARG(service));
    return true;
}

enum sf_err sf_span_profile_make(struct sf_store *store, const struct sf_span_profile_want *want,
                                 struct sf_query_ctx *q, struct sf_span_profile *out,
                                 struct sf_why *why)
{
    struct sf_link_want ask = {.span = want->span, .type = want->type};
    struct sf_link_set *set = sf_arena_new(q->req, sizeof(*set));
    struct sf_span_profile p = {.trace = want->trace, .span = want->span, .is_self = want->is_self};
    struct sf_attribution a;
    enum sf_err err = set ? sf_link_set_load(store, want->trace, &ask, q, set, why)
                          : sf_exec_no_room(why);
    if (err)
        return err;
    struct sf_attribution_input in = {.samples = set->samples,
                                      .n_samples = set->n_samples,
                                      .is_wanted = mark_wanted(set, want->is_self, q->req)};
    if (!in.is_wanted)
        return sf_exec_no_room(why);
    err = sf_attribute(&set->index, &in, q->req, &a, why);
    if (!err)
        err = build_tree(set, &a, q->req, &p.view.tree, why);
    if (err)
        return err;
    count_grades(set, &a, &p);
    p.view.tree.n_samples = p.n_samples;
    p.view.type = set->type;
    p.view.service = p.service = set->services[set->span];
    p.name = set->spans[set->span].name;
    p.duration_ns = sf_span_duration_ns(&set->spans[set->span]);
    p.view.time_ns = (int64_t)set->spans[set->span].start_ns;
    p.view.duration_ns = (int64_t)p.duration_ns;
    p.view.period = set->period;
    if (sf_str_eq(set->type.period_unit, SF_STR("nanoseconds")))
        p.most_samples = sf_trust_most(p.duration_ns, (double)set->period, 1);
    p.trust = sf_trust_name(sf_trust_of(p.n_samples));
    p.types = set->types;
    p.n_types = set->n_types;
    p.is_partial = set->is_partial;
    err = find_top(&p, q->req, why);
    if (!err && !explain(set, &a, &p, q->req))
        err = sf_exec_no_room(why);
    if (!err)
        *out = p;
    return err;
}
