/* clock_skew.c - finds contradictions between the clocks of two hosts. */
#include "link/clock_skew.h"

/* Is the child a synchronous call? A message or asynchronous work may outlive its sender, and so
 * may the work of a caller that failed and gave up. */
static bool is_waited_for(const struct sf_span *parent, const struct sf_span *child)
{
    return parent->kind != SF_KIND_PRODUCER && child->kind != SF_KIND_CONSUMER &&
           (child->kind == SF_KIND_SERVER || parent->kind == SF_KIND_CLIENT) &&
           parent->status != SF_STATUS_ERROR;
}

/* Limited, so that sums of several never overflow. */
static int64_t difference(uint64_t a, uint64_t b)
{
    uint64_t size = a > b ? a - b : b - a;
    int64_t whole = size < INT64_MAX / 4 ? (int64_t)size : INT64_MAX / 4;
    return a > b ? whole : -whole;
}

struct sf_clock_range sf_clock_skew_range_of(const struct sf_span_tree *t, uint32_t child)
{
    const struct sf_span_place *c = &t->places[child], *p = &t->places[c->parent];
    struct sf_clock_range r = {difference(c->end_ns, p->end_ns),
                               difference(c->start_ns, p->start_ns)};
    /* If the child is longer than its parent, no clock difference makes it fit: it continued
     * alone. */
    if (r.low_ns > r.high_ns || !is_waited_for(&t->spans[c->parent], &t->spans[child]))
        r.low_ns = SF_CLOCK_FROM_ANY;
    return r;
}

int64_t sf_clock_skew_range_guess(struct sf_clock_range r, int64_t *slack_ns)
{
    if (r.low_ns == SF_CLOCK_FROM_ANY) {
        *slack_ns = SF_SLACK_UNKNOWN;
        return r.high_ns;
    }
    *slack_ns = (r.high_ns - r.low_ns) / 2;
    return r.low_ns + *slack_ns;
}

enum sf_err sf_clock_skew_find(const struct sf_span_tree *t, struct sf_arena *req,
                               const struct sf_clock_skew **out, uint32_t *out_n,
                               uint32_t *out_calls, struct sf_why *why)
{
    struct sf_clock_skew *list = sf_arena_new_n(req, t->n_spans + 1u, sizeof(*list));
    uint32_t n = 0, n_calls = 0;
    if (!list)
        return sf_fail(why, SF_ERR_LIMIT, "no memory for the clocks of %u spans", t->n_spans);
    for (uint32_t i = 0; i < t->n_spans; i++) {
        uint32_t parent = t->places[i].parent;
        if (parent == SF_NOBODY || sf_span_tree_is_local(t, i, parent))
            continue;
        struct sf_clock_range r = sf_clock_skew_range_of(t, i);
        n_calls++;
        if (sf_clock_range_has(r, 0))
            continue;
        list[n] = (struct sf_clock_skew){.parent = parent, .child = i};
        list[n].offset_ns = sf_clock_skew_range_guess(r, &list[n].slack_ns);
        n++;
    }
    *out = list;
    *out_n = n;
    *out_calls = n_calls;
    return SF_OK;
}
