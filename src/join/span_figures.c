/* span_figures.c - exact figures of time that spans carry themselves. */
#include "join/span_figures.h"

#include "base/num.h"
#include "join/link_set.h"

/* Attributes written by collect/lib/span_cost.h. */
static const struct figure {
    sf_str key;
    enum sf_ledger_part part;
} figures[SF_SPAN_FIGURES] = {
    {SF_STR("thread.cpu_time_ns"), SF_PART_CPU},
    {SF_STR("thread.run_queue_ns"), SF_PART_RUN_QUEUE},
    {SF_STR("thread.wait.lock_ns"), SF_PART_LOCK},
    {SF_STR("thread.wait.condition_ns"), SF_PART_LOCK},
    {SF_STR("thread.wait.disk_ns"), SF_PART_DISK},
    {SF_STR("thread.wait.network_ns"), SF_PART_NET},
    {SF_STR("thread.wait.io_ns"), SF_PART_IO},
    {SF_STR("thread.wait.poll_ns"), SF_PART_IO},
    {SF_STR("thread.wait.sleep_ns"), SF_PART_SLEEP},
};

/* If a span has the sum of waits, a wait that it does not have was 0. */
static int64_t carried(const struct sf_span *s, const struct figure *f)
{
    struct sf_value v = sf_attrs_get(s->attrs, f->key);
    if (v.type == SF_VALUE_INT && v.i64 >= 0)
        return v.i64;
    bool is_none = f->part >= SF_PART_LOCK &&
                   sf_attrs_get(s->attrs, SF_STR("thread.wait_ns")).type == SF_VALUE_INT;
    return is_none ? 0 : SF_LEDGER_UNSAID;
}

static int64_t carried_runnable(const struct sf_span *s)
{
    struct sf_value v = sf_attrs_get(s->attrs, SF_STR("host.runnable_threads"));
    return v.type == SF_VALUE_INT && v.i64 > 0 ? v.i64 : SF_LEDGER_UNSAID;
}

struct sf_span_figures sf_span_figures_read(const struct sf_span *s)
{
    struct sf_span_figures out;
    for (size_t i = 0; i < SF_SPAN_FIGURES; i++)
        out.ns[i] = carried(s, &figures[i]);
    out.runnable = carried_runnable(s);
    return out;
}

/* Spans of many traces have no attributes here: their figures were read before. */
static int64_t said(const struct sf_link_set *set, uint32_t span, size_t figure)
{
    return set->figures ? set->figures[span].ns[figure]
                        : carried(&set->spans[span], &figures[figure]);
}

/* A span's figure includes that of its children on the same thread, which is subtracted. If such a
 * child has no figure, the result is unknown. */
static int64_t own_of(const struct sf_link_set *set, uint32_t span, size_t figure)
{
    const struct sf_span_tree *t = &set->tree;
    int64_t own = said(set, span, figure);
    for (uint32_t i = t->first[span]; own >= 0 && i < t->first[span + 1]; i++) {
        uint32_t child = t->children[i];
        if (!sf_span_tree_is_local(t, span, child) ||
            sf_span_thread_differs(&set->threads[span], &set->threads[child]))
            continue;
        int64_t theirs = said(set, child, figure);
        if (theirs < 0)
            return SF_LEDGER_UNSAID;
        own = own > theirs ? own - theirs : 0;
    }
    return own;
}

struct sf_ledger_exact sf_span_figures_of(const struct sf_link_set *set, uint32_t span)
{
    struct sf_ledger_exact exact = sf_ledger_unsaid;
    for (size_t i = 0; i < SF_SPAN_FIGURES; i++) {
        int64_t *ns = &exact.ns[figures[i].part], own = own_of(set, span, i);
        if (own >= 0)
            *ns = *ns >= 0 ? sf_add_sat_i64(*ns, own) : own;
    }
    return exact;
}

int64_t sf_span_figures_runnable(const struct sf_link_set *set, uint32_t span)
{
    return set->figures ? set->figures[span].runnable : carried_runnable(&set->spans[span]);
}
