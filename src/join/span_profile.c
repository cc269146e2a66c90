/* span_profile.c - the flame graph of one span, with its precision. The link set attributes each
 * sample to spans; the claims of the wanted spans become the tree, and those known for certain its
 * lower bound. The rest of the file explains in words what is missing, based on few samples, or
 * estimated. */
#include "join/span_profile.h"

#include "flame/runtime_frame.h"
#include "flame/tree_group.h"
#include "flame/tree_top.h"
#include "join/claims_fit.h"
#include "join/claims_view.h"
#include "join/known_level.h"
#include "join/span_clocks.h"
#include "join/span_moments.h"
#include "join/thinned.h"
#include "link/trust.h"

/* Marks the span and, unless only itself is wanted, all its descendants in its process. */
static bool *mark_wanted(const struct sf_link_set *set, bool is_self, struct sf_arena *req)
{
    bool *wanted = sf_span_tree_mark_below(&set->tree, set->span, req);
    for (uint32_t i = 0; wanted && i < set->tree.n_spans; i++) {
        bool is_local = i < set->n_own && sf_span_tree_is_local(&set->tree, i, set->span);
        if (i != set->span && (is_self || !is_local))
            wanted[i] = false;
    }
    return wanted;
}

enum sf_err sf_span_profile_find_top(struct sf_span_profile *p, struct sf_arena *req,
                                     struct sf_why *why)
{
    const struct sf_top_row *rows;
    struct sf_tree own, by_function;
    uint32_t n;
    enum sf_err err = sf_runtime_frame_give(&p->sure, req, &own, why);
    if (!err)
        err = sf_tree_group(&own, (struct sf_tree_grouping){SF_GROUP_FUNCTION, false}, req,
                            &by_function, why);
    if (!err)
        err = sf_tree_top(&by_function, SF_TOP_BY_SELF, req, &rows, &n, why);
    if (err || p->sure.total <= 0 || p->view.is_few || p->view.has_no_hot)
        return err;
    for (uint32_t i = 0; i < n && rows[i].self > 0; i++) {
        if (p->n_shares == SF_SPAN_SHARES) {
            p->n_more_shares++;
            continue;
        }
        double share = (double)rows[i].self / (double)p->sure.total;
        struct sf_interval in = sf_trust_share(share * p->sure_worth, p->sure_worth);
        p->shares[p->n_shares++] = (struct sf_span_share){
            by_function.frames[rows[i].frame].function, share, in.low, in.high};
    }
    return SF_OK;
}

/* Sums the certain claims, fitted like all of them. */
static enum sf_err make_sure(const struct sf_link_set *set, const struct sf_attribution *a,
                             const struct sf_known_claims *known, struct sf_span_profile *p,
                             struct sf_arena *req, struct sf_why *why)
{
    struct sf_attribution sure;
    p->view.is_estimate = known->n_estimated > 0;
    p->sure = p->view.tree;
    if (known->n_estimated == 0)
        return SF_OK;
    if (!sf_known_claims_keep(known, a, req, &sure))
        return sf_no_room(why, "the query");
    return sf_claims_view_tree(set, &sure, req, &p->sure, NULL, why);
}

/* ---- the reason, in words ---- */

