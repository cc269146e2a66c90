/* link_spans.c - the spans that the link works on, and where each of them ran. Spans are appended
 * to parallel arrays (span, process, service, figures); a process may be known under several names,
 * which are kept as aliases and resolved after all spans were added. */
#include "join/link_spans.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/list.h"
#include "exec/ran_on.h"
#include "exec/traces.h"
#include "join/profile_names.h"
#include "model/process.h"

enum { MAX_NAMES = 4096 }; /* at most this many names of children: they may contain ids */

/* Allocates the arrays parallel to the spans. Not zeroed: only used pages cost memory. */
static bool init_sides(struct sf_link_spans *l, uint32_t cap, struct sf_arena *req)
{
    *l = (struct sf_link_spans){.req = req,
                                .cap = cap,
                                .from_ns = INT64_MAX,
                                .name_at = {.arena = req},
                                .process_at = {.arena = req},
                                .alias_at = {.arena = req}};
    l->origins = sf_arena_raw(req, ((size_t)cap + 1) * sizeof(*l->origins), 16);
    l->services = sf_arena_raw(req, ((size_t)cap + 1) * sizeof(*l->services), 16);
    l->profiles = sf_arena_raw(req, ((size_t)cap + 1) * sizeof(*l->profiles), 16);
    l->tags = sf_arena_raw(req, (size_t)cap + 1, 16);
    l->threads = sf_arena_raw(req, ((size_t)cap + 1) * sizeof(*l->threads), 16);
    return l->origins && l->services && l->profiles && l->tags && l->threads;
}

bool sf_link_spans_init(struct sf_link_spans *l, uint32_t cap, struct sf_arena *req)
{
    if (!init_sides(l, cap, req))
        return false;
    l->spans = sf_arena_raw(req, ((size_t)cap + 1) * sizeof(*l->spans), 16);
    return l->spans != NULL;
}

bool sf_link_spans_with_calls(struct sf_link_spans *l)
{
    l->figures = sf_arena_raw(l->req, ((size_t)l->cap + 1) * sizeof(*l->figures), 16);
    l->is_call = sf_arena_raw(l->req, ((size_t)l->cap + 1) * sizeof(*l->is_call), 16);
    sf_name_list_init(&l->callees, l->req);
    return l->figures && l->is_call;
}

static bool link_spans_add_process(struct sf_link_spans *l, uint64_t process)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!sf_table_more(&l->process_at))
        return false;
    lookup = sf_table_lookup(&l->process_at, sf_key_u64(process));
    while (sf_table_next(&lookup, &at)) {
        if (l->processes[at] == process)
            return true;
    }
    if (!sf_list_room_in(l->req, &l->processes, l->n_processes, &l->cap_processes, 16))
        return false;
    sf_table_keep(&l->process_at, &lookup, l->n_processes);
    l->processes[l->n_processes++] = process;
    return true;
}

/* Finds the stored name of the service; adds it if it is new, as a copy if requested. */
static bool link_spans_add_name(struct sf_link_spans *l, sf_str name, bool is_copied, sf_str *out)
{
    struct sf_table_lookup lookup;
    uint32_t at;
    if (!sf_table_more(&l->name_at))
        return false;
    lookup = sf_table_lookup(&l->name_at, sf_key_str(name));
    while (sf_table_next(&lookup, &at)) {
        if (sf_str_eq(l->names[at], name)) {
            *out = l->names[at];
            return true;
        }
    }
    if (!sf_list_room_in(l->req, &l->names, l->n_names, &l->cap_names, 16))
        return false;
    *out = name;
    if (is_copied && !sf_arena_copy(l->req, name, out))
        return false;
    sf_table_keep(&l->name_at, &lookup, l->n_names);
    l->names[l->n_names++] = *out;
    return true;
}

static struct sf_span_figures unsaid(void)
{
    struct sf_span_figures f = {.runnable = SF_LEDGER_UNSAID};
    for (size_t i = 0; i < SF_SPAN_FIGURES; i++)
        f.ns[i] = SF_LEDGER_UNSAID;
    return f;
}

