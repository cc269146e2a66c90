/* attribution.c - attributes samples to spans. Each sample is handled by the first rule that
 * applies: its span id, its thread, its time, or the window of its profile. A claim is a part of a
 * sample's value for one span; the parts of one sample sum up to its value. */
#include "link/attribution.h"
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "link/share_cut.h"

/* Most changes within a tree in one millisecond: later ones are ignored. */
enum { MAX_STEPS = 256 };

struct part { /* a span that may have the sample, and how long it ran in the sample's time */
    uint32_t span;
    bool is_only;
    uint64_t ns;
};

struct weighed { /* spans that may have a sample */
    double sum;
    uint32_t n, last;
    uint32_t within; /* the span that has all of them below it: itself, or their root; SF_NOBODY:
                        several trees */
};

struct work {
    struct sf_local_index *x;
    const struct sf_span_tree *t;
    const struct sf_attribution_input *in;
    struct sf_arena *req;
    struct sf_claim *claims;
    uint32_t n_claims, cap_claims;
    struct part *parts; /* of the current sample */
    uint32_t n_parts, cap_parts;
    uint64_t *exact; /* sorted processes that tag every span */
    uint32_t n_exact;
    struct sf_attribution sums;
    double *weights; /* by span: weight in the last profile */
    struct sf_local_run weighed;
    uint64_t weighed_from_ns, weighed_to_ns;
    struct weighed all; /* candidates for samples that name no trace; `has_all`: already computed */
    bool has_all;
    bool is_full;
};

/* ---- processes that tag every span ---- */

static int attribution_order_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool has_u64(const uint64_t *list, uint32_t n, uint64_t v)
{
    return n > 0 && bsearch(&v, list, n, sizeof(*list), attribution_order_u64) != NULL;
}

/* Processes are few and samples many: look a process up before adding it. */
static bool attribution_find_exact(struct work *w)
{
    uint32_t n_processes = 1 + w->in->n_exact;
    for (uint32_t k = 0; k < w->x->n_trees; k++)
        n_processes += k == 0 || w->x->trees[k].process != w->x->trees[k - 1].process;
    w->exact = sf_arena_new_n(w->req, n_processes, sizeof(*w->exact));
    if (!w->exact)
        return false;
    for (uint32_t i = 0; i < w->in->n_exact; i++)
        w->exact[w->n_exact++] = w->in->exact_processes[i];
    for (uint32_t i = 0; i < w->in->n_samples; i++) {
        const struct sf_link_sample *s = &w->in->samples[i];
        uint32_t span = sf_span_tree_find(w->t, s->trace_id, s->span_id);
        if (s->is_lent || span == SF_NOBODY || w->t->places[span].depth == 0)
            continue;
        uint64_t process = w->t->places[span].process;
        if (process == 0 || has_u64(w->exact, w->n_exact, process))
            continue;
        w->exact[w->n_exact++] = process;
        qsort(w->exact, w->n_exact, sizeof(*w->exact), attribution_order_u64);
    }
    return true;
}

/* ---- claims ---- */

static void claim_part(struct work *w, uint32_t sample, uint32_t span, int64_t value,
                       enum sf_grade grade, bool is_whole, uint32_t within)
{
    const struct sf_link_sample *s = &w->in->samples[sample];
    bool is_guess = grade == SF_GRADE_WINDOW && (!s->has_time || s->is_lent);
    if (w->is_full || (w->in->is_wanted && !w->in->is_wanted[span]))
        return;
    if (!sf_list_room_in(w->req, &w->claims, w->n_claims, &w->cap_claims, 256)) {
        w->is_full = true;
        return;
    }
    within = is_guess || s->is_split ? SF_NOBODY : within;
    w->claims[w->n_claims++] = (struct sf_claim){.sample = sample,
                                                 .span = span,
                                                 .value = value,
                                                 .within = within,
                                                 .grade = (uint8_t)grade,
                                                 .is_whole = is_whole,
                                                 .is_known = is_whole && within == span};
}

static void attribution_claim(struct work *w, uint32_t sample, uint32_t span, enum sf_grade grade,
                              uint32_t within)
{
    claim_part(w, sample, span, w->in->samples[sample].value, grade, true, within);
}

static void attribution_count(struct work *w, const struct sf_link_sample *s, enum sf_grade grade)
{
    w->sums.n_samples[grade]++;
    w->sums.values[grade] += s->value;
}

