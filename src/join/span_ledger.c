/* span_ledger.c - the time breakdown of a span, from all profiles that tell something about it
 * (join/time_samples.h). Samples of every type that measures time are joined with the trace, the
 * ledger (link/ledger.h) divides the span's time among parts, and each part gets its source, its
 * number of samples and a profile of the code behind it. */
#include "join/span_ledger.h"

#include "exec/traces.h"
#include "flame/batch_tree.h"
#include "join/claims_view.h"
#include "join/span_clocks.h"
#include "join/span_figures.h"
#include "join/span_profile.h"
#include "join/thinned.h"
#include "join/time_samples.h"
#include "link/ledger_stacks.h"
#include "link/trust.h"

#define MAX_STACKS ((size_t)64 << 20) /* for tables while trees of several types are joined */

/* Loads the set of a type; the first one is already loaded. */
static enum sf_err load_type(struct sf_store *store, sf_trace_id trace,
                             const struct sf_link_want *want, struct sf_link_set *first,
                             struct sf_query_ctx *q, struct sf_link_set **out, struct sf_why *why)
{
    sf_str chosen;
    if (!sf_batch_tree_type_print(&first->type, q->req, &chosen))
        return sf_no_room(why, "the query");
    *out = sf_str_eq(chosen, want->type) ? first : sf_arena_new(q->req, sizeof(**out));
    if (*out == first)
        return SF_OK;
    return *out ? sf_link_set_load(store, trace, want, q, *out, why) : sf_no_room(why, "the query");
}

static enum sf_err span_ledger_add_types(struct sf_time_samples *t, struct sf_store *store,
                                         sf_trace_id trace, const struct sf_link_want *about,
                                         struct sf_link_set *first, struct sf_query_ctx *q,
                                         struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (uint32_t i = 0; !err && i < first->n_types; i++) {
        struct sf_link_want want = {
            .span = about->span, .type = first->types[i], .whole = about->whole};
        enum sf_time_kind kind = sf_time_samples_kind_of(first->types[i]);
        struct sf_link_set *set = NULL;
        if (kind == SF_TIME_NONE)
            continue;
        err = load_type(store, trace, &want, first, q, &set, why);
        if (err)
            break;
        bool *wanted = sf_arena_new_n(q->req, set->tree.n_spans + 1u, sizeof(*wanted));
        if (!wanted)
            return sf_no_room(why, "the query");
        wanted[set->span] = true;
        err = sf_time_samples_add(t, set, kind, wanted, why);
    }
    return err ? err : sf_time_samples_of(t, first->span, why);
}

/* Can the part be shown as a graph? Unknown time has nothing to show. */
static bool has_stacks(const struct sf_time_samples *h, const struct sf_ledger *l,
                       enum sf_ledger_part part)
{
    if (l->ns[part] == 0 || part == SF_PART_UNKNOWN)
        return false;
    for (uint32_t i = 0; i < h->n; i++)
        if (sf_ledger_stacks_has(l, h->samples, i, part))
            return true;
    return part == SF_PART_CHILD || part == SF_PART_REMOTE;
}

/* Number of samples from which a part was computed. */
static double span_ledger_taken_of(const struct sf_time_samples *h, const struct sf_link_set *set,
                                   const struct sf_ledger *l, enum sf_ledger_part part)
{
    int64_t sum_ns = 0;
    uint64_t n = 0;
    for (uint32_t i = 0; i < h->n; i++) {
        if (!sf_ledger_stacks_has(l, h->samples, i, part))
            continue;
        sum_ns = sf_add_sat_i64(sum_ns, h->samples[i].worth_ns);
        n++;
    }
    return sf_claims_view_samples(set, sum_ns, n);
}

/* Too few samples of CPU time? For waits, which are measured, one is enough. */
static bool span_ledger_is_few(const struct sf_link_set *set, enum sf_ledger_part part,
                               double taken)
{
    return part == SF_PART_CPU && taken > 0 && sf_claims_view_is_few(set, taken);
}

static bool is_sampled(const struct sf_ledger *l, enum sf_ledger_part part)
{
    return l->sources[part] == SF_SOURCE_SAMPLES || l->sources[part] == SF_SOURCE_ESTIMATE;
}

