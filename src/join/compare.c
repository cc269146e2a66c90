/* compare.c - compares two sets of spans: what one does more of than the other, per request. The
 * two sets are found by query or split; costs per function come from all spans at once if samples
 * carry ids, otherwise from the profile of each span. link/cohort.h decides what differs. */
#include "join/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "flame/batch_tree.h"
#include "flame/tree_builder.h"
#include "flame/tree_group.h"
#include "flame/tree_top.h"
#include "join/cohort_set.h"
#include "join/compare_mix.h"
#include "join/compare_time.h"
#include "join/set_fates.h"
#include "join/span_profile.h"
#include "join/time_part.h"
#include "link/cohort.h"
#include "query/expr_text.h"

/* Limit of traces per side: if there are more, about half are dropped, which still fills a side. */
enum { SIDE_TRACES = 2 * SF_COHORT_SPANS };
#define MAX_NAMES_LEN ((size_t)32 << 20)

struct length {
    uint64_t ns;
    double weight;
};

struct side {
    struct sf_span_set set; /* all found, then the selected ones */
    uint64_t n_found;
    struct sf_cohort_cost *costs;
    uint32_t cap_costs;
    struct sf_cohort cohort;
    struct sf_cohort_when *when; /* of its spans */
    struct length *lengths;      /* durations of its spans */
    struct sf_set_fates fates;
    double weight; /* sum of their weights */
    struct sf_comparison_side view;
};

struct work {
    struct sf_store *store;
    const struct sf_compare_want *want;
    struct sf_query_ctx *q;
    struct side left, right;
    struct sf_link_keep keep;         /* of the traces of both */
    struct sf_span_pair pair;         /* the spans of both, */
    struct sf_link_gathered gathered; /* and what ran for their requests */
    const sf_str *functions;          /* by place */
    uint32_t n_functions;
    struct sf_tree_builder names; /* functions, if spans are processed one by one */
    uint64_t n_estimated;         /* samples that may belong to these spans: not compared */
    uint64_t n_window;            /* those of them that do not name a request either */
    struct sf_comparison out;
    const struct sf_link_set *link; /* all spans joined at once; NULL: processed one by one */
};

/* ---- the two sets ---- */

/* " (722 ms)", " (1.23 s)": as users write it; without the blank, valid in a query. */
static void print_bound(bool is_there, uint64_t ns, char out[32])
{
    bool is_ms = ns < 999500000;
    double v = (double)ns / (is_ms ? 1e6 : 1e9);
    out[0] = 0;
    if (is_there)
        snprintf(out, 32, v < 999.5 ? " (%.3g %s)" : " (%.0f %s)", v, is_ms ? "ms" : "s");
}