static void attribution_leave(struct work *w, const struct sf_link_sample *s,
                              enum sf_unclaimed reason)
{
    attribution_count(w, s, SF_GRADE_NONE);
    w->sums.n_unclaimed[reason]++;
}

/* ---- samples with a time ---- */

/* A sample covers a length of time; its middle decides where it belongs. */
static uint64_t moment_of(const struct sf_link_sample *s)
{
    int64_t half = s->length_ns > 0 ? s->length_ns / 2 : 0;
    return s->start_ns < 0 ? 0 : (uint64_t)s->start_ns + (uint64_t)half;
}

/* Did the span run while the sample was taken? A sample with a length (a wait) has to overlap
 * it. */
static bool attribution_is_inside(const struct work *w, const struct sf_link_sample *s,
                                  uint32_t span)
{
    const struct sf_span_place *p = &w->t->places[span];
    uint64_t slack_ns = w->in->slack_ns;
    uint64_t from_ns = s->start_ns < 0 ? 0 : (uint64_t)s->start_ns;
    uint64_t to_ns = from_ns + (s->length_ns > 0 ? (uint64_t)s->length_ns : 0);
    uint64_t first_ns = p->start_ns > slack_ns ? p->start_ns - slack_ns : 0;
    uint64_t last_ns = p->end_ns < UINT64_MAX - slack_ns ? p->end_ns + slack_ns : UINT64_MAX;
    return to_ns >= first_ns && from_ns < (last_ns > first_ns ? last_ns : first_ns + 1);
}

static void attribution_add_part(struct work *w, uint32_t first, const struct sf_deepest *d,
                                 uint64_t ns)
{
    for (uint32_t i = first; i < w->n_parts; i++) {
        if (w->parts[i].span != d->span)
            continue;
        w->parts[i].ns += ns;
        w->parts[i].is_only = w->parts[i].is_only && d->is_only;
        return;
    }
    if (sf_list_room_in(w->req, &w->parts, w->n_parts, &w->cap_parts, 64))
        w->parts[w->n_parts++] = (struct part){d->span, d->is_only, ns};
    else
        w->is_full = true;
}

/* Adds the deepest spans of the tree at the sample's time, or in each part of its millisecond. */
static void attribution_add_parts(struct work *w, const struct sf_link_sample *s, uint32_t tree,
                                  bool is_thread_only)
{
    uint64_t at_ns = moment_of(s), to_ns = at_ns + (s->blur_ns > 0 ? s->blur_ns : 1);
    uint32_t first = w->n_parts;
    for (int n = 0; at_ns < to_ns && n < MAX_STEPS && !w->is_full; n++) {
        struct sf_deepest d = sf_local_index_deepest(w->x, tree, s->thread, at_ns, &w->is_full);
        uint64_t end_ns = d.until_ns < to_ns ? d.until_ns : to_ns;
        if (d.span != SF_NOBODY && !(is_thread_only && w->t->places[d.span].thread != s->thread))
            attribution_add_part(w, first, &d, end_ns - at_ns);
        at_ns = end_ns;
    }
}

/* Gives each candidate its part. If there are several, only their common root is certain. */
static void claim_parts(struct work *w, uint32_t i, enum sf_grade grade)
{
    struct sf_share_cut c = {w->in->samples[i].value, 0, 0};
    uint32_t root = w->t->places[w->parts[0].span].local_root;
    double sum = 0;
    bool is_one = w->n_parts == 1;
    for (uint32_t k = 0; k < w->n_parts; k++) {
        sum += (double)w->parts[k].ns;
        if (w->t->places[w->parts[k].span].local_root != root)
            root = SF_NOBODY;
    }
    for (uint32_t k = 0; k < w->n_parts; k++) {
        const struct part *p = &w->parts[k];
        claim_part(w, i, p->span,
                   k + 1 == w->n_parts ? sf_share_cut_rest(&c)
                                       : sf_share_cut_next(&c, (double)p->ns / sum),
                   grade, is_one, is_one && p->is_only ? p->span : root);
    }
}

static void claim_in_tree(struct work *w, uint32_t i, uint32_t tagged)
{
    const struct sf_link_sample *s = &w->in->samples[i];
    w->n_parts = 0;
    attribution_add_parts(w, s, w->x->tree_of[tagged], false);
    if (w->n_parts == 0 && !attribution_is_inside(w, s, tagged)) {
        attribution_leave(w, s, SF_UNCLAIMED_OUTSIDE);
        return;
    }
    if (w->n_parts > 0)
        claim_parts(w, i, SF_GRADE_INHERITED);
    else /* The root runs, and no span of the tree is on the sample's thread: attribute it to the
            root. */
        attribution_claim(w, i, tagged, SF_GRADE_INHERITED, tagged);
    attribution_count(w, s, SF_GRADE_INHERITED);
}

