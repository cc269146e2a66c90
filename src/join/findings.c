/* findings.c - reports what stands out in a span, a trace, a set of spans, a service over time, or
 * between two sets. For each kind, the tree of the code is made and given to link/findings.h;
 * findings about requests (loops, waits, growth) are added, duplicates dropped, and the rest ranked
 * by cost per request. */
#include "join/findings.h"

#include <math.h>
#include <string.h>

#include "flame/batch_tree.h"
#include "join/claims_view.h"
#include "join/cohort.h"
#include "join/findings_diff.h"
#include "join/findings_growth.h"
#include "join/findings_requests.h"
#include "join/findings_stuck.h"
#include "join/findings_waits.h"
#include "join/known_level.h"
#include "join/link_spans.h"
#include "join/sample_count.h"
#include "join/span_profile.h"
#include "join/trace_flame.h"
#include "render/units.h"

#define RARE 0.5 /* a cost borne by fewer than this share of the requests is reported as rare */

struct work {
    struct sf_store *store;
    const struct sf_findings_want *want;
    struct sf_query_ctx *q;
    struct sf_tree tree;
    struct sf_profile_type type;
    sf_str of, reason, note;
    uint64_t n_samples, n_estimated; /* samples examined; samples left out */
    double taken;                    /* samples that the profiler took, behind the findings */
    int64_t period;
    struct sf_finding_list in_code, in_spans;
    const struct sf_span *spans; /* the spans that indexes of in_spans refer to */
    struct sf_requests_findings in_requests;
    struct sf_waits_findings in_waits;
    struct sf_growth_findings in_growth;
    struct sf_stuck_finding in_stuck;
    double n_requests;      /* number of requests that the values cover; 0: unknown */
    unsigned said_left_out; /* bits that the note already reports */
};

static enum sf_err findings_keep(struct work *w, const struct sf_tree *tree, sf_str of,
                                 struct sf_why *why)
{
    if (!sf_arena_print(w->q->req, &w->of, "the %s of %.*s",
                        sf_findings_diff_kind_of_time(&w->type), SF_STR_ARG(of)))
        return sf_no_room(why, "the query");
    w->tree = *tree;
    return SF_OK;
}

/* Finds repeated calls made by the span or by a descendant. */
static enum sf_err find_loops_below(struct work *w, struct sf_why *why)
{
    struct sf_link_spans spans;
    struct sf_span_tree tree;
    struct sf_trace trace;
    struct sf_finding_list all;
    enum sf_err err = sf_link_spans_load(w->store, w->want->trace, w->q, &trace, &spans, &tree,
                                         why);
    if (!err)
        err = sf_span_findings(&tree, &w->want->limits, w->q->req, &all, why);
    if (err)
        return err;
    uint32_t span = sf_span_tree_find(&tree, w->want->trace, w->want->span), n = 0;
    struct sf_finding *kept = sf_arena_new_n(w->q->req, all.n + 1u, sizeof(*kept));
    const bool *is_below = sf_span_tree_mark_below(&tree, span, w->q->req);
    if (!kept || !is_below)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < all.n; i++)
        if (is_below[all.items[i].span])
            kept[n++] = all.items[i];
    w->in_spans = (struct sf_finding_list){kept, n, 0};
    w->spans = spans.spans;
    return SF_OK;
}

/* Samples that may not belong to it are left out, and the answer says so. */
static bool say_estimated(struct work *w, const struct sf_known_view *k, double taken)
{
    char id[17];
    if (!sf_arena_print(w->q->req, &w->reason,
                        "%.0f of %.0f samples are shared with other spans by an estimate: they are "
                        "left out",
                        fmax(1, round(taken - w->taken)), taken))
        return false;
    sf_span_id_render(k->span, id);
    if (k->span != 0)
        return sf_arena_print(
            w->q->req, &w->reason,
            "%.*s. Use the span %.*s with its children instead: spanflame findings "
            "--span %s",
            SF_STR_ARG(w->reason), SF_STR_ARG(k->name), id);
    if (k->service.len > 0)
        return sf_arena_print(w->q->req, &w->reason,
                              "%.*s. Use the profile of the service %.*s in this time instead",
                              SF_STR_ARG(w->reason), SF_STR_ARG(k->service));
    return true;
}