static bool span_profile_explain(const struct sf_link_set *set, const struct sf_attribution *a,
                                 struct sf_span_profile *p, struct sf_arena *req)
{
    sf_str service = p->service;
    if (set->is_thinned)
        return sf_thinned_say(&set->keep, req, &p->reason);
    if (set->n_types == 0)
        return sf_arena_print(req, &p->reason,
                              "no profiles from %.*s around this time: point its profiler at this "
                              "server, or upload a profile of it",
                              SF_STR_ARG(service));
    if (p->n_samples == 0 && set->is_of_others)
        return sf_arena_print(req, &p->reason,
                              "profiles from %.*s in this time come from other processes, none "
                              "from the process of this span",
                              SF_STR_ARG(service));
    if (p->n_samples == 0 && set->source == SF_LINK_NOTHING)
        return sf_arena_print(req, &p->reason,
                              "%.*s sends profiles, but none of this type while the span ran: "
                              "select another type, or run its profiler continuously",
                              SF_STR_ARG(service));
    if (p->n_samples == 0 && set->left_out)
        return sf_arena_print(req, &p->reason, "no sample of %.*s carries this span's id",
                              SF_STR_ARG(service));
    if (p->n_samples == 0 && !sf_str_eq(set->type.period_unit, SF_STR("nanoseconds")))
        return sf_arena_print(
            req, &p->reason,
            "no sample of %.*s fell into this span: it used too little to be sampled, or nothing; "
            "%llu samples belong to other spans. Merge many spans like it (spanflame "
            "flame --q), or sample more often",
            SF_STR_ARG(service),
            (unsigned long long)(set->n_samples - a->n_samples[SF_GRADE_NONE] + set->n_elsewhere));
    if (p->n_samples == 0)
        return sf_arena_print(
            req, &p->reason,
            "no sample of %.*s fell into this span%s: the span is shorter than the sampling "
            "interval, or it was not running; %llu samples belong to other spans. Merge many spans "
            "like it (spanflame flame --q), or sample more often",
            SF_STR_ARG(service), p->most_samples < 1 ? " (less than one was expected)" : "",
            (unsigned long long)(set->n_samples - a->n_samples[SF_GRADE_NONE] + set->n_elsewhere));
    if (set->source == SF_LINK_PROCESS || set->source == SF_LINK_AGGREGATE)
        return sf_arena_print(
            req, &p->reason,
            "profiles from %.*s carry no span ids: its SDK does not tag them; showing what the %s "
            "did during this span, divided among its concurrent requests. "
            "spanflame coverage prints the lines that tag them",
            SF_STR_ARG(service), set->is_by_service ? "service" : "process");
    if (set->n_by_thread > 0 && p->grades.rows[SF_GRADE_ROW_WINDOW].n_samples > 0)
        return sf_arena_print(
            req, &p->reason,
            "%.*s's samples lose the request's id while it runs: %llu that carry none are this "
            "span's by thread and time. spanflame coverage prints the lines that tag every span",
            SF_STR_ARG(service), (unsigned long long)p->grades.rows[SF_GRADE_ROW_WINDOW].n_samples);
    if (p->grades.rows[SF_GRADE_ROW_WINDOW].n_samples > 0)
        return sf_arena_print(req, &p->reason,
                              "a profile uploaded for this request contains threads of %.*s that "
                              "cannot be assigned to it: their activity is an estimate",
                              SF_STR_ARG(service));
    if (p->grades.rows[SF_GRADE_ROW_SHARED].n_samples > 0)
        return sf_arena_print(
            req, &p->reason,
            "%.*s tags samples with the request's first span and no time: each span gets its "
            "share by self time, an estimate; spanflame coverage prints the lines that tag every "
            "span",
            SF_STR_ARG(service));
    return true;
}

/* Even exact samples tell little if there are few. */
static bool warn_of_few(struct sf_span_profile *p, struct sf_arena *req)
{
    if (p->n_samples == 0 || sf_trust_of((uint64_t)p->taken) != SF_TRUST_THIN)
        return true;
    if (p->view.is_few)
        return sf_arena_print(
            req, &p->reason,
            "%.*s%s%.0f sample%s %s too few for times and shares: merge many spans like it "
            "(spanflame flame --q), or sample more often",
            SF_STR_ARG(p->reason), p->reason.len > 0 ? ". " : "", p->taken,
            p->taken < 1.5 ? "" : "s", p->taken < 1.5 ? "is" : "are");
    return sf_arena_print(req, &p->reason,
                          "%.*s%s%.0f sample%s %s few, so shares are rough: merge many spans like "
                          "it (spanflame flame --q), or sample more often",
                          SF_STR_ARG(p->reason), p->reason.len > 0 ? ". " : "", p->taken,
                          p->taken < 1.5 ? "" : "s", p->taken < 1.5 ? "is" : "are");
}

/* Digits after the decimal point: three digits in all, without an exponent. */
static int digits_of(double ms)
{
    return ms < 9.995 ? 2 : ms < 99.95 ? 1 : 0;
}

/* If there are no samples, or too few to give times, states the CPU time that the span itself
 * carries, which the time breakdown shows. */
