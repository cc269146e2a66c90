/* link_meanwhile.c - attributes samples without ids to the spans of a trace or a set by thread. For
 * each process: finds its identity in profiles, the time ranges of its spans, the samples in them,
 * and spans of other requests on the same threads, whose samples are dropped at the end. */
#include "join/link_meanwhile.h"
#include "base/list.h"

#include <stdlib.h>
#include <string.h>

#include "exec/traces.h"
#include "join/link_others.h"
#include "join/time_part.h"
#include "model/process.h"

enum {
    MAX_PROCESSES = 16,
    MAX_RANGES = 64,    /* at most this many ranges of one process: near ones are joined */
    MAX_ROWS = 200000,  /* at most this many rows are read in all */
    MAX_OTHERS = 100000 /* at most this many spans of other requests in all */
};
#define SCRATCH_CAP ((size_t)256 << 20) /* reserved: for one trace, or the spans of one range */
#define TIME_PART   0.3                 /* share of the query's remaining time */

struct process {
    uint32_t first, n; /* the first of its spans, and how many */
    int64_t from_ns, to_ns;
    bool is_java;     /* its spans have thread ids of the runtime */
    bool tags_all;    /* an attribute says that samples carry the id of the innermost span */
    bool names_below; /* a sample names a span that has a parent in this process, which implies the
                         same */
    bool is_named;    /* a sample names one of its spans */
    bool is_timed;    /* such a sample has a time and a thread */
};

struct range {
    int64_t from_ns, to_ns;
};

struct work {
    struct sf_link_load *l;
    const sf_trace_id *traces;
    uint32_t n_traces;
    struct process *processes; /* parallel to l->spans.processes */
    struct sf_arena scratch;
    int64_t until_ns;
    uint32_t n_rows;
    bool is_over;    /* a limit was exceeded */
    bool has_mixed;  /* samples of a process that profiles do not distinguish from others were
                        dropped */
    bool has_untied; /* with a trace: there are samples that a span would get if requested alone */
};

static int64_t link_meanwhile_time_of(uint64_t ns)
{
    return ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
}

static int link_meanwhile_order_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static struct process *link_meanwhile_process_of(const struct work *w, uint64_t process)
{
    const struct sf_link_spans *s = &w->l->spans;
    const uint64_t *at = s->n_processes > 0 ? bsearch(&process, s->processes, s->n_processes,
                                                      sizeof(*at), link_meanwhile_order_u64)
                                            : NULL;
    return at ? &w->processes[at - s->processes] : NULL;
}

/* ---- which processes ---- */

static bool is_below(const struct sf_link_load *l, uint32_t span)
{
    uint32_t parent = sf_link_load_find(l, l->spans.spans[span].parent_id);
    return parent != SF_NOBODY &&
           l->spans.origins[parent].process == l->spans.origins[span].process;
}

static void link_meanwhile_see_spans(struct work *w)
{
    const struct sf_link_spans *s = &w->l->spans;
    for (uint32_t i = 0; i < s->n; i++) {
        struct process *p = s->is_call && s->is_call[i]
                                ? NULL
                                : link_meanwhile_process_of(w, s->origins[i].process);
        int64_t from_ns = link_meanwhile_time_of(s->spans[i].start_ns);
        int64_t to_ns = link_meanwhile_time_of(s->spans[i].end_ns);
        if (!p)
            continue;
        if (p->n++ == 0)
            *p = (struct process){.first = i, .n = 1, .from_ns = from_ns, .to_ns = to_ns};
        p->from_ns = from_ns < p->from_ns ? from_ns : p->from_ns;
        p->to_ns = to_ns > p->to_ns ? to_ns : p->to_ns;
        p->is_java = p->is_java || s->threads[i].is_runtime;
        p->tags_all = p->tags_all || s->tags[i] == SF_SPAN_TAGS_ALL ||
                      (s->tags[i] == SF_SPAN_TAGS_SELF && is_below(w->l, i));
    }
}

static bool see_samples(struct work *w)
{
    struct sf_link_load *l = w->l;
    for (uint32_t i = 0; i < l->n_samples; i++) {
        const struct sf_link_sample *s = &l->samples[i];
        uint32_t span = s->is_lent ? SF_NOBODY : sf_link_load_find(l, s->span_id);
        struct process *p = span == SF_NOBODY
                                ? NULL
                                : link_meanwhile_process_of(w, l->spans.origins[span].process);
        if (!p)
            continue;
        p->is_named = true;
        p->is_timed = p->is_timed || (s->has_time && s->thread != 0);
        p->names_below = p->names_below || is_below(l, span);
        if (!sf_link_beside_name(&l->beside, s->span_id))
            return false;
    }
    return true;
}

