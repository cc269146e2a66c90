/* link_set.c - loads a trace, or spans of many traces, and the samples that their spans may claim.
 *
 * For a trace: load its spans, choose the profile type, read the rows with ids of the trace or its
 * spans, and, if these say nothing about the requested span, rows of its process without ids, then
 * the aggregate (link_aggregate.c). Samples without ids are shared with the other requests of the
 * process, which are loaded then (link_others.c). For many traces: gather the spans first
 * (sf_link_set_gather), then load samples of one type for all of them. */
#include "join/link_set.h"
#include "base/list.h"
#include "base/num.h"

#include <stdlib.h>
#include <string.h>

#include "exec/traces.h"
#include "flame/batch_tree.h"
#include "join/link_aggregate.h"
#include "join/link_load.h"
#include "join/link_meanwhile.h"
#include "model/process.h"

#define SLACK_NS   SF_NS_PER_MS       /* rows of older blocks start at whole milliseconds */
#define MAX_MANY   50000              /* at most this many spans of all traces of a set together */
#define MAX_STACKS ((size_t)64 << 20) /* for tables while trees are joined */

/* ---- spans ---- */

static enum sf_err link_set_find_span(struct sf_link_load *l, struct sf_why *why)
{
    char id[17];
    l->set.span = SF_NOBODY;
    if (l->want->span == 0)
        return SF_OK;
    for (uint32_t i = 0; i < l->set.n_own; i++)
        if (l->spans.spans[i].span_id == l->want->span && l->set.span == SF_NOBODY)
            l->set.span = i;
    sf_span_id_render(l->want->span, id);
    if (l->set.span != SF_NOBODY)
        return SF_OK;
    if (l->set.is_partial)
        return sf_fail(why, SF_ERR_LIMIT,
                       "span %s is not in the part of its trace that fits a query's memory "
                       "(limits.query_memory)",
                       id);
    return sf_fail(why, SF_ERR_NOT_FOUND, "the trace has no span %s", id);
}

/* ---- types ---- */

static bool link_set_is_service(const struct sf_link_load *l, sf_str service)
{
    return l->set.span == SF_NOBODY || l->want->has_others
               ? sf_link_spans_has_service(&l->spans, service)
               : sf_str_eq(l->spans.services[l->set.span], service);
}

/* Lists the types of the requested services, in the order of the list, without duplicates. */
static uint32_t list_types(const struct sf_link_load *l, const struct sf_prof_list *list,
                           struct sf_batch_type *types)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct sf_series *s = &list->series[i];
        uint32_t k = 0;
        if (!link_set_is_service(l, s->service))
            continue;
        while (k < n && !sf_batch_tree_type_eq(&types[k].type, &s->type))
            k++;
        if (k == n)
            types[n++] = (struct sf_batch_type){.type = s->type, .period = s->period};
    }
    return n;
}

static enum sf_err link_set_choose_type(struct sf_link_load *l, struct sf_why *why)
{
    struct sf_prof_query ask = {
        .from_ns = l->from_ns, .to_ns = l->to_ns, .select = SF_PROF_OVERLAP};
    struct sf_prof_list list;
    enum sf_err err = l->store->ops->prof_list(l->store, &ask, l->q, &list, why);
    if (err || list.n == 0)
        return err;
    struct sf_batch_type *types = sf_arena_new_n(l->q->req, list.n, sizeof(*types));
    sf_str *names = sf_arena_new_n(l->q->req, list.n, sizeof(*names));
    uint32_t chosen = 0;
    if (!types || !names)
        return sf_no_room(why, "the query");
    uint32_t n = list_types(l, &list, types);
    for (uint32_t i = 0; i < n; i++)
        if (!sf_batch_tree_type_print(&types[i].type, l->q->req, &names[i]))
            return sf_no_room(why, "the query");
    l->set.types = names;
    l->set.n_types = n;
    if (n == 0)
        return SF_OK;
    err = sf_batch_tree_choose(types, n, l->want->type, &chosen, why);
    if (err)
        return err;
    l->set.type = types[chosen].type;
    l->set.period = types[chosen].period;
    l->type = names[chosen];
    return SF_OK;
}

/* ---- samples ---- */

bool sf_link_load_sample(struct sf_link_load *l, const struct sf_link_sample *s)
{
    if (!sf_list_room_in(l->q->req, &l->samples, l->n_samples, &l->cap_samples, 1024))
        return false;
    l->samples[l->n_samples++] = *s;
    return true;
}

/* The process of the spans that profiles call so; if there is none, the one that stands for the
 * whole service. */
