/* critical_path.c - finds the time that, if removed, would have made the trace shorter.
 *
 * A span is waited for by the nearest ancestor that does not end before it. Those ancestors form a
 * chain with increasing ends, and a second pointer per span that skips ahead on it makes the search
 * logarithmic: a deep trace must not take quadratic time.
 *
 * The spans that one span waits for are a contiguous range of an array, sorted by end. The walk
 * keeps a stack of (span, from, at). A step examines the last span of the range: if it ended after
 * `at`, it is moved to the span's list of those still running, whose head is the one that ended
 * first; otherwise the time between its end and `at` belongs to the head of that list, or to the
 * span itself, and then the walk continues in the examined span. Time only goes back, so nothing is
 * examined twice. Segments are found from last to first and reversed at the end; their edges are
 * starts and ends of spans. */
#include "link/critical_path.h"

#include "base/account.h"

#include <stdlib.h>

enum { FREE_STEPS = 1 << 20, STEPS_PER_SPAN = 64 };

struct walk {
    const struct sf_span_tree *tree;
    uint32_t n_spans;
    uint32_t *parents;
    uint32_t
        *waiters; /* per span: the span that waits for it; n_spans: the common root; or SF_NOBODY */
    uint32_t *waited;  /* spans that are waited for, sorted by end */
    uint32_t *first;   /* run i is waited[first[i] .. first[i + 1]) */
    uint32_t *next;    /* end of the part of the range that is not examined yet */
    uint32_t *running; /* first of those that ended later, or SF_NOBODY */
    uint32_t *links;   /* next in that list */
    struct sf_path_segment *segments;
    uint32_t n_segments, cap_segments;
    uint64_t n_steps;
    struct sf_arena *req;
};

struct frame {
    uint32_t span;    /* n_spans: the common root */
    uint64_t from_ns; /* earlier time does not count: the parent was not waiting yet */
    uint64_t at_ns;   /* the walk has come back to here */
};

static uint64_t critical_path_start_of(const struct walk *w, uint32_t span)
{
    return sf_span_tree_start_ns(w->tree, span);
}

static uint64_t critical_path_end_of(const struct walk *w, uint32_t span)
{
    return sf_span_tree_end_ns(w->tree, span);
}

/* ---- which span waits for which ---- */

/* `jumps` leads to a waiter further up, `depths` counts waiters. */
static uint32_t find_waiter(const struct walk *w, const uint32_t *jumps, uint32_t span)
{
    uint32_t up = w->tree->places[span].parent;
    uint64_t end_ns = critical_path_end_of(w, span);
    while (up != SF_NOBODY && critical_path_end_of(w, up) < end_ns) {
        bool is_far = jumps[up] != SF_NOBODY && critical_path_end_of(w, jumps[up]) < end_ns;
        up = is_far ? jumps[up] : w->waiters[up];
    }
    return up;
}

/* From the roots down, so that ancestors are processed first. */
static bool find_waiters(struct walk *w)
{
    const struct sf_span_tree *t = w->tree;
    uint32_t n = w->n_spans, n_todo = 0;
    uint32_t *todo = sf_arena_new_n(w->req, n + 1u, sizeof(*todo));
    uint32_t *jumps = sf_arena_new_n(w->req, n + 1u, sizeof(*jumps));
    uint32_t *depths = sf_arena_new_n(w->req, n + 1u, sizeof(*depths));
    if (!todo || !jumps || !depths)
        return false;
    for (uint32_t k = t->first[n]; k < t->first[n + 1]; k++)
        todo[n_todo++] = t->children[k];
    while (n_todo > 0) {
        uint32_t i = todo[--n_todo], by = find_waiter(w, jumps, i);
        w->parents[i] = t->places[i].parent;
        w->waiters[i] = by;
        depths[i] = by == SF_NOBODY ? 0 : depths[by] + 1;
        jumps[i] = by;
        if (by != SF_NOBODY && jumps[by] != SF_NOBODY && jumps[jumps[by]] != SF_NOBODY &&
            depths[by] - depths[jumps[by]] == depths[jumps[by]] - depths[jumps[jumps[by]]])
            jumps[i] = jumps[jumps[by]];
        for (uint32_t k = t->first[i]; k < t->first[i + 1]; k++)
            todo[n_todo++] = t->children[k];
    }
    for (uint32_t k = t->first[n]; k < t->first[n + 1]; k++)
        w->waiters[t->children[k]] = n;
    return true;
}

