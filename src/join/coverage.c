/* coverage.c - checks how well a service's traces and profiles are joined. A number of its spans is
 * joined with samples and counted by match quality; then shares of samples with ids and names,
 * clock differences to callers and the language are determined. Every missing link is reported,
 * with advice. */
#include "join/coverage.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/time_unit.h"
#include "exec/services.h"
#include "flame/batch_tree.h"
#include "join/claims_view.h"
#include "join/cohort_set.h"
#include "join/coverage_notes.h"
#include "join/coverage_thinned.h"
#include "join/coverage_time.h"
#include "join/link_spans.h"
#include "join/span_profile.h"
#include "join/time_part.h"
#include "link/clock_skew.h"
#include "link/coverage_hint.h"
#include "link/known_claims.h"

enum { LOOKED_AT = 200, CLOCK_TRACES = 50, MAX_CALLERS = 32, MAX_CALLS = 4096 };
#define WINDOW_NS  (5 * SF_NS_PER_MIN) /* time range in which samples are examined one by one */
#define AROUND_NS  (600 * SF_NS_PER_S) /* margin around a span */
#define CLOCK_TIME 0.5                 /* share of the remaining time for comparing clocks */

struct caller {
    sf_str service;
    int64_t offsets[MAX_CALLS / MAX_CALLERS];
    uint32_t n;       /* number that is listed */
    uint64_t n_calls; /* calls with contradicting times */
};

struct work {
    struct sf_store *store;
    const struct sf_coverage_want *want;
    struct sf_query_ctx *q;
    struct sf_coverage out;
    struct sf_span_set spans; /* examined */
    struct sf_link_keep keep; /* of their traces */
    bool is_by_service;
    bool has_strange_threads; /* thread ids of spans do not occur in samples */
    bool is_mixed;            /* samples without ids may be of several processes */
    bool has_untagged;        /* for one span: it was given samples without a span id */
    double self_ns;           /* sum over all examined spans */
    struct caller *callers;
    uint32_t n_callers;
};

/* ---- spans and their samples ---- */

static enum sf_err coverage_find_spans(struct work *w, struct sf_why *why)
{
    struct sf_services services = {0};
    struct sf_span_set_want ask = {.from_ns = w->out.from_ns,
                                   .to_ns = w->out.until_ns,
                                   .limit_traces = LOOKED_AT,
                                   .is_newest = true,
                                   .scratch = w->want->scratch,
                                   .keep = &w->keep};
    if (!sf_link_keep_init(&w->keep, LOOKED_AT, w->q->req) ||
        !sf_span_set_of_service(w->out.service, w->q->req, &ask.query))
        return sf_no_room(why, "the query");
    enum sf_err err = sf_services_get(w->store, w->out.from_ns, w->out.until_ns, w->out.service,
                                      w->q, &services, why);
    for (uint32_t i = 0; !err && i < services.n; i++)
        w->out.n_spans += services.list[i].sum.spans.n;
    if (!err && !w->want->has_span)
        err = sf_span_set_find(w->store, &ask, w->q, &w->spans, why);
    if (err)
        return err;
    sf_link_keep_end(&w->keep);
    sf_span_set_sort(&w->spans);
    return sf_span_set_thin(&w->spans, LOOKED_AT, w->q->req) ? SF_OK : sf_no_room(why, "the query");
}

/* Counts samples by grade. All numbers are on the scale of `received` (samples that the profiler
 * took), so that the parts sum up to the whole. */
static void coverage_count_samples(struct work *w, int64_t value, uint64_t n_samples,
                                   const struct sf_known_view *known)
{
    struct sf_coverage *c = &w->out;
    double all = (double)value, sum = (double)n_samples;
    bool is_by_value = all > 0 && c->received > sum; /* a row represents several samples */
    for (int i = 0; i < SF_GRADE_ROWS; i++)
        c->counts[i] = is_by_value ? c->received * ((double)c->grades.rows[i].value / all)
                                   : (double)c->grades.rows[i].n_samples;
    c->known = is_by_value ? c->received * ((double)known->value / all) : (double)known->n_samples;
    c->estimated = c->received - c->known > 0 ? c->received - c->known : 0;
}