/* Sets the parallel arrays for span l->n. */
static void add_sides(struct sf_link_spans *l, const struct sf_span *s,
                      const struct sf_kept_span *k, const struct sf_span_figures *figures)
{
    int64_t start_ns = s->start_ns < INT64_MAX ? (int64_t)s->start_ns : INT64_MAX;
    int64_t end_ns = s->end_ns < INT64_MAX ? (int64_t)s->end_ns : INT64_MAX;
    l->origins[l->n] = (struct sf_span_origin){.process = k->process};
    l->threads[l->n] = k->thread;
    l->profiles[l->n] = k->profile;
    l->tags[l->n] = k->tags;
    if (l->figures)
        l->figures[l->n] = figures ? *figures : unsaid();
    if (l->is_call)
        l->is_call[l->n] = false;
    l->services[l->n++] = k->service;
    l->from_ns = start_ns < l->from_ns ? start_ns : l->from_ns;
    l->to_ns = end_ns > l->to_ns ? end_ns : l->to_ns;
}

/* Adds a span without attributes, and with a name only if children must be distinguished. */
static bool add_bare(struct sf_link_spans *l, sf_trace_id trace, const struct sf_kept_span *k,
                     const struct sf_span_figures *figures)
{
    struct sf_span bare = {.trace_id = trace,
                           .span_id = k->id,
                           .parent_id = k->parent_id,
                           .start_ns = k->start_ns,
                           .end_ns = k->end_ns,
                           .kind = k->kind,
                           .status = k->is_error ? SF_STATUS_ERROR : SF_STATUS_UNSET};
    if (l->is_call && !sf_name_list_add(&l->callees, k->name, MAX_NAMES, &bare.name))
        return false;
    l->spans[l->n] = bare;
    add_sides(l, &bare, k, figures);
    return true;
}

/* Adds a child in another process: only times and names. Its process and service are not used to
 * query profiles. */
static bool link_spans_add_call(struct sf_link_spans *l, sf_trace_id trace, struct sf_kept_span k)
{
    int64_t from_ns = l->from_ns, to_ns = l->to_ns;
    if (!sf_name_list_add(&l->callees, k.service, MAX_NAMES, &k.service) ||
        !add_bare(l, trace, &k, NULL))
        return false;
    l->is_call[l->n - 1] = true;
    l->from_ns = from_ns;
    l->to_ns = to_ns;
    return true;
}

static bool add_aliases(struct sf_link_spans *l, const struct sf_resource *r, uint64_t process,
                        struct sf_arena *tmp)
{
    struct sf_process_names names;
    if (!sf_process_names_of(r->service, r->attrs, tmp, &names))
        return false;
    for (unsigned kind = 0; kind < SF_PROCESS_KINDS; kind++) {
        struct sf_table_lookup lookup;
        uint32_t at;
        bool is_known = false;
        if (names.hashes[kind] == 0)
            continue;
        if (!sf_table_more(&l->alias_at) ||
            !sf_list_room_in(l->req, &l->aliases, l->n_aliases, &l->cap_aliases, 16))
            return false;
        lookup = sf_table_lookup(&l->alias_at, sf_key_u64(names.hashes[kind]));
        while (!is_known && sf_table_next(&lookup, &at))
            is_known = l->aliases[at].name == names.hashes[kind];
        if (is_known)
            continue;
        sf_table_keep(&l->alias_at, &lookup, l->n_aliases);
        l->aliases[l->n_aliases++] = (struct sf_link_alias){names.hashes[kind], process,
                                                            (uint8_t)kind};
    }
    return true;
}

/* Adds services and processes of the resources that are kept. */
static sf_str *take_resources(struct sf_link_spans *l, const struct sf_span_batch *b,
                              const uint64_t *processes, const bool *is_kept, struct sf_arena *tmp)
{
    sf_str *names = sf_arena_new_n(tmp, b->n_resources + 1u, sizeof(*names));
    for (uint32_t i = 0; names && i < b->n_resources; i++) {
        if (is_kept && !is_kept[i])
            continue;
        if (!link_spans_add_name(l, b->resources[i].service, is_kept != NULL, &names[i]) ||
            !link_spans_add_process(l, processes[i]) ||
            !add_aliases(l, &b->resources[i], processes[i], tmp))
            return NULL;
    }
    return names;
}

bool sf_link_spans_whole(struct sf_link_spans *l, const struct sf_trace *trace,
                         struct sf_arena *req)
{
    const struct sf_span_batch *b = &trace->spans;
    uint64_t *processes;
    sf_str *names;
    if (!init_sides(l, b->n_spans, req))
        return false;
    l->spans = (struct sf_span *)(uintptr_t)b->spans; /* full: nothing is written there */
    processes = sf_ran_on_processes(b->resources, b->n_resources, l->req, &l->is_by_service);
    names = processes ? take_resources(l, b, processes, NULL, l->req) : NULL;
    for (uint32_t i = 0; names && i < b->n_spans; i++) {
        const struct sf_span *s = &b->spans[i];
        struct sf_kept_span k = sf_link_keep_span_of(s, &b->resources[s->resource],
                                                     processes[s->resource]);
        k.service = names[s->resource];
        add_sides(l, s, &k, NULL);
    }
    return names != NULL;
}

