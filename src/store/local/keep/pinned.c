#include "store/local/keep/pinned.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/list.h"
#include "store/local/engine.h"
#include "store/local/keep/pins.h"

#define ARENA_CAP ((size_t)512 << 20) /* reserved; only used pages count */
enum { MAX_SPANS = 1 << 20, MAX_TIMES = 1 << 16 };

static int pinned_by_span(const void *a, const void *b)
{
    sf_span_id x = *(const sf_span_id *)a, y = *(const sf_span_id *)b;
    return x < y ? -1 : x > y;
}

static int pinned_by_trace(const void *a, const void *b)
{
    return sf_trace_id_cmp(*(const sf_trace_id *)a, *(const sf_trace_id *)b);
}

static int pinned_by_time(const void *a, const void *b)
{
    const struct sf_pinned_time *x = a, *y = b;
    if (x->service != y->service)
        return x->service < y->service ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static int64_t pinned_time_of(uint64_t ns)
{
    return ns > INT64_MAX ? INT64_MAX : (int64_t)ns;
}

/* `first` is the index of the first time of the current trace. */
static bool pinned_add_time(struct sf_pinned *p, size_t first, uint64_t service, int64_t start_ns,
                            int64_t end_ns)
{
    for (size_t i = first; i < p->n_times; i++) {
        struct sf_pinned_time *t = &p->times[i];
        if (t->service != service)
            continue;
        t->start_ns = start_ns < t->start_ns ? start_ns : t->start_ns;
        t->end_ns = end_ns > t->end_ns ? end_ns : t->end_ns;
        return true;
    }
    if (!sf_list_room_max(&p->times, p->n_times, &p->cap_times, 16, MAX_TIMES))
        return false;
    p->times[p->n_times++] = (struct sf_pinned_time){service, start_ns, end_ns, 0};
    return true;
}

static bool pinned_add_rows(struct sf_pinned *p, size_t first, const struct sf_span_rows *rows)
{
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        uint64_t service = sf_hash_str(rows->resources[rows->resource[i]].service);
        if (!sf_list_room_max(&p->spans, p->n_spans, &p->cap_spans, 64, MAX_SPANS) ||
            !pinned_add_time(p, first, service, pinned_time_of(rows->start_ns[i]),
                             pinned_time_of(rows->end_ns[i])))
            return false;
        p->spans[p->n_spans++] = rows->span_id[i];
    }
    return true;
}

static enum sf_err pinned_add_trace(struct sf_pinned *p, struct sf_local *l, uint32_t tenant,
                                    sf_trace_id id, struct sf_arena *tmp, struct sf_why *why)
{
    struct sf_query_ctx q = {.tenants = &tenant, .n_tenants = 1, .req = tmp, .is_exact = true};
    struct sf_span_cursor *cursor;
    struct sf_span_rows rows;
    size_t first = p->n_times;
    enum sf_err err = sf_store_trace(&l->base, id, &q, &cursor, why);
    if (err)
        return err;
    while (!err && cursor->next(cursor, &rows)) {
        if (!pinned_add_rows(p, first, &rows))
            err = sf_no_memory(why, "the spans of pinned traces");
    }
    if (!err && cursor->err)
        err = sf_fail(why, cursor->err, "%s", cursor->why.text);
    cursor->close(cursor);
    return err;
}

static void pinned_settle(struct sf_pinned *p)
{
    if (p->n_traces)
        qsort(p->traces, p->n_traces, sizeof(*p->traces), pinned_by_trace);
    if (p->n_spans)
        qsort(p->spans, p->n_spans, sizeof(*p->spans), pinned_by_span);
    if (p->n_times)
        qsort(p->times, p->n_times, sizeof(*p->times), pinned_by_time);
    for (size_t i = 0; i < p->n_times; i++) {
        struct sf_pinned_time *t = &p->times[i];
        bool is_first = i == 0 || t[-1].service != t->service;
        t->until_ns = is_first || t[-1].until_ns < t->end_ns ? t->end_ns : t[-1].until_ns;
    }
}

enum sf_err sf_pinned_load(struct sf_pinned *p, struct sf_local *l, uint32_t tenant,
                           int64_t since_ns, struct sf_why *why)
{
    struct sf_pin *pins = NULL;
    struct sf_arena tmp = {0};
    size_t n = 0;
    enum sf_err err = sf_pins_now(l, tenant, since_ns, &pins, &n, why);
    *p = (struct sf_pinned){0};
    if (err || n == 0) {
        sf_heap_free(pins);
        return err;
    }
    p->traces = sf_heap_new_n(n, sizeof(*p->traces));
    if (!p->traces || !sf_arena_init(&tmp, ARENA_CAP))
        err = sf_no_memory(why, "the spans of pinned traces");
    for (size_t i = 0; !err && i < n; i++) {
        sf_arena_reset(&tmp);
        p->traces[p->n_traces++] = pins[i].trace;
        err = pinned_add_trace(p, l, pins[i].tenant, pins[i].trace, &tmp, why);
    }
    sf_arena_done(&tmp);
    sf_heap_free(pins);
    pinned_settle(p);
    return err;
}

void sf_pinned_done(struct sf_pinned *p)
{
    sf_heap_free(p->traces);
    sf_heap_free(p->spans);
    sf_heap_free(p->times);
    *p = (struct sf_pinned){0};
}

/* Does a time of the service overlap [start, end]? */
static bool has_time(const struct sf_pinned *p, uint64_t service, int64_t start_ns, int64_t end_ns)
{
    size_t low = 0, high = p->n_times;
    while (low < high) { /* find the first that begins after `end_ns` */
        size_t mid = low + (high - low) / 2;
        const struct sf_pinned_time *t = &p->times[mid];
        if (t->service < service || (t->service == service && t->start_ns <= end_ns))
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && p->times[low - 1].service == service &&
           p->times[low - 1].until_ns >= start_ns;
}

bool sf_pinned_has(const struct sf_pinned *p, const struct sf_profile_detail *d, sf_str service)
{
    if (p->n_traces == 0)
        return false;
    if (!sf_trace_id_is_zero(d->trace_id))
        return bsearch(&d->trace_id, p->traces, p->n_traces, sizeof(*p->traces), pinned_by_trace) !=
               NULL;
    if (d->span_id)
        return p->n_spans && bsearch(&d->span_id, p->spans, p->n_spans, sizeof(*p->spans),
                                     pinned_by_span) != NULL;
    return has_time(p, sf_hash_str(service), d->start_ns, sf_profile_detail_end(d));
}