static void span_ledger_fill(const struct sf_time_samples *h, const struct sf_link_set *set,
                             const struct sf_ledger *l, struct sf_ledger_view *v)
{
    v->duration_ns = l->duration_ns;
    v->other_cpu_ns = l->other_cpu_ns;
    v->n_samples = l->n_samples;
    v->n_apart = l->n_apart;
    for (v->n_parts = 0; v->n_parts < SF_PARTS; v->n_parts++) {
        enum sf_ledger_part part = (enum sf_ledger_part)v->n_parts;
        v->parts[part].name = sf_ledger_part_name(part);
        v->parts[part].words = sf_ledger_part_words(part);
        v->parts[part].source = sf_ledger_source_name((enum sf_ledger_source)l->sources[part]);
        v->parts[part].ns = l->ns[part];
        v->parts[part].cut_ns = l->cut_ns[part];
        v->parts[part].apart_ns = l->apart_ns[part];
        v->parts[part].has_stacks = has_stacks(h, l, part);
        double taken = span_ledger_taken_of(h, set, l, part);
        v->parts[part].few = is_sampled(l, part) && span_ledger_is_few(set, part, taken) ? taken
                                                                                         : 0;
    }
}

/* Did the span's own process send such profiles at its time? */
static bool sends(const struct sf_time_samples *h, enum sf_time_kind kind)
{
    for (uint32_t i = 0; i < h->n_types; i++)
        if (h->types[i].kind == kind && h->types[i].set->is_covered)
            return true;
    return false;
}

static bool span_ledger_explain(const struct sf_time_samples *h, const struct sf_link_set *set,
                                const struct sf_ledger *l, struct sf_ledger_view *v,
                                struct sf_arena *req)
{
    bool sends_wall = sends(h, SF_TIME_WALL), sends_off = sends(h, SF_TIME_OFF_CPU);
    if (set->is_thinned)
        return sf_thinned_say(&set->keep, req, &v->reason);
    if (l->duration_ns == 0 || l->ns[SF_PART_UNKNOWN] * 10 <= l->duration_ns)
        return true;
    if (set->n_types == 0)
        return sf_arena_print(req, &v->reason,
                              "unknown is large: no profiles from %.*s around this time",
                              SF_STR_ARG(v->service));
    if (l->n_samples == 0 && l->n_apart > 0)
        return sf_arena_print(
            req, &v->reason,
            "unknown is large: the profiles of %.*s carry neither this span's id nor its thread, "
            "so the process's activity during the span is listed separately and not counted; "
            "spanflame coverage prints the lines that tag samples",
            SF_STR_ARG(v->service));
    if (l->n_samples == 0)
        return sf_arena_print(req, &v->reason,
                              "unknown is large: no sample of %.*s fell into this span",
                              SF_STR_ARG(v->service));
    if (sends_wall || sends_off)
        return sf_arena_print(
            req, &v->reason,
            "unknown is large: %.*s sends %s profiles, but none of their samples explains this "
            "time of this span",
            SF_STR_ARG(v->service),
            !sends_off    ? "wall clock"
            : !sends_wall ? "off-CPU"
                          : "wall clock and off-CPU");
    return sf_arena_print(req, &v->reason,
                          "unknown is large: the profiles of %.*s cover %s; send wall clock or "
                          "off-CPU profiles to see waits",
                          SF_STR_ARG(v->service),
                          l->ns[SF_PART_CPU] > 0 ? "time on the CPU" : "little of its time");
}

/* ---- the answers ---- */

static enum sf_err span_ledger_divide(struct sf_time_samples *h, struct sf_store *store,
                                      sf_trace_id trace, sf_span_id span, struct sf_query_ctx *q,
                                      struct sf_link_set **out_set, struct sf_ledger *out,
                                      struct sf_why *why)
{
    struct sf_trace *whole = sf_arena_new(q->req, sizeof(*whole));
    struct sf_link_set *set = sf_arena_new(q->req, sizeof(*set));
    struct sf_link_want want = {.span = span, .whole = whole};
    enum sf_err err = set && whole ? sf_traces_get_one_bare(store, trace, 0, 0, q, whole, why)
                                   : sf_no_room(why, "the query");
    if (!err)
        err = sf_link_set_load(store, trace, &want, q, set, why);
    if (!err)
        err = span_ledger_add_types(h, store, trace, &want, set, q, why);
    if (err)
        return err;
    struct sf_ledger_exact exact = sf_span_figures_of(set, set->span);
    *out_set = set;
    return sf_ledger_make(&set->tree, set->span, h->samples, h->n, &exact, q->req, out, why);
}