/* If the samples of a set name no span, its spans are processed one by one, including samples
 * without times. */
static bool link_meanwhile_is_asked(const struct sf_link_load *l, const struct process *p)
{
    if (p->n == 0 || p->tags_all)
        return false;
    return p->is_java || (p->is_timed && !p->names_below) || (l->is_one_trace && !p->is_named);
}

static bool has_namesake(const struct work *w, const struct process *p)
{
    const struct sf_link_spans *s = &w->l->spans;
    for (uint32_t i = 0; i < s->n_processes; i++) {
        const struct process *other = &w->processes[i];
        if (other != p && other->n > 0 &&
            sf_str_eq(s->services[other->first], s->services[p->first]))
            return true;
    }
    return false;
}

/* ---- whose samples they are ---- */

struct identity {          /* identity of a process, from its spans */
    struct sf_attrs attrs; /* attributes that profiles may have as labels */
    struct sf_link_alias aliases[SF_PROCESS_KINDS];
    uint32_t n_aliases;
};

static bool copy_identity(const struct sf_resource *r, uint64_t process, struct sf_arena *tmp,
                          struct sf_arena *req, struct identity *out)
{
    static const char *const keys[] = {"service.instance.id", "k8s.pod.uid", "k8s.pod.name"};
    struct sf_attr *list = sf_arena_new_n(req, sizeof(keys) / sizeof(keys[0]), sizeof(*list));
    struct sf_process_names names;
    uint32_t n = 0;
    if (!list || !sf_process_names_of(r->service, r->attrs, tmp, &names))
        return false;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        sf_str value = sf_attrs_str(r->attrs, sf_str_from(keys[i]));
        if (value.len == 0)
            continue;
        list[n].key = sf_str_from(keys[i]);
        list[n].val = (struct sf_value){.type = SF_VALUE_STR};
        if (!sf_arena_copy(req, value, &list[n++].val.str))
            return false;
    }
    for (unsigned kind = 0; kind < SF_PROCESS_KINDS; kind++)
        if (names.hashes[kind] != 0)
            out->aliases[out->n_aliases++] = (struct sf_link_alias){names.hashes[kind], process,
                                                                    (uint8_t)kind};
    out->attrs = (struct sf_attrs){.list = list, .n = n};
    return true;
}

/* Reads the attributes of the process from one of its traces, since sets store only one name. */
static enum sf_err find_identity(struct work *w, const struct process *p, struct identity *out,
                                 struct sf_why *why)
{
    const struct sf_span *span = &w->l->spans.spans[p->first];
    struct sf_query_ctx q = *w->l->q;
    struct sf_trace trace = {0};
    sf_arena_reset(&w->scratch);
    q.req = &w->scratch;
    enum sf_err err = sf_traces_get_one_bare(w->l->store, span->trace_id, p->from_ns, p->to_ns, &q,
                                             &trace, why);
    w->l->q->stats = q.stats;
    for (uint32_t i = 0; !err && i < trace.spans.n_spans; i++)
        if (trace.spans.spans[i].span_id == span->span_id)
            return copy_identity(&trace.spans.resources[trace.spans.spans[i].resource],
                                 w->l->spans.origins[p->first].process, &w->scratch, w->l->q->req,
                                 out)
                       ? SF_OK
                       : sf_no_room(why, "the query");
    return err;
}

/* The process is also mixed if profiles do not distinguish the replicas of the requested spans. */
static enum sf_err link_meanwhile_find_windows(struct work *w, const struct process *p,
                                               struct sf_why *why)
{
    struct sf_link_load *l = w->l;
    struct identity self = {0};
    enum sf_err err = find_identity(w, p, &self, why);
    struct sf_link_spans names = {.aliases = self.aliases, .n_aliases = self.n_aliases};
    struct sf_link_window_ask ask = {.type = l->type,
                                     .service = l->spans.services[p->first],
                                     .process = l->spans.origins[p->first].process,
                                     .from_ns = l->from_ns,
                                     .to_ns = l->to_ns,
                                     .start_ns = p->from_ns,
                                     .end_ns = p->to_ns,
                                     .spans = &names,
                                     .resource = self.attrs};
    if (!err)
        err = sf_link_windows_find(l->store, &ask, l->q, &l->windows, why);
    if (!err && l->windows.by == SF_LINK_BY_SERVICE && has_namesake(w, p))
        l->windows.is_mixed = true;
    return err;
}

