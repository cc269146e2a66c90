/* findings_requests.c - finds what stands out over many requests. */
#include "join/findings_requests.h"

#include <stdlib.h>

#include "join/cohort_set.h"
#include "join/link_spans.h"

enum { LOOKED_AT = 200, LOOP_TRACES = 50, MAX_LOOPS = 1024, SHOWN_LOOPS = 16 };

struct loop { /* one call made many times within a request, in several requests */
    struct sf_finding first;
    sf_str parent;
    struct sf_request_span id;
    uint32_t n_requests, most;
    int64_t value;
    double share; /* sum over requests */
};

struct work {
    struct sf_store *store;
    const struct sf_requests_want *want;
    struct sf_query_ctx *q;
    struct sf_span_set set;
    struct loop *loops;
    uint32_t n_loops, n_traces;
    uint32_t n_more; /* loops that did not fit */
};

/* ---- what is parsed again and again ---- */

/* Numbers the requests. A request is a trace: its spans are adjacent. */
static uint32_t number_requests(const struct sf_link_set *set, uint32_t *requests)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < set->tree.n_spans; i++) {
        n += i == 0 || !sf_trace_id_eq(set->spans[i].trace_id, set->spans[i - 1].trace_id);
        requests[i] = n - 1;
    }
    return n;
}

static enum sf_err find_again(struct work *w, struct sf_requests_findings *out, struct sf_why *why)
{
    struct sf_cohort_set *c = sf_arena_new(w->q->req, sizeof(*c));
    struct sf_link_many many = {
        .spans = w->set.spans, .n = w->set.n, .type = w->want->type, .scratch = w->want->scratch};
    enum sf_err err = c ? sf_cohort_set_load(w->store, &many, false, w->q, c, why)
                        : sf_no_room(why, "the query");
    if (err)
        return err;
    uint32_t n = c->link.tree.n_spans;
    bool *is_asked = sf_arena_new_n(w->q->req, n + 1u, sizeof(*is_asked));
    bool *is_covered = sf_arena_new_n(w->q->req, n + 1u, sizeof(*is_covered));
    uint32_t *requests = sf_arena_new_n(w->q->req, n + 1u, sizeof(*requests));
    struct sf_request_sample *list = sf_arena_new_n(w->q->req, c->claims.n_claims + 1u,
                                                    sizeof(*list));
    if (!is_asked || !is_covered || !requests || !list)
        return sf_no_room(why, "the query");
    bool is_time = sf_str_eq(c->link.type.period_unit, c->link.type.sample_unit);
    struct sf_request_samples in = {.stacks = &c->link.stacks,
                                    .functions = &c->functions,
                                    .list = list,
                                    .n_requests = number_requests(&c->link, requests),
                                    .period = is_time ? c->link.period : 0};
    if (!sf_cohort_set_cover(c, false, w->q->req, is_asked, is_covered))
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < c->claims.n_claims; i++) {
        const struct sf_claim *claim = &c->claims.claims[i];
        bool is_wanted = w->want->service.len > 0
                             ? sf_str_eq(c->link.services[claim->span], w->want->service)
                             : is_covered[claim->span];
        const struct sf_link_sample *sample = &c->link.samples[claim->sample];
        bool is_known = w->want->service.len > 0
                            /* Counts for the request, whichever span it belongs to. */
                            ? claim->within != SF_NOBODY
                            : sf_claim_is_known_in(claim, is_covered, false);
        if (is_wanted && is_known)
            list[in.n++] = (struct sf_request_sample){requests[claim->span], sample->node,
                                                      claim->value, sample->has_time};
    }
    out->left_out = c->link.left_out;
    out->samples = in;
    return sf_request_findings(&in, w->want->of, w->want->limits, w->q->req, &out->again, why);
}

/* ---- equal calls ---- */

/* Is the parent of the repeated calls one of the requested spans? */
static bool findings_requests_is_meant(const struct work *w, const struct sf_link_spans *spans,
                                       const struct sf_span_tree *tree, uint32_t parent)
{
    if (w->want->service.len > 0)
        return sf_str_eq(spans->services[parent], w->want->service);
    for (uint32_t at = parent; at != SF_NOBODY; at = tree->places[at].parent) {
        const struct sf_span *s = &spans->spans[at];
        for (uint32_t i = 0; i < w->set.n; i++)
            if (w->set.spans[i].id == s->span_id &&
                sf_trace_id_eq(w->set.spans[i].trace, s->trace_id))
                return true;
    }
    return false;
}

static bool note_loop(struct work *w, const struct sf_span *parent, const struct sf_finding *f)
{
    struct loop *l = w->loops;
    while (l < w->loops + w->n_loops &&
           !(sf_str_eq(l->parent, parent->name) && sf_str_eq(l->first.subject, f->subject)))
        l++;
    if (l == w->loops + MAX_LOOPS) {
        w->n_more++; /* counts calls, not distinct names, which may contain ids */
        return true;
    }
    if (l == w->loops + w->n_loops) {
        l->first = *f;
        l->id = (struct sf_request_span){parent->trace_id, parent->span_id};
        if (!sf_arena_copy(w->q->req, parent->name, &l->parent) ||
            !sf_arena_copy(w->q->req, f->subject, &l->first.subject) ||
            !sf_arena_copy(w->q->req, f->path, &l->first.path))
            return false;
        w->n_loops++;
    }
    l->n_requests++;
    l->share += f->share;
    l->value += f->value;
    l->most = f->count > l->most ? f->count : l->most;
    return true;
}

