/* A trace of 100,000 spans, sent in pieces that lie in memory, parts and blocks: what is asked of
 * it is answered within the memory a query has by default, and what does not fit reports it. */
#include "test.h"

#include "base/limits.h"
#include "exec/metrics.h"
#include "exec/search.h"
#include "exec/traces.h"
#include "query/query_parse.h"
#include "store/local/write/compact.h"
#include "support/store_rig.h"

enum { N_SPANS = 100000, N_SENT = 2000, N_SERVICES = 20, N_WIDE = 50 };
#define BASE_NS (UINT64_C(1763250000) * 1000000000)
#define MS_NS   UINT64_C(1000000)

static const sf_trace_id trace_id = {{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7}};

struct large {
    struct store_rig rig;
    struct sf_arena scratch, query;
};

static const struct sf_scope scope = {.name = SF_STR("app")};
static struct sf_resource resources[N_SERVICES];
static struct sf_attr services[N_SERVICES];
static char names[N_SERVICES][16];

static void make_resources(void)
{
    for (int i = 0; i < N_SERVICES; i++) {
        snprintf(names[i], sizeof(names[i]), "service-%d", i);
        services[i] = (struct sf_attr){SF_STR("service.name"),
                                       {.type = SF_VALUE_STR, .str = sf_str_from(names[i])}};
        resources[i] = (struct sf_resource){.attrs = {&services[i], 1},
                                            .service = sf_str_from(names[i])};
    }
}

/* Span i, from 1: its parent is i / N_WIDE, so every one has up to fifty children; number 1 is the
 * root. Its attributes point into `attrs`. */
static struct sf_span make_span(uint32_t i, struct sf_attr attrs[2])
{
    struct sf_span s = {.trace_id = trace_id,
                        .span_id = i,
                        .parent_id = i == 1       ? 0
                                     : i / N_WIDE ? i / N_WIDE
                                                  : 1,
                        .name = i == 1   ? SF_STR("root")
                                : i % 10 ? SF_STR("step")
                                         : SF_STR("call"),
                        .kind = i % 10 ? SF_KIND_INTERNAL : SF_KIND_CLIENT,
                        .status = i % 1000 ? SF_STATUS_UNSET : SF_STATUS_ERROR,
                        .start_ns = BASE_NS + i * MS_NS,
                        .resource = i % N_SERVICES};
    s.end_ns = i == 1 ? BASE_NS + (N_SPANS + 10) * MS_NS : s.start_ns + 5 * MS_NS;
    attrs[0] = (struct sf_attr){SF_STR("number"), {.type = SF_VALUE_INT, .i64 = i}};
    attrs[1] = (struct sf_attr){SF_STR("http.route"),
                                {.type = SF_VALUE_STR, .str = SF_STR("/orders/{id}/totals")}};
    s.attrs = (struct sf_attrs){attrs, 2};
    return s;
}

static void send_spans(struct store_rig *r, uint32_t first, uint32_t n)
{
    static struct sf_span spans[N_SENT];
    static struct sf_attr attrs[N_SENT][2];
    struct sf_span_batch b = {resources, &scope, spans, N_SERVICES, 1, n};
    for (uint32_t i = 0; i < n; i++)
        spans[i] = make_span(first + i, attrs[i]);
    assert_ok(store_put(r, first / N_SENT % 2, 1, &b, 0));
}

/* Small traces of the same time: older and newer than the large one. */
static void send_others(struct store_rig *r)
{
    static struct sf_attr attrs[10][2];
    struct sf_span spans[10];
    struct sf_span_batch b = {resources, &scope, spans, N_SERVICES, 1, 10};
    for (uint32_t i = 0; i < 10; i++) {
        spans[i] = make_span(1, attrs[i]);
        spans[i].trace_id.b[0] = (uint8_t)(i + 10);
        spans[i].start_ns = BASE_NS + i * 20 * MS_NS;
        spans[i].end_ns = spans[i].start_ns + MS_NS;
    }
    assert_ok(store_put(r, 0, 1, &b, 0));
}

