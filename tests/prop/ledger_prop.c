/* The ledger against slow, obvious code: the span's time nanosecond by nanosecond, each asked of
 * everything that lies on it. */
#include <string.h>

#include "link/ledger.h"
#include "test.h"

enum { ROUNDS = 5000, MAX_CHILDREN = 5, MAX_SAMPLES = 12, HORIZON = 120 };

static uint64_t seed = 20261115;
static uint32_t pick(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 33) % n;
}

struct world { /* span 0 is the one asked about; the others are its children */
    struct sf_span spans[1 + MAX_CHILDREN];
    struct sf_span_origin origins[1 + MAX_CHILDREN];
    struct sf_ledger_sample samples[MAX_SAMPLES];
    struct sf_ledger_exact exact;
    uint32_t n_spans, n_samples;
};

static void make(struct world *w)
{
    *w = (struct world){.n_spans = 1 + pick(MAX_CHILDREN + 1), .n_samples = pick(MAX_SAMPLES + 1)};
    for (uint32_t i = 0; i < w->n_spans; i++) {
        uint64_t start = pick(HORIZON);
        w->spans[i] = (struct sf_span){.span_id = i + 1,
                                       .parent_id = i ? 1 : 0,
                                       .start_ns = start,
                                       .end_ns = pick(9) ? start + pick(HORIZON - (uint32_t)start)
                                                         : start / 2};
        w->origins[i] = (struct sf_span_origin){i && pick(3) == 0 ? 8 : 7, i ? 0 : pick(3)};
    }
    for (uint32_t i = 0; i < w->n_samples; i++)
        w->samples[i] = (struct sf_ledger_sample){.thread = pick(3),
                                                  .start_ns = (int64_t)pick(HORIZON) - 5,
                                                  .length_ns = (int64_t)pick(30) - 3,
                                                  .worth_ns = (int64_t)pick(20) - 2,
                                                  .part = (uint8_t)pick(SF_PARTS),
                                                  .grade = (uint8_t)pick(SF_GRADE_NONE),
                                                  .has_time = pick(4) != 0,
                                                  .is_measured = pick(2) == 0,
                                                  .is_shared = pick(2) == 0,
                                                  .is_filler = pick(5) == 0,
                                                  .names_span = pick(9) == 0};
    for (int part = 0; part <= SF_PART_SLEEP; part++)
        w->exact.ns[part] = pick(4) ? SF_LEDGER_UNSAID : (int64_t)pick(HORIZON / 2);
}

/* ---- slow and obvious ---- */

static bool is_wait(const struct sf_ledger_sample *s)
{
    return s->is_measured && s->has_time && s->length_ns > 0 && s->start_ns >= 0;
}

static bool is_replaced(const struct world *w, const struct sf_ledger_sample *s)
{
    return s->part < SF_PART_LOCK && w->exact.ns[s->part] >= 0;
}

static bool is_known(const struct world *w, const struct sf_ledger_sample *s)
{
    return is_replaced(w, s) || (s->part <= SF_PART_SLEEP && w->exact.ns[s->part] > 0);
}

/* ---- the thread at each instant ---- */

enum { THREADS = 3, NO_RUN = -1 };

struct slow {
    int run[THREADS][HORIZON]; /* the instant at which the thread's run began, or NO_RUN */
    uint64_t thread[HORIZON];  /* the span's */
    int64_t start, end;
};

static bool names_it(const struct sf_ledger_sample *s)
{
    return (s->grade == SF_GRADE_EXACT || s->names_span) && s->thread != 0;
}

/* Where a sample that names the span lies, inside the span. */
static bool tie_of(const struct slow *k, const struct sf_ledger_sample *s, int64_t *from,
                   int64_t *to)
{
    if (!names_it(s) || !s->has_time || s->start_ns < 0)
        return false;
    int64_t len = s->length_ns > 0 ? s->length_ns : s->worth_ns > 0 ? s->worth_ns : 1;
    *from = s->start_ns - (s->length_ns > 0 ? 0 : len / 2);
    *to = (*from < 0 ? 0 : *from) + len;
    *from = *from < k->start ? k->start : *from;
    *to = *to > k->end ? k->end : *to;
    return *from < *to;
}

static bool mark_runs(const struct world *w, struct slow *k, uint64_t thread)
{
    int64_t run_end = -1, last_len = 0, began = 0;
    bool is_done[MAX_SAMPLES] = {false}, has_any = false;
    for (;;) {
        uint32_t next = MAX_SAMPLES;
        int64_t from, to, next_from = 0, next_to = 0;
        for (uint32_t i = 0; i < w->n_samples; i++) {
            if (is_done[i] || w->samples[i].thread != thread ||
                !tie_of(k, &w->samples[i], &from, &to) ||
                (next < MAX_SAMPLES && (from > next_from || (from == next_from && to > next_to))))
                continue;
            next = i;
            next_from = from;
            next_to = to;
        }
        if (next == MAX_SAMPLES)
            return has_any;
        int64_t len = next_to - next_from, most = len > last_len ? len : last_len;
        last_len = len;
        is_done[next] = true;
        if (!has_any || next_from - run_end > most)
            began = next_from;
        else
            next_from = next_from < run_end ? next_from : run_end;
        has_any = true;
        run_end = next_to > run_end || began == next_from ? next_to : run_end;
        for (int64_t at = next_from; at < run_end; at++)
            k->run[thread][at] = (int)began;
    }
}

