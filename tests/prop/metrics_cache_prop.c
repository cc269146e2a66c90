/* Metrics with results kept per granule against metrics from whole traces, which keep nothing: the
 * same queries again and again while spans come in, twice at times, and are flushed, merged and
 * erased, for two tenants. CHECK_SCALE multiplies the number of seeds. */
#include "test.h"

#include <inttypes.h>
#include <math.h>

#include "base/time_unit.h"
#include "exec/metrics.h"
#include "query/query_parse.h"
#include "store/local/write/compact.h"
#include "store/local/write/seal.h"
#include "support/store_rig.h"

static const uint64_t START_NS = UINT64_C(1763200800) * 1000000000; /* a full hour */
enum { N_SEEDS = 3, N_ROUNDS = 40, N_QUERIES = 6, PER_BATCH = 60 };

static const char *const texts[] = {
    "{ } | count_over_time()",
    "{ } | rate() by (resource.service.name)",
    "{ status = error } | rate() by (name, kind)",
    "{ kind = server } | avg_over_time(duration) by (resource.service.name)",
    "{ } | sum_over_time(duration)",
    "{ } | min_over_time(duration) by (span.http.response.status_code)",
    "{ } | max_over_time(duration) by (.http.route)",
    "{ duration > 5ms } | quantile_over_time(duration, .5, .9) by (resource.service.name)",
    "{ } | histogram_over_time(duration)",
    "{ span.http.route =~ \".*list.*\" || status = error } | count_over_time() by (name)",
    "{ } | rate()",
};

struct world {
    struct store_rig rig;
    struct sf_otlp_make make[2];
    struct sf_arena batch, query, scratch, other;
    struct sf_span_batch last;
    uint32_t last_tenant;
    uint64_t rng;
};

static uint64_t below(struct world *w, uint64_t n)
{
    w->rng = w->rng * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (w->rng >> 33) % n;
}

/* A span of a sender with an absurd clock lies with those that came with it. */
static void stray(struct world *w)
{
    size_t len = w->last.n_spans * sizeof(struct sf_span);
    struct sf_span *spans = sf_arena_raw(&w->batch, len, 16);
    uint64_t at = below(w, w->last.n_spans), length;
    assert_non_null(spans);
    memcpy(spans, w->last.spans, len);
    length = spans[at].end_ns - spans[at].start_ns;
    spans[at].start_ns = below(w, 2) ? 5 : START_NS + UINT64_C(400) * 86400 * 1000000000;
    spans[at].end_ns = spans[at].start_ns + length;
    w->last.spans = spans;
}

static void send(struct world *w)
{
    if (!w->last.n_spans || below(w, 5)) {
        w->last_tenant = (uint32_t)below(w, 2) + 1;
        sf_arena_reset(&w->batch);
        sf_otlp_make_batch(&w->make[w->last_tenant - 1], PER_BATCH, &w->batch, &w->last);
        if (below(w, 6) == 0)
            stray(w);
    } /* otherwise the same spans once more */
    assert_ok(store_put(&w->rig, (unsigned)below(w, 2), w->last_tenant, &w->last, 0));
}

static void erase(struct world *w)
{
    struct sf_selector which = {.what = SF_SELECT_TRACES, .n_traces = 1};
    struct sf_span_batch b = w->last;
    if (!b.n_spans)
        return;
    which.trace_ids = &b.spans[below(w, b.n_spans)].trace_id;
    if (below(w, 4) == 0)
        which = (struct sf_selector){.what = SF_SELECT_SERVICE,
                                     .service = b.resources[below(w, b.n_resources)].service};
    assert_ok(w->rig.store->ops->erase(w->rig.store, w->last_tenant, &which, &w->rig.why));
}

static void do_something(struct world *w)
{
    struct store_rig *r = &w->rig;
    switch (below(w, 12)) {
    case 0:
    case 1: assert_ok(r->store->ops->flush(r->store, &r->why)); break;
    case 2: assert_ok(sf_compact_all(store_rig_local(r), &r->why)); break;
    case 3: assert_ok(sf_seal_all(store_rig_local(r), 0, &r->why)); break;
    case 4: erase(w); break;
    default: send(w); break;
    }
}