static void large_init(struct large *l)
{
    struct store_rig *r = &l->rig;
    make_resources();
    store_rig_init(r);
    sf_arena_done(&r->arena);
    assert_true(sf_arena_init(&r->arena, SF_LIMIT_QUERY_MEMORY_LEN));
    assert_true(sf_arena_init(&l->scratch, SF_LIMIT_QUERY_MEMORY_LEN));
    assert_true(sf_arena_init(&l->query, 1 << 20));
    assert_ok(store_rig_open(r));
    for (uint32_t i = 0; i < N_SPANS / N_SENT; i++) {
        send_spans(r, i * N_SENT + 1, N_SENT);
        if (i % 16 == 15)
            assert_ok(r->store->ops->flush(r->store, &r->why));
        if (i == 33)
            assert_ok(sf_compact_all(store_rig_local(r), &r->why));
    }
    send_others(r);
}

static void large_done(struct large *l)
{
    store_rig_done(&l->rig);
    sf_arena_done(&l->scratch);
    sf_arena_done(&l->query);
}

static const struct sf_query *parse(struct large *l, const char *text)
{
    const struct sf_query *q = NULL;
    sf_arena_reset(&l->query);
    assert_ok(sf_query_parse(sf_str_from(text), &l->query, &q, NULL, &l->rig.why));
    return q;
}

static struct sf_search_result search(struct large *l, const char *text)
{
    struct sf_search ask = {
        .query = parse(l, text), .limit = 20, .spans_per_set = 3, .scratch = &l->scratch};
    struct sf_search_result result = {0};
    sf_arena_reset(&l->rig.arena);
    if (sf_search_run(l->rig.store, &ask, &l->rig.q, &result, &l->rig.why))
        fail_msg("%s: %s", text, l->rig.why.text);
    if (result.is_partial)
        fail_msg("%s: %.*s", text, SF_STR_ARG(result.note));
    return result;
}

static const struct sf_found_trace *find(const struct sf_search_result *r)
{
    for (uint32_t i = 0; i < r->n_traces; i++) {
        if (sf_trace_id_eq(r->traces[i].id, trace_id))
            return &r->traces[i];
    }
    return NULL;
}

static void expect_matched(struct large *l, const char *text, uint32_t n)
{
    struct sf_search_result r = search(l, text);
    const struct sf_found_trace *t = find(&r);
    if (!t || t->n_sets != 1 || t->sets[0].n_matched != n)
        fail_msg("%s: %u spans, not %u", text, t ? t->sets[0].n_matched : 0, n);
}

static void expect_searches(struct large *l)
{
    struct sf_search_result r = search(l, "{ }");
    const struct sf_found_trace *t = find(&r);
    assert_int_equal(r.n_traces, 11);
    assert_non_null(t);
    assert_int_equal(t->n_services, N_SERVICES);
    assert_int_equal(t->services[0].n_spans, N_SPANS / N_SERVICES);
    assert_str(t->root_name, "root");
    assert_int_equal(t->duration_ns, (N_SPANS + 9) * MS_NS);
    expect_matched(l, "{ }", N_SPANS);
    expect_matched(l, "{ span.number = 77777 }", 1);
    expect_matched(l, "{ status = error }", N_SPANS / 1000);
    expect_matched(l, "{ kind = client } && { span.number > 99999 }", N_SPANS / 10);
    expect_matched(l, "{ name = \"root\" } >> { status = error }", N_SPANS / 1000);
    expect_matched(l, "{ span.number = 10 } > { }", N_WIDE);
    expect_matched(l, "{ span.number = 10 } >> { }", N_WIDE + N_WIDE * N_WIDE);
    expect_matched(l, "{ span.number = 77777 } << { }", 3);
    expect_matched(l, "{ span.number = 5000 } ~ { }", N_WIDE - 1);
    expect_matched(l, "{ } !> { }", 1);
    expect_matched(l, "{ name = \"root\" } &>> { status = error }", N_SPANS / 1000 + 1);
    expect_matched(l, "{ } | count() = 100000", N_SPANS);
    expect_matched(l, "{ } | sum(span.number) = 5000050000", N_SPANS);
    expect_matched(l, "{ } | max(span.number) > 99999 | { status = error }", N_SPANS / 1000);
    expect_matched(l, "{ } | by(resource.service.name) | coalesce()", N_SPANS);
    r = search(l, "{ } | by(resource.service.name) | count() > 4999");
    assert_int_equal(find(&r)->n_sets, N_SERVICES);
}

