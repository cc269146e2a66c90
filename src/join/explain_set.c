/* explain_set.c - explains why the spans of a query take so long: the mean per span. The breakdowns
 * of all spans are summed by part; each mean has a 95 % interval, and the functions of a part are
 * found in its summed stacks, also with intervals. The spans with most of the largest part are
 * given as examples. */
#include "join/explain_set.h"

#include <math.h>

#include "join/cohort_set.h"
#include "join/explain_below.h"
#include "join/explain_focus.h"
#include "join/explain_holder.h"
#include "join/set_load.h"
#include "link/explain_part.h"
#include "link/hot_code.h"
#include "link/trust.h"

enum { SET_TRACES = 2 * SF_COHORT_SPANS, FEWEST_SPANS = 50 };

struct work {
    struct sf_store *store;
    const struct sf_explain_set_want *want;
    struct sf_query_ctx *q;
    struct sf_set_load l;
    double room;
    struct sf_explain_view out;
};

/* ---- parts ---- */

struct mean {
    double sum, squares;
};

static void explain_set_add(struct mean *m, double v)
{
    m->sum += v;
    m->squares += v * v;
}

/* Half of its 95 % interval; none for few spans. */
static double explain_set_error_of(const struct mean *m, uint32_t n)
{
    return sf_trust_mean(m->sum, m->squares, n);
}

static void bound(double mean, double error, double *low, double *high)
{
    *low = isfinite(error) ? fmax(0, mean - error) : NAN;
    *high = isfinite(error) ? mean + error : NAN;
}

static void explain_set_find_room(struct work *w)
{
    double unknown_ns = 0, cut_ns = 0;
    for (uint32_t i = 0; i < w->l.gathered->n_read; i++) {
        unknown_ns += w->l.b.parts[i].ns[SF_PART_UNKNOWN];
        for (uint32_t part = 0; part < SF_PARTS; part++)
            cut_ns += w->l.b.parts[i].cut[part];
    }
    w->room = sf_ledger_costs_room(unknown_ns, cut_ns);
}

static double explain_set_cost_of(const struct work *w, const struct sf_set_breakdown_cost *c)
{
    return c->ns * sf_ledger_costs_scale(&w->l.b.parts[c->span], c->part, w->room);
}

static bool copy_names(const struct sf_hot_piece *from, struct sf_arena *req,
                       struct sf_explain_function *to)
{
    return sf_arena_copy(req, from->function, &to->function) &&
           sf_arena_copy(req, from->caller, &to->caller) &&
           sf_arena_copy(req, to->library, &to->library) &&
           sf_arena_copy(req, from->path, &to->path) && sf_arena_copy(req, from->file, &to->file);
}

/* Computes the cost of each span in each of the functions, for their intervals. */
static enum sf_err bound_functions(struct work *w, uint32_t part, const struct sf_hot_pieces *found,
                                   struct sf_explain_function *list, struct sf_why *why)
{
    uint32_t n = w->l.gathered->n_read, last = SF_NONE;
    struct mean *means = sf_arena_new_n(w->want->scratch, found->n + 1u, sizeof(*means));
    double *own = sf_arena_new_n(w->want->scratch, found->n + 1u, sizeof(*own));
    if (!means || !own)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i <= w->l.b.n_costs; i++) { /* costs are sorted by span */
        const struct sf_set_breakdown_cost *c = i < w->l.b.n_costs ? &w->l.b.costs[i] : NULL;
        if (!c || c->span != last)
            for (uint32_t k = 0; k < found->n; k++) {
                explain_set_add(&means[k], own[k]);
                own[k] = 0;
            }
        if (!c)
            break;
        last = c->span;
        if (c->part == part && c->item < w->l.b.n_code && found->of[c->item] != SF_NONE)
            own[found->of[c->item]] += explain_set_cost_of(w, c);
    }
    for (uint32_t k = 0; k < found->n; k++)
        bound(list[k].ns, explain_set_error_of(&means[k], n), &list[k].low_ns, &list[k].high_ns);
    return SF_OK;
}

/* If the part was measured, its samples may sum up to slightly more: they are scaled to the
 * part. */
