/* span_figures.c - exact figures of time that spans carry themselves. */
#include "join/span_figures.h"

#include "base/num.h"
#include "join/link_set.h"

/* Attributes written by collect/lib/span_cost.h. */
static const struct figure {
    sf_str key;
    enum sf_ledger_part part;
    const char *words;
} figures[SF_SPAN_FIGURES] = {
    {SF_STR("thread.cpu_time_ns"), SF_PART_CPU, "CPU time"},
    {SF_STR("thread.run_queue_ns"), SF_PART_RUN_QUEUE, "run-queue time"},
    {SF_STR("thread.wait.lock_ns"), SF_PART_LOCK, "lock wait"},
    {SF_STR("thread.wait.condition_ns"), SF_PART_LOCK, "condition wait"},
    {SF_STR("thread.wait.disk_ns"), SF_PART_DISK, "disk wait"},
    {SF_STR("thread.wait.network_ns"), SF_PART_NET, "network wait"},
    {SF_STR("thread.wait.io_ns"), SF_PART_IO, "wait for disk or network"},
    {SF_STR("thread.wait.poll_ns"), SF_PART_IO, "poll wait"},
    {SF_STR("thread.wait.sleep_ns"), SF_PART_SLEEP, "sleep"},
};
enum {
    CPU_BIT = 1u << SF_SPAN_FIGURE_CPU,
    QUEUE_BIT = 1u << 1,
    ALL_BITS = (1u << SF_SPAN_FIGURES) - 1,
    WAIT_BITS = ALL_BITS - CPU_BIT - QUEUE_BIT,
    MOST_THREADS = 1 << 22 /* that Linux can have */
};
#define ROUNDED_NS ((int64_t)1000000) /* some senders round starts and ends to milliseconds */

/* The longest time that a thread can have spent in the span. A twentieth is allowed for clocks that
 * are read one after the other. */
static int64_t longest_ns(const struct sf_span *s)
{
    uint64_t ns = s->end_ns > s->start_ns ? s->end_ns - s->start_ns : 0;
    int64_t duration = ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
    return sf_add_sat_i64(duration, sf_add_sat_i64(duration / 20, ROUNDED_NS));
}

/* If a span has the sum of waits, a wait that it does not have was 0. */
static int64_t carried(const struct sf_span *s, size_t i, int64_t longest, bool has_waits,
                       struct sf_span_figures *out)
{
    struct sf_value v = sf_attrs_get(s->attrs, figures[i].key);
    unsigned bit = 1u << i;
    if (v.type == SF_VALUE_NONE)
        return has_waits && bit & WAIT_BITS ? 0 : SF_LEDGER_UNSAID;
    if (v.type != SF_VALUE_INT || v.i64 < 0)
        out->negative = (out->negative | bit) & ALL_BITS;
    else if (v.i64 > longest)
        out->longer = (out->longer | bit) & ALL_BITS;
    else
        return v.i64;
    return SF_LEDGER_UNSAID;
}

/* A thread either runs, or waits for a CPU, or for something else. A wait may end with time in the
 * run queue: these two are not added up. */
static void leave_out_together(struct sf_span_figures *out, unsigned bits, int64_t longest)
{
    int64_t sum = 0;
    for (size_t i = 0; i < SF_SPAN_FIGURES; i++)
        if (bits & 1u << i && out->ns[i] > 0)
            sum = sf_add_sat_i64(sum, out->ns[i]);
    for (size_t i = 0; sum > longest && i < SF_SPAN_FIGURES; i++)
        if (bits & 1u << i && out->ns[i] > 0)
            out->together = (out->together | 1u << i) & ALL_BITS;
}

static int32_t carried_runnable(const struct sf_span *s)
{
    struct sf_value v = sf_attrs_get(s->attrs, SF_STR("host.runnable_threads"));
    bool can_be = v.type == SF_VALUE_INT && v.i64 > 0 && v.i64 <= MOST_THREADS;
    return can_be ? (int32_t)v.i64 : SF_LEDGER_UNSAID;
}