static bool link_spans_is_asked(const struct sf_set_span *asked, uint32_t n_asked, sf_span_id id)
{
    for (uint32_t i = 0; i < n_asked; i++)
        if (asked[i].id == id)
            return true;
    return false;
}

/* One process may be identified in several ways: if one of them is kept, all are. */
static bool keep_same_processes(const uint64_t *processes, bool *is_kept, uint32_t n,
                                struct sf_arena scratch)
{
    struct sf_table kept = {.arena = &scratch};
    if (!sf_table_reset(&kept, n))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct sf_table_lookup lookup = sf_table_lookup(&kept, sf_key_u64(processes[i]));
        uint32_t at;
        bool is_there = !is_kept[i];
        while (!is_there && sf_table_next(&lookup, &at))
            is_there = processes[at] == processes[i];
        if (!is_there)
            sf_table_keep(&kept, &lookup, i);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct sf_table_lookup lookup = sf_table_lookup(&kept, sf_key_u64(processes[i]));
        uint32_t at;
        while (!is_kept[i] && sf_table_next(&lookup, &at))
            is_kept[i] = processes[at] == processes[i];
    }
    return true;
}

bool sf_link_spans_add_asked(struct sf_link_spans *l, const struct sf_trace *trace,
                             const struct sf_set_span *asked, uint32_t n_asked,
                             struct sf_arena *tmp)
{
    const struct sf_span_batch *b = &trace->spans;
    uint64_t *processes = sf_ran_on_processes(b->resources, b->n_resources, tmp, &l->is_by_service);
    bool *is_kept = sf_arena_new_n(tmp, b->n_resources + 1u, sizeof(*is_kept));
    uint32_t n = 0, before = l->n;
    if (!processes || !is_kept)
        return false;
    for (uint32_t i = 0; i < b->n_spans; i++)
        if (link_spans_is_asked(asked, n_asked, b->spans[i].span_id))
            is_kept[b->spans[i].resource] = true;
    if (!keep_same_processes(processes, is_kept, b->n_resources, *tmp))
        return false;
    for (uint32_t i = 0; i < b->n_spans; i++)
        n += is_kept[b->spans[i].resource] ||
             (l->is_call && link_spans_is_asked(asked, n_asked, b->spans[i].parent_id));
    sf_str *names = n <= l->cap - l->n ? take_resources(l, b, processes, is_kept, tmp) : NULL;
    for (uint32_t i = 0; names && i < b->n_spans; i++) {
        const struct sf_span *s = &b->spans[i];
        struct sf_kept_span k = sf_link_keep_span_of(s, &b->resources[s->resource],
                                                     processes[s->resource]);
        struct sf_span_figures figures;
        if (l->figures)
            figures = sf_span_figures_read(s);
        if (is_kept[s->resource]) {
            k.service = names[s->resource];
            if (!add_bare(l, s->trace_id, &k, &figures))
                names = NULL;
        } else if (l->is_call && link_spans_is_asked(asked, n_asked, s->parent_id) &&
                   !link_spans_add_call(l, s->trace_id, k)) {
            names = NULL;
        }
    }
    l->n = names ? l->n : before;
    return names != NULL;
}

/* Did a requested span of the trace run there? */
static bool has_asked(const struct sf_kept_span *spans, uint32_t n, const bool *is_member,
                      uint64_t process)
{
    for (uint32_t i = 0; i < n; i++)
        if (is_member[i] && spans[i].process == process)
            return true;
    return false;
}

