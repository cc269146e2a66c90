/* trace_flame.c - makes the flame graph of a whole trace from the store. */
#include "join/trace_flame.h"

#include <math.h>

#include "base/num.h"
#include "join/claims_fit.h"
#include "join/claims_view.h"
#include "join/known_level.h"
#include "join/span_clocks.h"
#include "join/thinned.h"
#include "join/trace_time.h"
#include "link/critical_path.h"
#include "link/trace_flame.h"
#include "link/trust.h"

static const char *const words[] = {"samples", "wall", "critical-path"};

enum sf_err sf_trace_flame_parse(sf_str word, enum sf_trace_flame_by *out, struct sf_why *why)
{
    for (int i = 0; i < 3; i++) {
        if ((word.len == 0 && i == 0) || sf_str_eq(word, sf_str_from(words[i]))) {
            *out = (enum sf_trace_flame_by)i;
            return SF_OK;
        }
    }
    return sf_fail(why, SF_ERR_INPUT, "by is samples, wall or critical-path, not '%.*s'",
                   SF_STR_ARG(word));
}

static enum sf_err trace_flame_weigh(const struct sf_link_set *set, enum sf_trace_flame_by by,
                                     struct sf_arena *req, const uint64_t **out, struct sf_why *why)
{
    struct sf_critical_path path;
    enum sf_err err;
    *out = NULL;
    if (by == SF_TRACE_FLAME_SAMPLES)
        return SF_OK;
    if (by == SF_TRACE_FLAME_CRITICAL) {
        err = sf_critical_path_find(&set->tree, req, &path, why);
        if (!err)
            *out = path.critical_ns;
        return err;
    }
    /* A wait for a remote child counts as the child's time. */
    *out = sf_span_tree_own_ns(&set->tree, req);
    return *out ? SF_OK : sf_no_room(why, "the query");
}

struct sent { /* values of samples before they were cut */
    int64_t all, sure;
};

static bool trace_flame_count_spans(const struct sf_link_set *set, const struct sf_attribution *a,
                                    const struct sent *sent, struct sf_arena *req,
                                    struct sf_trace_flame_view *v)
{
    bool *has = sf_arena_new_n(req, set->n_own + 1u, sizeof(*has));
    struct sf_known_claims known;
    if (!has)
        return false;
    for (uint32_t i = 0; i < a->n_claims; i++)
        has[a->claims[i].span] = true;
    /* Every claim counts for its own span: none is subtree. */
    sf_claims_view_grades(a, has, &v->grades);
    /* Drawn by span, without descendants. */
    if (!sf_known_claims_find(&set->tree, a, has, true, req, &known) ||
        !sf_known_level_of(set, &known, SF_NOBODY, req, &v->known))
        return false;
    v->view.is_estimate = known.n_estimated > 0;
    for (uint32_t i = 0; i < set->n_own; i++)
        v->n_sampled += has[i];
    v->n_spans = set->n_own;
    v->n_samples = set->n_samples - a->n_samples[SF_GRADE_NONE];
    v->keep = set->keep;
    double taken = v->view.taken = sf_claims_view_samples(set, sent->all, v->n_samples);
    double sure_taken = sf_claims_view_samples(set, sent->sure, known.n_samples);
    v->trust = sf_trust_name(sf_trust_of((uint64_t)sure_taken));
    if (set->is_thinned)
        return sf_thinned_say(&set->keep, req, &v->reason);
    if (set->n_types == 0)
        v->reason = SF_STR("none of these services sent profiles around this time: point their "
                           "profilers at this server");
    else if (a->n_claims == 0)
        v->reason = SF_STR(
            "profiles of this type carry no ids of this trace and cannot be assigned to its spans "
            "by thread: open a span to see its process's activity during it; spanflame coverage "
            "prints the lines that tag samples");
    else if (known.n_estimated > 0 &&
             !sf_arena_print(req, &v->reason,
                             "%.0f of %.0f samples carry no span id: their division among the "
                             "spans of a request is an estimate, the totals of a service are "
                             "exact. spanflame coverage prints the lines that tag every "
                             "span",
                             fmax(1, round(taken - sure_taken)), taken))
        return false;
    return sf_known_level_say(&v->known, req, &v->reason) &&
           sf_link_set_say_left_out(set->left_out, req, &v->reason);
}