enum sf_err sf_span_ledger_make(struct sf_store *store, sf_trace_id trace, sf_span_id span,
                                struct sf_query_ctx *q, struct sf_ledger_view *out,
                                struct sf_why *why)
{
    struct sf_time_samples h = {.req = q->req};
    struct sf_link_set *set;
    struct sf_ledger_view v = {.trace = trace, .span = span};
    struct sf_ledger ledger;
    enum sf_err err = span_ledger_divide(&h, store, trace, span, q, &set, &ledger, why);
    if (err)
        return err;
    v.service = set->services[set->span];
    v.name = set->spans[set->span].name;
    v.is_partial = set->is_partial;
    span_ledger_fill(&h, set, &ledger, &v);
    v.keep = set->keep;
    if (!span_ledger_explain(&h, set, &ledger, &v, q->req) ||
        !sf_link_set_say_left_out(set->left_out, q->req, &v.reason) ||
        !sf_span_figures_say(set, set->span, q->req, &v.reason) ||
        !sf_span_clocks_of(&set->tree, &set->clocks, set->services, set->span, q->req, &v.clocks))
        return sf_no_room(why, "the query");
    *out = v;
    return SF_OK;
}

/* ---- one part ---- */

static enum sf_err parse_part(sf_str word, enum sf_ledger_part *out, struct sf_why *why)
{
    for (int i = 0; i < SF_PARTS; i++) {
        if (sf_str_eq(word, sf_str_from(sf_ledger_part_name((enum sf_ledger_part)i)))) {
            *out = (enum sf_ledger_part)i;
            return SF_OK;
        }
    }
    return sf_fail(why, SF_ERR_INPUT,
                   "part is cpu, gc, run_queue, lock, disk, net, io, sleep, child, remote or "
                   "unknown, not '%.*s'",
                   SF_STR_ARG(sf_str_part(word, 0, 40)));
}

static bool explain_part(const struct sf_ledger *l, const struct sf_ledger_stacks *made,
                         enum sf_ledger_part part, struct sf_span_profile *p, struct sf_arena *req)
{
    const char *words = sf_ledger_part_words(part);
    if (l->ns[part] == 0)
        return sf_arena_print(req, &p->reason, "no time of this span is attributed to: %s", words);
    if (part == SF_PART_UNKNOWN)
        return sf_arena_print(req, &p->reason,
                              "no sample covers this time; the time breakdown shows what to send");
    if (made->rest_ns == 0)
        return true;
    return sf_arena_print(
        req, &p->reason, "%.3g ms of it have no stack: %s", (double)made->rest_ns / 1e6,
        l->sources[part] == SF_SOURCE_EXACT
            ? "the figure is an attribute of the span, and samples cover less of it"
            : "it was measured without stacks");
}

static void count_grades(const struct sf_time_samples *h, const struct sf_ledger *l,
                         enum sf_ledger_part part, struct sf_span_profile *p)
{
    struct sf_grades *out = &p->grades;
    for (uint32_t i = 0; i < h->n; i++) {
        if (!sf_ledger_stacks_has(l, h->samples, i, part))
            continue;
        enum sf_grade_row row = sf_claims_view_row((enum sf_grade)h->origins[i].grade);
        out->rows[row].n_samples++;
        out->rows[row].value += h->samples[i].worth_ns;
        out->n_samples++;
        p->known.n_samples += h->origins[i].is_known;
        p->known.n_estimated += !h->origins[i].is_known;
        p->known.value += h->origins[i].is_known ? h->samples[i].worth_ns : 0;
    }
}

/* If the span carries its CPU time, the samples are scaled to it if there are enough; with fewer
 * the total is the same, and the difference has no stack. */
static bool is_scaled(const struct sf_time_samples *h, const struct sf_link_set *set,
                      const struct sf_ledger *l, enum sf_ledger_part part)
{
    return part == SF_PART_CPU && l->sources[part] == SF_SOURCE_EXACT &&
           span_ledger_taken_of(h, set, l, part) >= SF_TRUST_FEW;
}