/* ---- when its spans ran ---- */

static int order_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

static int order_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Joins ranges with gaps up to this length. */
static uint32_t join_ranges(struct range *list, uint32_t n, int64_t gap_ns)
{
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct range *last = n_left > 0 ? &list[n_left - 1] : NULL;
        if (!last || list[i].from_ns - last->to_ns > gap_ns)
            list[n_left++] = list[i];
        else if (list[i].to_ns > last->to_ns)
            last->to_ns = list[i].to_ns;
    }
    return n_left;
}

/* Sorted and disjoint. NULL: no space. */
static struct range *find_ranges(struct work *w, const struct process *p, uint32_t *out_n)
{
    const struct sf_link_spans *s = &w->l->spans;
    uint64_t process = s->origins[p->first].process;
    struct range *list = sf_arena_new_n(w->l->q->req, p->n + 1u, sizeof(*list));
    int64_t *gaps = sf_arena_new_n(w->l->q->req, p->n + 1u, sizeof(*gaps));
    uint32_t n = 0;
    for (uint32_t i = p->first; list && gaps && i < s->n; i++)
        if (s->origins[i].process == process && !(s->is_call && s->is_call[i]))
            list[n++] = (struct range){link_meanwhile_time_of(s->spans[i].start_ns),
                                       link_meanwhile_time_of(s->spans[i].end_ns)};
    if (!list || !gaps || n == 0)
        return NULL;
    qsort(list, n, sizeof(*list), order_ranges);
    n = join_ranges(list, n, 0);
    for (uint32_t i = 1; i < n; i++)
        gaps[i - 1] = list[i].from_ns - list[i - 1].to_ns;
    if (n > MAX_RANGES) {
        qsort(gaps, n - 1, sizeof(*gaps), order_i64);
        n = join_ranges(list, n, gaps[n - 1 - MAX_RANGES]);
    }
    *out_n = n;
    return list;
}

/* ---- what is in a range ---- */

static enum sf_err link_meanwhile_read_rows(struct work *w, struct range r, struct sf_why *why)
{
    struct sf_link_load *l = w->l;
    struct sf_detail_query ask = {.type = l->type,
                                  .match = l->windows.match,
                                  .n_match = l->windows.n_match,
                                  .process = l->windows.process,
                                  .from_ns = r.from_ns,
                                  .to_ns = r.to_ns,
                                  .select = SF_PROF_OVERLAP};
    struct sf_arena before = *l->q->req;
    struct sf_detail_list list;
    enum sf_err err = l->store->ops->detail_list(l->store, &ask, l->q, &list, why);
    bool is_large = !err && l->q->req->at - before.at > l->q->req->cap / 4;
    w->n_rows += err ? 0 : list.rows.n_rows;
    w->is_over = err == SF_ERR_LIMIT || is_large || w->n_rows > MAX_ROWS;
    if (err != SF_ERR_LIMIT && !w->is_over)
        return err ? err : sf_link_load_rows(l, &list, SF_LINK_BESIDE_NAMED, why);
    *l->q->req = before;
    return SF_OK;
}

static enum sf_err read_others(struct work *w, const struct process *p, struct range r,
                               struct sf_why *why)
{
    struct sf_link_load *l = w->l;
    struct sf_query_ctx q = *l->q;
    struct sf_link_others others = {.service = l->spans.services[p->first],
                                    .is_by_service = l->windows.by == SF_LINK_BY_SERVICE,
                                    .process = l->spans.origins[p->first].process,
                                    .not_traces = w->traces,
                                    .n_not_traces = w->n_traces,
                                    .from_ns = r.from_ns,
                                    .to_ns = r.to_ns};
    sf_arena_reset(&w->scratch);
    q.req = &w->scratch;
    enum sf_err err = sf_link_others_load(l->store, &q, &others, why);
    l->q->stats = q.stats;
    l->beside.is_of_several = l->beside.is_of_several || others.has_processes;
    w->is_over = w->is_over || others.is_partial || l->n_others + others.n > MAX_OTHERS;
    for (uint32_t i = 0; !err && !w->is_over && i < others.n; i++) {
        if (!sf_list_room_in(l->q->req, &l->others, l->n_others, &l->cap_others, 256))
            return sf_no_room(why, "the query");
        l->others[l->n_others++] = others.spans[i];
        l->others[l->n_others - 1].process = others.process;
    }
    return err;
}