static bool say_measured(struct sf_span_profile *p, struct sf_arena *req)
{
    if (p->measured_ns < 0 || (p->n_samples > 0 && !p->view.is_few))
        return true;
    return sf_arena_print(req, &p->reason, "%.*s%sCPU time measured by the span%s: %.*f ms",
                          SF_STR_ARG(p->reason), p->reason.len > 0 ? ". " : "",
                          p->is_self ? "" : " and its children in this process",
                          digits_of((double)p->measured_ns / 1e6), (double)p->measured_ns / 1e6);
}

static bool span_profile_say_cut(int64_t cut, struct sf_span_profile *p, struct sf_arena *req)
{
    if (cut <= 0)
        return true;
    return sf_arena_print(req, &p->reason,
                          "%.*s%scut to fit: the samples stand for %.*f ms more than the spans "
                          "lasted on %s",
                          SF_STR_ARG(p->reason), p->reason.len > 0 ? ". " : "",
                          digits_of((double)cut / 1e6), (double)cut / 1e6,
                          p->are_threads_named ? "the threads they name" : "one thread");
}

static bool say_threads(struct sf_span_profile *p, struct sf_arena *req)
{
    if (p->are_threads_named || p->n_threads < 2)
        return true;
    return sf_arena_print(
        req, &p->reason,
        "%.*s%ssamples carry no thread ids: at least %u threads are needed for this much time",
        SF_STR_ARG(p->reason), p->reason.len > 0 ? ". " : "", p->n_threads);
}

/* The effective number of certain samples. */
static double worth_of(const struct sf_link_set *set, const struct sf_attribution *a,
                       const struct sf_known_claims *known, double taken)
{
    double timed = 0, squares = 0;
    for (uint32_t i = 0; i < a->n_claims; i++) {
        double value = (double)a->claims[i].value;
        if (!known->is_known[i] || !set->samples[a->claims[i].sample].has_time)
            continue;
        timed += value;
        squares += value * value;
    }
    return sf_claims_view_worth(set, taken, timed, squares);
}

