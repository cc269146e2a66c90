/* Converts slices, which begin and end, to stacks with the time of the innermost slice.
 *
 * Events of a thread may be in any order, so they are sorted: begins by time, the longer first,
 * ends by time. At one time, slices that began earlier end first, then slices begin, then those end
 * that began at this time. An end closes the innermost open slice of its name (of equal arguments,
 * if there is one) and all slices that began inside it; an end that matches nothing is ignored.
 * Slices that are still open end with the last event of the thread. A slice that extends beyond the
 * one it began in is cut at its end, because stacks are a tree.
 *
 * Open slices of one name are linked, so that an end finds its own without a search. */
#include <stdlib.h>

#include "decode/json/trace_event.h"

enum { MAX_SAME_NAME = 64 }; /* open slices with the same name whose arguments are compared */

struct edge { /* the beginning or end of a slice */
    int64_t ns;
    uint32_t event;
};

struct open_slice {
    uint32_t event, name, below; /* below: index of the next open slice of this name, or SF_NONE */
    int64_t start_ns;
};

struct slicer {
    struct sf_trace_events *t;
    const struct sf_trace_event *events;
    struct sf_profile_list open, path; /* path: the location of each open slice */
    uint32_t *top;                     /* for each name: its innermost open slice, or SF_NONE */
    uint32_t *open_at;                 /* for each complete event: its index in `open`, or
                                        * SF_NONE */
    uint32_t thread, series;
    int64_t last_ns;
};

static int trace_slices_by_thread(const void *x, const void *y)
{
    const struct sf_trace_event *a = x, *b = y;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->ts_ns != b->ts_ns)
        return a->ts_ns < b->ts_ns ? -1 : 1;
    if (a->dur_ns != b->dur_ns)
        return a->dur_ns > b->dur_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int trace_slices_by_time(const void *x, const void *y)
{
    const struct edge *a = x, *b = y;
    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return a->event < b->event ? -1 : a->event > b->event;
}

static void trace_slices_add_until(struct slicer *s, int64_t ns)
{
    const struct sf_trace_thread *thread = sf_trace_thread_at(s->t, s->thread);
    struct sf_sample sample = {.series = s->series,
                               .value = ns - s->last_ns,
                               .count = 1,
                               .thread = thread->tid,
                               .thread_name = thread->name};
    if (s->open.n && ns > s->last_ns) {
        sample.stack = sf_profile_build_path(s->t->b, s->path.items, s->path.n);
        sf_sample_clock_stamp(&s->t->clock, s->last_ns, sample.value, &sample);
        sf_sample_sums_add(&s->t->sums, &sample);
    }
    s->last_ns = ns;
}

static struct open_slice *open_item(const struct slicer *s, uint32_t at)
{
    return (struct open_slice *)s->open.items + at;
}

static void open_slice(struct slicer *s, uint32_t event)
{
    const struct sf_trace_event *e = &s->events[event];
    struct open_slice *to = sf_profile_list_more(s->t->b, &s->open, sizeof(*to));
    uint32_t *location = sf_profile_list_more(s->t->b, &s->path, sizeof(*location));
    if (!to || !location)
        return;
    *to = (struct open_slice){event, e->name, s->top[e->name], e->ts_ns};
    *location = e->location;
    s->top[e->name] = s->open.n;
    s->open_at[event] = s->open.n;
    s->open.n++;
    s->path.n++;
}

/* Closes an open slice and all that began inside it. */
static void close_down_to(struct slicer *s, uint32_t at)
{
    while (s->open.n > at) {
        const struct open_slice *o = open_item(s, s->open.n - 1);
        s->top[o->name] = o->below;
        s->open_at[o->event] = SF_NONE;
        s->open.n--;
        s->path.n--;
    }
}

/* The open slice that `event` ends, or SF_NONE. */
static uint32_t trace_slices_match(const struct slicer *s, const struct sf_trace_event *e)
{
    uint32_t at = e->name == SF_NONE ? (s->open.n ? s->open.n - 1 : SF_NONE) : s->top[e->name],
             first = at;
    for (unsigned i = 0; at != SF_NONE && i < MAX_SAME_NAME; i++) {
        const struct sf_trace_event *o = &s->events[open_item(s, at)->event];
        if (!e->args_hash || !o->args_hash || e->args_hash == o->args_hash || e->name == SF_NONE)
            return at;
        at = open_item(s, at)->below;
    }
    return first;
}