static void fit_functions(struct sf_explain_function *list, uint32_t n, double sampled_ns,
                          double part_ns)
{
    double by = sampled_ns > part_ns ? part_ns / sampled_ns : 1;
    for (uint32_t i = 0; i < n; i++) {
        list[i].ns *= by;
        list[i].low_ns *= by;
        list[i].high_ns *= by;
        list[i].library_ns *= by;
    }
}

static enum sf_err name_functions(struct work *w, const struct sf_hot_code *hot, uint32_t part,
                                  struct sf_explain_part *to, struct sf_why *why)
{
    uint32_t n = w->l.gathered->n_read;
    struct sf_arena *tmp = w->want->scratch;
    struct sf_hot_pieces found;
    double sampled_ns = 0;
    double *values = sf_arena_new_n(tmp, w->l.b.stacks.n_nodes + 1u, sizeof(*values));
    struct sf_explain_function *list = sf_arena_new_n(w->q->req, SF_EXPLAIN_FUNCTIONS,
                                                      sizeof(*list));
    if (w->l.b.part_samples[part] < SF_TRUST_FEW)
        return SF_OK;
    if (!values || !list)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < w->l.b.n_costs; i++) {
        double ns = explain_set_cost_of(w, &w->l.b.costs[i]) / n;
        if (w->l.b.costs[i].part != part || w->l.b.costs[i].item >= w->l.b.n_code)
            continue;
        values[w->l.b.costs[i].item] += ns;
        sampled_ns += ns;
    }
    enum sf_err err = sf_hot_code_find(hot, values, SF_EXPLAIN_FUNCTIONS, tmp, &found, why);
    for (uint32_t i = 0; !err && i < found.n; i++) {
        list[i] = sf_explain_part_function_of(&found.list[i], (double)to->ns, 0);
        if (!copy_names(&found.list[i], w->q->req, &list[i]))
            err = sf_no_room(why, "the query");
    }
    if (!err)
        err = bound_functions(w, part, &found, list, why);
    if (!err)
        fit_functions(list, found.n, sampled_ns, (double)to->ns);
    to->functions = list;
    to->n_functions = err ? 0 : found.n;
    to->n_more_functions = err ? 0 : found.n_more;
    return err;
}

/* The time of each span in the function; if there is no such function, in its child spans of that
 * name. */
static enum sf_err give_focus(struct work *w, const struct sf_hot_code *hot, struct sf_why *why)
{
    uint32_t n = w->l.gathered->n_read;
    sf_str name = w->want->focus;
    const bool *is_through = sf_explain_focus_nodes(hot, name, w->want->scratch);
    struct mean code = {0}, children = {0};
    double in_code = 0, in_children = 0;
    if (!is_through)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < w->l.b.n_costs; i++) { /* by span */
        const struct sf_set_breakdown_cost *c = &w->l.b.costs[i];
        if (c->item < w->l.b.n_code)
            in_code += is_through[c->item] ? explain_set_cost_of(w, c) : 0;
        else
            in_children += sf_str_eq(w->l.b.items[c->item], name) ? explain_set_cost_of(w, c) : 0;
        if (i + 1 < w->l.b.n_costs && w->l.b.costs[i + 1].span == c->span)
            continue;
        explain_set_add(&code, in_code);
        explain_set_add(&children, in_children);
        in_code = in_children = 0;
    }
    const struct mean *of = code.sum > 0 ? &code : &children;
    struct sf_explain_focus *f = &w->out.focus;
    *f = (struct sf_explain_focus){.name = name, .ns = of->sum / n};
    bound(f->ns, explain_set_error_of(of, n), &f->low_ns, &f->high_ns);
    return SF_OK;
}

