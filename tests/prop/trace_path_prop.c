/* A trace's clocks, critical path and flame graph against slow, obvious code, on random traces with
 * loops, strangers, ends before starts, several processes and clocks that differ. */
#include <stdlib.h>
#include <string.h>

#include "flame/tree_builder.h"
#include "link/clock_fix.h"
#include "link/clock_skew.h"
#include "link/critical_path.h"
#include "link/trace_flame.h"
#include "test.h"

enum { ROUNDS = 3000, MAX_SPANS = 16, MAX_SAMPLES = 30, N_PROCESSES = 4, FROM = 100000 };

static uint64_t seed = 20261116;
static uint32_t pick(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % n;
}

struct world {
    struct sf_span spans[MAX_SPANS];
    struct sf_span_origin origins[MAX_SPANS];
    sf_str services[MAX_SPANS];
    struct sf_link_sample samples[MAX_SAMPLES];
    uint32_t n_spans, n_samples;
};

static const char *const names[] = {"gateway", "shop", "tax", "mail"};

/* Children mostly lie inside their parents, as seen by a right clock. */
static void make_spans(struct world *w, bool is_wild)
{
    w->n_spans = 1 + pick(MAX_SPANS);
    for (uint32_t i = 0; i < w->n_spans; i++) {
        struct sf_span *s = &w->spans[i];
        uint32_t up = i ? pick(i) : 0, process = pick(N_PROCESSES);
        uint64_t from = i ? w->spans[up].start_ns : FROM, to = i ? w->spans[up].end_ns : FROM + 90;
        to = to > from ? to : from;
        uint64_t start = from + pick((uint32_t)(to - from) + 1);
        *s = (struct sf_span){.span_id = i + 1,
                              .parent_id = i ? up + 1 : 0,
                              .kind = (uint8_t)(1 + pick(5)),
                              .status = pick(8) ? SF_STATUS_UNSET : SF_STATUS_ERROR,
                              .start_ns = start,
                              .end_ns = start + pick((uint32_t)(to - start) + 1),
                              .name = sf_str_from(names[pick(4)])};
        if (is_wild && pick(5) == 0)
            s->parent_id = pick(MAX_SPANS + 3); /* loops, strangers, none */
        if (is_wild && pick(5) == 0)
            s->end_ns = s->start_ns + pick(200) - 20; /* outlives its parent, or never began */
        w->origins[i].process = 1 + process;
        w->services[i] = sf_str_from(names[process]);
    }
}

static void make_samples(struct world *w, uint32_t n_nodes)
{
    w->n_samples = pick(MAX_SAMPLES);
    for (uint32_t i = 0; i < w->n_samples; i++) {
        uint32_t span = pick(w->n_spans);
        w->samples[i] = (struct sf_link_sample){.span_id = pick(5) ? span + 1 : pick(40),
                                                .process = 1 + pick(N_PROCESSES),
                                                .start_ns = FROM + (int64_t)pick(90),
                                                .length_ns = pick(20),
                                                .value = pick(1000),
                                                .node = pick(n_nodes),
                                                .has_time = pick(2) == 0};
    }
}

static void set_clocks(struct world *w, const int64_t offsets[N_PROCESSES + 1])
{
    for (uint32_t i = 0; i < w->n_spans; i++) {
        w->spans[i].start_ns += (uint64_t)offsets[w->origins[i].process];
        w->spans[i].end_ns += (uint64_t)offsets[w->origins[i].process];
    }
}

static void build(const struct world *w, struct sf_arena *req, struct sf_span_tree *t,
                  struct sf_clock_fix *fix)
{
    assert_ok(sf_span_tree_build(w->spans, w->origins, w->n_spans, req, t, NULL));
    assert_ok(sf_clock_fix_make(t, req, fix, NULL));
}

/* ---- clocks ---- */

