/* link_keep.c - keeps what the link needs of the traces that a search finds. */
#include "join/link_keep.h"

#include <stdlib.h>
#include <string.h>

#include "exec/ran_on.h"
#include "join/link_spans.h"
#include "join/profile_names.h"

enum {
    /* Their memory is counted when it is reserved: with figures 10 MiB, which a query of an alert
     * must be able to hold. */
    KEEP_SPANS = 58 << 10,
    KEEP_NAMES = 4096, /* at most this many names of services and spans: they may contain ids */
    TRACE_SPANS = 1000 /* at most this many spans of a trace: shared ids are searched by comparing
                          all pairs */
};

bool sf_link_keep_init(struct sf_link_keep *k, uint32_t cap_traces, struct sf_arena *req)
{
    *k = (struct sf_link_keep){.req = req, .cap_traces = cap_traces, .cap = KEEP_SPANS};
    /* Not zeroed: only used pages of the reserved memory cost anything. */
    k->traces = sf_arena_raw(req, ((size_t)cap_traces + 1) * sizeof(*k->traces), 16);
    k->spans = sf_arena_raw(req, (size_t)KEEP_SPANS * sizeof(*k->spans), 16);
    sf_name_list_init(&k->names, req);
    return k->traces && k->spans;
}

bool sf_link_keep_figures(struct sf_link_keep *k)
{
    k->figures = sf_arena_raw(k->req, (size_t)k->cap * sizeof(*k->figures), 16);
    return k->figures != NULL;
}

struct sf_kept_span sf_link_keep_span_of(const struct sf_span *s, const struct sf_resource *r,
                                         uint64_t process)
{
    return (struct sf_kept_span){.id = s->span_id,
                                 .parent_id = s->parent_id,
                                 .start_ns = s->start_ns,
                                 .end_ns = s->end_ns,
                                 .process = process,
                                 .thread = sf_span_thread_of(s, r),
                                 .profile = sf_profile_names_given(s),
                                 .tags = (uint8_t)sf_profile_names_tags_of(s, r),
                                 .kind = s->kind,
                                 .is_error = s->status == SF_STATUS_ERROR,
                                 .service = r->service,
                                 .name = s->name};
}

/* Traces with duplicate span ids are not kept; assembling the trace separates them. */
static bool has_shared_ids(const struct sf_trace_view *v)
{
    for (uint32_t i = 0; i < v->n_spans; i++)
        for (uint32_t m = 0; v->spans[i].kind == SF_KIND_SERVER && m < v->n_spans; m++)
            if (m != i && v->spans[m].span_id == v->spans[i].span_id)
                return true;
    return false;
}

void sf_link_keep_add(struct sf_link_keep *k, const struct sf_trace_view *v, struct sf_arena *tmp)
{
    struct sf_kept_trace t = {.id = v->id, .start_ns = v->start_ns, .first = k->n};
    uint32_t n_resources = 0;
    if (k->n_traces == k->cap_traces || v->n_spans > TRACE_SPANS || v->n_spans > k->cap - k->n ||
        has_shared_ids(v))
        return;
    for (uint32_t i = 0; i < v->n_spans; i++)
        n_resources = v->spans[i].resource < n_resources ? n_resources : v->spans[i].resource + 1;
    const uint64_t *processes = sf_ran_on_processes(v->resources, n_resources, tmp,
                                                    &t.is_by_service);
    if (!processes)
        return;
    for (uint32_t i = 0; i < v->n_spans; i++) {
        const struct sf_span *s = &v->spans[i];
        struct sf_kept_span *to = &k->spans[k->n + t.n++];
        *to = sf_link_keep_span_of(s, &v->resources[s->resource], processes[s->resource]);
        if (!sf_name_list_add(&k->names, to->service, UINT32_MAX, &to->service) ||
            !sf_name_list_add(&k->names, to->name, KEEP_NAMES, &to->name))
            return;
        if (k->figures)
            k->figures[to - k->spans] = sf_span_figures_read(s);
    }
    k->n += t.n;
    k->traces[k->n_traces++] = t;
}

void sf_link_keep_sift(struct sf_link_keep *k, uint32_t first,
                       bool (*is_wanted)(void *arg, uint64_t start_ns), void *arg)
{
    uint32_t n_traces = first, n = first < k->n_traces ? k->traces[first].first : k->n;
    for (uint32_t i = first; i < k->n_traces; i++) {
        struct sf_kept_trace t = k->traces[i];
        if (!is_wanted(arg, t.start_ns))
            continue;
        memmove(&k->spans[n], &k->spans[t.first], t.n * sizeof(*k->spans));
        if (k->figures)
            memmove(&k->figures[n], &k->figures[t.first], t.n * sizeof(*k->figures));
        t.first = n;
        n += t.n;
        k->traces[n_traces++] = t;
    }
    k->n_traces = n_traces;
    k->n = n;
}

static int link_keep_by_id(const void *a, const void *b)
{
    const struct sf_kept_trace *x = a, *y = b;
    return sf_trace_id_cmp(x->id, y->id);
}

void sf_link_keep_end(struct sf_link_keep *k)
{
    if (k->n_traces > 0)
        qsort(k->traces, k->n_traces, sizeof(*k->traces), link_keep_by_id);
}

const struct sf_kept_trace *sf_link_keep_find(const struct sf_link_keep *k, sf_trace_id id)
{
    struct sf_kept_trace key = {.id = id};
    return k && k->n_traces > 0
               ? bsearch(&key, k->traces, k->n_traces, sizeof(*k->traces), link_keep_by_id)
               : NULL;
}