/* Does a sample name a span below another? Then the process tags every span after all. */
static bool names_below(struct work *w, const struct process *p, uint32_t first_other)
{
    struct sf_link_load *l = w->l;
    uint32_t n_others = l->n_others - first_other;
    struct sf_span *spans = sf_arena_new_n(&w->scratch, n_others + 1u, sizeof(*spans));
    struct sf_span_origin *origins = sf_arena_new_n(&w->scratch, n_others + 1u, sizeof(*origins));
    struct sf_link_spans others = {.spans = spans, .origins = origins};
    uint64_t process = l->spans.origins[p->first].process;
    if (!spans || !origins)
        return true;
    for (uint32_t i = 0; i < n_others; i++) {
        spans[i] = l->others[first_other + i].span;
        origins[i].process = process;
    }
    return sf_link_beside_names_below(&l->beside, &others, n_others, process);
}

static bool has_threadless(const struct sf_link_spans *s, const struct process *p)
{
    uint64_t process = s->origins[p->first].process;
    for (uint32_t i = p->first; i < s->n; i++)
        if (s->origins[i].process == process && s->threads[i].id == 0 && s->threads[i].name == 0)
            return true;
    return false;
}

static enum sf_err link_meanwhile_add_process(struct work *w, const struct process *p,
                                              struct sf_why *why)
{
    struct sf_link_load *l = w->l;
    uint32_t n_ranges = 0, n_samples = l->n_samples, first_other = l->n_others;
    uint32_t n_no_thread = l->n_no_thread;
    enum sf_err err = link_meanwhile_find_windows(w, p, why);
    if (err || l->windows.by == SF_LINK_BY_NOBODY)
        return err;
    const struct range *ranges = find_ranges(w, p, &n_ranges);
    if (!ranges)
        return sf_no_room(why, "the query");
    l->process = l->spans.origins[p->first].process;
    l->beside.is_of_several = false;
    for (uint32_t i = 0; !err && !w->is_over && i < n_ranges; i++) {
        uint32_t before = l->n_samples;
        l->after_ns = i > 0 ? ranges[i - 1].to_ns : INT64_MIN;
        err = link_meanwhile_read_rows(w, ranges[i], why);
        if (!err && !w->is_over && l->n_samples > before && l->windows.is_mixed)
            break; /* one is enough */
        if (!err && !w->is_over && l->n_samples > before)
            err = read_others(w, p, ranges[i], why);
        w->is_over = w->is_over || sf_time_part_is_over(w->until_ns);
    }
    l->after_ns = INT64_MIN;
    sf_arena_reset(&w->scratch);
    bool is_mixed = l->beside.is_of_several || l->windows.is_mixed;
    l->has_unnamed = l->has_unnamed ||
                     (l->is_one_trace && !p->is_named && l->n_samples > n_samples);
    if (l->is_one_trace && !p->is_named &&
        (l->n_no_thread > n_no_thread ||
         (l->n_samples > n_samples && has_threadless(&l->spans, p))))
        w->has_untied = true;
    if (!err && !w->is_over && l->n_samples > n_samples &&
        (is_mixed || (!p->is_java && names_below(w, p, first_other)))) {
        w->has_mixed = w->has_mixed || is_mixed;
        l->n_samples = n_samples;
        l->n_others = first_other;
    }
    return err;
}