static enum sf_err explain_set_give_parts(struct work *w, struct sf_why *why)
{
    uint32_t n = w->l.gathered->n_read;
    struct mean means[SF_PARTS] = {{0}}, whole = {0};
    struct sf_hot_code hot;
    uint16_t estimates = 0;
    struct sf_explain_part *list = sf_arena_new_n(w->q->req, SF_PARTS, sizeof(*list));
    enum sf_err err = list ? sf_hot_code_init(&hot, &w->l.b.stacks, w->want->scratch, why)
                           : sf_no_room(why, "the query");
    explain_set_find_room(w);
    for (uint32_t i = 0; i < n; i++) {
        struct sf_ledger_parts parts = w->l.b.parts[i];
        double sum = 0;
        sf_ledger_costs_fit(&parts, w->room);
        for (uint32_t part = 0; part < SF_PARTS; part++) {
            explain_set_add(&means[part], parts.ns[part]);
            sum += parts.ns[part];
        }
        explain_set_add(&whole, sum);
        estimates |= w->l.b.estimates[i];
    }
    w->out.duration_ns = llround(whole.sum / n);
    bound(whole.sum / n, explain_set_error_of(&whole, n), &w->out.low_ns, &w->out.high_ns);
    for (uint32_t part = 0; !err && part < SF_PARTS; part++) {
        double mean = means[part].sum / n;
        if (fabs(mean) < 0.5)
            continue;
        struct sf_explain_part *to = &list[w->out.n_parts++];
        *to = sf_explain_part_named((enum sf_ledger_part)part);
        to->ns = llround(mean);
        to->is_estimate = estimates >> part & 1;
        if (w->l.b.part_taken[part] > 0 && w->l.b.part_taken[part] < SF_TRUST_FEW &&
            w->l.b.part_sampled[part] > w->l.b.part_sure[part])
            to->few = w->l.b.part_taken[part];
        bound(mean, explain_set_error_of(&means[part], n), &to->low_ns, &to->high_ns);
        if (part == SF_PART_RUN_QUEUE)
            to->runnable = sf_runnable_sum_mean(&w->l.b.runnable, means[part].sum);
        if (part < SF_PART_CHILD)
            err = name_functions(w, &hot, part, to, why);
    }
    if (!err && w->want->focus.len > 0)
        err = give_focus(w, &hot, why);
    sf_explain_parts_fit(list, w->out.n_parts, w->out.duration_ns);
    w->out.parts = list;
    w->out.n_samples = w->l.b.n_samples;
    return err;
}

/* Gives the spans with most of the largest part as examples. */
static void explain_set_give_examples(struct work *w)
{
    uint32_t part = 0;
    if (w->out.n_parts == 0)
        return;
    while (sf_explain_part_named((enum sf_ledger_part)part).name != w->out.parts[0].name)
        part++;
    for (uint32_t i = 0; i < w->l.gathered->n_read; i++) {
        const struct sf_set_span *s = &w->l.set.spans[i];
        double ns = w->l.b.parts[i].ns[part];
        uint32_t at = w->out.n_examples;
        while (at > 0 && (double)w->out.examples[at - 1].part_ns < ns)
            at--;
        if (at == 3)
            continue;
        w->out.n_examples += w->out.n_examples < 3;
        for (uint32_t k = w->out.n_examples - 1; k > at; k--)
            w->out.examples[k] = w->out.examples[k - 1];
        w->out.examples[at] = (struct sf_explain_example){.trace = s->trace,
                                                          .span = s->id,
                                                          .duration_ns = s->duration_ns,
                                                          .part_ns = llround(ns)};
    }
}

/* Explains unknown time if it is more than a tenth. */
static void explain_set_explain_unknown(struct work *w)
{
    struct sf_explain_part unknown = sf_explain_part_named(SF_PART_UNKNOWN);
    for (uint32_t i = 0; i < w->out.n_parts; i++) {
        struct sf_explain_part *p = &w->out.parts[i];
        if (p->name != unknown.name || p->ns <= w->out.duration_ns / 10)
            continue;
        p->reason = w->l.b.n_types == 0 ? SF_STR("no profiles of time from these services")
                    : w->l.b.n_samples == 0 && w->l.b.n_estimated > 0
                        ? SF_STR("samples name the first span of each request, not these spans")
                    : w->l.b.n_samples == 0
                        ? SF_STR("no sample carries the id of one of these spans")
                    : !w->l.b.has_waits ? SF_STR("waits are not profiled")
                                        : SF_STR("no sample covers it");
    }
}

