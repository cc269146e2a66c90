/* The link against slow, obvious code: every sample examined with every span, no index. */
#include <stdlib.h>

#include "link/attribution.h"
#include "test.h"

enum { ROUNDS = 3000, MAX_SPANS = 24, MAX_SAMPLES = 40, HORIZON = 60 };

static uint64_t seed = 20261115;
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
    struct sf_link_sample samples[MAX_SAMPLES];
    uint32_t n_spans, n_samples;
};

static void make_spans(struct world *w)
{
    w->n_spans = 1 + pick(MAX_SPANS);
    bool has_threads = pick(2) == 0;
    for (uint32_t i = 0; i < w->n_spans; i++) {
        uint64_t start = pick(HORIZON);
        w->spans[i] = (struct sf_span){.span_id = i + 1,
                                       .parent_id = pick(4) ? pick(i + 3)
                                                            : 0, /* loops, strangers */
                                       .start_ns = start,
                                       .end_ns = pick(9) ? start + pick(30) : start / 2};
        w->spans[i].trace_id.b[0] = (uint8_t)(1 + pick(8) / 7);
        w->origins[i] = (struct sf_span_origin){pick(9) ? 1 + pick(8) / 6 : 0,
                                                has_threads ? pick(3) : 0};
    }
}

static void make_samples(struct world *w)
{
    w->n_samples = pick(MAX_SAMPLES);
    bool is_root_tagger = pick(2) == 0;
    for (uint32_t i = 0; i < w->n_samples; i++) {
        struct sf_link_sample *s = &w->samples[i];
        *s = (struct sf_link_sample){.process = pick(4),
                                     .thread = pick(3),
                                     .start_ns = pick(HORIZON + 20),
                                     .length_ns = pick(3) ? pick(20) : 0,
                                     .value = (int64_t)pick(1000) - (pick(9) ? 0 : 500),
                                     .blur_ns = pick(4) ? 0 : pick(25),
                                     .has_time = pick(2) == 0,
                                     .is_lent = pick(5) == 0};
        if (pick(3)) {
            uint32_t span = pick(w->n_spans);
            s->span_id = is_root_tagger && span > 1 ? 1 : span + 1;
            s->trace_id = pick(3) ? w->spans[s->span_id - 1].trace_id : (sf_trace_id){{0}};
        } else if (pick(3) == 0) {
            s->trace_id.b[0] = (uint8_t)(1 + pick(3));
        }
    }
}

/* ---- the obvious way ---- */

struct slow {
    const struct world *w;
    const struct sf_span_tree *t;
    double shares[MAX_SPANS];
    enum sf_grade grade;
};

static bool is_active(const struct slow *s, uint32_t i, const struct sf_link_sample *p)
{
    const struct sf_span_place *at = &s->t->places[i];
    uint64_t moment = (uint64_t)(p->start_ns + p->length_ns / 2);
    return at->start_ns <= moment && moment < at->end_ns &&
           !(p->thread && at->thread && p->thread != at->thread);
}

static uint32_t slow_deepest(const struct slow *s, uint32_t root, const struct sf_link_sample *p)
{
    uint32_t best = SF_NOBODY;
    for (uint32_t i = 0; i < s->w->n_spans; i++) {
        const struct sf_span_place *a = &s->t->places[i];
        if (a->local_root != root || !is_active(s, i, p))
            continue;
        const struct sf_span_place *b = best == SF_NOBODY ? NULL : &s->t->places[best];
        if (!b || a->depth > b->depth || (a->depth == b->depth && a->start_ns > b->start_ns))
            best = i;
    }
    return best;
}

static bool slow_is_exact(const struct slow *s, uint64_t process)
{
    for (uint32_t i = 0; i < s->w->n_samples; i++) {
        const struct sf_link_sample *p = &s->w->samples[i];
        uint32_t span = sf_span_tree_find(s->t, p->trace_id, p->span_id);
        if (!p->is_lent && span != SF_NOBODY && s->t->places[span].depth > 0 &&
            s->t->places[span].process == process)
            return true;
    }
    return false;
}

static uint64_t process_of(const struct slow *s, const struct sf_link_sample *p)
{
    uint32_t span = p->span_id ? sf_span_tree_find(s->t, p->trace_id, p->span_id) : SF_NOBODY;
    return span == SF_NOBODY ? p->process : s->t->places[span].process;
}

static bool fits(const struct slow *s, uint32_t i, const struct sf_link_sample *p)
{
    return process_of(s, p) != 0 && s->t->places[i].process == process_of(s, p) &&
           (sf_trace_id_is_zero(p->trace_id) ||
            sf_trace_id_eq(p->trace_id, s->w->spans[s->t->places[i].local_root].trace_id));
}

