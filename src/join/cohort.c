/* cohort.c - one flame graph of all spans that a query selects. Samples that carry ids are joined
 * with all spans at once; if there are none, the profile of each span is made separately. Spans
 * that were drawn from a larger set are weighted, and the sum is divided by the number of requests,
 * so the graph shows the mean per request. */
#include "join/cohort.h"

#include <math.h>
#include <stdlib.h>

#include "flame/batch_tree.h"
#include "flame/tree_builder.h"
#include "join/claims_view.h"
#include "join/cohort_set.h"
#include "join/known_level.h"
#include "join/sample_count.h"
#include "join/set_fates.h"
#include "join/span_profile.h"
#include "join/time_part.h"
#include "join/time_samples.h"
#include "link/share_cut.h"
#include "link/trust.h"

#define MAX_TREE_LEN ((size_t)64 << 20)
/* Only a sample of the spans is examined: twice as many traces are enough to draw it from. */
enum { COHORT_TRACES = 2 * SF_COHORT_SPANS };
#define ALONE_TIME 0.6 /* share of the remaining time for processing spans one by one */

struct work {
    struct sf_store *store;
    const struct sf_cohort_want *want;
    struct sf_query_ctx *q;
    struct sf_span_set set;
    struct sf_link_keep keep; /* of its traces */
    double taken;             /* samples taken by the profilers */
    struct sf_set_fates fates;
    double weight;                  /* sum of the weights of the examined spans */
    double room_ns;                 /* time available for their samples; INFINITY: unknown */
    const struct sf_link_set *link; /* all of them joined at once; NULL: processed one by one */
    struct sf_cohort_view out;
};

/* The weight of a span's trace: all spans of a trace have the same probability. The set is sorted
 * by trace. */
