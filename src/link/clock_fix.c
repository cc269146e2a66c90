/* clock_fix.c - puts the spans of a trace on one clock.
 *
 * Calls are sorted by their two processes, so that those of a pair are adjacent; the ranges of
 * clock differences that they allow are intersected. Then spans are visited from the roots down: a
 * process gets its shift when it is first reached, and a call that still does not fit is moved
 * separately. */
#include "link/clock_fix.h"

#include <stdlib.h>

#include "link/clock_skew.h"

struct call {
    uint64_t low, high; /* processes, the smaller one first */
    uint32_t child;
    bool is_down;            /* the child is in process `high` */
    struct sf_clock_range r; /* how much the higher one's clock may be ahead */
};

struct clock { /* of a process */
    uint64_t process;
    int64_t shift_ns;
    bool is_set;
};

struct work {
    struct sf_span_tree *t;
    struct sf_arena *req;
    struct call *calls;
    uint32_t n_calls;
    int64_t *offsets_ns; /* by span: how much its process is ahead of its parent's */
    struct sf_clock_offset *pairs;
    uint32_t *pair_of; /* by span: pair + 1; 0: the clocks agree */
    uint32_t n_pairs;
    struct clock *clocks;
    uint32_t n_clocks;
    int64_t *shifts_ns;
    uint32_t n_moved;
};

static bool is_call(const struct sf_span_tree *t, uint32_t span)
{
    uint32_t parent = t->places[span].parent;
    return parent != SF_NOBODY && !sf_span_tree_is_local(t, span, parent);
}

/* Most traces have no contradiction: one check per call is enough. */
static bool clock_fix_is_clean(struct work *w)
{
    bool is_clean = true;
    for (uint32_t i = 0; i < w->t->n_spans; i++) {
        if (!is_call(w->t, i))
            continue;
        w->n_calls++;
        is_clean = is_clean && sf_clock_range_has(sf_clock_skew_range_of(w->t, i), 0);
    }
    return is_clean;
}

static bool clock_fix_prepare(struct work *w)
{
    uint32_t n = w->t->n_spans;
    w->calls = sf_arena_new_n(w->req, w->n_calls + 1u, sizeof(*w->calls));
    w->offsets_ns = sf_arena_new_n(w->req, n + 1u, sizeof(*w->offsets_ns));
    w->pair_of = sf_arena_new_n(w->req, n + 1u, sizeof(*w->pair_of));
    w->pairs = sf_arena_new_n(w->req, w->n_calls + 1u, sizeof(*w->pairs));
    w->clocks = sf_arena_new_n(w->req, n + 1u, sizeof(*w->clocks));
    w->shifts_ns = sf_arena_new_n(w->req, n + 1u, sizeof(*w->shifts_ns));
    return w->calls && w->offsets_ns && w->pair_of && w->pairs && w->clocks && w->shifts_ns;
}

/* ---- what two processes' calls say together ---- */

static struct sf_clock_range turned(struct sf_clock_range r)
{
    bool is_open = r.low_ns == SF_CLOCK_FROM_ANY;
    return (struct sf_clock_range){-r.high_ns, is_open ? -SF_CLOCK_FROM_ANY : -r.low_ns};
}

static int by_pair(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    return (x->child > y->child) - (x->child < y->child);
}

static void list_calls(struct work *w)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->t->n_spans; i++) {
        if (!is_call(w->t, i))
            continue;
        uint64_t mine = w->t->places[i].process;
        uint64_t above = w->t->places[w->t->places[i].parent].process;
        struct sf_clock_range r = sf_clock_skew_range_of(w->t, i);
        bool is_down = mine >= above;
        w->calls[n++] = (struct call){is_down ? above : mine, is_down ? mine : above, i, is_down,
                                      is_down ? r : turned(r)};
    }
    qsort(w->calls, n, sizeof(*w->calls), by_pair);
}

static struct sf_clock_range clock_fix_cut(struct sf_clock_range a, struct sf_clock_range b)
{
    return (struct sf_clock_range){a.low_ns > b.low_ns ? a.low_ns : b.low_ns,
                                   a.high_ns < b.high_ns ? a.high_ns : b.high_ns};
}

/* Calls in both directions may leave either end unbounded. */
static int64_t clock_fix_guess(struct sf_clock_range r, int64_t *slack_ns)
{
    if (r.high_ns < -SF_CLOCK_FROM_ANY)
        return sf_clock_skew_range_guess(r, slack_ns);
    *slack_ns = SF_SLACK_UNKNOWN;
    return r.low_ns;
}

static void judge_pair(struct work *w, const struct call *run, uint32_t n)
{
    struct sf_clock_range r = {SF_CLOCK_FROM_ANY, -SF_CLOCK_FROM_ANY};
    for (uint32_t i = 0; i < n; i++)
        r = clock_fix_cut(r, run[i].r);
    if (sf_clock_range_has(r, 0))
        return;
    struct sf_clock_offset *pair = &w->pairs[w->n_pairs++];
    *pair = (struct sf_clock_offset){.parent = w->t->places[run[0].child].parent,
                                     .child = run[0].child,
                                     .slack_ns = SF_SLACK_UNKNOWN,
                                     .is_contradictory = r.low_ns > r.high_ns};
    int64_t offset_ns = pair->is_contradictory ? 0 : clock_fix_guess(r, &pair->slack_ns);
    pair->offset_ns = run[0].is_down ? offset_ns : -offset_ns;
    for (uint32_t i = 0; i < n; i++) {
        w->offsets_ns[run[i].child] = run[i].is_down ? offset_ns : -offset_ns;
        w->pair_of[run[i].child] = w->n_pairs;
        pair->n_calls += !pair->is_contradictory;
    }
}