bool sf_link_spans_add_kept(struct sf_link_spans *l, const struct sf_link_keep *keep,
                            const struct sf_kept_trace *trace, const struct sf_set_span *asked,
                            uint32_t n_asked, struct sf_arena *tmp)
{
    const struct sf_kept_span *spans = &keep->spans[trace->first];
    bool *is_member = sf_arena_new_n(tmp, 2u * trace->n + 1, sizeof(*is_member));
    bool *is_kept = is_member ? is_member + trace->n : NULL;
    uint32_t n = 0, before = l->n;
    sf_str name;
    if (!is_member)
        return false;
    for (uint32_t i = 0; i < trace->n; i++)
        is_member[i] = link_spans_is_asked(asked, n_asked, spans[i].id);
    for (uint32_t i = 0; i < trace->n; i++) {
        /* Neighbours mostly ran in one process. */
        is_kept[i] = i > 0 && spans[i].process == spans[i - 1].process
                         ? is_kept[i - 1]
                         : has_asked(spans, trace->n, is_member, spans[i].process);
        n += is_kept[i] || (l->is_call && link_spans_is_asked(asked, n_asked, spans[i].parent_id));
    }
    if (n > l->cap - l->n)
        return false;
    for (uint32_t i = 0; i < trace->n; i++)
        if (is_kept[i] && (!link_spans_add_name(l, spans[i].service, false, &name) ||
                           !link_spans_add_process(l, spans[i].process)))
            return false;
    for (uint32_t i = 0; i < trace->n; i++) {
        const struct sf_span_figures *figures = keep->figures ? &keep->figures[trace->first + i]
                                                              : NULL;
        if (is_kept[i] ? !add_bare(l, trace->id, &spans[i], figures)
                       : l->is_call && link_spans_is_asked(asked, n_asked, spans[i].parent_id) &&
                             !link_spans_add_call(l, trace->id, spans[i])) {
            l->n = before;
            return false;
        }
    }
    l->is_by_service = l->is_by_service || trace->is_by_service;
    return true;
}

static int link_spans_order_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int order_aliases(const void *a, const void *b)
{
    const struct sf_link_alias *x = a, *y = b;
    return (x->name > y->name) - (x->name < y->name);
}

static bool link_spans_has_process(const struct sf_link_spans *l, uint64_t process);

uint64_t sf_link_spans_process(const struct sf_link_spans *l, uint64_t name)
{
    struct sf_link_alias key = {.name = name};
    const struct sf_link_alias *found = NULL;
    if (name != 0 && link_spans_has_process(l, name))
        return name;
    if (name != 0 && l->n_aliases > 0)
        found = bsearch(&key, l->aliases, l->n_aliases, sizeof(key), order_aliases);
    return found ? found->process : 0;
}

uint32_t sf_link_spans_of_trace(const struct sf_link_spans *l, sf_trace_id trace, sf_str service,
                                uint64_t *out, uint32_t cap)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n && n < cap; i++) {
        uint32_t k = 0;
        if ((l->is_call && l->is_call[i]) || !sf_trace_id_eq(l->spans[i].trace_id, trace) ||
            !sf_str_eq(l->services[i], service))
            continue;
        while (k < n && out[k] != l->origins[i].process)
            k++;
        if (k == n)
            out[n++] = l->origins[i].process;
    }
    return n;
}

void sf_link_spans_end(struct sf_link_spans *l)
{
    if (l->n_aliases > 0)
        qsort(l->aliases, l->n_aliases, sizeof(*l->aliases), order_aliases);
    if (l->n_processes > 0)
        qsort(l->processes, l->n_processes, sizeof(*l->processes), link_spans_order_u64);
}

static bool link_spans_has_process(const struct sf_link_spans *l, uint64_t process)
{
    return l->n_processes > 0 && bsearch(&process, l->processes, l->n_processes,
                                         sizeof(*l->processes), link_spans_order_u64) != NULL;
}

bool sf_link_spans_has_service(const struct sf_link_spans *l, sf_str service)
{
    for (uint32_t i = 0; i < l->n_names; i++)
        if (sf_str_eq(l->names[i], service))
            return true;
    return false;
}

enum sf_err sf_link_spans_next(struct sf_traces *traces, struct sf_arena *req,
                               struct sf_trace *out_trace, struct sf_link_spans *out,
                               struct sf_span_tree *out_tree, struct sf_why *why)
{
    enum sf_err err = sf_traces_next(traces, req, out_trace, why);
    if (!err && !sf_link_spans_whole(out, out_trace, req))
        err = sf_no_room(why, "the query");
    return err ? err : sf_span_tree_build(out->spans, out->origins, out->n, req, out_tree, why);
}

enum sf_err sf_link_spans_load(struct sf_store *store, sf_trace_id id, struct sf_query_ctx *q,
                               struct sf_trace *out_trace, struct sf_link_spans *out,
                               struct sf_span_tree *out_tree, struct sf_why *why)
{
    struct sf_trace_ask ask = {.id = id};
    struct sf_traces traces;
    sf_traces_start(&traces, store, &ask, 1, true, q);
    enum sf_err err = sf_link_spans_next(&traces, q->req, out_trace, out, out_tree, why);
    sf_traces_done(&traces);
    return err;
}