static uint64_t link_set_process_of(const struct sf_link_load *l, uint64_t process, sf_str service)
{
    uint64_t known = sf_link_spans_process(&l->spans, process);
    return known ? known : sf_process_hash(service, SF_STR_NONE);
}

static int order_places(const void *a, const void *b)
{
    const struct sf_place_of_id *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static bool link_set_index_ids(struct sf_link_load *l)
{
    l->ids = sf_arena_new_n(l->q->req, l->set.n_own + 1u, sizeof(*l->ids));
    for (uint32_t i = 0; l->ids && i < l->set.n_own; i++)
        l->ids[i] = (struct sf_place_of_id){l->spans.spans[i].span_id, i};
    if (l->ids && l->set.n_own > 0)
        qsort(l->ids, l->set.n_own, sizeof(*l->ids), order_places);
    return l->ids != NULL;
}

uint32_t sf_link_load_find(const struct sf_link_load *l, sf_span_id id)
{
    struct sf_place_of_id key = {.id = id};
    const struct sf_place_of_id *found = id != 0 && l->set.n_own > 0
                                             ? bsearch(&key, l->ids, l->set.n_own, sizeof(key),
                                                       order_places)
                                             : NULL;
    return found ? found->span : SF_NOBODY;
}

/* A sample that names a span belongs to the span's process. */
static bool link_set_add_thread(struct sf_link_load *l, const struct sf_link_sample *s,
                                uint64_t raw)
{
    uint32_t span = sf_link_load_find(l, s->span_id);
    return sf_link_threads_add_row(&l->threads, raw,
                                   span != SF_NOBODY ? l->spans.origins[span].process : s->process,
                                   span != SF_NOBODY, s->thread);
}

/* A profile sent with a trace id belongs to that trace, whatever process it names: to the process
 * of the service in the trace. If there are several, it is shared among them, without its time. */
static bool add_of_trace(struct sf_link_load *l, struct sf_link_sample s, sf_str service,
                         uint64_t raw)
{
    struct sf_link_of_trace *t = &l->of_trace;
    int64_t value = s.value;
    if (t->service.p != service.p || !sf_trace_id_eq(t->trace, s.trace_id)) {
        t->n = sf_link_spans_of_trace(&l->spans, s.trace_id, service, t->processes,
                                      SF_LINK_SHARERS);
        t->trace = s.trace_id;
        t->service = service;
    }
    for (uint32_t i = 0; i < t->n; i++) {
        s.process = t->processes[i];
        s.value = value / t->n + (i < value % t->n) - (value < 0 && i < -(value % t->n));
        s.has_time = s.has_time && t->n == 1;
        s.is_split = t->n > 1;
        l->set.is_by_service = l->set.is_by_service || t->n > 1;
        if (!sf_link_load_sample(l, &s) || !link_set_add_thread(l, &s, raw))
            return false;
    }
    return t->n > 0 || (sf_link_load_sample(l, &s) && link_set_add_thread(l, &s, raw));
}

enum sf_err sf_link_load_rows(struct sf_link_load *l, const struct sf_detail_list *list,
                              enum sf_link_rows of, struct sf_why *why)
{
    uint32_t *nodes = sf_arena_new_n(l->q->req, list->tree.n_nodes + 1u, sizeof(*nodes));
    if (!nodes)
        return sf_no_room(why, "the query");
    sf_tree_builder_shape(&l->stacks, &list->tree, nodes);
    for (uint32_t i = 0; i < list->rows.n_rows; i++) {
        const struct sf_detail_rows *r = &list->rows;
        struct sf_link_sample s = {
            .trace_id = r->trace_id[i],
            .span_id = sf_profile_names_span(&l->names, r->span_id[i]),
            .process = link_set_process_of(l, r->process[i], list->series[r->series[i]].service),
            .thread = r->thread[i],
            .start_ns = r->start_ns[i],
            .length_ns = r->length_ns[i],
            .blur_ns = r->has_time[i] && r->is_coarse[i] ? SF_NS_PER_MS : 0,
            .value = r->value[i],
            .node = nodes[r->node[i]],
            .series = r->series[i],
            .state = r->state[i],
            .has_time = r->has_time[i],
            .is_lent = r->is_lent[i]};
        bool is_of_trace = s.span_id == 0 && !sf_trace_id_is_zero(s.trace_id) &&
                           sf_link_spans_process(&l->spans, r->process[i]) == 0;
        bool is_elsewhere = of != SF_LINK_OF_IDS && s.span_id != 0;
        s.is_by_thread = of == SF_LINK_BESIDE_NAMED;
        if (of == SF_LINK_BESIDE_NAMED && is_elsewhere &&
            !sf_link_beside_name(&l->beside, s.span_id))
            return sf_no_room(why, "the query");
        if (of == SF_LINK_BESIDE_NAMED && !is_elsewhere &&
            (!sf_link_beside_takes(&s) || s.start_ns <= l->after_ns)) {
            l->n_no_thread += s.has_time && s.thread == 0 && sf_trace_id_is_zero(s.trace_id);
            continue;
        }
        if (of != SF_LINK_OF_IDS && !is_elsewhere &&
            (of == SF_LINK_BESIDE_NAMED || l->windows.process == 0)) {
            s.process = l->process;
        } else if (is_of_trace && !is_elsewhere) {
            if (!add_of_trace(l, s, list->series[r->series[i]].service, r->process[i]))
                return sf_no_room(why, "the query");
            continue;
        }
        if (!link_set_add_thread(l, &s, r->process[i]) ||
            (!is_elsewhere && !sf_link_load_sample(l, &s)))
            return sf_no_room(why, "the query");
    }
    return sf_link_threads_add_known(&l->threads, list) ? SF_OK : sf_no_room(why, "the query");
}

static int link_set_order_ids(const void *a, const void *b)
{
    sf_span_id x = *(const sf_span_id *)a, y = *(const sf_span_id *)b;
    return (x > y) - (x < y);
}

/* Adds rows that name one of the spans, and rows that name only a trace. */
static enum sf_err add_tagged(struct sf_link_load *l, const sf_trace_id *traces, uint32_t n_traces,
                              struct sf_why *why)
{
    bool has_names = sf_profile_names_find(l->spans.spans, l->spans.profiles, l->set.n_own,
                                           l->q->req, &l->names);
    uint32_t n_ids = 0;
    sf_span_id *ids = sf_arena_new_n(l->q->req, l->set.n_own + l->names.n + 1u, sizeof(*ids));
    struct sf_detail_query ask = {.type = l->type,
                                  .span_ids = ids,
                                  .trace_ids = traces,
                                  .n_traces = n_traces,
                                  .has_trace_rows = true,
                                  .from_ns = l->from_ns,
                                  .to_ns = l->to_ns,
                                  .select = SF_PROF_OVERLAP};
    struct sf_detail_list list;
    if (!ids || !has_names)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < l->set.n_own; i++)
        if (!l->spans.is_call || !l->spans.is_call[i])
            ids[n_ids++] = l->spans.spans[i].span_id;
    for (uint32_t i = 0; i < l->names.n; i++)
        ids[n_ids++] = l->names.list[i].name;
    ask.n_spans = n_ids;
    qsort(ids, n_ids, sizeof(*ids), link_set_order_ids);
    enum sf_err err = l->store->ops->detail_list(l->store, &ask, l->q, &list, why);
    return err ? err : sf_link_load_rows(l, &list, SF_LINK_OF_IDS, why);
}