static enum sf_err coverage_join(struct work *w, struct sf_why *why)
{
    struct sf_cohort_set *c = sf_arena_new(w->q->req, sizeof(*c));
    struct sf_span_set left = w->spans; /* clock differences are computed from all of them */
    enum sf_err err = SF_OK;
    left.spans = sf_arena_new_n(w->q->req, left.n + 1u, sizeof(*left.spans));
    if (!c || !left.spans)
        return sf_no_room(why, "the query");
    if (left.n)
        memcpy(left.spans, w->spans.spans, left.n * sizeof(*left.spans));
    err = sf_coverage_thinned_find(w->store, w->out.service, &left, w->q, &w->out, why);
    w->out.n_checked = w->out.n_thinned;
    struct sf_link_many many = {.spans = left.spans,
                                .n = left.n,
                                .type = w->want->type,
                                .kept = &w->keep,
                                .scratch = w->want->scratch};
    if (err || left.n == 0)
        return err;
    err = sf_cohort_set_load(w->store, &many, true, w->q, c, why);
    if (err)
        return err;
    bool *is_asked = sf_arena_new_n(w->q->req, c->link.tree.n_spans + 1u, sizeof(*is_asked));
    bool has_type = c->link.n_types > 0;
    if (!is_asked ||
        (has_type && !sf_batch_tree_type_print(&c->link.type, w->q->req, &w->out.type)))
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->members[i] == SF_NOBODY)
            continue;
        is_asked[c->members[i]] = true;
        w->self_ns += (double)c->link.tree.places[c->members[i]].self_ns;
        w->out.n_sampled += c->costs.n_samples[i] > 0;
        w->out.n_checked++;
    }
    struct sf_attribution own = c->claims;
    struct sf_claim *kept = sf_arena_new_n(w->q->req, own.n_claims + 1u, sizeof(*kept));
    struct sf_known_claims known;
    struct sf_known_view view;
    if (!kept)
        return sf_no_room(why, "the query");
    own.n_claims = 0;
    for (uint32_t i = 0; i < c->claims.n_claims; i++)
        if (is_asked[c->claims.claims[i].span])
            kept[own.n_claims++] = c->claims.claims[i];
    own.claims = kept;
    if (!sf_known_claims_find(&c->link.tree, &own, is_asked, true, w->q->req, &known))
        return sf_no_room(why, "the query");
    sf_claims_view_grades(&own, is_asked, &w->out.grades);
    w->out.received = sf_claims_view_samples(&c->link, sf_grades_value(&w->out.grades),
                                             w->out.grades.n_samples);
    view = (struct sf_known_view){.n_samples = known.n_samples, .value = known.value};
    coverage_count_samples(w, known.all, w->out.grades.n_samples, &view);
    if (!sf_link_set_say_left_out(c->link.left_out, w->q->req, &w->out.note))
        return sf_no_room(why, "the query");
    w->is_by_service = c->link.is_by_service;
    w->is_mixed = c->link.left_out & SF_LEFT_OUT_MIXED;
    w->has_strange_threads = c->link.n_thread_ignored > 0;
    if (c->link.period > 0 && sf_str_eq(c->link.type.period_unit, SF_STR("nanoseconds")))
        w->out.expected = w->self_ns / (double)c->link.period;
    return SF_OK;
}

/* Joins one span separately: this includes what its process did meanwhile. */
static enum sf_err join_span(struct work *w, struct sf_why *why)
{
    struct sf_span_profile p;
    struct sf_span_profile_want ask = {
        .trace = w->want->trace, .span = w->want->span, .type = w->want->type, .is_self = true};
    enum sf_err err = sf_span_profile_make(w->store, &ask, w->q, &p, why);
    if (err)
        return err;
    if (p.n_types > 0 && !sf_batch_tree_type_print(&p.view.type, w->q->req, &w->out.type))
        return sf_no_room(why, "the query");
    w->out.service = p.service;
    w->out.span = p.name;
    w->out.grades = p.grades;
    w->out.n_checked = 1;
    if (!sf_coverage_thinned_one(&p.keep, w->q->req, &w->out))
        return sf_no_room(why, "the query");
    w->out.n_sampled = p.n_samples > 0;
    w->out.expected = p.most_samples;
    w->out.received = p.taken;
    coverage_count_samples(w, sf_grades_value(&p.grades), p.n_samples, &p.known);
    w->is_by_service = p.is_by_service;
    w->is_mixed = p.is_mixed;
    w->has_strange_threads = p.has_strange_threads;
    w->has_untagged = p.has_untagged;
    w->out.from_ns = p.view.time_ns > AROUND_NS ? p.view.time_ns - AROUND_NS : 1;
    w->out.until_ns = sf_add_sat_i64(p.view.time_ns, sf_add_sat_i64(p.view.duration_ns, AROUND_NS));
    w->spans.spans = sf_arena_new(w->q->req, sizeof(*w->spans.spans));
    if (!w->spans.spans)
        return sf_no_room(why, "the query");
    w->spans.spans[w->spans.n++] = (struct sf_set_span){.trace = w->want->trace,
                                                        .id = w->want->span,
                                                        .start_ns = (uint64_t)p.view.time_ns,
                                                        .duration_ns = p.duration_ns};
    return SF_OK;
}