static int by_duration(const void *a, const void *b)
{
    const struct sf_set_span *x = a, *y = b;
    if (x->duration_ns != y->duration_ns)
        return x->duration_ns < y->duration_ns ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static enum sf_err compare_find(struct work *w, sf_str query, uint32_t limit_traces,
                                struct sf_span_set *out, struct sf_why *why)
{
    bool is_earlier = out == &w->left.set && w->want->left_to_ns > 0;
    struct sf_span_set_want ask = {.query = query,
                                   .from_ns = is_earlier ? w->want->left_from_ns : w->want->from_ns,
                                   .to_ns = is_earlier ? w->want->left_to_ns : w->want->to_ns,
                                   .limit_traces = limit_traces,
                                   .scratch = w->want->scratch,
                                   .keep = &w->keep};
    enum sf_err err = sf_span_set_find(w->store, &ask, w->q, out, why);
    if (err)
        return err;
    sf_span_set_sort(out);
    return SF_OK;
}

static enum sf_err compare_split(struct work *w, struct sf_why *why)
{
    struct sf_span_set all;
    enum sf_err err = compare_find(w, w->want->query, SF_SPAN_SET_TRACES, &all, why);
    if (err)
        return err;
    if (all.n > 0)
        qsort(all.spans, all.n, sizeof(*all.spans), by_duration);
    uint32_t at = (uint32_t)((double)all.n * w->want->split);
    uint64_t bound_ns = at < all.n ? all.spans[at].duration_ns : 0;
    w->left.set = w->right.set = all; /* both sides were found by the same search */
    w->left.set.n = at;
    w->right.set.spans += at;
    w->right.set.n -= at;
    w->left.n_found = (uint64_t)((double)sf_span_set_found(&all) * w->want->split);
    w->right.n_found = sf_span_set_found(&all) - w->left.n_found;
    w->out.bound_ns = bound_ns;
    double percent = w->want->split * 100;
    char bound[32] = "";
    print_bound(all.n > 0, bound_ns, bound);
    if (!sf_arena_print(w->q->req, &w->left.view.words, "fast: below p%g%s of %.*s", percent, bound,
                        SF_STR_ARG(w->want->query)) ||
        !sf_arena_print(w->q->req, &w->right.view.words, "slow: from p%g%s on", percent, bound))
        return sf_no_room(why, "the query");
    return SF_OK;
}

static enum sf_err find_both(struct work *w, sf_str left, sf_str right, struct sf_why *why)
{
    enum sf_err err = compare_find(w, left, SIDE_TRACES, &w->left.set, why);
    w->left.view.words = left;
    w->right.view.words = right;
    if (!err)
        err = compare_find(w, right, SIDE_TRACES, &w->right.set, why);
    w->left.n_found = sf_span_set_found(&w->left.set);
    w->right.n_found = sf_span_set_found(&w->right.set);
    return err;
}

static enum sf_err find_errors(struct work *w, struct sf_why *why)
{
    sf_str ok, error;
    if (!sf_arena_print(w->q->req, &ok, "%.*s | { status != error }", SF_STR_ARG(w->want->query)) ||
        !sf_arena_print(w->q->req, &error, "%.*s | { status = error }", SF_STR_ARG(w->want->query)))
        return sf_no_room(why, "the query");
    return find_both(w, ok, error, why);
}

/* The value may have been sent as text or as a number: either matches. Status and kind are written
 * without quotes. */
static bool compare_add_value(struct work *w, sf_str value, sf_str *out)
{
    struct sf_buf text = {0};
    sf_str by = w->want->by;
    double number;
    bool is_word = sf_str_eq(by, SF_STR("status")) || sf_str_eq(by, SF_STR("kind"));
    bool is_bare = is_word || sf_str_to_f64(value, &number) || sf_str_eq(value, SF_STR("true")) ||
                   sf_str_eq(value, SF_STR("false"));
    sf_buf_print(&text, "%.*s | { ", SF_STR_ARG(w->want->query));
    if (!is_word) {
        sf_buf_print(&text, "%.*s = ", SF_STR_ARG(by));
        sf_expr_text_static((struct sf_static){SF_TYPE_STRING, {.str = value}}, &text);
        sf_buf_add_str(&text, is_bare ? SF_STR(" || ") : SF_STR_NONE);
    }
    if (is_bare)
        sf_buf_print(&text, "%.*s = %.*s", SF_STR_ARG(by), SF_STR_ARG(value));
    sf_buf_add_str(&text, SF_STR(" }"));
    bool is_kept = sf_buf_ok(&text) && sf_arena_copy(w->q->req, sf_buf_str(&text), out);
    sf_buf_done(&text);
    return is_kept;
}

static enum sf_err find_values(struct work *w, struct sf_why *why)
{
    sf_str left, right;
    if (!compare_add_value(w, w->want->left, &left) ||
        !compare_add_value(w, w->want->right, &right))
        return sf_no_room(why, "the query");
    return find_both(w, left, right, why);
}

static enum sf_err find_sets(struct work *w, struct sf_why *why)
{
    const struct sf_compare_want *want = w->want;
    return want->query.len == 0 ? find_both(w, want->left, want->right, why)
           : want->by.len > 0   ? find_values(w, why)
           : want->is_by_error  ? find_errors(w, why)
                                : compare_split(w, why);
}

/* ---- all spans at once: where samples carry ids ---- */

/* Adds a span; returns the index of its costs. */
static uint32_t compare_add_span(struct side *s, const struct sf_set_span *span)
{
    double weight = sf_set_span_weight(span);
    s->when[s->cohort.n_spans] = (struct sf_cohort_when){sf_trace_id_hash(span->trace, 0),
                                                         span->start_ns, weight};
    s->lengths[s->cohort.n_spans] = (struct length){span->duration_ns, weight};
    s->view.mean_duration_ns += (double)span->duration_ns * weight;
    s->weight += weight;
    return s->cohort.n_spans++;
}

static void compare_deal(struct work *w, const struct sf_span_pair *b,
                         const struct sf_cohort_set *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        struct side *s = b->is_right[i] ? &w->right : &w->left;
        uint32_t place = compare_add_span(s, &b->spans[i]);
        bool is_known = c->costs.n_known[i] > 0;
        w->n_estimated += c->costs.n_samples[i] - c->costs.n_known[i];
        s->view.mean_value += (double)c->costs.totals[i] * sf_set_span_weight(&b->spans[i]);
        s->view.n_sampled += is_known;
        for (uint32_t k = c->costs.first[i]; k < c->costs.first[i + 1]; k++)
            s->costs[s->cohort.n_costs++] = (struct sf_cohort_cost){place, c->costs.costs[k].frame,
                                                                    c->costs.costs[k].value};
    }
}