/* The ids of the spans in the process of the requested span, sorted. NULL: no memory. */
static sf_span_id *ids_beside(const struct sf_link_load *l, uint32_t *out_n)
{
    sf_span_id *ids = sf_arena_new_n(l->q->req, l->set.n_own + 1u, sizeof(*ids));
    uint32_t n = 0;
    for (uint32_t i = 0; ids && i < l->set.n_own; i++)
        if (l->spans.origins[i].process == l->spans.origins[l->set.span].process)
            ids[n++] = l->spans.spans[i].span_id;
    if (ids)
        qsort(ids, n, sizeof(*ids), link_set_order_ids);
    *out_n = n;
    return ids;
}

/* Do the samples found so far tell about the requested span? A sample of its process is enough: if
 * a process has tagged samples but none for the span, there are none. Traces and profiles of one
 * process may come from two SDKs that name it differently; a sample that names a span of it belongs
 * to that process all the same. */
static bool is_answered(const struct sf_link_load *l)
{
    uint32_t n_ids;
    if (l->n_samples == 0)
        return false;
    const sf_span_id *ids = ids_beside(l, &n_ids);
    for (uint32_t i = 0; ids && i < l->n_samples; i++) {
        const struct sf_link_sample *s = &l->samples[i];
        if (s->process == l->spans.origins[l->set.span].process ||
            (s->span_id != 0 && bsearch(&s->span_id, ids, n_ids, sizeof(*ids), link_set_order_ids)))
            return true;
    }
    return false;
}

static uint32_t count_tagged(const struct sf_detail_list *list)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->rows.n_rows; i++)
        n += list->rows.span_id[i] != 0;
    return n;
}