static struct sf_metrics_result ask(struct world *w, const char *text,
                                    const struct sf_metrics_window *window, struct sf_arena *req)
{
    struct sf_query_ctx q = w->rig.q;
    struct sf_metrics_ask a = {.window = *window, .n_exemplars = 10, .scratch = &w->scratch};
    struct sf_metrics_result out;
    sf_arena_reset(&w->query);
    sf_arena_reset(req);
    q.req = req;
    q.is_exact = true;
    assert_ok(sf_query_parse(sf_str_from(text), &w->query, &a.query, NULL, &w->rig.why));
    assert_ok(sf_metrics_run(w->rig.store, &a, &q, &out, &w->rig.why));
    assert_false(out.is_partial);
    return out;
}

static bool is_near(double a, double b, double most)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= most * fmax(fabs(a), fabs(b));
}

static void expect_same(const char *text, const struct sf_metrics_result *a,
                        const struct sf_metrics_result *b, double most)
{
    if (a->n_series != b->n_series)
        fail_msg("%s: %u series, not %u", text, a->n_series, b->n_series);
    assert_int_equal(a->n_steps, b->n_steps);
    for (uint32_t i = 0; i < a->n_series; i++) {
        const struct sf_metric_series *x = &a->series[i], *y = &b->series[i];
        assert_int_equal(x->labels.n, y->labels.n);
        for (uint32_t k = 0; k < x->labels.n; k++)
            assert_true(sf_str_eq(x->labels.list[k].key, y->labels.list[k].key) &&
                        sf_value_eq(x->labels.list[k].val, y->labels.list[k].val));
        for (uint32_t k = 0; k < a->n_steps; k++) {
            if (!is_near(x->values[k], y->values[k], most))
                fail_msg("%s: series %u step %u: %.17g, not %.17g", text, i, k, x->values[k],
                         y->values[k]);
        }
    }
}

static void expect_same_exemplars(const struct sf_metrics_result *a,
                                  const struct sf_metrics_result *b)
{
    for (uint32_t i = 0; i < a->n_series; i++) {
        const struct sf_metric_series *x = &a->series[i], *y = &b->series[i];
        assert_int_equal(x->n_exemplars, y->n_exemplars);
        for (uint32_t k = 0; k < x->n_exemplars; k++) {
            assert_int_equal(x->exemplars[k].time_ns, y->exemplars[k].time_ns);
            assert_int_equal(x->exemplars[k].labels.n, y->exemplars[k].labels.n);
        }
    }
}

static void compare(struct world *w)
{
    static const int64_t steps_s[] = {1, 2, 3, 60, 600};
    const char *text = texts[below(w, sizeof(texts) / sizeof(texts[0]))];
    int64_t from_ns = (int64_t)START_NS + (int64_t)(below(w, 20)) * SF_NS_PER_S;
    int64_t to_ns = from_ns + (int64_t)(below(w, 30) + 1) * SF_NS_PER_S;
    const struct sf_store_ops *ops = w->rig.store->ops;
    struct sf_store_ops slow = *ops;
    struct sf_metrics_window window;
    struct sf_metrics_result kept, again, plain;
    w->rig.tenant = (uint32_t)below(w, 2) + 1;
    if (below(w, 4))
        assert_ok(sf_metrics_window_range(from_ns, to_ns, steps_s[below(w, 5)] * SF_NS_PER_S,
                                          &window, NULL));
    else
        assert_ok(sf_metrics_window_instant(from_ns - SF_NS_PER_HOUR * (int64_t)below(w, 2),
                                            to_ns + SF_NS_PER_HOUR, &window, NULL));
    kept = ask(w, text, &window, &w->rig.arena);
    slow.span_columns = NULL;
    w->rig.store->ops = &slow;
    plain = ask(w, text, &window, &w->other);
    w->rig.store->ops = ops;
    expect_same(text, &kept, &plain, 1e-12);
    again = ask(w, text, &window, &w->other);
    expect_same(text, &kept, &again, 0);
    expect_same_exemplars(&kept, &again);
}