static uint64_t untimed_thread(const struct world *w, uint64_t own)
{
    bool has[THREADS] = {false};
    int n = 0;
    for (uint32_t i = 0; i < w->n_samples; i++)
        if (names_it(&w->samples[i]))
            has[w->samples[i].thread] = true;
    for (uint64_t t = 1; t < THREADS; t++)
        n += has[t] && t != own;
    if (n != 1 || (own && has[own]))
        return own;
    for (uint64_t t = 1; t < THREADS; t++)
        if (has[t] && t != own)
            return t;
    return own;
}

/* Instant by instant, then the gaps by what is nearest. */
static void find_threads(const struct world *w, struct slow *k)
{
    uint64_t own = w->origins[0].thread, last = 0;
    bool has_runs = false;
    for (uint64_t t = 0; t < THREADS; t++)
        for (int at = 0; at < HORIZON; at++)
            k->run[t][at] = NO_RUN;
    for (uint64_t t = 1; t < THREADS; t++)
        has_runs = mark_runs(w, k, t) || has_runs;
    if (!has_runs) {
        bool has_ties = false; /* outside the span, say */
        for (uint32_t i = 0; i < w->n_samples; i++)
            has_ties = has_ties || (names_it(&w->samples[i]) && w->samples[i].has_time &&
                                    w->samples[i].start_ns >= 0);
        for (int64_t at = k->start; at < k->end; at++)
            k->thread[at] = has_ties ? own : untimed_thread(w, own);
        if (k->start == k->end)
            k->thread[k->start] = has_ties ? own : untimed_thread(w, own);
        return;
    }
    uint64_t chosen = 0;
    int chosen_run = NO_RUN;
    for (int64_t at = k->start; at < k->end; at++) {
        uint64_t best = 0;
        for (uint64_t t = 1; t < THREADS; t++)
            if (k->run[t][at] != NO_RUN && (!best || k->run[t][at] < k->run[best][at]))
                best = t;
        if (chosen && k->run[chosen][at] == chosen_run && chosen_run != NO_RUN)
            best = chosen;
        if (own && k->run[own][at] != NO_RUN)
            best = own;
        k->thread[at] = best;
        chosen = best;
        chosen_run = best ? k->run[best][at] : NO_RUN;
    }
    for (int64_t at = k->start; at < k->end;) {
        int64_t to = at;
        if (k->thread[at]) {
            last = k->thread[at++];
            continue;
        }
        while (to < k->end && !k->thread[to])
            to++;
        uint64_t next = to < k->end ? k->thread[to] : last;
        int64_t middle = at + (to - at) / 2;
        for (int64_t i = at; i < to; i++)
            k->thread[i] = !last ? (own ? own : next) : i < middle ? last : next;
        at = to;
    }
}

static uint64_t thread_at(const struct slow *k, const struct sf_ledger_sample *s, int64_t *at)
{
    int64_t from = s->start_ns < 0 || !s->has_time ? k->start : s->start_ns;
    int64_t to = from + (s->length_ns > 0 ? s->length_ns : 0);
    from = from < k->start ? k->start : from;
    to = to > k->end ? k->end : to;
    *at = to > from ? from + (to - from) / 2 : from;
    *at = *at >= k->end ? k->end - 1 : *at;
    *at = *at < k->start ? k->start : *at;
    return k->thread[*at];
}

static bool is_in(const struct slow *k, const struct sf_ledger_sample *s)
{
    int64_t at;
    uint64_t thread = thread_at(k, s, &at);
    bool is_sure = s->grade == SF_GRADE_EXACT || s->grade == SF_GRADE_INHERITED, has = false;
    for (int64_t i = k->start; i < k->end || i == k->start; i++)
        has = has || k->thread[i] == s->thread;
    if (thread && s->thread)
        return thread == s->thread || (!s->has_time && has);
    return is_sure ||
           ((s->part == SF_PART_CPU || s->part == SF_PART_GC) && s->has_time && !s->is_shared);
}

/* Of a wait only what lies in the same piece of the span's thread. */
static bool lies_at(const struct slow *k, const struct sf_ledger_sample *s, int64_t at)
{
    int64_t middle;
    if (at < s->start_ns || at >= s->start_ns + s->length_ns)
        return false;
    if (!s->thread || thread_at(k, s, &middle) != s->thread)
        return true;
    for (int64_t i = at < middle ? at : middle; i <= at || i <= middle; i++)
        if (k->thread[i] != s->thread)
            return false;
    return true;
}