/* Lists all rows of the span's process while it ran. */
static enum sf_err list_meanwhile(struct sf_link_load *l, struct sf_detail_list *out,
                                  struct sf_why *why)
{
    const struct sf_span *s = &l->spans.spans[l->set.span];
    struct sf_detail_query ask = {.type = l->type,
                                  .match = l->windows.match,
                                  .n_match = l->windows.n_match,
                                  .process = l->windows.process,
                                  .from_ns = (int64_t)s->start_ns,
                                  .to_ns = (int64_t)s->end_ns,
                                  .select = SF_PROF_OVERLAP};
    return l->store->ops->detail_list(l->store, &ask, l->q, out, why);
}

/* Samples that name other spans belong to them. If a process tags most of its samples and has none
 * for this span, nothing was sampled for it; the rest is background work: then source is IDS. */
static enum sf_err add_untagged(struct sf_link_load *l, struct sf_why *why)
{
    struct sf_detail_list list;
    enum sf_err err = list_meanwhile(l, &list, why);
    uint32_t before = l->n_samples;
    if (err)
        return err;
    l->set.n_elsewhere = count_tagged(&list);
    /* Samples without time and id have no rows: the aggregate tells how much names no span. */
    bool has_untagged = l->set.n_elsewhere < list.rows.n_rows;
    if (has_untagged && l->set.n_elsewhere * 2ull >= list.rows.n_rows)
        l->set.source = SF_LINK_IDS;
    else if (has_untagged)
        err = sf_link_load_rows(l, &list, SF_LINK_OF_PROCESS, why);
    if (!err && l->n_samples > before)
        l->set.source = SF_LINK_PROCESS;
    return err;
}

static enum sf_err link_set_find_windows(struct sf_link_load *l, struct sf_why *why)
{
    const struct sf_span *s = &l->spans.spans[l->set.span];
    struct sf_link_window_ask ask = {.type = l->type,
                                     .service = l->spans.services[l->set.span],
                                     .process = l->spans.origins[l->set.span].process,
                                     .from_ns = l->from_ns,
                                     .to_ns = l->to_ns,
                                     .start_ns = (int64_t)s->start_ns,
                                     .end_ns = (int64_t)s->end_ns,
                                     .spans = &l->spans,
                                     .resource = l->resource};
    enum sf_err err = sf_link_windows_find(l->store, &ask, l->q, &l->windows, why);
    if (!err)
        l->set.is_by_service = l->windows.by == SF_LINK_BY_SERVICE;
    if (!err)
        l->set.is_of_others = l->windows.by == SF_LINK_BY_NOBODY;
    return err;
}

/* Work without ids is shared with the other requests of the process: load them. */
static enum sf_err add_others(struct sf_link_load *l, struct sf_why *why)
{
    struct sf_link_others others = {.service = l->spans.services[l->set.span],
                                    .is_by_service = l->set.is_by_service,
                                    .process = l->spans.origins[l->set.span].process,
                                    .not_traces = &l->spans.spans[0].trace_id,
                                    .n_not_traces = 1,
                                    .from_ns = (int64_t)l->spans.spans[l->set.span].start_ns,
                                    .to_ns = (int64_t)l->spans.spans[l->set.span].end_ns};
    others.is_by_service = others.is_by_service || l->windows.by == SF_LINK_BY_SERVICE;
    if (l->set.source == SF_LINK_AGGREGATE) {
        others.from_ns = l->set.window_from_ns;
        others.to_ns = l->set.window_to_ns;
    }
    uint32_t n_own = l->set.n_own;
    enum sf_err err = sf_link_others_load(l->store, l->q, &others, why);
    if (err || others.n == 0)
        return err;
    struct sf_span *spans = sf_arena_new_n(l->q->req, n_own + others.n, sizeof(*spans));
    struct sf_span_origin *origins = sf_arena_new_n(l->q->req, n_own + others.n, sizeof(*origins));
    sf_str *services = sf_arena_new_n(l->q->req, n_own + others.n, sizeof(*services));
    struct sf_span_thread *threads = sf_arena_new_n(l->q->req, n_own + others.n, sizeof(*threads));
    if (!spans || !origins || !services || !threads)
        return sf_no_room(why, "the query");
    memcpy(spans, l->spans.spans, n_own * sizeof(*spans));
    memcpy(origins, l->spans.origins, n_own * sizeof(*origins));
    memcpy(services, l->spans.services, n_own * sizeof(*services));
    memcpy(threads, l->spans.threads, n_own * sizeof(*threads));
    for (uint32_t i = 0; i < others.n; i++) {
        spans[n_own + i] = others.spans[i].span;
        threads[n_own + i] = others.spans[i].thread;
        origins[n_own + i] = (struct sf_span_origin){others.process, 0};
        services[n_own + i] = others.service;
    }
    l->spans.spans = spans;
    l->spans.origins = origins;
    l->spans.services = services;
    l->spans.threads = threads;
    l->set.index.n_trees = 0;
    l->set.is_partial = l->set.is_partial || others.is_partial;
    l->set.tree.n_spans = n_own + others.n;
    l->beside.is_of_several = others.has_processes;
    return SF_OK;
}

