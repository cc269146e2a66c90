/* clock_skew.c - clocks of two hosts that contradict each other. */
#include "link/clock_skew.h"

/* Calls that wait: who sends a message or starts work without waiting is outlived by it rightly. */
static bool is_call(const struct sf_span *parent, const struct sf_span *child)
{
    return parent->kind != SF_KIND_PRODUCER && child->kind != SF_KIND_CONSUMER &&
           (child->kind == SF_KIND_SERVER || parent->kind == SF_KIND_CLIENT);
}

static int64_t difference(uint64_t a, uint64_t b)
{
    uint64_t size = a > b ? a - b : b - a;
    int64_t whole = size < INT64_MAX / 4 ? (int64_t)size : INT64_MAX / 4;
    return a > b ? whole : -whole;
}

static bool measure(const struct sf_span_tree *t, uint32_t child, struct sf_clock_skew *out)
{
    const struct sf_span_place *c = &t->places[child], *p = &t->places[c->parent];
    int64_t before = difference(c->start_ns, p->start_ns); /* the room in front of the child */
    int64_t behind = difference(p->end_ns, c->end_ns);     /* and behind it */
    if ((before >= 0 && behind >= 0) || before + behind < 0)
        return false; /* it fits; or it could not, with any clock: it outlived its parent */
    *out = (struct sf_clock_skew){.parent = c->parent,
                                  .child = child,
                                  .offset_ns = (before - behind) / 2,
                                  .slack_ns = (before + behind) / 2};
    return true;
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
        if (parent == SF_NOBODY || sf_span_tree_is_local(t, i, parent) ||
            !is_call(&t->spans[parent], &t->spans[i]))
            continue;
        n_calls++;
        n += measure(t, i, &list[n]);
    }
    *out = list;
    *out_n = n;
    *out_calls = n_calls;
    return SF_OK;
}