static int order_by_end(const void *a, const void *b, void *arg)
{
    const struct sf_span_tree *t = arg;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    uint64_t end_i = sf_span_tree_end_ns(t, i), end_j = sf_span_tree_end_ns(t, j);
    uint64_t start_i = sf_span_tree_start_ns(t, i), start_j = sf_span_tree_start_ns(t, j);
    if (end_i != end_j)
        return end_i < end_j ? -1 : 1;
    /* Same end: the one that began earlier is examined first, since it explains more. */
    if (start_i != start_j)
        return start_i > start_j ? -1 : 1;
    return (i > j) - (i < j);
}

static bool critical_path_make_runs(struct walk *w)
{
    uint32_t n = w->n_spans;
    w->waited = sf_arena_new_n(w->req, n + 1u, sizeof(*w->waited));
    w->first = sf_arena_new_n(w->req, n + 3u, sizeof(*w->first));
    w->next = sf_arena_new_n(w->req, n + 1u, sizeof(*w->next));
    w->running = sf_arena_new_n(w->req, n + 1u, sizeof(*w->running));
    w->links = sf_arena_new_n(w->req, n + 1u, sizeof(*w->links));
    if (!w->waited || !w->first || !w->next || !w->running || !w->links)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (w->waiters[i] != SF_NOBODY)
            w->first[w->waiters[i] + 1]++;
    for (uint32_t i = 0; i <= n; i++) {
        w->first[i + 1] += w->first[i];
        w->next[i] = w->first[i];
        w->running[i] = SF_NOBODY;
    }
    for (uint32_t i = 0; i < n; i++)
        if (w->waiters[i] != SF_NOBODY)
            w->waited[w->next[w->waiters[i]]++] = i;
    for (uint32_t i = 0; i <= n; i++) /* `next` is now at the end of each range */
        qsort_r(w->waited + w->first[i], w->first[i + 1] - w->first[i], sizeof(*w->waited),
                order_by_end, (void *)(uintptr_t)w->tree);
    return true;
}

/* ---- the walk ---- */

static bool add_path_range(struct walk *w, uint32_t span, uint64_t start_ns, uint64_t end_ns)
{
    if (span == w->n_spans || start_ns >= end_ns)
        return true;
    if (w->n_segments == w->cap_segments)
        return false;
    w->segments[w->n_segments++] = (struct sf_path_segment){span, start_ns, end_ns};
    return true;
}

/* Moves spans that ended after `at_ns` to the list of running ones; returns the last of the
 * others. */
static uint32_t find_ended(struct walk *w, uint32_t span, uint64_t from_ns, uint64_t at_ns)
{
    while (w->next[span] > w->first[span]) {
        uint32_t one = w->waited[w->next[span] - 1];
        uint64_t start_ns = critical_path_start_of(w, one), end_ns = critical_path_end_of(w, one);
        if (end_ns <= at_ns && start_ns < end_ns)
            return end_ns > from_ns ? one : SF_NOBODY;
        w->next[span]--;
        if (start_ns < at_ns && start_ns < end_ns) {
            w->links[one] = w->running[span];
            w->running[span] = one;
        }
    }
    return SF_NOBODY;
}

static uint32_t find_running(struct walk *w, uint32_t span, uint64_t at_ns)
{
    while (w->running[span] != SF_NOBODY && critical_path_start_of(w, w->running[span]) >= at_ns)
        w->running[span] = w->links[w->running[span]];
    return w->running[span];
}

/* One step of the top frame: *out_next is the next frame to process, if any. */
static bool critical_path_step(struct walk *w, struct frame *top, struct frame *out_next)
{
    uint32_t ended = find_ended(w, top->span, top->from_ns, top->at_ns);
    uint64_t low_ns = ended == SF_NOBODY ? top->from_ns : critical_path_end_of(w, ended);
    uint32_t into = ended;
    out_next->span = SF_NOBODY;
    if (low_ns == top->at_ns) {
        low_ns = critical_path_start_of(w, ended) > top->from_ns ? critical_path_start_of(w, ended)
                                                                 : top->from_ns;
        w->next[top->span]--;
        if (critical_path_start_of(w, ended) <
            low_ns) { /* it still runs when the span is examined again */
            w->links[ended] = w->running[top->span];
            w->running[top->span] = ended;
        }
    } else {
        into = find_running(w, top->span, top->at_ns);
        if (into != SF_NOBODY && critical_path_start_of(w, into) > low_ns)
            low_ns = critical_path_start_of(w, into);
    }
    uint64_t high_ns = top->at_ns;
    top->at_ns = low_ns;
    if (into == SF_NOBODY)
        return add_path_range(w, top->span, low_ns, high_ns);
    /* Bounds the work for long chains below a span that is passed often. */
    if (++w->n_steps > FREE_STEPS + (uint64_t)w->n_spans * STEPS_PER_SPAN)
        return add_path_range(w, into, low_ns, high_ns);
    *out_next = (struct frame){into, low_ns, high_ns};
    return true;
}