/* Some samples name the span's request. If their sender loses the id while a request runs, those
 * without one belong to the span that ran on their thread at that time. Java's agents do so,
 * whenever a child ends. A process that tags every span does not: its samples without an id belong
 * to no request. */
static enum sf_err add_by_thread(struct sf_link_load *l, struct sf_why *why)
{
    struct sf_detail_list list;
    uint32_t before = l->n_samples;
    uint64_t process = l->process;
    bool is_java = l->spans.threads[l->set.span].is_runtime;
    if (sf_link_beside_says_all(&l->spans, process, l->q->req))
        return SF_OK;
    for (uint32_t i = 0; i < l->n_samples; i++)
        if (l->samples[i].span_id != 0 && !l->samples[i].is_lent &&
            !sf_link_beside_name(&l->beside, l->samples[i].span_id))
            return sf_no_room(why, "the query");
    if (!is_java && sf_link_beside_names_below(&l->beside, &l->spans, l->set.n_own, process))
        return SF_OK;
    bool is_by_service = l->set.is_by_service, is_of_others = l->set.is_of_others;
    enum sf_err err = link_set_find_windows(l, why);
    l->set.is_by_service = is_by_service; /* the answer consists of the samples with ids */
    l->set.is_of_others = is_of_others;
    if (err || l->windows.by == SF_LINK_BY_NOBODY)
        return err;
    err = list_meanwhile(l, &list, why);
    if (!err)
        err = sf_link_load_rows(l, &list, SF_LINK_BESIDE_NAMED, why);
    if (err || l->n_samples == before)
        return err;
    err = add_others(l, why);
    for (uint32_t i = 0; l->windows.by == SF_LINK_BY_SERVICE && i < l->set.n_own; i++)
        if (sf_str_eq(l->spans.services[i], l->spans.services[l->set.span]) &&
            l->spans.origins[i].process != process)
            l->beside.is_of_several = true;
    bool is_mixed = l->beside.is_of_several || l->windows.is_mixed;
    l->set.left_out = is_mixed ? SF_LEFT_OUT_MIXED : 0;
    if (!err &&
        (is_mixed || (!is_java && sf_link_beside_names_below(&l->beside, &l->spans,
                                                             l->set.tree.n_spans, process))))
        l->n_samples = before;
    l->set.n_by_thread = l->n_samples - before;
    return err;
}

/* Reads the state of the trace's samples (retention). For several traces, the code that selected
 * them has checked this. */
static enum sf_err find_fate(struct sf_link_load *l, const sf_trace_id *traces, struct sf_why *why)
{
    struct sf_keep_ask ask = {
        .trace = traces[0], .start_ns = l->spans.from_ns, .end_ns = l->spans.to_ns};
    if (!l->is_one_trace || !l->store->ops->keep_states)
        return SF_OK;
    if (l->set.span != SF_NOBODY)
        ask.service = l->spans.services[l->set.span];
    return l->store->ops->keep_states(l->store, &ask, 1, l->q, &l->set.keep, why);
}

/* In an hour that was thinned, the difference between a profile and its rows is not work without an
 * id: rows of other requests were deleted. */
static bool has_lost_rows(const struct sf_link_load *l)
{
    return l->set.keep.fate != SF_FATE_WHOLE && l->set.keep.has_tags;
}

