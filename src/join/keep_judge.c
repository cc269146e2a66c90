/* keep_judge.c - makes the verdict on an hour.
 *
 * It covers all traces that may have samples in the hour's block: those that ran in it, or within a
 * quarter of an hour of it, because samples without their own time have that of their profile. So a
 * block needs one verdict, and a trace that runs over the end of an hour is in both.
 *
 * Samples and traces of an hour may exceed the memory of a query. Then the time is divided into
 * pieces, each of which is judged separately; if the smallest pieces are too large, the whole hour
 * is kept. The whole hour is also kept if something could not be read: a trace that was not seen
 * may have failed. */
#include "join/keep_judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/limits.h"
#include "base/list.h"
#include "base/num.h"
#include "base/time_unit.h"
#include "base/trace_share.h"
#include "join/keep_walk.h"

#define MARGIN_NS (900 * SF_NS_PER_S)
enum { MOST_PIECES = 64, MOST_SERVICES = 10000 };

struct work {
    const struct sf_keep_due *due;
    const struct sf_pin *pins;
    uint32_t n_pins;
    struct sf_verdict v;
    struct sf_verdict_entry *traces;
    sf_span_id *spans;
    struct sf_verdict_root *roots;
    sf_str *services; /* names are owned */
    uint32_t cap_traces, cap_spans, cap_roots, cap_services;
    bool is_over; /* a limit of the verdict was exceeded */
    bool is_unread;
};

static bool keep_judge_add_trace(struct work *w, sf_trace_id id, unsigned reasons,
                                 uint32_t baseline)
{
    if (w->v.n_kept >= SF_LIMIT_VERDICT_TRACES ||
        !sf_list_room(&w->traces, w->v.n_kept, &w->cap_traces, 256))
        return false;
    w->traces[w->v.n_kept++] = (struct sf_verdict_entry){.id = id,
                                                         .reasons = (uint16_t)reasons,
                                                         .baseline_per_10000 = (uint16_t)baseline,
                                                         .first_span = w->v.n_kept_spans};
    return true;
}

static bool keep_judge_add_span(struct work *w, sf_span_id id)
{
    if (w->v.n_kept_spans >= SF_LIMIT_VERDICT_SPANS ||
        !sf_list_room(&w->spans, w->v.n_kept_spans, &w->cap_spans, 1024))
        return false;
    w->spans[w->v.n_kept_spans++] = id;
    w->traces[w->v.n_kept - 1].n_spans++;
    return true;
}

static bool add_root(struct work *w, const struct sf_verdict_root *root)
{
    if (w->v.n_roots >= SF_LIMIT_VERDICT_SPANS ||
        !sf_list_room(&w->roots, w->v.n_roots, &w->cap_roots, 256))
        return false;
    w->roots[w->v.n_roots++] = *root;
    return true;
}

static bool keep_judge_is_pinned(const struct work *w, sf_trace_id id)
{
    for (uint32_t i = 0; i < w->n_pins; i++) {
        if (sf_trace_id_eq(w->pins[i].trace, id))
            return true;
    }
    return false;
}

static enum sf_err keep_judge_see(void *arg, const struct sf_keep_seen *t, struct sf_why *why)
{
    struct work *w = arg;
    const struct sf_span_tree *tree = t->tree;
    sf_trace_id id = tree->spans[0].trace_id;
    unsigned reasons = t->reasons | (keep_judge_is_pinned(w, id) ? 1u << SF_KEEP_PINNED : 0);
    bool is_kept = true;
    (void)why;
    w->v.n_traces++;
    w->v.n_spans += tree->n_spans;
    if (!reasons || w->is_over)
        return SF_OK;
    for (unsigned i = 0; i < SF_KEEP_REASONS; i++)
        w->v.n_by[i] += reasons >> i & 1;
    is_kept = keep_judge_add_trace(w, id, reasons, t->baseline_per_10000);
    for (uint32_t i = 0; is_kept && i < tree->n_spans; i++) {
        const struct sf_span_place *p = &tree->places[i];
        is_kept = keep_judge_add_span(w, tree->spans[i].span_id);
        if (is_kept && p->local_root == i && p->end_ns <= INT64_MAX)
            is_kept = add_root(
                w, &(struct sf_verdict_root){p->process, (int64_t)p->start_ns, (int64_t)p->end_ns});
    }
    w->is_over = !is_kept;
    return SF_OK;
}

/* A request that is still running has not sent its span. Its samples only prove that it took at
 * least as long as they cover. For samples without a trace id, the baseline is chosen here by span
 * id: merges cannot distinguish them from spans of traces that were judged and not kept. */