/* What must hold of any trace, however broken. */
static void check_clocks(const struct sf_span_tree *t, const struct sf_clock_fix *fix)
{
    bool is_clean = true;
    uint32_t n_moved = 0;
    for (uint32_t i = 0; i < t->n_spans; i++) {
        uint32_t up = t->places[i].parent;
        n_moved += sf_span_tree_start_ns(t, i) != t->places[i].start_ns;
        if (up == SF_NOBODY)
            continue;
        if (sf_span_tree_is_local(t, i, up)) { /* one clock, one shift */
            assert_int_equal(sf_span_tree_shift_ns(t, i, up), 0);
            continue;
        }
        struct sf_clock_range r = sf_clock_skew_range_of(t, i);
        is_clean = is_clean && sf_clock_range_has(r, 0);
        /* Nothing begins before its cause, and calls that were waited for and fit lie inside. */
        assert_true(sf_span_tree_start_ns(t, i) >= sf_span_tree_start_ns(t, up));
        if (r.low_ns != SF_CLOCK_FROM_ANY)
            assert_true(sf_span_tree_end_ns(t, i) <= sf_span_tree_end_ns(t, up));
    }
    assert_int_equal(fix->n_moved, n_moved);
    if (is_clean)
        assert_int_equal(fix->n_offsets + n_moved, 0);
}

TEST(trace_path, puts_every_trace_on_one_clock)
{
    struct sf_arena req;
    assert_true(sf_arena_init(&req, 8 << 20));
    for (int round = 0; round < ROUNDS; round++) {
        static struct world w;
        int64_t offsets[N_PROCESSES + 1];
        struct sf_span_tree t;
        struct sf_clock_fix fix;
        bool is_wild = pick(2) == 0;
        for (int i = 0; i <= N_PROCESSES; i++)
            offsets[i] = pick(3) ? 0 : (int64_t)pick(1000) - 500;
        make_spans(&w, is_wild);
        set_clocks(&w, offsets);
        build(&w, &req, &t, &fix);
        check_clocks(&t, &fix);
        /* One right clock for each process explains a whole trace: nobody is contradictory between
         * two that call each other; and the estimate is right to within what it says. */
        for (uint32_t i = 0; !is_wild && i < fix.n_offsets; i++) {
            const struct sf_clock_offset *o = &fix.offsets[i];
            int64_t right = offsets[w.origins[o->child].process] -
                            offsets[w.origins[o->parent].process];
            if (!o->is_contradictory && o->slack_ns != SF_SLACK_UNKNOWN)
                assert_true(llabs(right - o->offset_ns) <= o->slack_ns + 1);
        }
        sf_arena_reset(&req);
    }
    sf_arena_done(&req);
}

/* ---- critical path ---- */

struct slow {
    const struct sf_span_tree *t;
    uint64_t ns[MAX_SPANS];
};

/* The nearest one above that does not end before it; the common root waits for all roots. */
static uint32_t slow_waiter(const struct slow *s, uint32_t span)
{
    uint32_t up = s->t->places[span].parent;
    if (up == SF_NOBODY)
        return s->t->n_spans;
    while (up != SF_NOBODY && sf_span_tree_end_ns(s->t, up) < sf_span_tree_end_ns(s->t, span))
        up = s->t->places[up].parent;
    return up;
}

/* Is a better than b: the later end, or with `is_first` the earlier one? */
static bool is_before(const struct slow *s, uint32_t a, uint32_t b, bool is_first)
{
    uint64_t end_a = sf_span_tree_end_ns(s->t, a), end_b = sf_span_tree_end_ns(s->t, b);
    uint64_t start_a = sf_span_tree_start_ns(s->t, a), start_b = sf_span_tree_start_ns(s->t, b);
    bool is_later = end_a != end_b ? end_a > end_b : start_a != start_b ? start_a < start_b : a > b;
    return is_later != is_first;
}

/* The rule as it is told: of what is left of a span's time, from its end backwards, the one it
 * waits for that ended last; between those, one that still runs; else the time is the span's own.
 */