static uint64_t run(uint64_t seed) /* rounds with spans in two blocks */
{
    uint64_t n_doubled = 0;
    struct world w = {.rng = seed};
    struct sf_local *l;
    store_rig_init(&w.rig);
    w.rig.config.tuning.compact_blocks = 2;
    w.rig.config.tuning.block_rows = 500;
    w.rig.config.tuning.carry_rows = 20;
    assert_true(sf_arena_init(&w.batch, 1 << 28) && sf_arena_init(&w.query, 1 << 24) &&
                sf_arena_init(&w.scratch, 1 << 26) && sf_arena_init(&w.other, 1 << 28));
    sf_otlp_make_init(&w.make[0], seed, START_NS);
    sf_otlp_make_init(&w.make[1], seed + 1, START_NS);
    assert_ok(store_rig_open(&w.rig));
    assert_ok(w.rig.store->ops->tenant(w.rig.store, SF_STR("second"), true, &w.rig.tenant, NULL));
    l = store_rig_local(&w.rig);
    for (int round = 0; round < N_ROUNDS; round++) {
        do_something(&w);
        for (int i = 0; i < N_QUERIES; i++)
            compare(&w);
        assert_true(sf_budget_used(&l->budget, SF_LINE_PARTIALS) <=
                    l->budget.cap[SF_LINE_PARTIALS]);
        n_doubled += l->doubles.n_traces[SF_DOUBLES_SPANS] > 0;
    }
    print_message("# %" PRIu64 " granules recalled, %" PRIu64 " not\n", l->partials.n_hits,
                  l->partials.n_misses);
    assert_true(l->partials.n_hits > 100);
    assert_true(l->doubles.n_compared > 3);
    store_rig_done(&w.rig);
    sf_arena_done(&w.batch);
    sf_arena_done(&w.query);
    sf_arena_done(&w.scratch);
    sf_arena_done(&w.other);
    return n_doubled;
}

TEST(metrics_cache, answers_as_without_it_whatever_happens_to_the_blocks)
{
    uint64_t n_doubled = 0;
    for (uint64_t seed = 1; seed <= test_scaled(N_SEEDS); seed++)
        n_doubled += run(seed);
    assert_true(n_doubled > 0);
}

/* What was erased must not stay in memory, not even as a label of a result. */
TEST(metrics_cache, forgets_a_tenant_that_erases)
{
    struct world w = {.rng = 7};
    struct sf_metrics_window window;
    struct sf_local *l;
    store_rig_init(&w.rig);
    assert_true(sf_arena_init(&w.batch, 1 << 28) && sf_arena_init(&w.query, 1 << 24) &&
                sf_arena_init(&w.scratch, 1 << 26) && sf_arena_init(&w.other, 1 << 28));
    sf_otlp_make_init(&w.make[0], 7, START_NS);
    sf_otlp_make_init(&w.make[1], 8, START_NS);
    assert_ok(store_rig_open(&w.rig));
    l = store_rig_local(&w.rig);
    w.last_tenant = 1;
    sf_otlp_make_batch(&w.make[0], PER_BATCH, &w.batch, &w.last);
    assert_ok(store_put(&w.rig, 0, 1, &w.last, 0));
    assert_ok(w.rig.store->ops->flush(w.rig.store, &w.rig.why));
    assert_ok(sf_metrics_window_instant((int64_t)START_NS - SF_NS_PER_HOUR,
                                        (int64_t)START_NS + SF_NS_PER_HOUR, &window, NULL));
    (void)ask(&w, texts[1], &window, &w.other);
    (void)ask(&w, texts[1], &window, &w.other);
    assert_int_equal(l->partials.n_hits, 1);
    assert_int_equal(l->partials.n, 1);
    erase(&w);
    assert_int_equal(l->partials.n, 0);
    store_rig_done(&w.rig);
    sf_arena_done(&w.batch);
    sf_arena_done(&w.query);
    sf_arena_done(&w.scratch);
    sf_arena_done(&w.other);
}