static enum sf_err link_set_add_samples(struct sf_link_load *l, const sf_trace_id *traces,
                                        uint32_t n_traces, struct sf_why *why)
{
    enum sf_err err = find_fate(l, traces, why);
    if (!err)
        err = add_tagged(l, traces, n_traces, why);
    if (!err && l->n_samples > 0)
        l->set.source = SF_LINK_IDS;
    if (err)
        return err;
    l->set.is_thinned = l->n_samples == 0 && l->set.keep.fate == SF_FATE_THINNED &&
                        l->set.keep.has_tags;
    if (l->set.is_thinned)
        return SF_OK;
    if (l->set.span == SF_NOBODY) {
        err = sf_link_meanwhile_add(l, traces, n_traces, why);
        if (!err && l->n_samples > 0)
            l->set.source = SF_LINK_IDS;
        return err;
    }
    l->set.is_covered = is_answered(l);
    if (l->set.is_covered)
        return add_by_thread(l, why);
    l->set.source = SF_LINK_NOTHING; /* for this span */
    err = link_set_find_windows(l, why);
    l->set.is_covered = !err && l->windows.by != SF_LINK_BY_NOBODY && l->windows.n > 0;
    if (!err && l->windows.by != SF_LINK_BY_NOBODY)
        err = add_untagged(l, why);
    /* Java's agents lose the id of a request while it runs, even if others keep theirs. */
    if (!err && l->set.source == SF_LINK_IDS && l->spans.threads[l->set.span].is_runtime)
        return add_by_thread(l, why);
    if (!err && l->set.source == SF_LINK_NOTHING && !has_lost_rows(l))
        err = sf_link_aggregate_add(l, why);
    uint32_t before = l->n_samples;
    if (!err && (l->set.source == SF_LINK_PROCESS || l->set.source == SF_LINK_AGGREGATE))
        err = add_others(l, why);
    bool is_mixed = l->windows.is_mixed || l->beside.is_of_several;
    for (uint32_t i = 0; is_mixed && l->set.source == SF_LINK_PROCESS && i < before; i++)
        l->samples[i].is_split = true; /* it may belong to another process */
    return err;
}

/* ---- all of it ---- */

static int order_processes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Root spans that only tag themselves say nothing about the spans below them. */
static enum sf_err link_set_find_exact(struct sf_link_load *l, struct sf_why *why)
{
    uint64_t *list = sf_arena_new_n(l->q->req, l->spans.n_processes + 1u, sizeof(*list));
    uint32_t n = 0;
    if (!list)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < l->set.n_own; i++) {
        const struct sf_span_place *p = &l->set.tree.places[i];
        bool is_exact = l->spans.tags[i] == SF_SPAN_TAGS_ALL ||
                        (l->spans.tags[i] == SF_SPAN_TAGS_SELF && p->depth > 0);
        if (!is_exact || p->process == 0 ||
            (n > 0 && bsearch(&p->process, list, n, sizeof(*list), order_processes)))
            continue;
        list[n++] = p->process;
        qsort(list, n, sizeof(*list), order_processes);
    }
    l->set.exact_processes = list;
    l->set.n_exact = n;
    return SF_OK;
}

static enum sf_err link_set_finish(struct sf_link_load *l, struct sf_why *why)
{
    uint32_t n_spans = l->set.tree.n_spans;
    enum sf_err err = SF_OK;
    if (l->set.span == SF_NOBODY)
        err = sf_link_meanwhile_settle(l, why);
    else if (!sf_link_threads_set(&l->threads, &l->spans, n_spans, l->set.n_own,
                                  &l->set.n_thread_ignored))
        err = sf_no_room(why, "the query");
    if (err)
        return err;
    l->set.threads = l->spans.threads;
    l->set.figures = l->spans.figures;
    err = sf_tree_builder_take(&l->stacks, l->set.type.sample_unit, &l->set.stacks, why);
    if (!err)
        err = sf_span_tree_build(l->spans.spans, l->spans.origins, n_spans, l->q->req, &l->set.tree,
                                 why);
    /* Within a process there is one clock; clocks matter for children in other processes. */
    if (!err && (l->is_one_trace || l->spans.is_call))
        err = sf_clock_fix_make(&l->set.tree, l->q->req, &l->set.clocks, why);
    if (!err)
        err = link_set_find_exact(l, why);
    l->set.spans = l->spans.spans;
    l->set.services = l->spans.services;
    l->set.samples = l->samples;
    l->set.n_samples = l->n_samples;
    return err;
}

/* Loads the samples, when all spans are loaded. */
static enum sf_err link_set_load(struct sf_link_load *l, const sf_trace_id *traces,
                                 uint32_t n_traces, struct sf_link_set *out, struct sf_why *why)
{
    enum sf_err err;
    sf_link_spans_end(&l->spans);
    l->set.n_own = l->set.tree.n_spans = l->spans.n;
    l->set.is_by_service = l->spans.is_by_service;
    l->threads.req = l->beside.req = l->q->req;
    if (!link_set_index_ids(l))
        return sf_no_room(why, "the query");
    l->from_ns = l->spans.from_ns > SF_LINK_AROUND_NS ? l->spans.from_ns - SF_LINK_AROUND_NS : 0;
    l->to_ns = l->spans.to_ns < INT64_MAX - SF_LINK_AROUND_NS ? l->spans.to_ns + SF_LINK_AROUND_NS
                                                              : INT64_MAX;
    sf_tree_builder_init(&l->stacks, l->q->req, MAX_STACKS, SF_TREE_BORROWS);
    l->after_ns = INT64_MIN;
    err = link_set_find_span(l, why);
    if (!err && l->set.span != SF_NOBODY)
        l->process = l->spans.origins[l->set.span].process;
    if (!err)
        err = link_set_choose_type(l, why);
    if (!err && l->type.len > 0)
        err = link_set_add_samples(l, traces, n_traces, why);
    if (!err)
        err = link_set_finish(l, why);
    sf_tree_builder_done(&l->stacks);
    if (err)
        return err;
    *out = l->set;
    /* The index refers to the tree it was built over: that must be the caller's copy. */
    return sf_local_index_build(&out->tree, l->q->req, &out->index, why);
}