/* Of a file for a whole process only threads that a span of the request knows are the request's. */
static bool is_sure(const struct slow *s, const struct sf_link_sample *p)
{
    for (uint32_t i = 0; p->is_lent && i < s->w->n_spans; i++)
        if (fits(s, i, p) && p->thread && s->t->places[i].thread == p->thread)
            return true;
    return !p->is_lent;
}

/* How many have a share. */
static uint32_t spread(struct slow *s, const double *weights)
{
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->w->n_spans; i++) {
        sum += weights[i];
        n += weights[i] > 0;
    }
    for (uint32_t i = 0; i < s->w->n_spans; i++)
        s->shares[i] = sum > 0 ? weights[i] / sum : 0;
    return n;
}

static enum sf_grade grade_of_trace(bool has_id, uint32_t n)
{
    return n == 0    ? SF_GRADE_NONE
           : !has_id ? SF_GRADE_WINDOW
           : n == 1  ? SF_GRADE_INHERITED
                     : SF_GRADE_SHARED;
}

/* Moments of the profile at which the span ran and none of its children in the process did. */
static double overlap(const struct slow *s, uint32_t span, const struct sf_link_sample *p)
{
    const struct sf_span_place *a = &s->t->places[span];
    double n = 0;
    for (uint64_t at = a->start_ns; at < a->end_ns; at++) {
        bool is_own = (int64_t)at >= p->start_ns && (int64_t)at < p->start_ns + p->length_ns;
        for (uint32_t i = 0; i < s->w->n_spans; i++) {
            const struct sf_span_place *c = &s->t->places[i];
            is_own = is_own && !(c->parent == span && sf_span_tree_is_local(s->t, i, span) &&
                                 c->start_ns <= at && at < c->end_ns);
        }
        n += is_own;
    }
    return n;
}

/* One instant after the other in which the sample may have been taken. */
static bool has_instant(const struct sf_link_sample *p, uint64_t at, struct sf_link_sample *out)
{
    *out = *p;
    out->start_ns += (int64_t)at;
    return at < (p->blur_ns ? p->blur_ns : 1);
}

static void slow_timed(struct slow *s, const struct sf_link_sample *p)
{
    double weights[MAX_SPANS] = {0}, own[MAX_SPANS] = {0};
    bool has_own = false;
    struct sf_link_sample now;
    for (uint64_t at = 0; has_instant(p, at, &now); at++) {
        for (uint32_t i = 0; i < s->w->n_spans; i++) {
            if (s->t->places[i].local_root != i || !fits(s, i, p))
                continue;
            uint32_t span = slow_deepest(s, i, &now);
            if (span == SF_NOBODY)
                continue;
            weights[span]++;
            if (p->thread && s->t->places[span].thread == p->thread) {
                own[span]++;
                has_own = true;
            }
        }
    }
    uint32_t n = spread(s, has_own ? own : weights);
    s->grade = grade_of_trace(is_sure(s, p) && !sf_trace_id_is_zero(p->trace_id), n);
}

static void slow_untimed(struct slow *s, const struct sf_link_sample *p, uint32_t tagged)
{
    double weights[MAX_SPANS] = {0}, sum = 0;
    bool has_id = is_sure(s, p) && (tagged != SF_NOBODY || !sf_trace_id_is_zero(p->trace_id));
    for (uint32_t i = 0; i < s->w->n_spans; i++) {
        const struct sf_span_place *a = &s->t->places[i];
        bool is_in = tagged != SF_NOBODY ? a->local_root == tagged : fits(s, i, p);
        weights[i] = !is_in ? 0 : has_id ? (double)a->self_ns : overlap(s, i, p);
        sum += weights[i];
    }
    if (sum <= 0 && tagged != SF_NOBODY)
        weights[tagged] = 1;
    uint32_t n = spread(s, weights);
    s->grade = tagged == SF_NOBODY             ? grade_of_trace(has_id, n)
               : n == 1 && weights[tagged] > 0 ? SF_GRADE_INHERITED
                                               : SF_GRADE_SHARED;
}

static void slow_share(struct slow *s, const struct sf_link_sample *p)
{
    memset(s->shares, 0, sizeof(s->shares));
    s->grade = SF_GRADE_NONE;
    if (p->span_id != 0 && sf_span_tree_find(s->t, p->trace_id, p->span_id) == SF_NOBODY)
        return;
    if (p->span_id == 0 || !is_sure(s, p)) {
        if (p->has_time)
            slow_timed(s, p);
        else
            slow_untimed(s, p, SF_NOBODY);
        return;
    }
    uint32_t span = sf_span_tree_find(s->t, p->trace_id, p->span_id);
    const struct sf_span_place *at = &s->t->places[span];
    double weights[MAX_SPANS] = {0};
    struct sf_link_sample now;
    bool is_root = at->depth == 0 && at->is_local_parent && !slow_is_exact(s, at->process) &&
                   at->process != 0;
    if (is_root && !p->has_time) {
        slow_untimed(s, p, span);
        return;
    }
    for (uint64_t k = 0; is_root && has_instant(p, k, &now); k++) {
        uint32_t down = slow_deepest(s, span, &now);
        if (down != SF_NOBODY)
            weights[down]++;
    }
    bool is_down = spread(s, weights) > 0;
    uint64_t from = (uint64_t)p->start_ns, to = from + (uint64_t)p->length_ns;
    bool is_while = to >= at->start_ns && (from < at->end_ns || from == at->start_ns);
    if (!is_down && p->has_time && !is_while)
        return; /* nobody's */
    if (!is_down)
        s->shares[span] = 1;
    s->grade = is_root ? SF_GRADE_INHERITED : SF_GRADE_EXACT;
}