static enum sf_err inspect_once(struct work *w, struct sf_why *why)
{
    struct sf_cohort_set *c = sf_arena_new(w->q->req, sizeof(*c));
    struct sf_span_pair *b = &w->pair;
    enum sf_err err = sf_set_fates_apply(w->store, &w->left.set, w->q, &w->left.fates, why);
    if (!err)
        err = sf_set_fates_apply(w->store, &w->right.set, w->q, &w->right.fates, why);
    if (err)
        return err;
    if (!c || !sf_span_set_thin(&w->left.set, SF_COHORT_SPANS, w->q->req) ||
        !sf_span_set_thin(&w->right.set, SF_COHORT_SPANS, w->q->req))
        return sf_no_room(why, "the query");
    sf_span_set_sort(&w->left.set);
    sf_span_set_sort(&w->right.set);
    w->left.when = sf_arena_new_n(w->q->req, w->left.set.n + 1u, sizeof(*w->left.when));
    w->right.when = sf_arena_new_n(w->q->req, w->right.set.n + 1u, sizeof(*w->right.when));
    w->left.lengths = sf_arena_new_n(w->q->req, w->left.set.n + 1u, sizeof(*w->left.lengths));
    w->right.lengths = sf_arena_new_n(w->q->req, w->right.set.n + 1u, sizeof(*w->right.lengths));
    if (!w->left.when || !w->right.when || !w->left.lengths || !w->right.lengths ||
        !sf_span_pair_make(&w->left.set, &w->right.set, w->q->req, b))
        return sf_no_room(why, "the query");
    if (b->n == 0)
        return SF_OK;
    struct sf_link_many many = {.spans = b->spans,
                                .n = b->n,
                                .kept = &w->keep,
                                .scratch = w->want->scratch,
                                .has_calls = true};
    err = sf_link_set_gather(w->store, &many, w->q, &w->gathered, why);
    if (!err)
        err = sf_cohort_set_load_gathered(w->store, &w->gathered, b->spans, w->want->type, false,
                                          w->q, c, why);
    if (err)
        return err;
    w->left.costs = sf_arena_new_n(w->q->req, c->costs.n_costs + 1u, sizeof(*w->left.costs));
    w->right.costs = sf_arena_new_n(w->q->req, c->costs.n_costs + 1u, sizeof(*w->left.costs));
    if (!w->left.costs || !w->right.costs ||
        (c->link.n_types > 0 && !sf_batch_tree_type_print(&c->link.type, w->q->req, &w->out.type)))
        return sf_no_room(why, "the query");
    w->left.cap_costs = w->right.cap_costs = c->costs.n_costs + 1u;
    w->out.unit = c->link.type.sample_unit;
    w->functions = c->functions.names;
    w->n_functions = c->functions.n;
    compare_deal(w, b, c);
    w->link = &c->link;
    w->gathered.loaded = &c->link;
    return SF_OK;
}

/* ---- one by one: where they do not ---- */

static bool compare_add_cost(struct work *w, struct side *s, uint32_t span, uint32_t frame,
                             double value)
{
    if (!sf_list_room_in(w->q->req, &s->costs, s->cohort.n_costs, &s->cap_costs, 1024))
        return false;
    s->costs[s->cohort.n_costs++] = (struct sf_cohort_cost){span, frame, value};
    return true;
}