static double join_cohort_weight_of(const struct work *w, sf_trace_id trace)
{
    uint32_t low = 0, high = w->set.n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (sf_trace_id_cmp(w->set.spans[mid].trace, trace) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < w->set.n && sf_trace_id_eq(w->set.spans[low].trace, trace)
               ? sf_set_span_weight(&w->set.spans[low])
               : 1;
}

static void cohort_weigh(const struct work *w, const struct sf_cohort_set *c,
                         struct sf_attribution *a)
{
    struct sf_claim *claims = (struct sf_claim *)a->claims;
    for (uint32_t i = 0; w->fates.n_weighted > 0 && i < a->n_claims; i++)
        claims[i].value = llround((double)claims[i].value *
                                  join_cohort_weight_of(w, c->link.spans[claims[i].span].trace_id));
}

/* ---- what there was space for ---- */

struct lane { /* a thread of a requested span */
    uint32_t span;
    uint64_t thread;
};

static int order_lanes(const void *a, const void *b)
{
    const struct lane *x = a, *y = b;
    if (x->span != y->span)
        return x->span < y->span ? -1 : 1;
    return (x->thread > y->thread) - (x->thread < y->thread);
}

/* For each span the topmost requested one of itself and, unless `is_self`, its ancestors in its
 * process; SF_NOBODY: none. NULL: no space. */
static const uint32_t *find_tops(const struct sf_span_tree *t, const bool *is_asked, bool is_self,
                                 struct sf_arena *req)
{
    uint32_t *tops = sf_arena_new_n(req, t->n_spans + 1u, sizeof(*tops));
    uint32_t *todo = sf_arena_new_n(req, t->n_spans + 1u, sizeof(*todo)), n = 0;
    if (!tops || !todo)
        return NULL;
    for (uint32_t k = t->first[t->n_spans]; k < t->first[t->n_spans + 1]; k++)
        todo[n++] = t->children[k];
    while (n > 0) {
        uint32_t i = todo[--n];
        uint32_t above = t->places[i].depth > 0 && !is_self ? tops[t->places[i].parent] : SF_NOBODY;
        tops[i] = above != SF_NOBODY ? above : is_asked[i] ? i : SF_NOBODY;
        for (uint32_t k = t->first[i]; k < t->first[i + 1]; k++)
            todo[n++] = t->children[k];
    }
    return tops;
}

static double length_of(const struct sf_span_tree *t, uint32_t span)
{
    return (double)(t->places[span].end_ns - t->places[span].start_ns);
}

/* Computes the time available for samples: the duration of each span, for each thread that its
 * samples name. Over many spans, samples sum up to the time spent; over few spans, shorter than the
 * sampling interval, they sum up to more. If a sample names no thread, it is unknown. */
static bool cohort_find_room(struct work *w, const struct sf_cohort_set *c,
                             const struct sf_attribution *a, const bool *is_asked)
{
    const struct sf_span_tree *t = &c->link.tree;
    struct lane *lanes = sf_arena_new_n(w->q->req, a->n_claims + 1u, sizeof(*lanes));
    bool *has = sf_arena_new_n(w->q->req, t->n_spans + 1u, sizeof(*has));
    const uint32_t *tops = find_tops(t, is_asked, w->want->is_self, w->q->req);
    if (!lanes || !has || !tops)
        return false;
    w->room_ns = INFINITY;
    if (w->fates.n_weighted > 0 || sf_time_samples_kind_of(w->out.type) == SF_TIME_NONE)
        return true;
    for (uint32_t i = 0; i < a->n_claims; i++) {
        lanes[i] = (struct lane){tops[a->claims[i].span],
                                 c->link.samples[a->claims[i].sample].thread};
        if (lanes[i].thread == 0 || lanes[i].span == SF_NOBODY)
            return true;
        has[lanes[i].span] = true;
    }
    if (a->n_claims > 0)
        qsort(lanes, a->n_claims, sizeof(*lanes), order_lanes);
    w->room_ns = 0;
    for (uint32_t i = 0; i < a->n_claims; i++)
        if (i == 0 || order_lanes(&lanes[i - 1], &lanes[i]) != 0)
            w->room_ns += length_of(t, lanes[i].span);
    for (uint32_t i = 0; i < t->n_spans; i++)
        if (tops[i] == i && !has[i])
            w->room_ns += length_of(t, i);
    return true;
}

/* The factor that reduces samples to the time available. */
static double fit_of(const struct work *w, const struct sf_tree *t)
{
    return (double)t->total > w->room_ns ? w->room_ns / (double)t->total : 1;
}

static bool cohort_say_cut(struct work *w)
{
    double cut_ns = (double)w->out.view.tree.total * (1 - fit_of(w, &w->out.view.tree));
    if (cut_ns < 1)
        return true;
    return sf_arena_print(w->q->req, &w->out.reason,
                          "%.*s%scut to fit: the samples stand for %.3g ms more than the spans "
                          "lasted on %s",
                          SF_STR_ARG(w->out.reason), w->out.reason.len > 0 ? ". " : "",
                          cut_ns / 1e6, w->link ? "the threads they name" : "one thread each");
}

/* ---- samples that carry ids: all spans at once ---- */

static enum sf_err merge_claims(struct work *w, struct sf_cohort_set *c, struct sf_why *why)
{
    uint32_t n = c->link.tree.n_spans;
    bool *is_asked = sf_arena_new_n(w->q->req, n + 1u, sizeof(*is_asked));
    bool *is_covered = sf_arena_new_n(w->q->req, n + 1u, sizeof(*is_covered));
    struct sf_claim *kept = sf_arena_new_n(w->q->req, c->claims.n_claims + 1u, sizeof(*kept));
    struct sf_attribution a = c->claims, sure;
    struct sf_known_claims known;
    if (!is_asked || !is_covered || !kept)
        return sf_no_room(why, "the query");
    if (!sf_cohort_set_cover(c, w->want->is_self, w->q->req, is_asked, is_covered))
        return sf_no_room(why, "the query");
    a.n_claims = 0;
    for (uint32_t i = 0; i < c->claims.n_claims; i++)
        if (is_covered[c->claims.claims[i].span])
            kept[a.n_claims++] = c->claims.claims[i];
    a.claims = kept;
    sf_claims_view_grades(&a, is_asked, &w->out.grades);
    w->taken = sf_claims_view_samples(&c->link, sf_grades_value(&w->out.grades),
                                      w->out.grades.n_samples);
    for (uint32_t i = 0; i < c->n; i++)
        w->out.n_sampled += c->costs.n_samples[i] > 0;
    if (!sf_known_claims_find(&c->link.tree, &a, is_covered, w->want->is_self, w->q->req, &known) ||
        !sf_known_level_of(&c->link, &known, SF_NOBODY, w->q->req, &w->out.known) ||
        !sf_known_claims_keep(&known, &a, w->q->req, &sure))
        return sf_no_room(why, "the query");
    w->out.sure_taken = sf_claims_view_samples(&c->link, known.value, known.n_samples);
    if (!cohort_find_room(w, c, &a, is_asked))
        return sf_no_room(why, "the query");
    cohort_weigh(w, c, &sure);
    cohort_weigh(w, c, &a);
    enum sf_err err = sf_claims_view_tree(&c->link, &a, w->q->req, &w->out.view.tree, NULL, why);
    return err ? err : sf_claims_view_tree(&c->link, &sure, w->q->req, &w->out.sure, NULL, why);
}

/* ---- samples without: each span by itself ---- */

static bool weigh_tree(struct sf_tree *t, const struct sf_set_span *s, struct sf_query_ctx *q)
{
    struct sf_tree_node *nodes = sf_arena_new_n(q->req, t->n_nodes + 1u, sizeof(*nodes));
    for (uint32_t i = 0; nodes && i < t->n_nodes; i++) {
        nodes[i] = t->nodes[i];
        nodes[i].self = llround((double)t->nodes[i].self * sf_set_span_weight(s));
    }
    t->nodes = nodes;
    return nodes != NULL;
}

static enum sf_err merge_alone(struct work *w, struct sf_why *why)
{
    struct sf_tree_builder b, sure;
    enum sf_err err = SF_OK;
    int64_t until_ns = sf_time_part(w->q, ALONE_TIME);
    double room_ns = 0;
    sf_tree_builder_init(&b, w->q->req, MAX_TREE_LEN, SF_TREE_COPIES);
    sf_tree_builder_init(&sure, w->q->req, MAX_TREE_LEN, SF_TREE_COPIES);
    w->out.grades = (struct sf_grades){0};
    w->taken = w->out.sure_taken = 0;
    w->room_ns = INFINITY; /* the number of threads is unknown */
    for (uint32_t i = 0; !err && i < w->set.n; i++) {
        if (i > 0 && sf_time_part_is_over(until_ns)) {
            w->set.n = i; /* sorted by trace id, so the processed spans are of all times */
            w->set.note = SF_SPAN_SET_TIME_UP;
            break;
        }
        struct sf_query_ctx q = *w->q;
        struct sf_span_profile p;
        struct sf_span_profile_want ask = {.trace = w->set.spans[i].trace,
                                           .span = w->set.spans[i].id,
                                           .type = w->out.type,
                                           .is_self = w->want->is_self,
                                           .is_member = true};
        sf_arena_reset(w->want->scratch);
        q.req = w->want->scratch;
        err = sf_span_profile_make(w->store, &ask, &q, &p, why);
        w->q->stats = q.stats;
        if (err == SF_ERR_NOT_FOUND) {
            err = SF_OK; /* its service has no such profiles, or it was erased meanwhile */
            continue;
        }
        if (err || p.n_samples == 0)
            continue;
        if (w->fates.n_weighted > 0 && !weigh_tree(&p.view.tree, &w->set.spans[i], &q))
            err = sf_no_room(why, "the query");
        if (!err && w->fates.n_weighted > 0 && !weigh_tree(&p.sure, &w->set.spans[i], &q))
            err = sf_no_room(why, "the query");
        if (err)
            continue;
        sf_tree_builder_add_tree(&b, &p.view.tree);
        sf_tree_builder_add_tree(&sure, &p.sure);
        w->out.known.n_samples += p.known.n_samples;
        w->out.known.n_estimated += p.known.n_estimated;
        w->out.n_sampled++;
        if (p.are_threads_named) /* one of which is counted below */
            room_ns += (double)(p.n_threads - 1) * (double)p.duration_ns;
        w->taken += p.taken;
        w->out.sure_taken += p.sure_taken;
        w->out.grades.n_samples += p.n_samples;
        for (uint32_t k = 0; k < SF_GRADE_ROWS; k++) {
            w->out.grades.rows[k].n_samples += p.grades.rows[k].n_samples;
            w->out.grades.rows[k].value += p.grades.rows[k].value;
        }
        if (w->out.reason.len == 0 && !sf_arena_copy(w->q->req, p.reason, &w->out.reason))
            err = sf_no_room(why, "the query");
    }
    /* If all samples are window estimates, the available time is one thread per span. */
    for (uint32_t i = 0; i < w->set.n; i++)
        room_ns += (double)w->set.spans[i].duration_ns;
    if (w->fates.n_weighted == 0 && sf_time_samples_kind_of(w->out.type) != SF_TIME_NONE &&
        w->out.grades.rows[SF_GRADE_ROW_WINDOW].n_samples == w->out.grades.n_samples)
        w->room_ns = room_ns;
    if (!err)
        err = sf_tree_builder_take(&b, w->out.view.type.sample_unit, &w->out.view.tree, why);
    if (!err)
        err = sf_tree_builder_take(&sure, w->out.view.type.sample_unit, &w->out.sure, why);
    sf_tree_builder_done(&b);
    sf_tree_builder_done(&sure);
    return err;
}

/* ---- the answer ---- */

/* Divides values by the number of spans; carries rounding errors to the next bar, so that the total
 * is the mean. */
static enum sf_err cohort_divide(struct work *w, double fit, struct sf_tree *t, struct sf_why *why)
{
    struct sf_tree_node *nodes = sf_arena_new_n(w->q->req, t->n_nodes + 1u, sizeof(*nodes));
    double by = w->want->is_sum ? 1 : w->weight;
    int64_t mean = by > 0 ? llround((double)t->total * fit / by) : 0;
    struct sf_share_cut cut = {.value = mean};
    if (!nodes)
        return sf_no_room(why, "the query");
    if ((w->want->is_sum && fit >= 1) || t->total <= 0)
        return SF_OK;
    for (uint32_t i = 0; i < t->n_nodes; i++) {
        nodes[i] = t->nodes[i];
        nodes[i].self = sf_share_cut_next(&cut, (double)t->nodes[i].self / (double)t->total);
    }
    t->nodes = nodes;
    t->total = mean;
    return SF_OK;
}

static bool cohort_explain(struct work *w)
{
    struct sf_cohort_view *c = &w->out;
    if (c->n_found == 0)
        c->reason = SF_STR("no spans match the query in this time");
    else if (c->n_types == 0)
        c->reason = SF_STR("none of these spans' services sent profiles around this time");
    else if (c->n_sampled == 0)
        c->reason = SF_STR("these spans' services send profiles, but none of this type while the "
                           "spans ran");
    else if (c->known.n_estimated > 0 && c->reason.len == 0 &&
             !sf_arena_print(
                 w->q->req, &c->reason,
                 "%.0f of %.0f samples belong to the request but not to a known span of it: this "
                 "is an estimate. Open the request's first span in this service, which includes "
                 "all of them, or tag every span (spanflame coverage)",
                 fmax(1, round(w->taken - c->sure_taken)), w->taken))
        return false;
    c->view.is_estimate = c->known.n_estimated > 0;
    c->view.is_few = c->grades.n_samples > 0 &&
                     sf_sample_count_is_few(&c->view.type, c->view.period, w->taken);
    c->view.taken = w->taken;
    c->trust = sf_trust_name(sf_trust_of((uint64_t)c->sure_taken));
    return true;
}

static enum sf_err cohort_look(struct work *w, struct sf_why *why)
{
    struct sf_cohort_set *c = sf_arena_new(w->q->req, sizeof(*c));
    struct sf_link_many many = {.spans = w->set.spans,
                                .n = w->set.n,
                                .type = w->want->type,
                                .kept = &w->keep,
                                .scratch = w->want->scratch};
    enum sf_err err = c ? sf_cohort_set_load(w->store, &many, w->want->is_self, w->q, c, why)
                        : sf_no_room(why, "the query");
    if (err)
        return err;
    w->out.types = c->link.types;
    w->out.n_types = c->link.n_types;
    w->out.view.type = c->link.type;
    w->out.view.period = c->link.period;
    if (c->link.n_types > 0 && !sf_batch_tree_type_print(&c->link.type, w->q->req, &w->out.type))
        return sf_no_room(why, "the query");
    err = merge_claims(w, c, why);
    w->set.n = c->n;
    w->link = &c->link;
    if (err || w->out.n_sampled > 0 || c->link.n_types == 0)
        return err;
    w->link = NULL;
    return sf_span_set_thin(&w->set, SF_COHORT_ALONE, w->q->req) ? merge_alone(w, why)
                                                                 : sf_no_room(why, "the query");
}

enum sf_err sf_cohort_make(struct sf_store *store, const struct sf_cohort_want *want,
                           struct sf_query_ctx *q, struct sf_cohort_view *out, struct sf_why *why)
{
    struct work w = {.store = store, .want = want, .q = q, .room_ns = INFINITY};
    struct sf_span_set_want ask = {.query = want->query,
                                   .from_ns = want->from_ns,
                                   .to_ns = want->to_ns,
                                   .limit_traces = COHORT_TRACES,
                                   .scratch = want->scratch,
                                   .keep = &w.keep};
    if (!sf_link_keep_init(&w.keep, COHORT_TRACES, q->req))
        return sf_no_room(why, "the query");
    enum sf_err err = sf_span_set_find(store, &ask, q, &w.set, why);
    if (err)
        return err;
    sf_link_keep_end(&w.keep);
    w.out.query = want->query;
    w.out.is_self = want->is_self;
    w.out.is_sum = want->is_sum;
    sf_span_set_sort(&w.set);
    w.out.n_found = sf_span_set_found(&w.set);
    w.out.is_estimate = w.set.one_of > 1;
    err = sf_set_fates_apply(store, &w.set, q, &w.fates, why);
    if (err)
        return err;
    w.out.n_thinned = w.fates.n_thinned;
    w.out.n_weighted = w.fates.n_weighted;
    if (!sf_span_set_thin(&w.set, SF_COHORT_SPANS, q->req))
        return sf_no_room(why, "the query");
    if (w.set.n > 0)
        err = cohort_look(&w, why);
    if (err)
        return err;
    w.out.n_spans = w.set.n;
    struct sf_set_cut cut = sf_span_set_cut(
        &w.set, w.out.n_found > w.fates.n_thinned ? w.out.n_found - w.fates.n_thinned : 0,
        w.out.n_spans);
    w.out.is_sample = sf_span_set_cut_is_sample(&cut);
    w.out.left_out = w.link ? w.link->left_out : 0;
    if (!sf_span_set_cut_note(&cut, SF_STR_NONE, q->req, &w.out.note) ||
        !sf_set_fates_note(&w.fates, SF_STR_NONE, q->req, &w.out.note) ||
        !sf_link_set_say_left_out(w.out.left_out, q->req, &w.out.note))
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < w.set.n; i++)
        w.weight += sf_set_span_weight(&w.set.spans[i]);
    for (uint32_t i = 0; i < w.set.n; i++)
        w.out.mean_duration_ns += (double)w.set.spans[i].duration_ns / w.weight *
                                  sf_set_span_weight(&w.set.spans[i]);
    double fit = fit_of(&w, &w.out.view.tree);
    w.out.mean_value = w.set.n ? (double)w.out.view.tree.total * fit / w.weight : 0;
    w.out.view.tree.n_samples = w.out.grades.n_samples;
    w.out.known.value = w.out.sure.total;
    err = cohort_explain(&w) && cohort_say_cut(&w) ? cohort_divide(&w, fit, &w.out.view.tree, why)
                                                   : sf_no_room(why, "the query");
    if (!err)
        err = cohort_divide(&w, fit, &w.out.sure, why);
    if (!err)
        *out = w.out;
    return err;
}