struct sf_span_figures sf_span_figures_read(const struct sf_span *s)
{
    struct sf_span_figures out = {.runnable = carried_runnable(s)};
    struct sf_value waits = sf_attrs_get(s->attrs, SF_STR("thread.wait_ns"));
    int64_t longest = longest_ns(s);
    bool has_waits = waits.type == SF_VALUE_INT && waits.i64 >= 0 && waits.i64 <= longest;
    for (size_t i = 0; i < SF_SPAN_FIGURES; i++)
        out.ns[i] = carried(s, i, longest, has_waits, &out);
    leave_out_together(&out, CPU_BIT | QUEUE_BIT, longest);
    leave_out_together(&out, CPU_BIT | WAIT_BITS, longest);
    for (size_t i = 0; i < SF_SPAN_FIGURES; i++)
        if (out.together & 1u << i)
            out.ns[i] = SF_LEDGER_UNSAID;
    return out;
}

/* Spans of many traces have no attributes here: their figures were read before. */
static struct sf_span_figures said(const struct sf_link_set *set, uint32_t span)
{
    return set->figures ? set->figures[span] : sf_span_figures_read(&set->spans[span]);
}

/* A span's figure includes that of its children on the same thread, which is subtracted. If such a
 * child has no figure, or they have more than the span, the result is unknown. */
struct sf_ledger_exact sf_span_figures_of(const struct sf_link_set *set, uint32_t span)
{
    const struct sf_span_tree *t = &set->tree;
    struct sf_ledger_exact exact = sf_ledger_unsaid;
    struct sf_span_figures own = said(set, span);
    int64_t below[SF_SPAN_FIGURES] = {0};
    for (uint32_t i = t->first[span]; i < t->first[span + 1]; i++) {
        uint32_t child = t->children[i];
        if (!sf_span_tree_is_local(t, span, child) ||
            sf_span_thread_differs(&set->threads[span], &set->threads[child]))
            continue;
        struct sf_span_figures theirs = said(set, child);
        for (size_t k = 0; k < SF_SPAN_FIGURES; k++) {
            if (theirs.ns[k] < 0)
                own.ns[k] = SF_LEDGER_UNSAID;
            else
                below[k] = sf_add_sat_i64(below[k], theirs.ns[k]);
        }
    }
    for (size_t i = 0; i < SF_SPAN_FIGURES; i++) {
        int64_t *ns = &exact.ns[figures[i].part], whole = own.ns[i];
        if (whole < 0 || below[i] > whole + whole / 20 + ROUNDED_NS)
            continue;
        int64_t rest = whole > below[i] ? whole - below[i] : 0;
        *ns = *ns >= 0 ? sf_add_sat_i64(*ns, rest) : rest;
    }
    return exact;
}

int64_t sf_span_figures_runnable(const struct sf_link_set *set, uint32_t span)
{
    return set->figures ? set->figures[span].runnable : carried_runnable(&set->spans[span]);
}

static bool say_figures(unsigned bits, const char *end, struct sf_arena *req, sf_str *io)
{
    const char *before = io->len > 0 ? "; the reported " : "the reported ";
    for (size_t i = 0; i < SF_SPAN_FIGURES; i++) {
        if (!(bits & 1u << i))
            continue;
        if (!sf_arena_print(req, io, "%.*s%s%s", SF_STR_ARG(*io), before, figures[i].words))
            return false;
        before = " and ";
    }
    return bits == 0 || sf_arena_print(req, io, "%.*s %s", SF_STR_ARG(*io), end);
}

bool sf_span_figures_say(const struct sf_link_set *set, uint32_t span, struct sf_arena *req,
                         sf_str *io)
{
    uint32_t n = 0;
    for (uint32_t i = 0; span == SF_NOBODY && i < set->n_own; i++) {
        struct sf_span_figures f = said(set, i);
        n += (f.negative | f.longer | f.together) != 0;
    }
    if (span == SF_NOBODY)
        return n == 0 ||
               sf_arena_print(req, io,
                              "%.*s%sleft out: times that %u span%s longer than the span itself, "
                              "or negative",
                              SF_STR_ARG(*io), io->len > 0 ? "; " : "", n,
                              n == 1 ? " reports" : "s report");
    struct sf_span_figures f = said(set, span);
    return say_figures(f.longer, "is longer than the span, and left out", req, io) &&
           say_figures(f.negative, "is not a number of nanoseconds, and left out", req, io) &&
           say_figures(f.together, "together are longer than the span, and left out", req, io);
}
