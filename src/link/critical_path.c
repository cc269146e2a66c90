/* critical_path.c - which time, if removed, would have made the trace shorter.
 *
 * Each span's children are kept as one run of an array, ordered by end. The walk is a stack of
 * (span, moment): pop the newest, look for the child that ended last at or before the moment, give
 * the stretch after its end to the span, push the span again at the child's start and the child at
 * its end. Stretches come out from last to first and are turned round at the end. Every step
 * either emits, pushes a child seen for the first time, or ends a span: linear in spans. */
#include "link/critical_path.h"

#include <stdlib.h>
#include <string.h>

struct walk {
    const struct sf_span_tree *tree;
    uint32_t n_spans;
    uint32_t *parents;
    uint32_t *children;
    const uint32_t *first_child; /* run i is children[first_child[i] .. first_child[i + 1]) */
    uint32_t *next_child;        /* how much of the run is still to be looked at, from its end */
    struct sf_path_stretch *stretches;
    uint32_t n_stretches, cap_stretches;
    struct sf_arena *req;
};

struct frame {
    uint32_t span;    /* n_spans: the common root */
    uint64_t from_ns; /* nothing before this counts: the parent was not waiting yet */
    uint64_t at_ns;   /* walked back to here */
};

/* ---- children by their ends ---- */

static int order_by_end(const void *a, const void *b, void *arg)
{
    const struct sf_span_tree *t = arg;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    uint64_t end_i = sf_span_tree_end_ns(t, i), end_j = sf_span_tree_end_ns(t, j);
    uint64_t start_i = sf_span_tree_start_ns(t, i), start_j = sf_span_tree_start_ns(t, j);
    if (end_i != end_j)
        return end_i < end_j ? -1 : 1;
    /* Same end: the one that began earlier is looked at first, it explains more. */
    if (start_i != start_j)
        return start_i > start_j ? -1 : 1;
    return (i > j) - (i < j);
}

static bool find_children(struct walk *w)
{
    const struct sf_span_tree *tree = w->tree;
    uint32_t n = w->n_spans;
    w->first_child = tree->first;
    w->children = sf_arena_new_n(w->req, n + 1u, sizeof(*w->children));
    w->next_child = sf_arena_new_n(w->req, n + 1u, sizeof(*w->next_child));
    if (!w->children || !w->next_child)
        return false;
    memcpy(w->children, tree->children, n * sizeof(*w->children));
    for (uint32_t i = 0; i < n; i++)
        w->parents[i] = tree->places[i].parent;
    for (uint32_t i = 0; i <= n; i++) {
        w->next_child[i] = w->first_child[i + 1]; /* at each run's end */
        qsort_r(w->children + w->first_child[i], w->first_child[i + 1] - w->first_child[i],
                sizeof(*w->children), order_by_end, (void *)(uintptr_t)tree);
    }
    return true;
}

/* ---- the walk ---- */

static bool add_stretch(struct walk *w, uint32_t span, uint64_t start_ns, uint64_t end_ns)
{
    if (span == w->n_spans || start_ns >= end_ns)
        return true;
    if (w->n_stretches == w->cap_stretches)
        return false;
    w->stretches[w->n_stretches++] = (struct sf_path_stretch){span, start_ns, end_ns};
    return true;
}

/* The child that ended last at or before `at_ns`; one that runs on was not waited for. */
static uint32_t take_child(struct walk *w, uint32_t span, uint64_t from_ns, uint64_t at_ns)
{
    while (w->next_child[span] > w->first_child[span]) {
        uint32_t child = w->children[--w->next_child[span]];
        uint64_t end_ns = sf_span_tree_end_ns(w->tree, child);
        if (end_ns <= at_ns && end_ns > from_ns)
            return child;
    }
    return SF_NOBODY;
}