/* Finds the holders of locks if at least a twentieth of the time was spent waiting for them. */
static enum sf_err explain_set_explain_lock(struct work *w, struct sf_why *why)
{
    struct sf_explain_part *p = NULL, lock = sf_explain_part_named(SF_PART_LOCK);
    struct sf_explain_holder_want want = {.from_ns = INT64_MAX};
    enum sf_err err;
    for (uint32_t i = 0; i < w->out.n_parts && !p; i++) {
        if (w->out.parts[i].name == lock.name)
            p = &w->out.parts[i];
    }
    if (!p || p->ns < w->out.duration_ns / 20)
        return SF_OK;
    want.service = p->n_children > 0 ? p->children[0].service : w->out.service;
    for (uint32_t i = 0; i < w->l.set.n; i++) {
        const struct sf_set_span *s = &w->l.set.spans[i];
        int64_t from_ns = (int64_t)(s->start_ns & INT64_MAX);
        int64_t to_ns = (int64_t)((s->start_ns + s->duration_ns) & INT64_MAX);
        want.from_ns = from_ns < want.from_ns ? from_ns : want.from_ns;
        want.to_ns = to_ns > want.to_ns ? to_ns : want.to_ns;
    }
    if (!want.service.len || want.from_ns >= want.to_ns)
        return SF_OK;
    err = sf_explain_holder(w->store, &want, w->q, &p->reason, why);
    return err == SF_ERR_LIMIT ? SF_OK : err; /* too much data to explain */
}

/* ---- all of it ---- */

static enum sf_err explain_set_explain(struct work *w, struct sf_why *why)
{
    uint64_t n_found = sf_span_set_found(&w->l.set);
    uint32_t most = SF_COHORT_SPANS;
    enum sf_err err = SF_OK;
    do { /* with fewer spans if they do not fit */
        if (!sf_span_set_thin(&w->l.set, most, w->q->req))
            return sf_no_room(why, "the query");
        err = sf_set_load_divide(w->store, w->want->scratch, w->q, &w->l, why);
        w->out.n_parts = 0;
        if (!err && w->l.gathered->n_read > 0)
            err = explain_set_give_parts(w, why);
        most = w->l.set.n / 2;
    } while (err == SF_ERR_LIMIT && most >= FEWEST_SPANS);
    if (err)
        return err;
    w->l.set.n = w->l.gathered->n_read;
    w->out.n_spans = w->l.set.n;
    explain_set_give_examples(w);
    struct sf_set_cut cut = sf_span_set_cut(&w->l.set, n_found, w->l.set.n);
    if (!sf_span_set_cut_note(&cut, SF_STR_NONE, w->q->req, &w->out.note) ||
        !sf_link_set_say_left_out(w->l.b.n_samples > 0 ? w->l.b.left_out : 0, w->q->req,
                                  &w->out.note))
        return sf_no_room(why, "the query");
    struct sf_explain_below_want below = {.spans = w->l.set.spans,
                                          .n = w->l.set.n,
                                          .is_all = w->l.b.n_samples == 0 && w->l.b.n_types > 0,
                                          .focus = w->out.focus.ns > 0 ? SF_STR_NONE
                                                                       : w->want->focus,
                                          .scratch = w->want->scratch};
    err = sf_explain_below(w->store, &below, w->q, &w->out, why);
    explain_set_explain_unknown(w);
    return err ? err : explain_set_explain_lock(w, why);
}

enum sf_err sf_explain_set(struct sf_store *store, const struct sf_explain_set_want *want,
                           struct sf_query_ctx *q, struct sf_explain_view *out, struct sf_why *why)
{
    struct work w = {.store = store, .want = want, .q = q};
    w.out = (struct sf_explain_view){.of = SF_EXPLAIN_SET,
                                     .query = want->query,
                                     .from_ns = want->from_ns,
                                     .to_ns = want->to_ns,
                                     .low_ns = NAN,
                                     .high_ns = NAN};
    struct sf_set_load_want ask = {.query = want->query,
                                   .from_ns = want->from_ns,
                                   .to_ns = want->to_ns,
                                   .most_traces = SET_TRACES,
                                   .scratch = want->scratch};
    enum sf_err err = sf_set_load_find(store, &ask, q, &w.l, why);
    if (!err && w.l.set.n == 0)
        w.out.reason = SF_STR("no spans match the query in this time");
    else if (!err)
        err = explain_set_explain(&w, why);
    if (!err)
        *out = w.out;
    return err;
}