static enum sf_err see_stray(void *arg, const struct sf_keep_stray *s, struct sf_why *why)
{
    struct work *w = arg;
    const struct sf_keep_rule *rule = sf_keep_rules_of(&w->due->rules, s->service);
    bool is_kept;
    (void)why;
    if (w->is_over)
        return SF_OK;
    if (keep_judge_is_pinned(w, s->trace))
        is_kept = keep_judge_add_trace(w, s->trace, 1u << SF_KEEP_PINNED, rule->baseline_per_10000);
    else if (rule->slow_ns > 0 && s->cpu_ns >= rule->slow_ns)
        is_kept = keep_judge_add_trace(w, s->trace, 1u << SF_KEEP_SLOW, rule->baseline_per_10000);
    else if (sf_trace_id_is_zero(s->trace) && sf_span_share_has(s->id, rule->baseline_per_10000))
        is_kept = keep_judge_add_trace(w, s->trace, 1u << SF_KEEP_BASELINE,
                                       rule->baseline_per_10000);
    else
        return SF_OK;
    w->is_over = !is_kept || !keep_judge_add_span(w, s->id);
    return SF_OK;
}

static enum sf_err see_service(void *arg, sf_str service, struct sf_why *why)
{
    struct work *w = arg;
    char *copy;
    for (uint32_t i = 0; i < w->v.n_services; i++) {
        if (sf_str_eq(w->services[i], service))
            return SF_OK;
    }
    copy = sf_heap_new(service.len + 1);
    if (!copy || w->v.n_services >= MOST_SERVICES ||
        !sf_list_room(&w->services, w->v.n_services, &w->cap_services, 16)) {
        sf_heap_free(copy);
        w->is_over = true;
        return copy ? SF_OK : sf_no_memory(why, "a verdict");
    }
    memcpy(copy, service.p, service.len);
    w->services[w->v.n_services++] = (sf_str){copy, service.len};
    return SF_OK;
}

static void keep_judge_begin(struct work *w)
{
    w->v.n_traces = w->v.n_spans = 0;
    memset(w->v.n_by, 0, sizeof(w->v.n_by));
    w->v.n_kept = w->v.n_kept_spans = w->v.n_roots = 0;
    w->is_over = false;
}

/* One pass over each piece of the time. */
static enum sf_err keep_judge_walk(struct work *w, uint32_t n_pieces, struct sf_store *store,
                                   struct sf_query_ctx *q, struct sf_arena *scratch,
                                   bool *out_is_cut, struct sf_why *why)
{
    int64_t hour_ns = w->due->hour * SF_NS_PER_HOUR;
    int64_t from_ns = hour_ns > MARGIN_NS ? hour_ns - MARGIN_NS : 1;
    int64_t until_ns = hour_ns + SF_NS_PER_HOUR + MARGIN_NS;
    int64_t piece_ns = (until_ns - from_ns) / n_pieces + 1;
    struct sf_arena as_it_was = *q->req;
    enum sf_err err = SF_OK;
    keep_judge_begin(w);
    *out_is_cut = false;
    for (uint32_t i = 0; !err && !*out_is_cut && !w->is_over && !w->is_unread && i < n_pieces;
         i++) {
        struct sf_keep_walk k = {.from_ns = from_ns + i * piece_ns,
                                 .until_ns = from_ns + (i + 1) * piece_ns,
                                 .has_earlier = i == 0,
                                 .usual_until_ns = hour_ns,
                                 .rules = &w->due->rules,
                                 .scratch = scratch,
                                 .see = keep_judge_see,
                                 .see_stray = see_stray,
                                 .see_service = see_service,
                                 .arg = w};
        *q->req = as_it_was;
        err = sf_keep_walk_run(&k, store, q, why);
        *out_is_cut = k.is_cut || err == SF_ERR_LIMIT;
        w->is_unread = w->is_unread || k.is_unread;
    }
    *q->req = as_it_was;
    return err == SF_ERR_LIMIT ? SF_OK : err;
}

/* Everything an earlier verdict kept stays kept: the samples of other traces are deleted, so they
 * cannot be judged again. */