static enum sf_err findings_of_span(struct work *w, struct sf_why *why)
{
    struct sf_span_profile_want ask = {
        .trace = w->want->trace, .span = w->want->span, .type = w->want->type};
    struct sf_span_profile p;
    enum sf_err err = sf_span_profile_best(w->store, &ask, w->q, &p, why);
    if (err)
        return err;
    w->n_requests = 1;
    w->type = p.view.type;
    w->n_samples = p.known.n_samples;
    w->n_estimated = p.known.n_estimated;
    w->taken = p.sure_taken;
    w->period = p.view.period;
    w->reason = p.n_samples ? SF_STR_NONE : p.reason;
    if (p.known.n_estimated > 0 && !say_estimated(w, &p.known, p.taken))
        return sf_no_room(why, "the query");
    err = find_loops_below(w, why);
    return err ? err : findings_keep(w, &p.sure, p.name, why);
}

/* Examines the code of the whole request, without the bars that represent services and spans; and
 * its spans. */
static enum sf_err findings_of_trace(struct work *w, struct sf_why *why)
{
    struct sf_link_want ask = {.type = w->want->type};
    struct sf_link_set *set = sf_arena_new(w->q->req, sizeof(*set));
    struct sf_attribution a;
    struct sf_known_claims known;
    struct sf_known_view level;
    int64_t sent = 0;
    enum sf_err err = set ? sf_link_set_load(w->store, w->want->trace, &ask, w->q, set, why)
                          : sf_no_room(why, "the query");
    if (err)
        return err;
    bool *is_in = sf_arena_new_n(w->q->req, set->tree.n_spans + 1u, sizeof(*is_in));
    if (!is_in)
        return sf_no_room(why, "the query");
    memset(is_in, true, set->tree.n_spans * sizeof(*is_in));
    err = sf_link_set_attribute(set, NULL, w->q->req, &a, why);
    if (!err && (!sf_known_claims_find(&set->tree, &a, is_in, false, w->q->req, &known) ||
                 !sf_known_level_of(set, &known, SF_NOBODY, w->q->req, &level)))
        err = sf_no_room(why, "the query");
    if (err)
        return err;
    w->n_requests = 1;
    w->type = set->type;
    w->n_samples = known.n_samples;
    w->n_estimated = known.n_estimated;
    w->taken = sf_claims_view_samples(set, known.value, known.n_samples);
    w->period = set->period;
    w->spans = set->spans;
    if (!sf_link_set_say_left_out(set->left_out, w->q->req, &w->note))
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < a.n_claims; i++)
        sent = sf_add_sat_i64(sent, a.claims[i].value);
    if (known.n_estimated > 0 &&
        !say_estimated(w, &level,
                       sf_claims_view_samples(set, sent, known.n_samples + known.n_estimated)))
        return sf_no_room(why, "the query");
    if (set->n_samples == 0)
        w->reason = SF_STR("no samples carry ids of this trace: only its spans were checked");
    err = sf_span_findings(&set->tree, &w->want->limits, w->q->req, &w->in_spans, why);
    if (err)
        return err;
    struct sf_tree_node *nodes = sf_arena_new_n(w->q->req, set->stacks.n_nodes, sizeof(*nodes));
    if (!nodes)
        return sf_no_room(why, "the query");
    struct sf_tree sums = set->stacks;
    for (uint32_t i = 0; i < sums.n_nodes; i++) {
        nodes[i] = sums.nodes[i];
        nodes[i].self = 0;
    }
    sums.total = 0;
    for (uint32_t i = 0; i < a.n_claims; i++) {
        if (!known.is_known[i])
            continue;
        nodes[set->samples[a.claims[i].sample].node].self += a.claims[i].value;
        sums.total += a.claims[i].value;
    }
    sums.nodes = nodes;
    return findings_keep(w, &sums, SF_STR("this trace"), why);
}