/* True: done; false: to be called again when the slices of this time have begun. */
static bool close_slice(struct slicer *s, uint32_t event, int64_t ns, bool is_late)
{
    const struct sf_trace_event *e = &s->events[event];
    uint32_t at = e->ph == 'X' ? s->open_at[event] : trace_slices_match(s, e);
    if (at == SF_NONE)
        return is_late;
    if (!is_late && open_item(s, at)->start_ns >= ns)
        return false;
    close_down_to(s, at);
    return true;
}

/* Processes all that happens at one time: begins from `*b`, ends from `*e`. */
static void trace_slices_step(struct slicer *s, const struct edge *begins, uint32_t n_begins,
                              uint32_t *b, const struct edge *ends, uint32_t n_ends, uint32_t *e,
                              int64_t ns, struct edge *late)
{
    uint32_t n_late = 0;
    trace_slices_add_until(s, ns);
    for (; *e < n_ends && ends[*e].ns == ns; (*e)++) {
        if (!close_slice(s, ends[*e].event, ns, false))
            late[n_late++] = ends[*e];
    }
    for (; *b < n_begins && begins[*b].ns == ns; (*b)++)
        open_slice(s, begins[*b].event);
    for (uint32_t i = 0; i < n_late; i++)
        close_slice(s, late[i].event, ns, true);
}

static void trace_slices_add_thread(struct slicer *s, uint32_t from, uint32_t to,
                                    struct edge *edges)
{
    struct edge *begins = edges, *ends = edges + (to - from), *late = ends + (to - from);
    uint32_t n_begins = 0, n_ends = 0, b = 0, e = 0;
    int64_t last = INT64_MIN;
    for (uint32_t i = from; i < to; i++) {
        const struct sf_trace_event *at = &s->events[i];
        int64_t end = at->ts_ns;
        if (at->ph == 'X' && __builtin_add_overflow(at->ts_ns, at->dur_ns, &end))
            end = INT64_MAX;
        if (at->ph != 'E')
            begins[n_begins++] = (struct edge){at->ts_ns, i};
        if (at->ph != 'B')
            ends[n_ends++] = (struct edge){end, i};
        if (end > last)
            last = end;
    }
    if (n_ends) /* `begins` is sorted already */
        qsort(ends, n_ends, sizeof(*ends), trace_slices_by_time);
    s->open.n = s->path.n = 0;
    s->last_ns = n_begins ? begins[0].ns : 0;
    while ((b < n_begins || e < n_ends) && sf_profile_build_ok(s->t->b)) {
        int64_t ns = b < n_begins ? begins[b].ns : ends[e].ns;
        if (e < n_ends && ends[e].ns < ns)
            ns = ends[e].ns;
        trace_slices_step(s, begins, n_begins, &b, ends, n_ends, &e, ns, late);
    }
    trace_slices_add_until(s, last);
    close_down_to(s, 0);
}

static uint32_t trace_slices_open_series(struct sf_trace_events *t, uint32_t thread, uint32_t what)
{
    struct sf_label label;
    uint32_t n = sf_trace_event_label(t, thread, &label);
    return sf_profile_build_series(t->b, sf_profile_build_set(t->b, &t->b->me, &label, n), what);
}

void sf_trace_slices(struct sf_trace_events *t)
{
    struct sf_profile_what type = {.type = {SF_STR("wall"), SF_STR("wall"), SF_STR("nanoseconds"),
                                            SF_STR("wall"), SF_STR("nanoseconds")}};
    struct sf_trace_event *events = t->events.items;
    struct slicer s = {.t = t, .events = events};
    uint32_t n = t->events.n, what;
    struct edge *edges;
    if (!n)
        return;
    qsort(events, n, sizeof(*events), trace_slices_by_thread);
    what = sf_profile_build_what(t->b, &type, true);
    edges = sf_profile_new(t->b, 3 * (size_t)n, sizeof(*edges));
    s.top = sf_profile_new(t->b, t->b->functions.n + 1u, sizeof(*s.top));
    s.open_at = sf_profile_new(t->b, n, sizeof(*s.open_at));
    if (t->b->is_full)
        return;
    for (uint32_t i = 0; i < t->b->functions.n; i++)
        s.top[i] = SF_NONE;
    for (uint32_t i = 0; i < n; i++)
        s.open_at[i] = SF_NONE;
    for (uint32_t i = 0, k; i < n && sf_profile_build_ok(t->b); i = k) {
        for (k = i + 1; k < n && events[k].thread == events[i].thread; k++)
            ;
        s.thread = events[i].thread;
        s.series = trace_slices_open_series(t, s.thread, what);
        trace_slices_add_thread(&s, i, k, edges);
    }
}