static void slow_walk(struct slow *s, uint32_t span, uint64_t from, uint64_t to, uint32_t depth)
{
    uint64_t at = to;
    assert_true(depth <= MAX_SPANS + 1);
    while (at > from) {
        uint32_t ended = SF_NOBODY, running = SF_NOBODY;
        for (uint32_t i = 0; i < s->t->n_spans; i++) {
            uint64_t end = sf_span_tree_end_ns(s->t, i), start = sf_span_tree_start_ns(s->t, i);
            if (slow_waiter(s, i) != span || start >= end || start >= at || end <= from)
                continue;
            if (end <= at && (ended == SF_NOBODY || is_before(s, i, ended, false)))
                ended = i;
            if (end > at && (running == SF_NOBODY || is_before(s, i, running, true)))
                running = i;
        }
        uint32_t into = ended;
        uint64_t low = ended == SF_NOBODY ? from : sf_span_tree_end_ns(s->t, ended);
        if (low < at)
            into = running;
        if (into != SF_NOBODY) {
            uint64_t start = sf_span_tree_start_ns(s->t, into);
            uint64_t least = low < at ? low : from;
            low = start > least ? start : least;
            slow_walk(s, into, low, at, depth + 1);
        } else if (span < s->t->n_spans) {
            s->ns[span] += at - low;
        }
        at = low;
    }
}

TEST(trace_path, walks_the_critical_path_like_slow_obvious_code)
{
    struct sf_arena req;
    assert_true(sf_arena_init(&req, 8 << 20));
    for (int round = 0; round < ROUNDS; round++) {
        static struct world w;
        struct sf_span_tree t;
        struct sf_clock_fix fix;
        struct sf_critical_path p;
        uint64_t from = UINT64_MAX, to = 0, sum = 0, first = UINT64_MAX, last = 0;
        uint32_t n_unwaited = 0;
        make_spans(&w, true);
        build(&w, &req, &t, &fix);
        struct slow slow = {.t = &t};
        for (uint32_t i = 0; i < t.n_spans; i++) {
            uint64_t start = sf_span_tree_start_ns(&t, i), end = sf_span_tree_end_ns(&t, i);
            first = start < first ? start : first;
            last = end > last ? end : last;
            n_unwaited += slow_waiter(&slow, i) == SF_NOBODY;
            if (t.places[i].parent != SF_NOBODY)
                continue;
            from = start < from ? start : from;
            to = end > to ? end : to;
        }
        assert_ok(sf_critical_path_find(&t, &req, &p, NULL));
        slow_walk(&slow, t.n_spans, from, to, 0);
        for (uint32_t i = 0; i < t.n_spans; i++) {
            assert_int_equal(p.critical_ns[i], slow.ns[i]);
            sum += slow.ns[i];
        }
        assert_int_equal(p.total_ns, sum);
        assert_int_equal(p.n_unwaited, n_unwaited);
        /* One root: every instant of it, once. Several: but for the gaps between them. */
        assert_int_equal(p.total_ns + p.gap_ns, to - from);
        assert_int_equal(p.total_ns + p.gap_ns + p.outside_ns, last - first);
        if (t.first[t.n_spans + 1] - t.first[t.n_spans] == 1)
            assert_int_equal(p.gap_ns, 0);
        for (uint32_t i = 0; i < p.n_segments; i++) /* and never two at once */
            assert_true(i == 0 || p.segments[i - 1].end_ns <= p.segments[i].start_ns);
        sf_arena_reset(&req);
    }
    sf_arena_done(&req);
}

/* ---- flame graph ---- */

static void make_stacks(struct sf_arena *req, struct sf_tree *out)
{
    struct sf_tree_builder b;
    sf_tree_builder_init(&b, req, 0, SF_TREE_BORROWS);
    for (int i = 0; i < 12; i++) {
        uint32_t at = 0;
        for (uint32_t depth = 0; depth < 1 + pick(4); depth++) {
            struct sf_frame f = {.function = sf_str_from(names[pick(4)])};
            at = sf_tree_builder_child(&b, at, sf_tree_builder_frame(&b, &f));
        }
        sf_tree_builder_add(&b, at, 1, 1);
    }
    assert_ok(sf_tree_builder_take(&b, SF_STR("nanoseconds"), out, NULL));
    sf_tree_builder_done(&b);
}