/* ---- samples one by one: do they name spans, have they names? ---- */

static int64_t sum_tagged(const struct sf_detail_list *list, int64_t *all)
{
    int64_t tagged = 0;
    for (uint32_t i = 0; i < list->rows.n_rows; i++) {
        *all = sf_add_sat_i64(*all, list->rows.value[i]);
        if (list->rows.span_id[i] != 0)
            tagged = sf_add_sat_i64(tagged, list->rows.value[i]);
    }
    return tagged;
}

static enum sf_err sum_spans(struct work *w, const struct sf_detail_query *ask,
                             struct sf_query_ctx *q, int64_t *out, struct sf_why *why)
{
    struct sf_span_costs costs;
    sf_arena_reset(w->want->scratch);
    enum sf_err err = w->store->ops->detail_sums(w->store, ask, NULL, q, &costs, why);
    for (uint32_t i = 0; !err && i < costs.n; i++)
        *out = sf_add_sat_i64(*out, costs.list[i].value);
    return err;
}

static enum sf_err coverage_find_shares(struct work *w, struct sf_why *why)
{
    struct sf_matcher match = {SF_STR("service_name"), SF_OP_EQ, w->out.service};
    struct sf_prof_query ask = {.type = w->out.type,
                                .match = &match,
                                .n_match = 1,
                                .from_ns = w->out.from_ns,
                                .to_ns = w->out.until_ns};
    struct sf_prof_points points;
    const struct sf_tree *tree;
    struct sf_detail_list list;
    int64_t all = 0, named = 0;
    w->out.tagged_share = w->out.symbolised_share = -1;
    if (w->out.type.len == 0)
        return SF_OK;
    enum sf_err err = w->store->ops->prof_points(w->store, &ask, NULL, 0, 0, w->q, &points, why);
    if (err)
        return err;
    if (points.n_points > 0) { /* use the newest minutes as a sample of the range */
        int64_t last_ns = points.points[points.n_points - 1].time_ns;
        ask.from_ns = last_ns - WINDOW_NS > ask.from_ns ? last_ns - WINDOW_NS : ask.from_ns;
    }
    struct sf_query_ctx q = *w->q;
    sf_arena_reset(w->want->scratch);
    q.req = w->want->scratch;
    err = w->store->ops->prof_merge(w->store, &ask, &q, &tree, why);
    if (err)
        return err;
    for (uint32_t i = 1; i < tree->n_nodes; i++)
        if (tree->frames[tree->nodes[i].frame].function.len > 0 &&
            !tree->frames[tree->nodes[i].frame].is_unnamed)
            named = sf_add_sat_i64(named, tree->nodes[i].self);
    if (tree->total > 0)
        w->out.symbolised_share = (double)named / (double)tree->total;
    int64_t total = tree->total;
    struct sf_detail_query rows = {.type = ask.type,
                                   .match = &match,
                                   .n_match = 1,
                                   .from_ns = ask.from_ns,
                                   .to_ns = ask.to_ns};
    sf_arena_reset(w->want->scratch);
    err = w->store->ops->detail_list(w->store, &rows, &q, &list, why);
    int64_t tagged = err ? 0 : sum_tagged(&list, &all);
    if (err == SF_ERR_LIMIT) /* too many to examine one by one */
        err = sum_spans(w, &rows, &q, &tagged, why);
    w->q->stats = q.stats;
    if (err)
        return err;
    all = all > tagged ? all : tagged;
    all = all > total ? all : total;
    /* If rows were deleted by retention, their original number is unknown. */
    if (all > 0 && w->out.n_thinned == 0)
        w->out.tagged_share = (double)tagged / (double)all;
    return SF_OK;
}