/* ---- many requests ---- */

static bool say_left_out(struct work *w)
{
    if (w->in_waits.is_too_large &&
        !sf_arena_print(w->q->req, &w->note,
                        "%.*s%swaits of requests are left out: they do not fit a query's memory "
                        "(limits.query_memory)",
                        SF_STR_ARG(w->note), w->note.len > 0 ? "; " : ""))
        return false;
    return sf_link_set_say_left_out(
        (w->in_requests.left_out | w->in_waits.left_out) & ~w->said_left_out, w->q->req, &w->note);
}

static enum sf_err inspect_requests(struct work *w, sf_str query, struct sf_why *why)
{
    struct sf_requests_want ask = {.query = query,
                                   .type = w->want->type,
                                   .service = w->want->service,
                                   .of = w->of,
                                   .from_ns = w->want->from_ns,
                                   .to_ns = w->want->until_ns,
                                   .limits = &w->want->limits,
                                   .scratch = w->want->scratch};
    enum sf_err err = sf_findings_requests(w->store, &ask, w->q, &w->in_requests, why);
    if (!err)
        err = sf_findings_waits(w->store, &ask, w->q, &w->in_waits, why);
    return err || say_left_out(w) ? err : sf_no_room(why, "the query");
}

static enum sf_err of_query(struct work *w, struct sf_why *why)
{
    struct sf_cohort_want ask = {.query = w->want->query,
                                 .type = w->want->type,
                                 .from_ns = w->want->from_ns,
                                 .to_ns = w->want->until_ns,
                                 .scratch = w->want->scratch};
    struct sf_cohort_view c;
    enum sf_err err = sf_cohort_make(w->store, &ask, w->q, &c, why);
    if (err)
        return err;
    w->type = c.view.type;
    w->n_samples = c.known.n_samples;
    w->n_estimated = c.known.n_estimated;
    w->taken = c.sure_taken;
    w->period = c.view.period;
    w->reason = c.reason;
    w->note = c.note;
    w->said_left_out = c.left_out;
    if (c.known.n_estimated > 0 && !say_estimated(w, &c.known, c.view.taken))
        return sf_no_room(why, "the query");
    err = findings_keep(w, &c.sure, w->want->query, why);
    w->n_requests = 1; /* values are means per span */
    return err ? err : inspect_requests(w, w->want->query, why);
}

static enum sf_err of_service(struct work *w, struct sf_why *why)
{
    sf_str query;
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
            return sf_no_room(why, "the query");
        w->of = w->want->service;
        return sf_span_set_of_service(w->want->service, w->q->req, &query)
                   /* Even without samples, its spans can be examined. */
                   ? inspect_requests(w, query, why)
                   : sf_no_room(why, "the query");
    }
    types = sf_arena_new_n(w->q->req, list.n, sizeof(*types));
    if (!types)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < list.n; i++)
        types[i] = (struct sf_batch_type){.type = list.series[i].type,
                                          .period = list.series[i].period};
    err = sf_batch_tree_choose(types, list.n, w->want->type, &chosen, why);
    if (err)
        return err;
    w->type = types[chosen].type;
    if (!sf_batch_tree_type_print(&w->type, w->q->req, &ask.type))
        return sf_no_room(why, "the query");
    err = w->store->ops->prof_merge(w->store, &ask, w->q, &tree, why);
    if (err)
        return err;
    w->n_samples = tree->n_samples;
    w->period = types[chosen].period;
    w->taken = sf_sample_count(&w->type, w->period, tree->total, tree->n_samples);
    err = findings_keep(w, tree, w->want->service, why);
    if (!err && !sf_span_set_of_service(w->want->service, w->q->req, &query))
        err = sf_no_room(why, "the query");
    if (!err)
        err = inspect_requests(w, query, why);
    w->n_requests = w->in_waits.n_requests;
    struct sf_requests_want growth = {
        .service = w->want->service, .from_ns = w->want->from_ns, .to_ns = w->want->until_ns};
    if (!err)
        err = sf_findings_growth(w->store, &growth, &list, w->q, &w->in_growth, why);
    return err ? err : sf_findings_stuck(w->store, &growth, &list, w->q, &w->in_stuck, why);
}

