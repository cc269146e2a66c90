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
                                                  .has_time = pick(4) != 0,
                                                  .is_measured = pick(2) == 0};
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

static bool is_own(const struct sf_ledger *l, const struct sf_ledger_sample *s)
{
    return s->thread == 0 || l->thread == 0 || s->thread == l->thread;
}

/* What lies at one moment: the part that comes first wins. */
static int part_at(const struct world *w, const struct sf_ledger *l, int64_t at)
{
    int best = SF_PART_UNKNOWN;
    for (uint32_t i = 1; i < w->n_spans; i++) {
        int part = w->origins[i].process == w->origins[0].process ? SF_PART_CHILD : SF_PART_REMOTE;
        if (at >= (int64_t)w->spans[i].start_ns && at < (int64_t)w->spans[i].end_ns && part < best)
            best = part;
    }
    for (uint32_t i = 0; i < w->n_samples; i++) {
        const struct sf_ledger_sample *s = &w->samples[i];
        if (is_wait(s) && is_own(l, s) && !is_replaced(w, s) && s->part < SF_PART_CHILD &&
            at >= s->start_ns && at < s->start_ns + s->length_ns && s->part < best)
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

static void slow_ledger(const struct world *w, const struct sf_ledger *l, int64_t ns[SF_PARTS])
{
    int64_t start = (int64_t)w->spans[0].start_ns, end = (int64_t)w->spans[0].end_ns;
    memset(ns, 0, SF_PARTS * sizeof(*ns));
    for (int64_t at = start; at < end; at++)
        ns[part_at(w, l, at)]++;
    for (int part = 0; part < SF_PART_LOCK; part++)
        set_exact(ns, part, w->exact.ns[part]);
    for (int part = SF_PART_LOCK; part <= SF_PART_SLEEP; part++)
        set_exact_wait(ns, part, w->exact.ns[part]);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < w->n_samples; i++) {
            const struct sf_ledger_sample *s = &w->samples[i];
            int64_t middle = s->start_ns + (s->length_ns > 0 ? s->length_ns / 2 : 0);
            int from = SF_PART_UNKNOWN;
            if (is_wait(s) || !is_own(l, s) || is_known(w, s) || s->has_time != (pass == 0) ||
                s->part >= SF_PART_CHILD || s->worth_ns <= 0)
                continue;
            if (s->has_time && s->start_ns >= 0 && middle >= start && middle < end)
                from = part_at(w, l, middle);
            if (from <= s->part)
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
        slow_ledger(&w, &l, want);
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
        assert_int_equal(l.n_samples + l.n_others, w.n_samples);
    }
    sf_arena_done(&req);
}