enum sf_err sf_link_set_load(struct sf_store *store, sf_trace_id trace,
                             const struct sf_link_want *want, struct sf_query_ctx *q,
                             struct sf_link_set *out, struct sf_why *why)
{
    struct sf_link_load l = {.store = store, .q = q, .want = want};
    struct sf_trace whole = {0};
    char id[33];
    enum sf_err err = SF_OK;
    if (want->whole)
        whole = *want->whole;
    else
        err = sf_traces_get_one_bare(store, trace, 0, 0, q, &whole, why);
    sf_trace_id_render(trace, id);
    if (!err && whole.spans.n_spans == 0)
        err = sf_fail(why, SF_ERR_NOT_FOUND, "no such trace: %s", id);
    if (!err && !sf_link_spans_whole(&l.spans, &whole, q->req))
        err = sf_no_room(why, "the query");
    if (err)
        return err;
    for (uint32_t i = 0; i < whole.spans.n_spans; i++) /* the first match, as when searching */
        if (want->span != 0 && whole.spans.spans[i].span_id == want->span) {
            l.resource = whole.spans.resources[whole.spans.spans[i].resource].attrs;
            break;
        }
    l.set.is_partial = whole.is_partial;
    l.is_one_trace = true;
    return link_set_load(&l, &trace, 1, out, why);
}

enum sf_err sf_link_set_attribute(struct sf_link_set *set, const bool *is_wanted,
                                  struct sf_arena *req, struct sf_attribution *out,
                                  struct sf_why *why)
{
    struct sf_attribution_input in = {.samples = set->samples,
                                      .n_samples = set->n_samples,
                                      .is_wanted = is_wanted,
                                      .exact_processes = set->exact_processes,
                                      .n_exact = set->n_exact,
                                      .slack_ns = SLACK_NS};
    return sf_attribution_make(&set->index, &in, req, out, why);
}

bool sf_link_set_say_left_out(unsigned left_out, struct sf_arena *req, sf_str *io)
{
    static const char *const words[] = {
        "there are too many, or from too many processes, to assign them to these spans by thread "
        "and time",
        "profiles do not identify the process they come from (set the same service.instance.id as "
        "for the spans)",
        "no thread ties them to a span of the trace alone; a span by itself has its share of what "
        "ran at its time, as an estimate"};
    for (unsigned i = 0; i < 3; i++)
        if (left_out & 1u << i &&
            !sf_arena_print(req, io, "%.*s%ssamples without ids are left out: %s", SF_STR_ARG(*io),
                            io->len > 0 ? "; " : "", words[i]))
            return false;
    return true;
}

/* ---- of many traces ---- */

static int64_t hint_ns(uint64_t ns, int64_t add_ns)
{
    int64_t at_ns = ns < INT64_MAX - (uint64_t)SF_LINK_AROUND_NS ? (int64_t)ns
                                                                 : INT64_MAX - SF_LINK_AROUND_NS;
    return at_ns + add_ns > 1 ? at_ns + add_ns : 1;
}

/* Lists the traces to read from the store: those that were not kept. */
static enum sf_err list_asks(const struct sf_link_many *many, struct sf_arena *req,
                             struct sf_trace_ask **out, size_t *out_n, struct sf_why *why)
{
    struct sf_trace_ask *asks = sf_arena_new_n(req, many->n + 1u, sizeof(*asks));
    size_t n = 0;
    if (!asks)
        return sf_no_room(why, "the query");
    for (uint32_t at = 0; at < many->n; at++) {
        const struct sf_set_span *s = &many->spans[at];
        bool is_first = at == 0 || !sf_trace_id_eq(s[-1].trace, s->trace);
        if (is_first && !sf_link_keep_find(many->kept, s->trace))
            asks[n++] = (struct sf_trace_ask){
                .id = s->trace,
                .from_ns = hint_ns(s->start_ns, -SF_LINK_AROUND_NS),
                .to_ns = hint_ns(s->start_ns + s->duration_ns, SF_LINK_AROUND_NS)};
    }
    *out = asks;
    *out_n = n;
    return SF_OK;
}