static enum sf_err of_diff(struct work *w, struct sf_why *why)
{
    struct sf_findings_diff d;
    enum sf_err err = w->want->left.len > 0
                          ? sf_findings_diff_queries(w->store, w->want, w->q, &d, why)
                          : sf_findings_diff_selectors(w->store, w->want, w->q, &d, why);
    if (err)
        return err;
    w->type = d.type;
    w->of = d.of;
    w->reason = d.reason;
    w->note = d.note;
    w->n_samples = d.n_samples;
    w->n_estimated = d.n_estimated;
    w->in_code = d.list;
    return SF_OK;
}

/* With fewer than five samples, no shares of time and no functions are reported. */
static bool say_few(struct work *w)
{
    return sf_arena_print(w->q->req, &w->reason,
                          "%.*s%s%.0f sample%s %s too few to show where the time went",
                          SF_STR_ARG(w->reason), w->reason.len > 0 ? ". " : "", w->taken,
                          w->taken < 1.5 ? "" : "s", w->taken < 1.5 ? "is" : "are");
}

static enum sf_err of_code(struct work *w, enum sf_err (*look)(struct work *, struct sf_why *),
                           struct sf_why *why)
{
    enum sf_err err = look(w, why);
    if (!err && w->n_samples > 0 && sf_sample_count_is_few(&w->type, w->period, w->taken))
        return say_few(w) ? SF_OK : sf_no_room(why, "the query");
    return err ? err
               : sf_findings_of_tree(&w->tree, w->of, &w->want->limits, w->q->req, &w->in_code,
                                     why);
}

/* ---- the answer ---- */

static struct sf_finding_view findings_view_of(const struct work *w, const struct sf_finding *f)
{
    bool is_span = f->kind == SF_FINDING_SPANS || f->kind == SF_FINDING_DISK ||
                   f->kind == SF_FINDING_NETWORK;
    return (struct sf_finding_view){.kind = sf_findings_kind_name(f->kind),
                                    .action = sf_findings_action(f->kind),
                                    .subject = f->subject,
                                    .path = f->path,
                                    .sentence = f->sentence,
                                    .unit = is_span ? SF_STR("nanoseconds") : w->type.sample_unit,
                                    .file = f->file,
                                    .line = f->line,
                                    .per_request = NAN,
                                    .request_share = NAN,
                                    .rank = NAN,
                                    .per_hour = NAN,
                                    .low = NAN,
                                    .high = NAN,
                                    .share = f->share,
                                    .value = f->value,
                                    .count = f->count,
                                    .trace = w->want->trace,
                                    .span = w->want->span};
}

/* Sorts by cost per request, where a cost that few requests bear counts more than the same mean
 * borne by all of them (root mean square); without requests by share. The sort is stable; there are
 * few items. */
static void sort_views(struct sf_finding_view *items, uint32_t n)
{
    bool has_costs = true;
    for (uint32_t i = 0; i < n; i++)
        has_costs = has_costs && isfinite(items[i].rank);
    for (uint32_t i = 1; i < n; i++) {
        struct sf_finding_view one = items[i];
        uint32_t at = i;
        while (at > 0 &&
               (has_costs ? items[at - 1].rank < one.rank : items[at - 1].share < one.share)) {
            items[at] = items[at - 1];
            at--;
        }
        items[at] = one;
    }
}

/* Is the function one of those on the path? */
static bool is_on_path(sf_str path, sf_str function)
{
    size_t at;
    for (sf_str rest = path; sf_str_find(rest, function, &at);) {
        bool is_start = at == 0 || (at >= 2 && rest.p[at - 2] == '>');
        sf_str tail = sf_str_from_at(rest, at + function.len);
        if (is_start && (tail.len == 0 || (tail.len > 1 && tail.p[0] == ' ' && tail.p[1] == '>')))
            return true;
        rest = sf_str_from_at(rest, at + 1);
    }
    return false;
}