static bool walk_back(struct walk *w, uint64_t from_ns, uint64_t to_ns)
{
    struct frame *stack = sf_arena_new_n(w->req, (size_t)w->n_spans + 2, sizeof(*stack));
    uint32_t depth = 0;
    if (!stack)
        return false;
    stack[depth++] = (struct frame){w->n_spans, from_ns, to_ns};
    while (depth > 0) {
        struct frame next;
        if (stack[depth - 1].at_ns <= stack[depth - 1].from_ns) {
            depth--;
            continue;
        }
        if (!critical_path_step(w, &stack[depth - 1], &next) || !sf_account_goes_on(1))
            return false;
        if (next.span != SF_NOBODY)
            stack[depth++] = next;
    }
    return true;
}

static void critical_path_turn_round(struct sf_path_segment *list, uint32_t n)
{
    for (uint32_t i = 0; i < n / 2; i++) {
        struct sf_path_segment tmp = list[i];
        list[i] = list[n - 1 - i];
        list[n - 1 - i] = tmp;
    }
}

static bool summarise(struct walk *w, struct sf_critical_path *out)
{
    uint64_t *critical_ns = sf_arena_new_n(w->req, w->n_spans + 1u, sizeof(*critical_ns));
    bool *is_on_path = sf_arena_new_n(w->req, w->n_spans + 1u, sizeof(*is_on_path));
    bool *is_unwaited = sf_arena_new_n(w->req, w->n_spans + 1u, sizeof(*is_unwaited));
    if (!critical_ns || !is_on_path || !is_unwaited)
        return false;
    *out = (struct sf_critical_path){.segments = w->segments,
                                     .n_segments = w->n_segments,
                                     .critical_ns = critical_ns,
                                     .is_on_path = is_on_path,
                                     .is_unwaited = is_unwaited,
                                     .parents = w->parents};
    for (uint32_t i = 0; i < w->n_segments; i++) {
        const struct sf_path_segment *s = &w->segments[i];
        critical_ns[s->span] += s->end_ns - s->start_ns;
        out->total_ns += s->end_ns - s->start_ns;
        for (uint32_t up = s->span; up != SF_NOBODY && !is_on_path[up]; up = w->parents[up])
            is_on_path[up] = true;
    }
    for (uint32_t i = 0; i < w->n_spans; i++) {
        is_unwaited[i] = w->waiters[i] == SF_NOBODY;
        out->n_unwaited += is_unwaited[i];
    }
    return true;
}

struct extent {
    uint64_t from_ns, to_ns;
};

static struct extent critical_path_extent_of(const struct walk *w, bool is_roots)
{
    struct extent e = {UINT64_MAX, 0};
    for (uint32_t i = 0; i < w->n_spans; i++) {
        if (is_roots && w->tree->places[i].parent != SF_NOBODY)
            continue;
        e.from_ns = critical_path_start_of(w, i) < e.from_ns ? critical_path_start_of(w, i)
                                                             : e.from_ns;
        e.to_ns = critical_path_end_of(w, i) > e.to_ns ? critical_path_end_of(w, i) : e.to_ns;
    }
    return w->n_spans > 0 ? e : (struct extent){0, 0};
}

enum sf_err sf_critical_path_find(const struct sf_span_tree *tree, struct sf_arena *req,
                                  struct sf_critical_path *out, struct sf_why *why)
{
    uint32_t n_spans = tree->n_spans;
    struct walk w = {.tree = tree, .n_spans = n_spans, .req = req};
    struct extent roots = critical_path_extent_of(&w, true),
                  all = critical_path_extent_of(&w, false);
    w.cap_segments = n_spans < UINT32_MAX / 2 - 1 ? 2 * n_spans + 1 : UINT32_MAX;
    w.segments = sf_arena_new_n(req, w.cap_segments, sizeof(*w.segments));
    w.parents = sf_arena_new_n(req, n_spans + 1u, sizeof(*w.parents));
    w.waiters = sf_arena_new_n(req, n_spans + 1u, sizeof(*w.waiters));
    if (!w.segments || !w.parents || !w.waiters || !find_waiters(&w) ||
        !critical_path_make_runs(&w) || !walk_back(&w, roots.from_ns, roots.to_ns))
        return sf_fail(why, SF_ERR_LIMIT, "critical path: no memory for %u spans", n_spans);
    critical_path_turn_round(w.segments, w.n_segments);
    if (!summarise(&w, out))
        return sf_fail(why, SF_ERR_LIMIT, "critical path: no memory for %u spans", n_spans);
    out->gap_ns = roots.to_ns - roots.from_ns - out->total_ns;
    out->outside_ns = (all.to_ns - all.from_ns) - (roots.to_ns - roots.from_ns);
    return SF_OK;
}