/* Reads one trace after the other into the scratch; its ids are kept. */
static enum sf_err gather_from(struct sf_link_load *l, const struct sf_link_many *many,
                               struct sf_traces *from, sf_trace_id *traces, uint32_t *n_traces,
                               uint32_t *n_read, struct sf_why *why)
{
    enum sf_err err = SF_OK;
    for (uint32_t at = 0, end; !err && at < many->n; at = end) {
        const struct sf_set_span *s = &many->spans[at];
        struct sf_trace whole = {0};
        for (end = at + 1; end < many->n && sf_trace_id_eq(many->spans[end].trace, s->trace);)
            end++;
        sf_arena_reset(many->scratch);
        const struct sf_kept_trace *kept = sf_link_keep_find(many->kept, s->trace);
        if (kept &&
            !sf_link_spans_add_kept(&l->spans, many->kept, kept, s, end - at, many->scratch)) {
            l->set.is_partial = true;
            return SF_OK;
        }
        if (kept) {
            traces[(*n_traces)++] = s->trace;
            *n_read = end;
            continue;
        }
        err = sf_traces_next(from, many->scratch, &whole, why);
        if (!err && !sf_link_spans_add_asked(&l->spans, &whole, s, end - at, many->scratch)) {
            l->set.is_partial = true; /* answer with what was loaded */
            return SF_OK;
        }
        if (!err) {
            traces[(*n_traces)++] = s->trace;
            *n_read = end;
        }
    }
    return err;
}

static enum sf_err link_set_gather(struct sf_link_load *l, const struct sf_link_many *many,
                                   sf_trace_id *traces, uint32_t *n_traces, uint32_t *n_read,
                                   struct sf_why *why)
{
    struct sf_trace_ask *asks = NULL;
    struct sf_traces from;
    size_t n_asks = 0;
    enum sf_err err = list_asks(many, l->q->req, &asks, &n_asks, why);
    if (err)
        return err;
    sf_traces_start(&from, l->store, asks, n_asks, true, l->q);
    err = gather_from(l, many, &from, traces, n_traces, n_read, why);
    sf_traces_done(&from);
    return err;
}

/* The number of spans of kept traces; for others it is unknown. */
static uint32_t link_set_count_spans(const struct sf_link_many *many)
{
    uint64_t n = 0;
    for (uint32_t at = 0, end; at < many->n && n < MAX_MANY; at = end) {
        sf_trace_id trace = many->spans[at].trace;
        const struct sf_kept_trace *kept = sf_link_keep_find(many->kept, trace);
        for (end = at + 1; end < many->n && sf_trace_id_eq(many->spans[end].trace, trace);)
            end++;
        n += kept ? kept->n : MAX_MANY;
    }
    return n < MAX_MANY ? (uint32_t)n : MAX_MANY;
}

enum sf_err sf_link_set_gather(struct sf_store *store, const struct sf_link_many *many,
                               struct sf_query_ctx *q, struct sf_link_gathered *out,
                               struct sf_why *why)
{
    struct sf_link_load l = {.store = store, .q = q};
    sf_trace_id *traces = sf_arena_new_n(q->req, many->n + 1u, sizeof(*traces));
    struct sf_link_gathered g = {.traces = traces};
    if (!traces || !sf_link_spans_init(&l.spans, link_set_count_spans(many), q->req) ||
        (many->has_calls && !sf_link_spans_with_calls(&l.spans)))
        return sf_no_room(why, "the query");
    enum sf_err err = link_set_gather(&l, many, traces, &g.n_traces, &g.n_read, why);
    if (err)
        return err;
    g.spans = l.spans;
    g.is_partial = l.set.is_partial;
    *out = g;
    return SF_OK;
}

enum sf_err sf_link_set_load_gathered(struct sf_store *store, struct sf_link_gathered *g,
                                      sf_str type, struct sf_query_ctx *q, struct sf_link_set *out,
                                      struct sf_why *why)
{
    struct sf_link_want want = {.type = type};
    struct sf_link_load l = {.store = store, .q = q, .want = &want, .spans = g->spans};
    l.set.is_partial = g->is_partial;
    for (uint32_t i = 0; i < g->spans.n; i++)
        g->spans.origins[i].thread = 0; /* reset what the last load set */
    return link_set_load(&l, g->traces, g->n_traces, out, why);
}