/* ---- clocks, and the language ---- */

static struct caller *caller_of(struct work *w, sf_str service)
{
    for (uint32_t i = 0; i < w->n_callers; i++)
        if (sf_str_eq(w->callers[i].service, service))
            return &w->callers[i];
    if (w->n_callers == MAX_CALLERS ||
        !sf_arena_copy(w->q->req, service, &w->callers[w->n_callers].service))
        return NULL;
    return &w->callers[w->n_callers++];
}

static void note_skew(struct work *w, const struct sf_link_spans *spans,
                      const struct sf_clock_skew *s)
{
    if (!sf_str_eq(spans->services[s->child], w->out.service))
        return;
    struct caller *c = caller_of(w, spans->services[s->parent]);
    w->out.n_more_skews += c == NULL;
    if (!c)
        return;
    c->n_calls++;
    if (c->n < MAX_CALLS / MAX_CALLERS)
        c->offsets[c->n++] = s->offset_ns;
}

static bool find_language(struct work *w, const struct sf_trace *trace)
{
    for (uint32_t i = 0; i < trace->spans.n_resources; i++) {
        const struct sf_resource *r = &trace->spans.resources[i];
        sf_str language = sf_attrs_str(r->attrs, SF_STR("telemetry.sdk.language"));
        if (language.len > 0 && sf_str_eq(r->service, w->out.service))
            return sf_arena_copy(w->q->req, language, &w->out.language);
    }
    return true;
}

static enum sf_err coverage_inspect_trace(struct work *w, struct sf_traces *traces,
                                          struct sf_why *why)
{
    struct sf_arena *tmp = w->want->scratch;
    struct sf_trace trace;
    struct sf_link_spans spans;
    struct sf_span_tree tree;
    const struct sf_clock_skew *skews;
    uint32_t n = 0, n_calls = 0;
    sf_arena_reset(tmp);
    enum sf_err err = sf_link_spans_next(traces, tmp, &trace, &spans, &tree, why);
    if (!err && w->out.language.len == 0 && !find_language(w, &trace))
        err = sf_no_room(why, "the query");
    if (!err)
        err = sf_clock_skew_find(&tree, tmp, &skews, &n, &n_calls, why);
    for (uint32_t i = 0; !err && i < n; i++)
        note_skew(w, &spans, &skews[i]);
    w->out.n_calls += n_calls;
    return err;
}

static int coverage_by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A few traces are enough: on a busy machine fewer are read. */
static enum sf_err inspect_clocks(struct work *w, struct sf_why *why)
{
    struct sf_trace_ask asks[CLOCK_TRACES];
    uint32_t n = sf_span_set_traces(&w->spans, asks, CLOCK_TRACES);
    struct sf_traces traces;
    enum sf_err err = SF_OK;
    int64_t until_ns = sf_time_part(w->q, CLOCK_TIME);
    w->callers = sf_arena_new_n(w->q->req, MAX_CALLERS, sizeof(*w->callers));
    struct sf_coverage_skew *skews = sf_arena_new_n(w->q->req, MAX_CALLERS, sizeof(*skews));
    if (!w->callers || !skews)
        return sf_no_room(why, "the query");
    sf_traces_start(&traces, w->store, asks, n, true, w->q);
    for (uint32_t i = 0; !err && i < n; i++) {
        if (i > 0 && sf_time_part_is_over(until_ns))
            break;
        err = coverage_inspect_trace(w, &traces, why);
    }
    sf_traces_done(&traces);
    for (uint32_t i = 0; !err && i < w->n_callers; i++) {
        struct caller *c = &w->callers[i];
        qsort(c->offsets, c->n, sizeof(*c->offsets), coverage_by_size);
        skews[w->out.n_skews++] = (struct sf_coverage_skew){c->service, c->n_calls,
                                                            c->offsets[c->n / 2]};
    }
    w->out.skews = skews;
    return err;
}

/* ---- what is missing ---- */

/* Replaces the placeholders in a line of configuration by the names of this service and server. */
static bool coverage_fill_in(struct work *w, const char *line, sf_str *out)
{
    struct sf_buf text = {0};
    sf_coverage_hint_fill(line, w->out.service, w->want->server, &text);
    bool is_kept = sf_buf_ok(&text) && sf_arena_copy(w->q->req, sf_buf_str(&text), out);
    sf_buf_done(&text);
    return is_kept;
}