/* What lies at one moment: the part that comes first wins. */
static int part_at(const struct world *w, const struct slow *k, int64_t at)
{
    int best = SF_PART_UNKNOWN;
    for (uint32_t i = 1; i < w->n_spans; i++) {
        int part = w->origins[i].process == w->origins[0].process ? SF_PART_CHILD : SF_PART_REMOTE;
        if (at >= (int64_t)w->spans[i].start_ns && at < (int64_t)w->spans[i].end_ns && part < best)
            best = part;
    }
    for (uint32_t i = 0; i < w->n_samples; i++) {
        const struct sf_ledger_sample *s = &w->samples[i];
        if (is_wait(s) && is_in(k, s) && !is_replaced(w, s) && s->part < SF_PART_CHILD &&
            lies_at(k, s, at) && s->part < best)
            best = s->part;
    }
    return best;
}

static int64_t take(int64_t ns[SF_PARTS], int from, int to, int64_t want)
{
    int64_t moved = want < ns[from] ? want : ns[from];
    ns[from] -= moved;
    ns[to] += moved;
    return moved;
}

static void set_exact(int64_t ns[SF_PARTS], int part, int64_t want)
{
    for (int from = SF_PART_UNKNOWN; from > part && want > 0; from--)
        want -= take(ns, from, part, want);
}

static void set_exact_wait(int64_t ns[SF_PARTS], int part, int64_t want)
{
    static const int givers[] = {SF_PART_UNKNOWN, SF_PART_REMOTE, SF_PART_CHILD};
    if (want > 0 && ns[part] > want)
        take(ns, part, SF_PART_UNKNOWN, ns[part] - want);
    for (int i = 0; i < 3 && ns[part] < want; i++)
        take(ns, givers[i], part, want - ns[part]);
}

static void slow_ledger(const struct world *w, int64_t ns[SF_PARTS])
{
    static struct slow slow;
    struct slow *k = &slow;
    int64_t start = (int64_t)w->spans[0].start_ns, end = (int64_t)w->spans[0].end_ns;
    end = end > start ? end : start;
    k->start = start;
    k->end = end;
    find_threads(w, k);
    memset(ns, 0, SF_PARTS * sizeof(*ns));
    for (int64_t at = start; at < end; at++)
        ns[part_at(w, k, at)]++;
    for (int part = 0; part < SF_PART_LOCK; part++)
        set_exact(ns, part, w->exact.ns[part]);
    for (int part = SF_PART_LOCK; part <= SF_PART_SLEEP; part++)
        set_exact_wait(ns, part, w->exact.ns[part]);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < w->n_samples; i++) {
            const struct sf_ledger_sample *s = &w->samples[i];
            int64_t middle = s->start_ns + (s->length_ns > 0 ? s->length_ns / 2 : 0);
            int from = SF_PART_UNKNOWN;
            if (is_wait(s) || !is_in(k, s) || is_known(w, s) || s->has_time != (pass == 0) ||
                s->part >= SF_PART_CHILD || s->worth_ns <= 0)
                continue;
            if (s->has_time && s->start_ns >= 0 && middle >= start && middle < end)
                from = part_at(w, k, middle);
            if (from <= s->part || (s->is_filler && from < SF_PART_CHILD))
                continue;
            int64_t left = s->worth_ns - take(ns, from, s->part, s->worth_ns);
            if (from != SF_PART_UNKNOWN)
                take(ns, SF_PART_UNKNOWN, s->part, left);
        }
    }
}

TEST(ledger, divides_like_slow_obvious_code_and_adds_up)
{
    struct sf_arena req = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    for (int round = 0; round < ROUNDS; round++) {
        struct world w;
        struct sf_span_tree tree;
        struct sf_ledger l;
        int64_t want[SF_PARTS];
        uint64_t sum = 0;
        make(&w);
        sf_arena_reset(&req);
        assert_ok(sf_span_tree_build(w.spans, w.origins, w.n_spans, &req, &tree, NULL));
        assert_ok(sf_ledger_make(&tree, 0, w.samples, w.n_samples, &w.exact, &req, &l, NULL));
        slow_ledger(&w, want);
        for (int i = 0; i < SF_PARTS; i++) {
            if ((int64_t)l.ns[i] != want[i])
                fail_msg("round %d: %s is %llu, not %lld", round,
                         sf_ledger_part_name((enum sf_ledger_part)i), (unsigned long long)l.ns[i],
                         (long long)want[i]);
            sum += l.ns[i];
        }
        assert_int_equal(sum, l.duration_ns);
        assert_int_equal(l.duration_ns, w.spans[0].end_ns > w.spans[0].start_ns
                                            ? w.spans[0].end_ns - w.spans[0].start_ns
                                            : 0);
        assert_int_equal(l.n_samples + l.n_others + l.n_apart, w.n_samples);
    }
    sf_arena_done(&req);
}