static bool walk_back(struct walk *w, uint64_t from_ns, uint64_t to_ns)
{
    struct frame *stack = sf_arena_new_n(w->req, (size_t)w->n_spans + 2, sizeof(*stack));
    uint32_t depth = 0;
    if (!stack)
        return false;
    stack[depth++] = (struct frame){w->n_spans, from_ns, to_ns};
    while (depth > 0) {
        struct frame *top = &stack[depth - 1];
        uint32_t child = take_child(w, top->span, top->from_ns, top->at_ns);
        if (child == SF_NOBODY) {
            if (!add_stretch(w, top->span, top->from_ns, top->at_ns))
                return false;
            depth--;
            continue;
        }
        uint64_t start_ns = sf_span_tree_start_ns(w->tree, child);
        uint64_t end_ns = sf_span_tree_end_ns(w->tree, child);
        start_ns = start_ns > top->from_ns ? start_ns : top->from_ns;
        if (!add_stretch(w, top->span, end_ns, top->at_ns))
            return false;
        top->at_ns = start_ns;
        stack[depth++] = (struct frame){child, start_ns, end_ns};
    }
    return true;
}

static void turn_round(struct sf_path_stretch *list, uint32_t n)
{
    for (uint32_t i = 0; i < n / 2; i++) {
        struct sf_path_stretch tmp = list[i];
        list[i] = list[n - 1 - i];
        list[n - 1 - i] = tmp;
    }
}

static bool summarise(struct walk *w, struct sf_critical_path *out)
{
    uint64_t *critical_ns = sf_arena_new_n(w->req, w->n_spans + 1u, sizeof(*critical_ns));
    bool *is_on_path = sf_arena_new_n(w->req, w->n_spans + 1u, sizeof(*is_on_path));
    uint64_t total_ns = 0;
    if (!critical_ns || !is_on_path)
        return false;
    for (uint32_t i = 0; i < w->n_stretches; i++) {
        const struct sf_path_stretch *s = &w->stretches[i];
        critical_ns[s->span] += s->end_ns - s->start_ns;
        total_ns += s->end_ns - s->start_ns;
        for (uint32_t up = s->span; up != SF_NOBODY && !is_on_path[up]; up = w->parents[up])
            is_on_path[up] = true;
    }
    *out = (struct sf_critical_path){w->stretches, w->n_stretches, critical_ns,
                                     is_on_path,   w->parents,     total_ns};
    return true;
}

enum sf_err sf_critical_path_find(const struct sf_span_tree *tree, struct sf_arena *req,
                                  struct sf_critical_path *out, struct sf_why *why)
{
    uint32_t n_spans = tree->n_spans;
    struct walk w = {.tree = tree, .n_spans = n_spans, .req = req};
    uint64_t from_ns = UINT64_MAX, to_ns = 0;
    for (uint32_t i = 0; i < n_spans; i++) {
        uint64_t start_ns = sf_span_tree_start_ns(tree, i), end_ns = sf_span_tree_end_ns(tree, i);
        from_ns = start_ns < from_ns ? start_ns : from_ns;
        to_ns = end_ns > to_ns ? end_ns : to_ns;
    }
    /* A child cuts its parent's stretch in two: one more per span, and one per span to begin. */
    w.cap_stretches = n_spans < UINT32_MAX / 2 - 1 ? 2 * n_spans + 1 : UINT32_MAX;
    w.stretches = sf_arena_new_n(req, w.cap_stretches, sizeof(*w.stretches));
    w.parents = sf_arena_new_n(req, n_spans + 1u, sizeof(*w.parents));
    if (!w.stretches || !w.parents || !find_children(&w) ||
        !walk_back(&w, n_spans ? from_ns : 0, to_ns))
        return sf_fail(why, SF_ERR_LIMIT, "critical path: no memory for %u spans", n_spans);
    turn_round(w.stretches, w.n_stretches);
    if (!summarise(&w, out))
        return sf_fail(why, SF_ERR_LIMIT, "critical path: no memory for %u spans", n_spans);
    return SF_OK;
}