static enum sf_err trace_flame_make(struct sf_store *store, sf_trace_id trace, sf_str type,
                                    enum sf_trace_flame_by by, bool has_waits,
                                    struct sf_query_ctx *q, struct sf_trace_flame_view *out,
                                    struct sf_why *why)
{
    struct sf_link_want want = {.type = type};
    struct sf_link_set *set = sf_arena_new(q->req, sizeof(*set));
    struct sf_trace_flame_view v = {.trace = trace, .by = words[by]};
    struct sf_attribution a;
    enum sf_err err = set ? sf_link_set_load(store, trace, &want, q, set, why)
                          : sf_no_room(why, "the query");
    if (err)
        return err;
    struct sf_trace_flame_input draw = {
        .spans = &set->tree,
        .services = set->services,
        .stacks = &set->stacks,
        .samples = set->samples,
        .claims = &a,
        .is_time = sf_str_eq(set->type.sample_unit, SF_STR("nanoseconds"))};
    struct sent sent = {0};
    int64_t cut;
    err = sf_link_set_attribute(set, NULL, q->req, &a, why);
    for (uint32_t i = 0; !err && i < a.n_claims; i++) {
        sent.all = sf_add_sat_i64(sent.all, a.claims[i].value);
        sent.sure = sf_add_sat_i64(sent.sure, a.claims[i].is_known ? a.claims[i].value : 0);
    }
    if (!err)
        err = sf_claims_fit(set, &a, SF_NOBODY, q->req, &cut, why);
    if (!err)
        err = trace_flame_weigh(set, by, q->req, &draw.weights_ns, why);
    if (!err)
        err = has_waits ? sf_trace_time_make(store, trace, draw.weights_ns, q, &v.view.tree, why)
                        : sf_trace_flame(&draw, q->req, &v.view.tree, why);
    if (!err && (!trace_flame_count_spans(set, &a, &sent, q->req, &v) ||
                 !sf_span_clocks_say(&set->clocks, set->services, q->req, &v.clocks)))
        err = sf_no_room(why, "the query");
    if (err)
        return err;
    v.view.tree.n_samples = v.n_samples;
    v.view.has_no_hot = v.n_samples > 0 && sf_claims_view_is_few(set, v.view.taken);
    v.view.is_few = v.view.has_no_hot && by == SF_TRACE_FLAME_SAMPLES;
    v.view.type = has_waits ? (struct sf_profile_type){.name = SF_STR("ledger"),
                                                       .sample_type = SF_STR("time"),
                                                       .sample_unit = SF_STR("nanoseconds")}
                            : set->type;
    v.view.period = set->period;
    v.types = set->types;
    v.n_types = set->n_types;
    v.is_partial = set->is_partial;
    *out = v;
    return SF_OK;
}

enum sf_err sf_trace_flame_make(struct sf_store *store, sf_trace_id trace, sf_str type,
                                enum sf_trace_flame_by by, struct sf_query_ctx *q,
                                struct sf_trace_flame_view *out, struct sf_why *why)
{
    return trace_flame_make(store, trace, type, by, false, q, out, why);
}

enum sf_err sf_trace_flame_make_time(struct sf_store *store, sf_trace_id trace,
                                     enum sf_trace_flame_by by, struct sf_query_ctx *q,
                                     struct sf_trace_flame_view *out, struct sf_why *why)
{
    if (by == SF_TRACE_FLAME_SAMPLES)
        return sf_fail(why, SF_ERR_INPUT,
                       "waits are drawn by time: by is wall or critical-path with waits=true");
    return trace_flame_make(store, trace, SF_STR_NONE, by, true, q, out, why);
}
