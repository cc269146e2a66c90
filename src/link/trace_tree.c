#include "link/trace_tree.h"

#include <stdlib.h>

struct by_id {
    sf_span_id id;
    uint32_t place;
};

static int compare_id(const void *a, const void *b)
{
    const struct by_id *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* The span with that id; of several (a client and a server that share one) the first that is not
 * the asker itself. */
static uint32_t find(const struct by_id *ids, uint32_t n, sf_span_id id, uint32_t asker)
{
    uint32_t lo = 0, hi = n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (ids[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < n && ids[lo].id == id; lo++) {
        if (ids[lo].place != asker)
            return ids[lo].place;
    }
    return SF_TREE_NONE;
}

/* Walks up from every span; the first one met twice on one walk loses its parent. `seen` holds the
 * number of the walk that passed a span, so the whole is linear. */
static uint32_t cut_cycles(uint32_t *parent, uint32_t *seen, uint32_t n)
{
    uint32_t n_cut = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i;
        while (at != SF_TREE_NONE && seen[at] == 0) {
            seen[at] = i + 1;
            at = parent[at];
        }
        if (at != SF_TREE_NONE && seen[at] == i + 1) {
            parent[at] = SF_TREE_NONE;
            n_cut++;
        }
    }
    return n_cut;
}

struct child {
    uint32_t group, place; /* group: the parent's place, n for roots */
    uint64_t start_ns;
    sf_span_id id;
};

static int compare_child(const void *a, const void *b)
{
    const struct child *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static void walk(const uint32_t *child, const uint32_t *child_at, uint32_t n, uint32_t *stack,
                 uint32_t *order, uint32_t *depth)
{
    uint32_t n_stack = 0, n_order = 0;
    /* A span is pushed once and all its children at once, last first: n entries are enough. */
    for (uint32_t i = child_at[n + 1]; i > child_at[n]; i--)
        stack[n_stack++] = child[i - 1];
    while (n_stack) {
        uint32_t at = stack[--n_stack];
        order[n_order++] = at;
        for (uint32_t i = child_at[at + 1]; i > child_at[at]; i--) {
            depth[child[i - 1]] = depth[at] + 1;
            stack[n_stack++] = child[i - 1];
        }
    }
}

static bool group_children(const struct sf_span *spans, const uint32_t *parent, uint32_t n,
                           struct sf_arena scratch, uint32_t *child, uint32_t *child_at)
{
    struct child *all = sf_arena_new_n(&scratch, n, sizeof(*all));
    uint32_t at = 0;
    if (!all)
        return false;
    for (uint32_t i = 0; i < n; i++)
        all[i] = (struct child){parent[i] == SF_TREE_NONE ? n : parent[i], i, spans[i].start_ns,
                                spans[i].span_id};
    qsort(all, n, sizeof(*all), compare_child);
    for (uint32_t group = 0; group <= n + 1; group++) {
        while (at < n && all[at].group < group)
            at++;
        child_at[group] = at;
    }
    for (uint32_t i = 0; i < n; i++)
        child[i] = all[i].place;
    return true;
}

enum sf_err sf_trace_tree_build(const struct sf_span *spans, uint32_t n, struct sf_arena *req,
                                struct sf_trace_tree *out, struct sf_why *why)
{
    struct sf_trace_tree t = {.n = n, .start_ns = n ? UINT64_MAX : 0};
    uint32_t *parent = sf_arena_new_n(req, n, sizeof(*parent));
    uint32_t *order = sf_arena_new_n(req, n, sizeof(*order));
    uint32_t *depth = sf_arena_new_n(req, n, sizeof(*depth));
    uint32_t *child = sf_arena_new_n(req, n, sizeof(*child));
    uint32_t *child_at = sf_arena_new_n(req, (size_t)n + 2, sizeof(*child_at));
    struct sf_arena scratch = *req;
    struct by_id *ids = sf_arena_new_n(&scratch, n, sizeof(*ids));
    uint32_t *work = sf_arena_new_n(&scratch, n, sizeof(*work));

    if (!parent || !order || !depth || !child || !child_at || !ids || !work)
        return sf_fail(why, SF_ERR_LIMIT, "trace of %u spans: no room for its tree", n);

    for (uint32_t i = 0; i < n; i++) {
        ids[i] = (struct by_id){spans[i].span_id, i};
        if (spans[i].start_ns < t.start_ns)
            t.start_ns = spans[i].start_ns;
        if (spans[i].start_ns > t.end_ns)
            t.end_ns = spans[i].start_ns;
        if (spans[i].end_ns > t.end_ns)
            t.end_ns = spans[i].end_ns;
    }
    qsort(ids, n, sizeof(*ids), compare_id);
    for (uint32_t i = 0; i < n; i++) {
        parent[i] = spans[i].parent_id ? find(ids, n, spans[i].parent_id, i) : SF_TREE_NONE;
        t.n_orphans += spans[i].parent_id && parent[i] == SF_TREE_NONE;
    }
    t.n_cut = cut_cycles(parent, work, n);
    if (!group_children(spans, parent, n, scratch, child, child_at))
        return sf_fail(why, SF_ERR_LIMIT, "trace of %u spans: no room for its tree", n);
    walk(child, child_at, n, work, order, depth);

    t.parent = parent;
    t.order = order;
    t.depth = depth;
    t.child = child;
    t.child_at = child_at;
    t.n_roots = child_at[n + 1] - child_at[n];
    *out = t;
    return SF_OK;
}