/* Already reported in another form: repeated parsing; requests waiting for that lock. */
static bool is_said(const struct work *w, const struct sf_finding *f)
{
    for (uint32_t i = 0; i < w->in_requests.again.n; i++)
        if (is_on_path(f->path, w->in_requests.again.items[i].subject))
            return true;
    for (uint32_t i = 0; i < w->in_waits.n_places; i++) /* it is the code of calls made in a loop */
        for (uint32_t k = 0; k < w->in_requests.loops.n; k++)
            if (sf_str_eq(w->in_waits.places[i].function, f->subject) &&
                sf_str_eq(w->in_waits.places[i].span, w->in_requests.loops.items[k].subject))
                return true;
    for (uint32_t i = 0; i < w->in_waits.list.n && f->kind == SF_FINDING_LOCK; i++)
        if (w->in_waits.list.items[i].kind == SF_FINDING_LOCK)
            return true;
    return false;
}

static double per_request(const struct work *w, const struct sf_finding *f)
{
    bool is_time = sf_str_eq(w->type.sample_unit, SF_STR("nanoseconds"));
    return is_time && w->n_requests > 0 ? (double)f->value / w->n_requests : NAN;
}

/* More than the duration of its requests: the service also does other work, and its profiles do not
 * tell which part is for requests. */
static bool is_beyond(const struct work *w, const struct sf_finding_view *v)
{
    return w->want->service.len > 0 && w->in_waits.request_ns > 0 &&
           v->per_request > w->in_waits.request_ns;
}

/* "... of the CPU time of pricing, in about 2 % of requests, 60 ms each, in price > tax: ..." */
static bool say_rare(struct work *w, struct sf_finding_view *v)
{
    size_t tail = sizeof(", in : ") - 1 + v->path.len + sf_str_from(v->action).len;
    struct sf_buf each = {0};
    if (v->sentence.len <= tail)
        return true;
    sf_str head = {v->sentence.p, v->sentence.len - tail};
    sf_units_duration(&each, (uint64_t)llround(v->per_request / v->request_share));
    bool is_said = sf_buf_ok(&each) &&
                   sf_arena_print(w->q->req, &v->sentence,
                                  "%.*s, in about %.*f %% of requests with %.*s each, in %.*s: %s",
                                  SF_STR_ARG(head), v->request_share < 0.01 ? 1 : 0,
                                  v->request_share * 100, SF_STR_ARG(sf_buf_str(&each)),
                                  SF_STR_ARG(v->path), v->action);
    sf_buf_done(&each);
    return is_said;
}

/* Estimates the share of requests that bear the cost of the code. */
static bool find_spread(struct work *w, struct sf_finding_view *v)
{
    if (!isfinite(v->per_request) || w->in_requests.samples.n_requests == 0)
        return true;
    if (!sf_request_findings_share(&w->in_requests.samples, v->subject, w->q->req,
                                   &v->request_share))
        return false;
    return v->request_share >= RARE || is_beyond(w, v) || say_rare(w, v);
}

/* Sets the name of the spans in which the code runs. */
static void findings_place(const struct work *w, struct sf_finding_view *v)
{
    for (uint32_t i = 0; i < w->in_waits.n_places; i++)
        if (sf_str_eq(w->in_waits.places[i].function, v->subject))
            v->span_name = w->in_waits.places[i].span;
}

static void rank(struct sf_finding_view *v)
{
    v->rank = v->per_request / sqrt(isfinite(v->request_share) ? v->request_share : 1);
}