static enum sf_err compare_add_profile(struct work *w, struct side *s, uint32_t span,
                                       const struct sf_span_profile *p, struct sf_arena *req,
                                       struct sf_why *why)
{
    struct sf_tree tree;
    const struct sf_top_row *rows;
    uint32_t n;
    enum sf_err err = sf_tree_group(&p->sure, (struct sf_tree_grouping){SF_GROUP_FUNCTION, false},
                                    req, &tree, why);
    if (!err)
        err = sf_tree_top(&tree, SF_TOP_BY_SELF, req, &rows, &n, why);
    for (uint32_t i = 0; !err && i < n; i++) {
        struct sf_frame f = {.function = tree.frames[rows[i].frame].function};
        uint32_t frame = rows[i].self > 0 ? sf_tree_builder_frame(&w->names, &f) : SF_NONE;
        if (frame != SF_NONE && !compare_add_cost(w, s, span, frame, (double)rows[i].self))
            err = sf_no_room(why, "the query");
    }
    return err;
}

static enum sf_err compare_look_at(struct work *w, struct side *s, const struct sf_set_span *span,
                                   struct sf_why *why)
{
    struct sf_query_ctx q = *w->q;
    struct sf_span_profile p;
    struct sf_span_profile_want ask = {
        .trace = span->trace, .span = span->id, .type = w->out.type, .is_member = true};
    sf_arena_reset(w->want->scratch);
    q.req = w->want->scratch;
    uint32_t place = compare_add_span(s, span);
    enum sf_err err = sf_span_profile_make(w->store, &ask, &q, &p, why);
    w->q->stats = q.stats;
    if (err == SF_ERR_NOT_FOUND)
        return SF_OK; /* its service has no such profiles, or it was erased meanwhile */
    w->n_estimated += err ? 0 : p.known.n_estimated;
    w->n_window += err || p.known.n_estimated == 0 ? 0
                                                   : p.grades.rows[SF_GRADE_ROW_WINDOW].n_samples;
    if (err || p.known.n_samples == 0)
        return err;
    s->view.n_sampled++;
    s->view.mean_value += (double)p.sure.total * sf_set_span_weight(span);
    return compare_add_profile(w, s, place, &p, q.req, why);
}

static enum sf_err inspect_side(struct work *w, struct side *s, double part_of_time,
                                struct sf_why *why)
{
    int64_t until_ns = sf_time_part(w->q, part_of_time);
    enum sf_err err = sf_span_set_thin(&s->set, SF_COHORT_ALONE, w->q->req)
                          ? SF_OK
                          : sf_no_room(why, "the query");
    s->cohort = (struct sf_cohort){0};
    s->weight = 0;
    s->view = (struct sf_comparison_side){.words = s->view.words};
    for (uint32_t i = 0; !err && i < s->set.n; i++) {
        if (i > 0 && sf_time_part_is_over(until_ns)) {
            s->set.note = SF_SPAN_SET_TIME_UP;
            break;
        }
        err = compare_look_at(w, s, &s->set.spans[i], why);
    }
    return err;
}

static enum sf_err look_one_by_one(struct work *w, struct sf_why *why)
{
    enum sf_err err = inspect_side(w, &w->left, 0.3, why);
    if (!err)
        err = inspect_side(w, &w->right, 0.45, why); /* as long as the left side got */
    if (!err && w->names.err)
        err = sf_no_room(why, "the query");
    sf_str *names = sf_arena_new_n(w->q->req, w->names.n_frames + 1u, sizeof(*names));
    if (!err && !names)
        err = sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && i < w->names.n_frames; i++)
        names[i] = w->names.frames[i].function;
    w->functions = names;
    w->n_functions = w->names.n_frames;
    return err;
}