/* If the spans got less than this share of the samples they could have had, something is probably
 * missing; with fewer samples than this, no conclusion is possible. */
#define FEW_SHARE   0.05
#define FEW_SAMPLES 20

static bool is_missing(const struct work *w, enum sf_missing what)
{
    const struct sf_coverage *c = &w->out;
    bool has_types = c->n_types > 0, has_gaps = false;
    bool has_ids = c->tagged_share >= 0.01, is_thinned = c->n_thinned > 0;
    for (uint32_t i = 0; i < c->n_types; i++)
        has_gaps = has_gaps || c->types[i].n_gaps > 0;
    switch (what) {
    case SF_MISSING_PROFILES: return !has_types;
    case SF_MISSING_SPANS: return c->n_spans == 0 && c->n_checked == 0;
    case SF_MISSING_SPAN_IDS: return has_types && !has_ids && !is_thinned;
    case SF_MISSING_SOME_IDS: return has_ids && (c->tagged_share < 0.5 || w->has_untagged);
    case SF_MISSING_EVERY_SPAN:
        return c->estimated > 0 &&
               c->counts[SF_GRADE_ROW_SHARED] + c->counts[SF_GRADE_ROW_INHERITED] > 0;
    case SF_MISSING_PROCESS:
        return w->is_by_service && has_types && c->tagged_share < 0.5 && !is_thinned;
    case SF_MISSING_SENDER: return w->is_mixed && !is_missing(w, SF_MISSING_PROCESS);
    case SF_MISSING_SYMBOLS: return c->symbolised_share >= 0 && c->symbolised_share < 0.9;
    case SF_MISSING_SAMPLES:
        return has_ids && c->expected >= FEW_SAMPLES && c->received < FEW_SHARE * c->expected;
    case SF_MISSING_RATE:
        return has_types && c->tagged_share > 0 && c->expected > 0 &&
               c->expected < (double)c->n_checked;
    case SF_MISSING_TIME: return has_gaps;
    case SF_MISSING_CLOCK: return c->n_skews > 0;
    case SF_MISSING_THREADS: return w->has_strange_threads;
    case SF_MISSINGS: break;
    }
    return false;
}

static enum sf_err say_missing(struct work *w, struct sf_why *why)
{
    struct sf_coverage *c = &w->out;
    struct sf_coverage_missing *list = sf_arena_new_n(w->q->req, SF_MISSINGS, sizeof(*list));
    if (!list)
        return sf_no_room(why, "the query");
    for (int i = 0; i < SF_MISSINGS; i++) {
        struct sf_coverage_hint hint = sf_coverage_hint_of((enum sf_missing)i, c->language);
        struct sf_coverage_missing *m = &list[c->n_missing];
        if (!is_missing(w, (enum sf_missing)i))
            continue;
        m->kind = hint.kind;
        m->sentence = hint.sentence;
        for (int k = 0; k < 2; k++)
            if (hint.lines[k] && !coverage_fill_in(w, hint.lines[k], &m->lines[k]))
                return sf_no_room(why, "the query");
        c->n_missing++;
    }
    c->missing = list;
    return SF_OK;
}

enum sf_err sf_coverage_make(struct sf_store *store, const struct sf_coverage_want *want,
                             struct sf_query_ctx *q, struct sf_coverage *out, struct sf_why *why)
{
    struct work w = {.store = store, .want = want, .q = q};
    enum sf_err err = SF_OK;
    w.out.service = want->service;
    w.out.from_ns = want->from_ns;
    w.out.until_ns = want->until_ns;
    if (want->has_span)
        err = join_span(&w, why);
    if (!err)
        err = coverage_find_spans(&w, why);
    if (!err)
        err = sf_coverage_time_make(store, w.out.service, w.out.from_ns, w.out.until_ns, q, &w.out,
                                    why);
    if (!err && !want->has_span)
        err = coverage_join(&w, why);
    if (!err && w.out.type.len == 0 && w.out.n_types > 0)
        w.out.type = w.out.types[0].type; /* without spans, no type was chosen */
    if (!err)
        err = coverage_find_shares(&w, why);
    if (!err)
        err = inspect_clocks(&w, why);
    if (!err)
        err = say_missing(&w, why);
    if (!err)
        err = sf_coverage_notes_make(store, q, &w.out, why);
    if (!err)
        *out = w.out;
    return err;
}