static enum sf_err findings_collect(struct work *w, struct sf_findings_view *out,
                                    struct sf_why *why)
{
    const struct sf_finding_list *again = &w->in_requests.again, *loops = &w->in_requests.loops;
    const struct sf_finding_list *waits = &w->in_waits.list;
    uint32_t cap = w->in_code.n + w->in_spans.n + again->n + loops->n + waits->n + w->in_growth.n +
                   2u,
             n = 0;
    struct sf_finding_view *items = sf_arena_new_n(w->q->req, cap, sizeof(*items));
    if (!items)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < w->in_code.n; i++) {
        if (is_said(w, &w->in_code.items[i]))
            continue;
        items[n] = findings_view_of(w, &w->in_code.items[i]);
        items[n].per_request = per_request(w, &w->in_code.items[i]);
        if (!find_spread(w, &items[n++]))
            return sf_no_room(why, "the query");
    }
    for (uint32_t i = 0; i < again->n; i++) {
        items[n] = findings_view_of(w, &again->items[i]);
        items[n++].per_request = (double)again->items[i].value;
    }
    for (uint32_t i = 0; i < w->in_spans.n; i++) {
        items[n] = findings_view_of(w, &w->in_spans.items[i]);
        items[n].per_request = (double)w->in_spans.items[i].value;
        items[n++].span = w->spans[w->in_spans.items[i].span].span_id;
    }
    for (uint32_t i = 0; i < loops->n; i++) {
        items[n] = findings_view_of(w, &loops->items[i]);
        items[n].per_request = (double)loops->items[i].value * w->in_requests.shares[i];
        items[n].request_share = w->in_requests.shares[i];
        items[n].trace = w->in_requests.ids[i].trace;
        items[n++].span = w->in_requests.ids[i].span;
    }
    for (uint32_t i = 0; i < waits->n; i++) {
        items[n] = findings_view_of(w, &waits->items[i]);
        items[n].unit = SF_STR("nanoseconds");
        items[n].per_request = (double)waits->items[i].value;
        items[n].trace = w->in_waits.ids[i].trace;
        items[n++].span = w->in_waits.ids[i].span;
    }
    for (uint32_t i = 0; i < n; i++) {
        findings_place(w, &items[i]);
        rank(&items[i]);
    }
    sort_views(items, n);
    for (uint32_t i = 0; i < n; i++)
        if (is_beyond(w, &items[i]))
            items[i].per_request = NAN;
    if (w->in_stuck.is_found) { /* first: a stuck lock costs the requests that never end */
        memmove(&items[1], items, n++ * sizeof(*items));
        items[0] = findings_view_of(w, &w->in_stuck.finding);
        items[0].unit = SF_STR("count");
    }
    for (uint32_t i = 0; i < w->in_growth.n; i++) { /* last: the cost per request is unknown */
        const struct sf_growth_finding *g = &w->in_growth.items[i];
        items[n] = findings_view_of(w, &g->finding);
        items[n].unit = g->unit;
        items[n].per_hour = g->per_hour;
        items[n].low = g->low;
        items[n++].high = g->high;
    }
    *out = (struct sf_findings_view){.of = w->of,
                                     .items = items,
                                     .n = n,
                                     .n_more = w->in_code.n_more + again->n_more + loops->n_more,
                                     .n_samples = w->n_samples,
                                     .n_estimated = w->n_estimated,
                                     .reason = w->reason,
                                     .note = w->note};
    return SF_OK;
}

enum sf_err sf_findings_make(struct sf_store *store, const struct sf_findings_want *want,
                             struct sf_query_ctx *q, struct sf_findings_view *out,
                             struct sf_why *why)
{
    struct work w = {.store = store, .want = want, .q = q};
    bool has_trace = !sf_trace_id_is_zero(want->trace);
    bool has_two = want->left.len > 0 || want->baseline.len > 0;
    enum sf_err err = has_two               ? of_diff(&w, why)
                      : want->query.len > 0 ? of_code(&w, of_query, why)
                      : !has_trace          ? of_code(&w, of_service, why)
                      : want->span != 0     ? of_code(&w, findings_of_span, why)
                                            : of_code(&w, findings_of_trace, why);
    return err ? err : findings_collect(&w, out, why);
}