static bool is_candidate(const struct sf_local_tree *tree, const struct sf_link_sample *s)
{
    return sf_trace_id_is_zero(s->trace_id) || sf_trace_id_eq(tree->trace_id, s->trace_id);
}

/* Index of the first tree that began later; trees are sorted by start. */
static uint32_t first_later(const struct sf_local_index *x, struct sf_local_run run, uint64_t at_ns)
{
    while (run.from < run.to) {
        uint32_t mid = run.from + (run.to - run.from) / 2;
        if (x->trees[mid].start_ns <= at_ns)
            run.from = mid + 1;
        else
            run.to = mid;
    }
    return run.to;
}

/* Finds the deepest span of each tree at that time. A span known to be on the sample's thread takes
 * precedence over spans whose thread is unknown. */
static void find_active(struct work *w, const struct sf_link_sample *s, struct sf_local_run run,
                        bool is_thread_only)
{
    uint64_t at_ns = moment_of(s), last_ns = at_ns + (s->blur_ns > 0 ? s->blur_ns - 1 : 0);
    w->n_parts = 0;
    for (uint32_t k = first_later(w->x, run, last_ns);
         k-- > run.from && w->x->trees[k].last_end_ns > at_ns && sf_account_goes_on(1);)
        if (is_candidate(&w->x->trees[k], s))
            attribution_add_parts(w, s, k, is_thread_only);
}

/* `is_sure`: the sample's trace id is used. */
static void claim_by_time(struct work *w, uint32_t i, struct sf_local_run run, bool is_sure)
{
    const struct sf_link_sample *s = &w->in->samples[i];
    bool has_trace = is_sure && !sf_trace_id_is_zero(s->trace_id);
    w->n_parts = 0;
    if (s->thread != 0)
        find_active(w, s, run, true);
    if (w->n_parts == 0)
        find_active(w, s, run, false);
    if (w->n_parts == 0) {
        attribution_leave(w, s, SF_UNCLAIMED_TIME);
        return;
    }
    enum sf_grade grade = !has_trace        ? SF_GRADE_WINDOW
                          : w->n_parts == 1 ? SF_GRADE_INHERITED
                                            : SF_GRADE_SHARED;
    claim_parts(w, i, grade);
    attribution_count(w, s, grade);
}

/* The sample is attributed by thread if spans of exactly one request were on it. */
static void claim_by_thread(struct work *w, uint32_t i, struct sf_local_run run)
{
    const struct sf_link_sample *s = &w->in->samples[i];
    find_active(w, s, run, true);
    for (uint32_t k = 1; k < w->n_parts; k++)
        if (w->x->tree_of[w->parts[k].span] != w->x->tree_of[w->parts[0].span])
            w->n_parts = 0;
    if (w->n_parts == 0) {
        attribution_leave(w, s, SF_UNCLAIMED_TIME);
        return;
    }
    claim_parts(w, i, SF_GRADE_WINDOW);
    attribution_count(w, s, SF_GRADE_WINDOW);
}

/* ---- samples that do not ---- */

/* The span's time in [from, to) outside all children in its process. Children are sorted by
 * start. */
static double self_within(const struct sf_span_tree *t, uint32_t span, uint64_t from_ns,
                          uint64_t to_ns)
{
    const struct sf_span_place *p = &t->places[span];
    uint64_t first_ns = p->start_ns > from_ns ? p->start_ns : from_ns;
    uint64_t last_ns = p->end_ns < to_ns ? p->end_ns : to_ns;
    uint64_t upto_ns = first_ns, covered_ns = 0;
    for (uint32_t k = t->first[span]; k < t->first[span + 1] && first_ns < last_ns; k++) {
        const struct sf_span_place *c = &t->places[t->children[k]];
        uint64_t start_ns = c->start_ns > upto_ns ? c->start_ns : upto_ns;
        uint64_t end_ns = c->end_ns < last_ns ? c->end_ns : last_ns;
        if (!sf_span_tree_is_local(t, t->children[k], span) || end_ns <= start_ns)
            continue;
        covered_ns += end_ns - start_ns;
        upto_ns = end_ns;
    }
    return first_ns < last_ns ? (double)(last_ns - first_ns - covered_ns) : 0;
}