static void judge_pairs(struct work *w)
{
    for (uint32_t i = 0, end; i < w->n_calls; i = end) {
        end = i + 1;
        /* If a process is unknown, each call is a pair of its own. */
        while (end < w->n_calls && w->calls[i].low != 0 && w->calls[end].low == w->calls[i].low &&
               w->calls[end].high == w->calls[i].high)
            end++;
        judge_pair(w, &w->calls[i], end - i);
    }
}

/* ---- from the roots down ---- */

static int by_process(const void *a, const void *b)
{
    const struct clock *x = a, *y = b;
    return (x->process > y->process) - (x->process < y->process);
}

static void list_clocks(struct work *w)
{
    for (uint32_t i = 0; i < w->t->n_spans; i++)
        if (i == 0 || w->t->places[i].process != w->t->places[i - 1].process)
            w->clocks[w->n_clocks++].process = w->t->places[i].process;
    qsort(w->clocks, w->n_clocks, sizeof(*w->clocks), by_process);
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->n_clocks; i++)
        if (n == 0 || w->clocks[n - 1].process != w->clocks[i].process)
            w->clocks[n++] = w->clocks[i];
    w->n_clocks = n;
}

static struct clock *clock_of(struct work *w, uint32_t span)
{
    struct clock key = {.process = w->t->places[span].process};
    return bsearch(&key, w->clocks, w->n_clocks, sizeof(key), by_process);
}

static void clock_fix_note_alone(struct work *w, uint32_t span, int64_t offset_ns)
{
    struct sf_clock_offset *pair;
    if (w->pair_of[span] == 0) { /* its two clocks agree, but not with the shifts of other pairs */
        w->pair_of[span] = ++w->n_pairs;
        w->pairs[w->n_pairs - 1] = (struct sf_clock_offset){
            .parent = w->t->places[span].parent, .child = span, .slack_ns = SF_SLACK_UNKNOWN};
    }
    pair = &w->pairs[w->pair_of[span] - 1];
    if (pair->offset_ns == 0)
        pair->offset_ns = offset_ns;
    pair->is_contradictory = true;
    pair->n_calls++;
}

/* Sums over chains of absurd times must not overflow. */
static int64_t bounded(int64_t shift_ns)
{
    const int64_t most_ns = INT64_MAX / 4;
    return shift_ns > most_ns ? most_ns : shift_ns < -most_ns ? -most_ns : shift_ns;
}

static int64_t shift_call(struct work *w, uint32_t span)
{
    int64_t above_ns = w->shifts_ns[w->t->places[span].parent], slack_ns;
    struct clock *c = clock_of(w, span);
    struct sf_clock_range r = sf_clock_skew_range_of(w->t, span);
    if (!c->is_set || c->process == 0)
        *c = (struct clock){c->process, bounded(above_ns - w->offsets_ns[span]), true};
    if (sf_clock_range_has(r, above_ns - c->shift_ns))
        return c->shift_ns;
    int64_t offset_ns = sf_clock_skew_range_guess(r, &slack_ns);
    clock_fix_note_alone(w, span, offset_ns);
    return bounded(above_ns - offset_ns);
}

static int64_t shift_root(struct work *w, uint32_t span)
{
    struct clock *c = clock_of(w, span);
    c->is_set = true;
    return c->shift_ns;
}

static bool shift_all(struct work *w)
{
    const struct sf_span_tree *t = w->t;
    uint32_t *todo = sf_arena_new_n(w->req, t->n_spans + 1u, sizeof(*todo));
    uint32_t n_todo = 0;
    if (!todo)
        return false;
    /* The last one is visited first: the true root, not a span whose parent is missing. */
    for (int is_first = 0; is_first < 2; is_first++)
        for (uint32_t k = t->first[t->n_spans + 1]; k-- > t->first[t->n_spans];)
            if ((t->spans[t->children[k]].parent_id == 0) == is_first)
                todo[n_todo++] = t->children[k];
    while (n_todo > 0) {
        uint32_t i = todo[--n_todo], parent = t->places[i].parent;
        w->shifts_ns[i] = parent == SF_NOBODY ? shift_root(w, i)
                          : is_call(t, i)     ? shift_call(w, i)
                                              : w->shifts_ns[parent];
        w->n_moved += w->shifts_ns[i] != 0;
        for (uint32_t k = t->first[i + 1]; k-- > t->first[i];)
            todo[n_todo++] = t->children[k];
    }
    return true;
}

static int by_child(const void *a, const void *b)
{
    const struct sf_clock_offset *x = a, *y = b;
    return (x->child > y->child) - (x->child < y->child);
}

enum sf_err sf_clock_fix_make(struct sf_span_tree *t, struct sf_arena *req,
                              struct sf_clock_fix *out, struct sf_why *why)
{
    struct work w = {.t = t, .req = req};
    if (clock_fix_is_clean(&w)) {
        *out = (struct sf_clock_fix){.n_calls = w.n_calls};
        return SF_OK;
    }
    if (!clock_fix_prepare(&w))
        return sf_fail(why, SF_ERR_LIMIT, "no memory for the clocks of %u spans", t->n_spans);
    list_calls(&w);
    judge_pairs(&w);
    list_clocks(&w);
    if (!shift_all(&w))
        return sf_fail(why, SF_ERR_LIMIT, "no memory for the clocks of %u spans", t->n_spans);
    qsort(w.pairs, w.n_pairs, sizeof(*w.pairs), by_child);
    t->shifts_ns = w.shifts_ns;
    *out = (struct sf_clock_fix){w.pairs, w.n_pairs, w.n_calls, w.n_moved};
    return SF_OK;
}