/* ---- what is known ---- */

static bool is_above(const struct slow *s, uint32_t above, uint32_t span)
{
    while (span != above && s->t->places[span].depth > 0)
        span = s->t->places[span].parent;
    return span == above;
}

/* A claim that is known has the whole sample, and nothing else ran that could have it. */
static void check_known(const struct slow *s, const struct sf_link_sample *p,
                        const struct sf_claim *c)
{
    struct sf_link_sample now;
    if (c->within != SF_NOBODY)
        assert_true(is_above(s, c->within, c->span));
    if (c->is_known)
        assert_true(c->value == p->value && s->shares[c->span] > 0.999);
    if (!c->is_known || !p->has_time || c->grade == SF_GRADE_EXACT || p->thread != 0)
        return;
    for (uint64_t at = 0; has_instant(p, at, &now); at++)
        for (uint32_t i = 0; i < s->w->n_spans; i++)
            if (fits(s, i, p) && is_active(s, i, &now) &&
                (p->span_id == 0 || /* an id rules other requests out */
                 s->t->places[i].local_root == s->t->places[c->span].local_root))
                assert_true(is_above(s, i, c->span));
}

/* ---- the comparison ---- */

static uint64_t seen[SF_GRADES];

static void compare(const struct world *w, struct slow *s, const struct sf_attribution *a)
{
    uint32_t at = 0;
    uint64_t of_grade[SF_GRADES] = {0};
    for (uint32_t i = 0; i < w->n_samples; i++) {
        int64_t got[MAX_SPANS] = {0}, sum = 0;
        double want_sum = 0;
        slow_share(s, &w->samples[i]);
        of_grade[s->grade]++;
        for (; at < a->n_claims && a->claims[at].sample == i; at++) {
            assert_int_equal(a->claims[at].grade, s->grade);
            check_known(s, &w->samples[i], &a->claims[at]);
            got[a->claims[at].span] += a->claims[at].value;
            sum += a->claims[at].value;
        }
        for (uint32_t k = 0; k < w->n_spans; k++) {
            double want = s->shares[k] * (double)w->samples[i].value;
            want_sum += s->shares[k];
            if (llabs((long long)(want > 0 ? want + 0.5 : want - 0.5) - got[k]) > 1)
                fail_msg("sample %u span %u: %f, not %lld", i, k, want, (long long)got[k]);
        }
        /* Neither lost nor counted twice. */
        assert_int_equal(sum, want_sum > 0.5 ? w->samples[i].value : 0);
    }
    assert_int_equal(at, a->n_claims);
    for (int grade = 0; grade < SF_GRADES; grade++) {
        assert_int_equal(a->n_samples[grade], of_grade[grade]);
        seen[grade] += of_grade[grade];
    }
}

TEST(link, attributes_like_slow_obvious_code)
{
    struct sf_arena req;
    assert_true(sf_arena_init(&req, 32 << 20));
    for (int round = 0; round < ROUNDS; round++) {
        struct world w;
        struct sf_span_tree tree;
        struct sf_local_index index;
        struct sf_attribution a;
        make_spans(&w);
        make_samples(&w);
        struct sf_attribution_input in = {.samples = w.samples, .n_samples = w.n_samples};
        struct slow slow = {.w = &w, .t = &tree};
        assert_ok(sf_span_tree_build(w.spans, w.origins, w.n_spans, &req, &tree, NULL));
        assert_ok(sf_local_index_build(&tree, &req, &index, NULL));
        assert_ok(sf_attribution_make(&index, &in, &req, &a, NULL));
        compare(&w, &slow, &a);
        uint64_t n = 0;
        int64_t value = 0, all = 0;
        for (int g = 0; g < SF_GRADES; g++) {
            n += a.n_samples[g];
            value += a.values[g];
        }
        for (uint32_t i = 0; i < w.n_samples; i++)
            all += w.samples[i].value;
        assert_int_equal(n, w.n_samples);
        assert_int_equal(value, all);
        sf_arena_reset(&req);
    }
    for (int grade = 0; grade < SF_GRADES; grade++) /* none of the rules went untried */
        assert_true(seen[grade] > ROUNDS / 10);
    sf_arena_done(&req);
}