enum sf_err sf_span_profile_make(struct sf_store *store, const struct sf_span_profile_want *want,
                                 struct sf_query_ctx *q, struct sf_span_profile *out,
                                 struct sf_why *why)
{
    struct sf_link_want ask = {.span = want->span, .type = want->type};
    struct sf_link_set *set = sf_arena_new(q->req, sizeof(*set));
    struct sf_span_profile p = {.trace = want->trace, .span = want->span, .is_self = want->is_self};
    struct sf_attribution a;
    int64_t cut = 0, seen = 0; /* the samples' value as sent */
    const uint32_t *nodes;
    struct sf_known_claims known;
    enum sf_err err = set ? sf_link_set_load(store, want->trace, &ask, q, set, why)
                          : sf_no_room(why, "the query");
    if (err)
        return err;
    const bool *is_wanted = mark_wanted(set, want->is_self, q->req);
    bool *asked = sf_arena_new_n(q->req, set->tree.n_spans + 1u, sizeof(*asked));
    if (!is_wanted || !asked)
        return sf_no_room(why, "the query");
    asked[set->span] = true;
    err = sf_link_set_attribute(set, is_wanted, q->req, &a, why);
    for (uint32_t i = 0; !err && i < a.n_claims; i++)
        seen = sf_add_sat_i64(seen, a.claims[i].value);
    if (!err && (!sf_known_claims_find(&set->tree, &a, is_wanted, want->is_self, q->req, &known) ||
                 !sf_known_level_of(set, &known, set->span, q->req, &p.known)))
        err = sf_no_room(why, "the query");
    if (!err)
        sf_claims_view_grades(&a, asked, &p.as_sent);
    p.measured_ns = err ? SF_LEDGER_UNSAID : sf_claims_fit_measured(set, is_wanted);
    if (!err &&
        !want->is_member) /* over many spans uncut samples sum up to the truth, cut ones to less */
        err = sf_claims_fit(set, &a, set->span, q->req, &cut, why);
    if (!err)
        err = sf_claims_view_tree(set, &a, q->req, &p.view.tree, &nodes, why);
    if (!err)
        err = make_sure(set, &a, &known, &p, q->req, why);
    if (!err && want->has_timeline)
        err = sf_span_moments_make(set, &a, nodes, q->req, &p, why);
    if (err)
        return err;
    p.duration_ns = sf_span_duration_ns(&set->spans[set->span]);
    sf_claims_view_grades(&a, asked, &p.grades);
    p.taken = sf_claims_view_samples(set, seen, p.grades.n_samples);
    p.n_threads = sf_claims_view_threads(set, &a, p.taken, p.duration_ns, &p.are_threads_named,
                                         q->req);
    if (p.n_threads == 0)
        return sf_no_room(why, "the query");
    p.n_samples = p.grades.n_samples;
    p.view.tree.n_samples = p.n_samples;
    p.view.type = set->type;
    p.view.service = p.service = set->services[set->span];
    p.name = set->spans[set->span].name;
    p.view.time_ns = (int64_t)set->spans[set->span].start_ns;
    p.view.duration_ns = (int64_t)p.duration_ns;
    p.view.period = set->period;
    if (sf_str_eq(set->type.period_unit, SF_STR("nanoseconds")))
        p.most_samples = sf_trust_most(p.duration_ns, (double)set->period, p.n_threads);
    p.known.value = p.sure.total;
    p.sure_taken = sf_claims_view_samples(set, known.value, known.n_samples);
    p.sure_worth = worth_of(set, &a, &known, p.sure_taken);
    p.view.is_few = p.n_samples > 0 && sf_claims_view_is_few(set, p.taken);
    p.view.taken = p.taken;
    p.trust = sf_trust_name(sf_trust_of((uint64_t)p.sure_taken));
    p.types = set->types;
    p.n_types = set->n_types;
    p.is_partial = set->is_partial;
    p.keep = set->keep;
    p.is_by_service = set->is_by_service;
    p.is_mixed = set->left_out & SF_LEFT_OUT_MIXED;
    p.has_strange_threads = set->n_thread_ignored > 0;
    p.has_untagged = set->source == SF_LINK_PROCESS || set->source == SF_LINK_AGGREGATE;
    err = sf_span_profile_find_top(&p, q->req, why);
    if (!err &&
        (!span_profile_explain(set, &a, &p, q->req) ||
         !sf_link_set_say_left_out(set->left_out, q->req, &p.reason) || !warn_of_few(&p, q->req) ||
         !say_measured(&p, q->req) || !span_profile_say_cut(cut, &p, q->req) ||
         !say_threads(&p, q->req) ||
         (!want->is_member && !sf_known_level_say(&p.known, q->req, &p.reason)) ||
         !sf_span_clocks_of(&set->tree, &set->clocks, set->services, set->span, q->req, &p.clocks)))
        err = sf_no_room(why, "the query");
    if (!err)
        *out = p;
    return err;
}

static bool span_profile_is_time(sf_str unit)
{
    return sf_str_eq(unit, SF_STR("nanoseconds")) || sf_str_eq(unit, SF_STR("microseconds")) ||
           sf_str_eq(unit, SF_STR("milliseconds")) || sf_str_eq(unit, SF_STR("seconds"));
}

enum sf_err sf_span_profile_best(struct sf_store *store, const struct sf_span_profile_want *want,
                                 struct sf_query_ctx *q, struct sf_span_profile *out,
                                 struct sf_why *why)
{
    static const char *const others[] = {"wall", "offcpu", "lock", "block"};
    struct sf_span_profile_want other = *want;
    struct sf_span_profile p;
    enum sf_err err = sf_span_profile_make(store, want, q, out, why);
    if (err || want->type.len || out->n_samples || out->n_types < 2)
        return err;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct sf_why own = {0};
        sf_str meant = out->view.type.sample_type;
        other.type = sf_str_from(others[i]);
        err = sf_span_profile_make(store, &other, q, &p, &own);
        if (err == SF_ERR_NOT_FOUND)
            continue; /* no such type */
        if (err)
            return sf_fail(why, err, "%s", own.text);
        if (!p.n_samples || !span_profile_is_time(p.view.type.sample_unit))
            continue;
        if (!sf_arena_print(q->req, &p.reason,
                            "no sample of %.*s fell into this span; this is "
                            "%.*s%s%.*s",
                            SF_STR_ARG(sf_str_part(meant, 0, 60)),
                            SF_STR_ARG(sf_str_part(p.view.type.sample_type, 0, 60)),
                            p.reason.len ? ". " : "", SF_STR_ARG(p.reason)))
            return sf_no_room(why, "the query");
        *out = p;
        return SF_OK;
    }
    return SF_OK;
}