/* Stacks of one profile are adjacent: the weights of spans in it are computed once. */
static bool weigh_window(struct work *w, const struct sf_link_sample *s, struct sf_local_run run)
{
    uint64_t from_ns = s->start_ns < 0 ? 0 : (uint64_t)s->start_ns;
    uint64_t to_ns = from_ns + (s->length_ns > 0 ? (uint64_t)s->length_ns : 0);
    if (w->weights && w->weighed_from_ns == from_ns && w->weighed_to_ns == to_ns &&
        w->weighed.from == run.from && w->weighed.to == run.to)
        return true;
    if (!w->weights)
        w->weights = sf_arena_new_n(w->req, w->t->n_spans + 1u, sizeof(*w->weights));
    w->is_full = w->is_full || !w->weights;
    for (uint32_t k = run.from; k < run.to && !w->is_full; k++) {
        const struct sf_local_tree *tree = &w->x->trees[k];
        w->is_full = !sf_account_goes_on(tree->n);
        for (uint32_t m = 0; m < tree->n; m++) {
            uint32_t span = w->x->members[tree->first + m];
            w->weights[span] = self_within(w->t, span, from_ns, to_ns);
        }
    }
    w->has_all = false;
    w->weighed = run;
    w->weighed_from_ns = from_ns;
    w->weighed_to_ns = to_ns;
    return !w->is_full;
}

/* How much of the span's own time the sample can represent. */
static double attribution_weight_of(const struct work *w, uint32_t span, bool is_windowed)
{
    return is_windowed ? w->weights[span] : (double)w->t->places[span].self_ns;
}

static struct weighed weigh_run(struct work *w, const struct sf_link_sample *s,
                                struct sf_local_run run, bool is_windowed)
{
    struct weighed all = {.last = SF_NOBODY, .within = SF_NOBODY};
    for (uint32_t k = run.from; k < run.to && !w->is_full; k++) {
        const struct sf_local_tree *tree = &w->x->trees[k];
        w->is_full = !sf_account_goes_on(is_candidate(tree, s) ? 1 + tree->n : 1);
        for (uint32_t m = 0; is_candidate(tree, s) && m < tree->n; m++) {
            uint32_t span = w->x->members[tree->first + m];
            double weight = attribution_weight_of(w, span, is_windowed);
            if (weight <= 0)
                continue;
            uint32_t root = w->t->places[span].local_root;
            if (all.n++ == 0)
                all.within = span;
            else if (all.within != SF_NOBODY)
                all.within = w->t->places[all.within].local_root == root ? root : SF_NOBODY;
            all.sum += weight;
            all.last = span;
        }
    }
    return all;
}

static void share_run(struct work *w, uint32_t i, struct sf_local_run run, bool is_windowed,
                      const struct weighed *all, enum sf_grade grade)
{
    const struct sf_link_sample *s = &w->in->samples[i];
    struct sf_share_cut c = {s->value, 0, 0};
    if (all->n == 1) {
        claim_part(w, i, all->last, s->value, grade, true, all->within);
        return;
    }
    for (uint32_t k = run.from; k < run.to && !w->is_full; k++) {
        const struct sf_local_tree *tree = &w->x->trees[k];
        w->is_full = !sf_account_goes_on(is_candidate(tree, s) ? 1 + tree->n : 1);
        for (uint32_t m = 0; is_candidate(tree, s) && m < tree->n; m++) {
            uint32_t span = w->x->members[tree->first + m];
            double weight = attribution_weight_of(w, span, is_windowed);
            if (weight <= 0)
                continue;
            claim_part(w, i, span,
                       span == all->last ? sf_share_cut_rest(&c)
                                         : sf_share_cut_next(&c, weight / all->sum),
                       grade, false, all->within);
        }
    }
}

