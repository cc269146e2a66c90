/* findings.c - what stands out in a span, a trace, or a service over time. */
#include "exec/findings.h"

#include "exec/no_room.h"
#include "exec/span_profile.h"
#include "exec/trace_flame.h"
#include "flame/batch_tree.h"
#include "flame/tree_group.h"
#include "link/findings.h"

struct work {
    struct sf_store *store;
    const struct sf_findings_want *want;
    struct sf_query_ctx *q;
    struct sf_tree tree; /* grouped by function */
    struct sf_profile_type type;
    sf_str of, reason;
    uint64_t n_samples;
    struct sf_finding_list in_code, in_spans;
    const struct sf_span *spans; /* what the places of in_spans mean */
};

static const char *kind_of_time(const struct sf_profile_type *type)
{
    if (sf_str_eq(type->sample_type, SF_STR("cpu")))
        return "CPU time";
    if (sf_str_eq(type->sample_unit, SF_STR("nanoseconds")))
        return sf_str_eq(type->sample_type, SF_STR("wall")) ? "wall time" : "time";
    return sf_str_eq(type->sample_unit, SF_STR("bytes")) ? "bytes" : "samples";
}

static enum sf_err group(struct work *w, const struct sf_tree *tree, sf_str of, struct sf_why *why)
{
    if (!sf_arena_print(w->q->req, &w->of, "the %s of %.*s", kind_of_time(&w->type),
                        SF_STR_ARG(of)))
        return sf_exec_no_room(why);
    return sf_tree_group(tree, (struct sf_tree_grouping){SF_GROUP_FUNCTION, false}, w->q->req,
                         &w->tree, why);
}

static enum sf_err of_span(struct work *w, struct sf_why *why)
{
    struct sf_span_profile_want ask = {
        .trace = w->want->trace, .span = w->want->span, .type = w->want->type};
    struct sf_span_profile p;
    enum sf_err err = sf_span_profile_make(w->store, &ask, w->q, &p, why);
    if (err)
        return err;
    w->type = p.view.type;
    w->n_samples = p.n_samples;
    w->reason = p.n_samples ? SF_STR_NONE : p.reason;
    return group(w, &p.view.tree, p.name, why);
}

/* Code of the whole request, without the bars that stand for services and spans; and its spans. */
static enum sf_err of_trace(struct work *w, struct sf_why *why)
{
    struct sf_link_want ask = {.type = w->want->type};
    struct sf_link_set *set = sf_arena_new(w->q->req, sizeof(*set));
    enum sf_err err = set ? sf_link_set_load(w->store, w->want->trace, &ask, w->q, set, why)
                          : sf_exec_no_room(why);
    if (err)
        return err;
    w->type = set->type;
    w->n_samples = set->n_samples;
    w->spans = set->spans;
    if (set->n_samples == 0)
        w->reason = SF_STR("no samples carry ids of this trace: only its spans were looked at");
    err = sf_findings_of_spans(&set->tree, &SF_FINDING_LIMITS, w->q->req, &w->in_spans, why);
    if (err)
        return err;
    struct sf_tree_node *nodes = sf_arena_new_n(w->q->req, set->stacks.n_nodes, sizeof(*nodes));
    if (!nodes)
        return sf_exec_no_room(why);
    struct sf_tree sums = set->stacks;
    for (uint32_t i = 0; i < sums.n_nodes; i++) {
        nodes[i] = sums.nodes[i];
        nodes[i].self = 0;
    }
    sums.total = 0;
    for (uint32_t i = 0; i < set->n_samples; i++) {
        nodes[set->samples[i].node].self += set->samples[i].value;
        sums.total += set->samples[i].value;
    }
    sums.nodes = nodes;
    return group(w, &sums, SF_STR("this trace"), why);
}

static enum sf_err of_service(struct work *w, struct sf_why *why)
{
    struct sf_matcher service = {SF_STR("service_name"), SF_OP_EQ, w->want->service};
    struct sf_prof_query ask = {
        .match = &service, .n_match = 1, .from_ns = w->want->from_ns, .to_ns = w->want->until_ns};
    struct sf_prof_list list;
    const struct sf_tree *tree;
    struct sf_batch_type *types;
    uint32_t chosen = 0;
    enum sf_err err = w->store->ops->prof_list(w->store, &ask, w->q, &list, why);
    if (err)
        return err;
    if (list.n == 0) {
        if (!sf_arena_print(w->q->req, &w->reason, "no profiles from %.*s in this time",
                            SF_STR_ARG(w->want->service)))
            return sf_exec_no_room(why);
        w->of = w->want->service;
        return SF_OK;
    }
    types = sf_arena_new_n(w->q->req, list.n, sizeof(*types));
    if (!types)
        return sf_exec_no_room(why);
    for (uint32_t i = 0; i < list.n; i++)
        types[i] = (struct sf_batch_type){.type = list.series[i].type};
    err = sf_batch_choose(types, list.n, w->want->type, &chosen, why);
    if (err)
        return err;
    w->type = types[chosen].type;
    if (!sf_profile_type_print(&w->type, w->q->req, &ask.type))
        return sf_exec_no_room(why);
    err = w->store->ops->prof_merge(w->store, &ask, w->q, &tree, why);
    if (err)
        return err;
    w->n_samples = tree->n_samples;
    return group(w, tree, w->want->service, why);
}

static enum sf_err collect(struct work *w, struct sf_findings_view *out, struct sf_why *why)
{
    const struct sf_finding_list *lists[] = {&w->in_spans, &w->in_code};
    struct sf_finding_view *items = sf_arena_new_n(w->q->req, w->in_code.n + w->in_spans.n + 1u,
                                                   sizeof(*items));
    uint32_t n = 0;
    if (!items)
        return sf_exec_no_room(why);
    for (size_t k = 0; k < 2; k++) {
        for (uint32_t i = 0; i < lists[k]->n; i++) {
            const struct sf_finding *f = &lists[k]->items[i];
            bool is_span = f->kind == SF_FINDING_SPANS;
            items[n++] = (struct sf_finding_view){
                .kind = sf_finding_kind_name(f->kind),
                .action = sf_finding_action(f->kind),
                .subject = f->subject,
                .path = f->path,
                .sentence = f->sentence,
                .unit = is_span ? SF_STR("nanoseconds") : w->type.sample_unit,
                .share = f->share,
                .value = f->value,
                .count = f->count,
                .span = is_span ? w->spans[f->span].span_id : w->want->span};
        }
    }
    *out = (struct sf_findings_view){w->of, items, n, w->n_samples, w->reason};
    return SF_OK;
}

enum sf_err sf_findings_make(struct sf_store *store, const struct sf_findings_want *want,
                             struct sf_query_ctx *q, struct sf_findings_view *out,
                             struct sf_why *why)
{
    struct work w = {.store = store, .want = want, .q = q};
    bool has_trace = !sf_trace_id_is_zero(want->trace);
    enum sf_err err = !has_trace        ? of_service(&w, why)
                      : want->span != 0 ? of_span(&w, why)
                                        : of_trace(&w, why);
    if (!err)
        err = sf_findings_of_tree(&w.tree, w.of, &SF_FINDING_LIMITS, q->req, &w.in_code, why);
    return err ? err : collect(&w, out, why);
}