static enum sf_err span_ledger_draw(struct sf_time_samples *h, const struct sf_link_set *set,
                                    const struct sf_ledger *l, enum sf_ledger_part part,
                                    struct sf_span_profile *p, struct sf_why *why)
{
    struct sf_tree stacks;
    struct sf_ledger_stacks made;
    uint32_t *nodes = sf_arena_new_n(h->req, h->n + 1u, sizeof(*nodes));
    if (!nodes)
        return sf_no_room(why, "the query");
    enum sf_err err = sf_tree_builder_take(h->stacks, SF_STR("nanoseconds"), &stacks, why);
    if (err)
        return err;
    for (uint32_t i = 0; i < h->n; i++)
        nodes[i] = h->origins[i].node;
    struct sf_ledger_stacks_input in = {.spans = &set->tree,
                                        .span = set->span,
                                        .ledger = l,
                                        .samples = h->samples,
                                        .nodes = nodes,
                                        .n_samples = h->n,
                                        .stacks = &stacks,
                                        .part = part,
                                        .is_scaled = is_scaled(h, set, l, part)};
    err = sf_ledger_stacks_make(&in, h->req, &made, why);
    if (err)
        return err;
    count_grades(h, l, part, p);
    p->view.is_estimate = p->known.n_estimated > 0;
    p->n_samples = p->grades.n_samples;
    p->taken = part == SF_PART_CPU ? span_ledger_taken_of(h, set, l, part) : (double)p->n_samples;
    p->view.taken = p->taken;
    p->view.has_no_hot = span_ledger_is_few(set, part, p->taken);
    p->view.is_few = p->view.has_no_hot && is_sampled(l, part);
    p->n_threads = 1; /* only the span's own thread */
    p->are_threads_named = true;
    p->view.tree = made.tree;
    p->view.tree.n_samples = p->n_samples;
    p->sure_taken = p->sure_worth = p->taken;
    if (!p->view.is_estimate)
        p->sure = p->view.tree;
    if (!explain_part(l, &made, part, p, h->req))
        return sf_no_room(why, "the query");
    return p->view.is_estimate ? SF_OK : sf_span_profile_find_top(p, h->req, why);
}

enum sf_err sf_span_ledger_profile(struct sf_store *store, sf_trace_id trace, sf_span_id span,
                                   sf_str part, struct sf_query_ctx *q, struct sf_span_profile *out,
                                   struct sf_why *why)
{
    struct sf_tree_builder stacks;
    struct sf_time_samples h = {.req = q->req, .stacks = &stacks};
    struct sf_link_set *set;
    struct sf_ledger ledger;
    enum sf_ledger_part which = SF_PART_UNKNOWN;
    enum sf_err err = parse_part(part, &which, why);
    if (err)
        return err;
    sf_tree_builder_init(&stacks, q->req, MAX_STACKS, SF_TREE_BORROWS);
    err = span_ledger_divide(&h, store, trace, span, q, &set, &ledger, why);
    if (!err) {
        struct sf_span_profile p = {
            .trace = trace, .span = span, .is_self = true, .measured_ns = SF_LEDGER_UNSAID};
        p.part = sf_str_from(sf_ledger_part_name(which));
        p.view.service = p.service = set->services[set->span];
        p.name = set->spans[set->span].name;
        p.duration_ns = ledger.duration_ns;
        p.view.time_ns = (int64_t)set->spans[set->span].start_ns;
        p.view.duration_ns = (int64_t)ledger.duration_ns;
        p.view.type = (struct sf_profile_type){
            .name = SF_STR("ledger"), .sample_type = p.part, .sample_unit = SF_STR("nanoseconds")};
        p.types = set->types;
        p.n_types = set->n_types;
        p.is_partial = set->is_partial;
        err = span_ledger_draw(&h, set, &ledger, which, &p, why);
        p.trust = sf_trust_name(sf_trust_of(p.n_samples));
        if (!err && !sf_span_clocks_of(&set->tree, &set->clocks, set->services, set->span, q->req,
                                       &p.clocks))
            err = sf_no_room(why, "the query");
        if (!err)
            *out = p;
    }
    sf_tree_builder_done(&stacks);
    return err;
}