static void claim_by_self(struct work *w, uint32_t i, struct sf_local_run run, uint32_t tagged,
                          bool is_sure)
{
    const struct sf_link_sample *s = &w->in->samples[i];
    bool has_id = is_sure && (tagged != SF_NOBODY || !sf_trace_id_is_zero(s->trace_id));
    if (!has_id && !weigh_window(w, s, run))
        return;
    /* The same for all stacks of a profile: otherwise the cost is stacks times spans. */
    bool is_same = !has_id && w->has_all && sf_trace_id_is_zero(s->trace_id);
    struct weighed all = is_same ? w->all : weigh_run(w, s, run, !has_id);
    if (!has_id && sf_trace_id_is_zero(s->trace_id)) {
        w->all = all;
        w->has_all = true;
    }
    if (all.n == 0 && tagged == SF_NOBODY) {
        attribution_leave(w, s, SF_UNCLAIMED_TIME);
        return;
    }
    bool is_one = all.n == 0 || (all.n == 1 && (tagged == SF_NOBODY || all.last == tagged));
    enum sf_grade grade = !has_id                  ? SF_GRADE_WINDOW
                          : is_one && !s->is_split ? SF_GRADE_INHERITED
                                                   : SF_GRADE_SHARED;
    if (tagged != SF_NOBODY)
        all.within = tagged; /* the id names this span */
    if (all.n == 0)
        attribution_claim(w, i, tagged, grade, all.within);
    else
        share_run(w, i, run, !has_id, &all, grade);
    attribution_count(w, s, grade);
}

/* ---- one sample ---- */

static void take_tagged(struct work *w, uint32_t i, uint32_t span)
{
    const struct sf_link_sample *s = &w->in->samples[i];
    const struct sf_span_place *p = &w->t->places[span];
    if (p->depth > 0 || !p->is_local_parent || has_u64(w->exact, w->n_exact, p->process)) {
        if (s->has_time && !attribution_is_inside(w, s, span)) {
            attribution_leave(w, s, SF_UNCLAIMED_OUTSIDE);
            return;
        }
        attribution_claim(w, i, span, SF_GRADE_EXACT, span);
        attribution_count(w, s, SF_GRADE_EXACT);
        return;
    }
    if (s->has_time) {
        claim_in_tree(w, i, span);
        return;
    }
    uint32_t tree = w->x->tree_of[span];
    claim_by_self(w, i, (struct sf_local_run){tree, tree + 1}, span, true);
}

/* Does one of the candidate requests have a span on its thread? */
static bool is_tied(const struct work *w, const struct sf_link_sample *s, struct sf_local_run run)
{
    for (uint32_t k = run.from; s->thread != 0 && k < run.to; k++) {
        const struct sf_local_tree *tree = &w->x->trees[k];
        if (!sf_account_goes_on(is_candidate(tree, s) ? 1 + tree->n : 1))
            return false;
        for (uint32_t m = 0; is_candidate(tree, s) && m < tree->n; m++)
            if (w->t->places[w->x->members[tree->first + m]].thread == s->thread)
                return true;
    }
    return false;
}

static void attribution_take(struct work *w, uint32_t i)
{
    const struct sf_link_sample *s = &w->in->samples[i];
    uint32_t span = s->span_id ? sf_span_tree_find(w->t, s->trace_id, s->span_id) : SF_NOBODY;
    if (s->span_id != 0 && span == SF_NOBODY) {
        attribution_leave(w, s, SF_UNCLAIMED_SPAN);
        return;
    }
    uint64_t process = span == SF_NOBODY ? s->process : w->t->places[span].process;
    struct sf_local_run run = sf_local_index_process(w->x, process);
    bool is_sure = !s->is_lent || is_tied(w, s, run);
    if (span != SF_NOBODY && is_sure)
        take_tagged(w, i, span);
    else if (run.from == run.to)
        attribution_leave(w, s, SF_UNCLAIMED_PROCESS);
    else if (s->is_by_thread)
        claim_by_thread(w, i, run);
    else if (s->has_time)
        claim_by_time(w, i, run, is_sure);
    else
        claim_by_self(w, i, run, SF_NOBODY, is_sure);
}

enum sf_err sf_attribution_make(struct sf_local_index *index, const struct sf_attribution_input *in,
                                struct sf_arena *req, struct sf_attribution *out,
                                struct sf_why *why)
{
    struct work w = {.x = index, .t = index->tree, .in = in, .req = req};
    w.is_full = !attribution_find_exact(&w);
    for (uint32_t i = 0; i < in->n_samples && !w.is_full; i++) {
        attribution_take(&w, i);
        w.is_full = w.is_full || !sf_account_goes_on(1);
    }
    if (w.is_full)
        return sf_fail(why, SF_ERR_LIMIT, "link: no memory to attribute %u samples", in->n_samples);
    w.sums.claims = w.claims;
    w.sums.n_claims = w.n_claims;
    *out = w.sums;
    return SF_OK;
}

const char *sf_attribution_grade_name(enum sf_grade grade)
{
    static const char *const names[SF_GRADES] = {"exact", "inherited", "shared", "window", "none"};
    return names[grade];
}