static void expect_whole_trace(struct large *l)
{
    struct sf_trace t = {0};
    sf_arena_reset(&l->rig.arena);
    assert_ok(sf_traces_get_one(l->rig.store, trace_id, 0, 0, &l->rig.q, &t, &l->rig.why));
    assert_int_equal(t.spans.n_spans, N_SPANS);
    assert_false(t.is_partial);
}

static void expect_counts(struct large *l)
{
    struct sf_metrics_ask ask = {
        .query = parse(l, "{ status = error } | count_over_time() by (resource.service.name)"),
        .scratch = &l->scratch};
    struct sf_metrics_result r;
    assert_ok(sf_metrics_window_instant((int64_t)BASE_NS, (int64_t)(BASE_NS + 200000 * MS_NS),
                                        &ask.window, &l->rig.why));
    sf_arena_reset(&l->rig.arena);
    assert_ok(sf_metrics_run(l->rig.store, &ask, &l->rig.q, &r, &l->rig.why));
    assert_false(r.is_partial);
    assert_int_equal(r.n_series, 1); /* 1,000 is a multiple of 20 */
    assert_int_equal((int)r.series[0].values[0], N_SPANS / 1000);
}

TEST(large_trace, is_found_judged_and_read_whole)
{
    struct large l;
    large_init(&l);
    expect_searches(&l);
    expect_whole_trace(&l);
    expect_counts(&l);
    assert_ok(l.rig.store->ops->flush(l.rig.store, &l.rig.why));
    assert_ok(sf_compact_all(store_rig_local(&l.rig), &l.rig.why));
    expect_searches(&l);
    expect_whole_trace(&l);
    expect_counts(&l);
    large_done(&l);
}

static void expect_left_out(const struct sf_search_result *r, uint32_t n_others)
{
    assert_true(r->is_partial);
    assert_non_null(memmem(r->note.p, r->note.len, "07070707070707070707070707070707", 32));
    assert_non_null(memmem(r->note.p, r->note.len, "memory", 6));
    assert_int_equal(r->n_traces, n_others);
}

static void expect_metrics_left_out(struct large *l)
{
    struct sf_metrics_ask ask = {.query = parse(l, "{ } >> { } | count_over_time()"),
                                 .scratch = &l->scratch};
    struct sf_metrics_result r;
    assert_ok(sf_metrics_window_instant((int64_t)BASE_NS, (int64_t)(BASE_NS + 200000 * MS_NS),
                                        &ask.window, &l->rig.why));
    sf_arena_reset(&l->rig.arena);
    assert_ok(sf_metrics_run(l->rig.store, &ask, &l->rig.q, &r, &l->rig.why));
    assert_true(r.is_partial);
    assert_non_null(memmem(r.note.p, r.note.len, "07070707070707070707070707070707", 32));
}

/* A quarter of what it takes: an answer about all the others that names the one it misses, or the
 * part that fits, marked. */
TEST(large_trace, that_does_not_fit_is_never_cut_in_silence)
{
    struct large l;
    struct sf_search ask;
    struct sf_search_result result;
    struct sf_trace t = {0};
    struct sf_why why = {0};
    large_init(&l);
    sf_arena_done(&l.rig.arena);
    sf_arena_done(&l.scratch);
    assert_true(sf_arena_init(&l.rig.arena, 8 << 20) && sf_arena_init(&l.scratch, 8 << 20));
    ask = (struct sf_search){.query = parse(&l, "{ } | count() > 1"),
                             .limit = 20,
                             .spans_per_set = 3,
                             .scratch = &l.scratch};
    assert_ok(sf_search_run(l.rig.store, &ask, &l.rig.q, &result, &why));
    expect_left_out(&result, 0);
    ask.query = parse(&l, "{ }");
    sf_arena_reset(&l.rig.arena);
    assert_ok(sf_search_run(l.rig.store, &ask, &l.rig.q, &result, &why));
    expect_left_out(&result, 10);
    expect_metrics_left_out(&l);
    sf_arena_reset(&l.rig.arena);
    assert_ok(sf_traces_get_one(l.rig.store, trace_id, 0, 0, &l.rig.q, &t, &why));
    assert_true(t.is_partial);
    assert_true(t.spans.n_spans > 1000 && t.spans.n_spans < N_SPANS);
    large_done(&l);
}