enum sf_err sf_link_meanwhile_add(struct sf_link_load *l, const sf_trace_id *traces,
                                  uint32_t n_traces, struct sf_why *why)
{
    struct work w = {
        .l = l, .traces = traces, .n_traces = n_traces, .until_ns = sf_time_part(l->q, TIME_PART)};
    uint32_t n_samples = l->n_samples, n_asked = 0;
    enum sf_err err = SF_OK;
    w.processes = sf_arena_new_n(l->q->req, l->spans.n_processes + 1u, sizeof(*w.processes));
    if (!w.processes || !sf_arena_init(&w.scratch, SCRATCH_CAP))
        return sf_no_room(why, "the query");
    link_meanwhile_see_spans(&w);
    if (!see_samples(&w))
        err = sf_no_room(why, "the query");
    for (uint32_t i = 0; !err && !w.is_over && i < l->spans.n_processes; i++) {
        if (!link_meanwhile_is_asked(l, &w.processes[i]))
            continue;
        w.is_over = ++n_asked > MAX_PROCESSES;
        if (!w.is_over)
            err = link_meanwhile_add_process(&w, &w.processes[i], why);
    }
    sf_arena_done(&w.scratch);
    if (w.is_over) {
        l->n_samples = n_samples;
        l->n_others = 0;
    }
    l->set.left_out = (uint8_t)((w.is_over ? SF_LEFT_OUT_MANY : 0) |
                                (w.has_mixed && !w.is_over ? SF_LEFT_OUT_MIXED : 0) |
                                (w.has_untied && !w.is_over ? SF_LEFT_OUT_UNTIED : 0));
    l->first_by_thread = n_samples;
    return err;
}

/* ---- other requests on the same threads ---- */

struct busy { /* a span of another request */
    uint64_t process, thread, start_ns, end_ns;
    uint64_t last_end_ns; /* largest end of this and earlier ones of the thread */
};

static int order_busy(const void *a, const void *b)
{
    const struct busy *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static bool is_busy(const struct busy *list, uint32_t n, const struct sf_link_sample *s)
{
    uint64_t half = s->length_ns > 0 ? (uint64_t)s->length_ns / 2 : 0;
    struct busy key = {s->process, s->thread, s->start_ns < 0 ? 0 : (uint64_t)s->start_ns + half, 0,
                       0};
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (order_busy(&list[mid], &key) <= 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && list[low - 1].process == s->process && list[low - 1].thread == s->thread &&
           list[low - 1].last_end_ns > key.start_ns;
}

/* In a process without samples that name spans, a span that is requested alone gets a share of what
 * is dropped here. */
static void drop_busy(struct sf_link_load *l, const struct busy *list, uint32_t n)
{
    uint32_t n_kept = l->first_by_thread, n_all = l->n_samples;
    for (uint32_t i = l->first_by_thread; i < l->n_samples; i++)
        if (!is_busy(list, n, &l->samples[i]))
            l->samples[n_kept++] = l->samples[i];
    l->n_samples = n_kept;
    if (n_kept < n_all && l->has_unnamed)
        l->set.left_out |= SF_LEFT_OUT_UNTIED;
}

enum sf_err sf_link_meanwhile_settle(struct sf_link_load *l, struct sf_why *why)
{
    uint32_t n_own = l->set.n_own, n = n_own + l->n_others;
    struct sf_link_spans all = {.n = n};
    all.origins = sf_arena_new_n(l->q->req, n + 1u, sizeof(*all.origins));
    all.threads = sf_arena_new_n(l->q->req, n + 1u, sizeof(*all.threads));
    struct busy *list = sf_arena_new_n(l->q->req, l->n_others + 1u, sizeof(*list));
    if (!all.origins || !all.threads || !list)
        return sf_no_room(why, "the query");
    memcpy(all.origins, l->spans.origins, n_own * sizeof(*all.origins));
    memcpy(all.threads, l->spans.threads, n_own * sizeof(*all.threads));
    for (uint32_t i = 0; i < l->n_others; i++) {
        all.origins[n_own + i] = (struct sf_span_origin){.process = l->others[i].process};
        all.threads[n_own + i] = l->others[i].thread;
    }
    if (!sf_link_threads_set(&l->threads, &all, n, n_own, &l->set.n_thread_ignored))
        return sf_no_room(why, "the query");
    memcpy(l->spans.origins, all.origins, n_own * sizeof(*all.origins));
    for (uint32_t i = 0; i < l->n_others; i++)
        list[i] = (struct busy){l->others[i].process, all.origins[n_own + i].thread,
                                l->others[i].span.start_ns, l->others[i].span.end_ns, 0};
    qsort(list, l->n_others, sizeof(*list), order_busy);
    for (uint32_t i = 0; i < l->n_others; i++) {
        bool is_first = i == 0 || list[i].process != list[i - 1].process ||
                        list[i].thread != list[i - 1].thread;
        uint64_t before_ns = is_first ? 0 : list[i - 1].last_end_ns;
        list[i].last_end_ns = list[i].end_ns > before_ns ? list[i].end_ns : before_ns;
    }
    drop_busy(l, list, l->n_others);
    l->set.n_by_thread = l->n_samples - l->first_by_thread;
    return SF_OK;
}