static int by_length(const void *a, const void *b)
{
    const struct length *x = a, *y = b;
    return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Computes quantiles of the durations, at equal steps of the weight. */
static void spread(struct side *s)
{
    uint32_t n = s->cohort.n_spans, at = 0;
    double below = 0; /* weight of those before `at` */
    if (n == 0)
        return;
    qsort(s->lengths, n, sizeof(*s->lengths), by_length);
    for (uint32_t i = 0; i < SF_COMPARISON_QUANTILES; i++) {
        double want = s->weight * i / (SF_COMPARISON_QUANTILES - 1);
        while (at + 1 < n && below + s->lengths[at].weight < want)
            below += s->lengths[at++].weight;
        s->view.durations_ns[i] = s->lengths[at].ns;
    }
    s->view.durations_ns[SF_COMPARISON_QUANTILES - 1] = s->lengths[n - 1].ns;
}

static void compare_sum_up(struct side *s)
{
    spread(s);
    s->cohort.costs = s->costs;
    s->cohort.when = s->when;
    s->view.n_found = s->n_found;
    for (uint32_t i = 0; i < s->cohort.n_spans; i++)
        if (i == 0 || s->when[i].start_ns < s->view.first_ns)
            s->view.first_ns = s->when[i].start_ns;
    s->view.is_estimate = s->set.one_of > 1;
    s->view.n_spans = s->cohort.n_spans;
    if (s->cohort.n_spans > 0) {
        s->view.mean_duration_ns /= s->weight;
        s->view.mean_value /= s->weight;
    }
}

static enum sf_err compare_look(struct work *w, struct sf_why *why)
{
    enum sf_err err = inspect_once(w, why);
    if (!err && w->left.view.n_sampled + w->right.view.n_sampled == 0 && w->n_estimated == 0 &&
        w->out.type.len > 0) {
        w->link = NULL;
        err = look_one_by_one(w, why);
    }
    compare_sum_up(&w->left);
    compare_sum_up(&w->right);
    return err;
}

/* ---- the answer ---- */

static bool note_sample(struct work *w)
{
    struct side *sides[] = {&w->left, &w->right};
    sf_str names[] = {SF_STR("left: "), SF_STR("right: ")};
    sf_str notes[2] = {SF_STR_NONE, SF_STR_NONE};
    for (size_t i = 0; i < 2; i++) {
        struct side *s = sides[i];
        sf_str name = w->want->sides[i];
        if (name.len > 0 && !sf_arena_print(w->q->req, &names[i], "%.*s: ", SF_STR_ARG(name)))
            return false;
        struct sf_set_cut cut = sf_span_set_cut(&s->set, s->n_found, s->cohort.n_spans);
        w->out.is_sample = w->out.is_sample || sf_span_set_cut_is_sample(&cut);
        cut.n_found -= s->fates.n_thinned < cut.n_found ? s->fates.n_thinned : cut.n_found;
        if (!sf_span_set_cut_note(&cut, names[i], w->q->req, &notes[i]) ||
            !sf_set_fates_note(&s->fates, notes[i].len ? SF_STR_NONE : names[i], w->q->req,
                               &notes[i]))
            return false;
        w->out.n_thinned[i] = s->fates.n_thinned;
        w->out.n_weighted[i] = s->fates.n_weighted;
    }
    return sf_arena_print(w->q->req, &w->out.note, "%.*s%s%.*s", SF_STR_ARG(notes[0]),
                          notes[0].len && notes[1].len ? "; " : "", SF_STR_ARG(notes[1]));
}

/* If nothing differs: could a difference have been detected? Judged by the largest function of the
 * left side. */
static bool explain_size(struct work *w, const struct sf_cohort_result *r)
{
    const struct sf_cohort_row *most = NULL;
    for (uint32_t i = 0; i < r->n_rows; i++)
        if (r->rows[i].n_needed > 0 && (!most || r->rows[i].left > most->left))
            most = &r->rows[i];
    double digit = most ? pow(10, fmax(0, floor(log10(most->n_needed)) - 1)) : 1;
    return most && sf_arena_print(
                       w->q->req, &w->out.reason,
                       "no function of this type differs significantly; to see 30 %% "
                       "more of %.*s it takes about %.0f spans, and there are %llu",
                       SF_STR_ARG(w->functions[most->frame]), round(most->n_needed / digit) * digit,
                       (unsigned long long)(w->left.view.n_spans + w->right.view.n_spans));
}

/* Explains the functions of this type; the parts of the duration have their own explanation. */
static void compare_explain(struct work *w, const struct sf_cohort_result *r)
{
    uint64_t left = w->left.n_found, right = w->right.n_found;
    sf_str *reason = &w->out.reason;
    if (left == 0 && right == 0)
        *reason = SF_STR("no spans match in this time: nothing to compare");
    else if (left == 0 || right == 0)
        *reason = left == 0 ? SF_STR("no spans match on the left: nothing to compare with")
                            : SF_STR("no spans match on the right: nothing to compare");
    else if (w->out.type.len == 0)
        *reason = SF_STR("none of these spans' services sent profiles around this time: no "
                         "functions to compare");
    else if (w->n_estimated > 0 && w->n_window >= w->n_estimated &&
             (w->left.view.n_sampled == 0 || w->right.view.n_sampled == 0))
        *reason = SF_STR("profiles of this type name no spans: what these spans have of them is an "
                         "estimate, and estimates are not compared. Compare the service's profiles "
                         "(spanflame diff), or tag every span (spanflame coverage)");
    else if (w->n_estimated > 0 && (w->left.view.n_sampled == 0 || w->right.view.n_sampled == 0))
        *reason = SF_STR(
            "samples cannot be assigned to single spans of these requests: their shares are "
            "estimates, and estimates are not compared. Compare the requests' first spans in this "
            "service, which include all of them, or tag every span (spanflame coverage)");
    else if (w->left.view.n_sampled == 0 && w->right.view.n_sampled == 0)
        *reason = SF_STR("these spans' services send profiles, but none of this type while the "
                         "spans ran: no functions to compare");
    else if (w->left.view.n_sampled == 0 || w->right.view.n_sampled == 0)
        *reason = w->left.view.n_sampled == 0
                      ? SF_STR("no span on the left has samples: no functions to compare with")
                      : SF_STR("no span on the right has samples: no functions to compare");
    else if (r->is_too_small)
        *reason = SF_STR("a side has under eight spans: no difference can be significant");
    else if (r->n_significant == 0 && !explain_size(w, r))
        *reason = SF_STR("no function of this type differs significantly");
}

static enum sf_err compare_give_rows(struct work *w, const struct sf_cohort_result *r,
                                     struct sf_why *why)
{
    /* If one side has no samples, no difference is meaningful. */
    bool has_both = w->left.view.n_sampled > 0 && w->right.view.n_sampled > 0;
    uint32_t n = has_both ? r->n_rows : 0;
    struct sf_comparison_row *rows = sf_arena_new_n(w->q->req, n + 1u, sizeof(*rows));
    if (!rows || !note_sample(w))
        return sf_no_room(why, "the query");
    compare_explain(w, r);
    for (uint32_t i = 0; i < n; i++) {
        const struct sf_cohort_row *from = &r->rows[i];
        rows[i] = (struct sf_comparison_row){.function = w->functions[from->frame],
                                             .left = from->left,
                                             .right = from->right,
                                             .delta = from->delta,
                                             .low = from->low,
                                             .high = from->high,
                                             .n_left = from->n_left,
                                             .n_right = from->n_right,
                                             .is_significant = from->is_significant,
                                             .n_needed = from->n_needed};
    }
    w->out.rows = rows;
    w->out.n_rows = n;
    w->out.n_significant = has_both ? r->n_significant : 0;
    w->out.left = w->left.view;
    w->out.right = w->right.view;
    return SF_OK;
}

/* Compares the time breakdowns of the same spans. */
static enum sf_err compare_time(struct work *w, struct sf_why *why)
{
    struct sf_compare_time_want want = {.left = &w->left.set,
                                        .right = &w->right.set,
                                        .keep = &w->keep,
                                        .pair = &w->pair,
                                        .gathered = &w->gathered,
                                        .scratch = w->want->scratch,
                                        .is_charged = w->want->is_charged};
    w->left.set.n = w->left.cohort.n_spans;
    w->right.set.n = w->right.cohort.n_spans;
    sf_compare_mix(&w->left.set, &w->right.set, &w->out.mix);
    enum sf_err err = sf_compare_time_make(w->store, &want, w->q, &w->out.time, why);
    if (!err && !sf_link_set_say_left_out((w->link ? w->link->left_out : 0u) | w->out.time.left_out,
                                          w->q->req, &w->out.note))
        err = sf_no_room(why, "the query");
    return err;
}

enum sf_err sf_compare_make(struct sf_store *store, const struct sf_compare_want *want,
                            struct sf_query_ctx *q, struct sf_comparison *out, struct sf_why *why)
{
    struct work w = {.store = store, .want = want, .q = q};
    struct sf_cohort_result result;
    enum sf_err err = sf_link_keep_init(&w.keep, SF_SPAN_SET_TRACES, q->req) &&
                              sf_link_keep_figures(&w.keep)
                          ? find_sets(&w, why)
                          : sf_no_room(why, "the query");
    if (err)
        return err;
    sf_link_keep_end(&w.keep);
    sf_tree_builder_init(&w.names, q->req, MAX_NAMES_LEN, SF_TREE_COPIES);
    err = compare_look(&w, why);
    if (!err)
        err = sf_cohort_compare(&w.left.cohort, &w.right.cohort, w.n_functions, 1, q->req, &result,
                                why);
    if (!err)
        err = compare_give_rows(&w, &result, why);
    if (!err)
        err = compare_time(&w, why);
    sf_tree_builder_done(&w.names);
    if (!err)
        *out = w.out;
    return err;
}