static enum sf_err findings_requests_inspect_trace(struct work *w, struct sf_traces *traces,
                                                   struct sf_why *why)
{
    struct sf_arena *tmp = w->want->scratch;
    struct sf_trace trace;
    struct sf_link_spans spans;
    struct sf_span_tree tree;
    struct sf_finding_list list;
    sf_arena_reset(tmp);
    enum sf_err err = sf_link_spans_next(traces, tmp, &trace, &spans, &tree, why);
    if (!err)
        err = sf_span_findings(&tree, w->want->limits, tmp, &list, why);
    for (uint32_t i = 0; !err && i < list.n; i++)
        if (findings_requests_is_meant(w, &spans, &tree, list.items[i].span) &&
            !note_loop(w, &spans.spans[list.items[i].span], &list.items[i]))
            err = sf_no_room(why, "the query");
    return err;
}

/* Sorts by total time, largest first. */
static int findings_requests_by_time(const void *a, const void *b)
{
    const struct loop *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    return sf_str_cmp(x->first.subject, y->first.subject);
}

static enum sf_err give_loops(struct work *w, struct sf_requests_findings *out, struct sf_why *why)
{
    uint32_t n = w->n_loops < SHOWN_LOOPS ? w->n_loops : SHOWN_LOOPS;
    struct sf_finding *items = sf_arena_new_n(w->q->req, n + 1u, sizeof(*items));
    struct sf_request_span *ids = sf_arena_new_n(w->q->req, n + 1u, sizeof(*ids));
    double *shares = sf_arena_new_n(w->q->req, n + 1u, sizeof(*shares));
    if (!items || !ids || !shares)
        return sf_no_room(why, "the query");
    qsort(w->loops, w->n_loops, sizeof(*w->loops), findings_requests_by_time);
    for (uint32_t i = 0; i < n; i++) {
        const struct loop *l = &w->loops[i];
        items[i] = l->first;
        items[i].count = l->most;
        items[i].value = l->value / l->n_requests;
        items[i].share = l->share / l->n_requests;
        ids[i] = l->id;
        shares[i] = (double)l->n_requests / (double)w->n_traces;
        if (!sf_arena_print(w->q->req, &items[i].sentence,
                            "%.*s calls %.*s up to %u times, %.0f %% of its duration, in %u of %u "
                            "requests, in %.*s: %s",
                            SF_STR_ARG(l->parent), SF_STR_ARG(items[i].subject), l->most,
                            items[i].share * 100, l->n_requests, w->n_traces,
                            SF_STR_ARG(items[i].path), sf_findings_action(items[i].kind)))
            return sf_no_room(why, "the query");
    }
    out->loops = (struct sf_finding_list){items, n, w->n_loops - n + w->n_more};
    out->ids = ids;
    out->shares = shares;
    return SF_OK;
}

static enum sf_err find_loops(struct work *w, struct sf_requests_findings *out, struct sf_why *why)
{
    struct sf_trace_ask asks[LOOP_TRACES];
    uint32_t n = sf_span_set_traces(&w->set, asks, LOOP_TRACES);
    struct sf_traces traces;
    enum sf_err err = SF_OK;
    w->loops = sf_arena_new_n(w->q->req, MAX_LOOPS, sizeof(*w->loops));
    if (!w->loops)
        return sf_no_room(why, "the query");
    sf_traces_start(&traces, w->store, asks, n, true, w->q);
    for (; !err && w->n_traces < n; w->n_traces++)
        err = findings_requests_inspect_trace(w, &traces, why);
    sf_traces_done(&traces);
    return err ? err : give_loops(w, out, why);
}

enum sf_err sf_findings_requests(struct sf_store *store, const struct sf_requests_want *want,
                                 struct sf_query_ctx *q, struct sf_requests_findings *out,
                                 struct sf_why *why)
{
    struct work w = {.store = store, .want = want, .q = q};
    struct sf_span_set_want ask = {.query = want->query,
                                   .from_ns = want->from_ns,
                                   .to_ns = want->to_ns,
                                   .limit_traces = LOOKED_AT,
                                   .is_newest = true,
                                   .scratch = want->scratch};
    enum sf_err err = sf_span_set_find(store, &ask, q, &w.set, why);
    *out = (struct sf_requests_findings){0};
    if (err || w.set.n == 0)
        return err;
    sf_span_set_sort(&w.set);
    if (!sf_span_set_thin(&w.set, SF_COHORT_SPANS, q->req))
        return sf_no_room(why, "the query");
    err = find_loops(&w, out, why);
    return err ? err : find_again(&w, out, why);
}