/* What stands below the bars of each name of a service: equal spans are one bar. */
static int64_t below_service(const struct sf_tree *t, sf_str service)
{
    int64_t sum = 0;
    for (uint32_t i = 1; i < t->n_nodes; i++) {
        uint32_t top = i;
        while (t->nodes[top].parent != 0)
            top = t->nodes[top].parent;
        assert_int_equal(t->frames[t->nodes[top].frame].kind, SF_FRAME_SERVICE);
        if (sf_str_eq(t->frames[t->nodes[top].frame].function, service))
            sum += t->nodes[i].self;
    }
    return sum;
}

static void check_flame(const struct world *w, const struct sf_span_tree *t,
                        const struct sf_attribution *a, const struct sf_tree *graph,
                        const uint64_t *weights_ns)
{
    int64_t total = 0;
    for (uint32_t s = 0; s < N_PROCESSES; s++) {
        int64_t want = 0;
        for (uint32_t i = 0; weights_ns && i < t->n_spans; i++)
            want += w->origins[i].process == 1 + s ? (int64_t)weights_ns[i] : 0;
        for (uint32_t i = 0; !weights_ns && i < a->n_claims; i++)
            want += w->origins[a->claims[i].span].process == 1 + s ? a->claims[i].value : 0;
        assert_int_equal(below_service(graph, sf_str_from(names[s])), want);
        total += want;
    }
    assert_int_equal(graph->total, total);
}

/* Nanosecond by nanosecond: what of a span no child of it covers. */
static uint64_t slow_own(const struct sf_span_tree *t, uint32_t span)
{
    uint64_t n = 0;
    for (uint64_t at = sf_span_tree_start_ns(t, span); at < sf_span_tree_end_ns(t, span); at++) {
        bool is_covered = false;
        for (uint32_t i = 0; i < t->n_spans; i++)
            is_covered = is_covered ||
                         (t->places[i].parent == span && sf_span_tree_start_ns(t, i) <= at &&
                          at < sf_span_tree_end_ns(t, i));
        n += !is_covered;
    }
    return n;
}

TEST(trace_path, draws_a_trace_whose_total_is_the_sum_of_its_spans)
{
    struct sf_arena req;
    assert_true(sf_arena_init(&req, 8 << 20));
    for (int round = 0; round < ROUNDS; round++) {
        static struct world w;
        struct sf_span_tree t;
        struct sf_clock_fix fix;
        struct sf_local_index index;
        struct sf_attribution a;
        struct sf_critical_path p;
        struct sf_tree stacks, graph;
        uint64_t self_ns[MAX_SPANS];
        make_stacks(&req, &stacks);
        make_spans(&w, true);
        make_samples(&w, stacks.n_nodes);
        build(&w, &req, &t, &fix);
        struct sf_attribution_input in = {.samples = w.samples, .n_samples = w.n_samples};
        assert_ok(sf_local_index_build(&t, &req, &index, NULL));
        assert_ok(sf_attribution_make(&index, &in, &req, &a, NULL));
        assert_ok(sf_critical_path_find(&t, &req, &p, NULL));
        const uint64_t *own_ns = sf_span_tree_own_ns(&t, &req);
        assert_non_null(own_ns);
        for (uint32_t i = 0; i < t.n_spans; i++) {
            self_ns[i] = own_ns[i];
            assert_int_equal(own_ns[i], slow_own(&t, i));
        }
        const uint64_t *const weights[] = {NULL, self_ns, p.critical_ns};
        for (int by = 0; by < 3; by++) {
            struct sf_trace_flame_input draw = {.spans = &t,
                                                .services = w.services,
                                                .stacks = &stacks,
                                                .samples = w.samples,
                                                .claims = &a,
                                                .weights_ns = weights[by],
                                                .is_time = pick(2) == 0};
            assert_ok(sf_trace_flame(&draw, &req, &graph, NULL));
            check_flame(&w, &t, &a, &graph, weights[by]);
        }
        sf_arena_reset(&req);
    }
    sf_arena_done(&req);
}