static enum sf_err join_before(struct work *w, struct sf_store *store, struct sf_query_ctx *q,
                               struct sf_why *why)
{
    struct sf_verdict old;
    uint32_t n_new = w->v.n_kept, n_new_roots = w->v.n_roots;
    struct sf_arena as_it_was = *q->req;
    enum sf_err err = store->ops->keep_get(store, w->due->tenant, w->due->hour, q->req, &old, why);
    if (err)
        return err == SF_ERR_NOT_FOUND || err == SF_ERR_CORRUPT ? SF_OK : err;
    if (n_new)
        qsort(w->traces, n_new, sizeof(*w->traces), sf_verdict_entry_cmp);
    for (uint32_t i = 0; !w->is_over && i < old.n_kept; i++) {
        const struct sf_verdict_entry *t = &old.traces[i];
        struct sf_verdict now = {.traces = w->traces, .n_kept = n_new};
        struct sf_verdict_entry *known = (struct sf_verdict_entry *)sf_verdict_trace(&now, t->id);
        if (known && !sf_trace_id_is_zero(t->id)) {
            known->reasons |= t->reasons;
            continue;
        }
        w->is_over = !keep_judge_add_trace(w, t->id, t->reasons, t->baseline_per_10000);
        for (uint32_t k = 0; !w->is_over && k < t->n_spans; k++)
            w->is_over = !keep_judge_add_span(w, old.spans[t->first_span + k]);
    }
    for (uint32_t i = 0; !err && !w->is_over && i < old.n_services; i++)
        err = see_service(w, old.services[i], why);
    if (n_new_roots)
        qsort(w->roots, n_new_roots, sizeof(*w->roots), sf_verdict_root_cmp);
    for (uint32_t i = 0; !w->is_over && i < old.n_roots; i++) {
        if (!n_new_roots ||
            !bsearch(&old.roots[i], w->roots, n_new_roots, sizeof(*w->roots), sf_verdict_root_cmp))
            w->is_over = !add_root(w, &old.roots[i]);
    }
    w->is_over = w->is_over || old.head.is_whole;
    *q->req = as_it_was;
    return err;
}

static enum sf_err join_keep_judge(struct work *w, struct sf_store *store, struct sf_query_ctx *q,
                                   struct sf_arena *scratch, struct sf_why *why)
{
    bool is_cut = true;
    enum sf_err err = store->ops->pins(store, q, &w->pins, &w->n_pins, why);
    for (uint32_t n = 1; !err && is_cut && !w->is_over && !w->is_unread && n <= MOST_PIECES; n *= 8)
        err = keep_judge_walk(w, n, store, q, scratch, &is_cut, why);
    if (err == SF_ERR_DEADLINE) {
        is_cut = true;
        err = SF_OK;
    }
    if (!err && !is_cut && !w->is_over && !w->is_unread && w->due->has_before)
        err = join_before(w, store, q, why);
    w->v.head.is_whole = is_cut || w->is_over || w->is_unread;
    return err;
}

static int keep_judge_by_name(const void *a, const void *b)
{
    return sf_str_cmp(*(const sf_str *)a, *(const sf_str *)b);
}

static void keep_judge_sort(struct work *w)
{
    if (w->v.head.is_whole)
        w->v.n_kept = w->v.n_kept_spans = w->v.n_roots = 0;
    if (w->v.n_kept)
        qsort(w->traces, w->v.n_kept, sizeof(*w->traces), sf_verdict_entry_cmp);
    if (w->v.n_roots)
        qsort(w->roots, w->v.n_roots, sizeof(*w->roots), sf_verdict_root_cmp);
    w->v.traces = w->traces;
    w->v.spans = w->spans;
    if (w->v.n_services)
        qsort(w->services, w->v.n_services, sizeof(*w->services), keep_judge_by_name);
    w->v.services = w->services;
    w->v.roots = w->roots;
}

enum sf_err sf_keep_judge_run(struct sf_store *store, const struct sf_keep_due *due,
                              struct sf_query_ctx *q, struct sf_arena *scratch, int64_t now_ns,
                              struct sf_verdict *out, struct sf_why *why)
{
    struct work w = {.due = due,
                     .v = {.head = {.tenant = due->tenant,
                                    .hour = due->hour,
                                    .lsn = due->lsn,
                                    .created_ns = now_ns,
                                    .version = due->version,
                                    .since_hour = due->since_hour,
                                    .is_shared = due->is_shared},
                           .rules = due->rules}};
    enum sf_err err = join_keep_judge(&w, store, q, scratch, why);
    if (!err) {
        keep_judge_sort(&w);
        err = store->ops->keep_put(store, &w.v, why);
    }
    *out = w.v;
    out->traces = NULL;
    out->spans = NULL;
    out->roots = NULL;
    out->services = NULL;
    for (uint32_t i = 0; i < w.v.n_services; i++)
        sf_heap_free((void *)w.services[i].p);
    sf_heap_free(w.services);
    sf_heap_free(w.traces);
    sf_heap_free(w.spans);
    sf_heap_free(w.roots);
    return err;
}
