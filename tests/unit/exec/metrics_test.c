/* The worked queries of tests/golden/traceql_metrics.txt, and what their data never does: ranges
 * with edges, series by the hundred thousand, memory that runs out. */
#include "exec/metrics.h"

#include <math.h>
#include <stdlib.h>

#include "base/heap.h"
#include "query/query_parse.h"
#include "render/metrics_result.h"
#include "support/traceql_fixture.h"
#include "test.h"

#define S_NS 1000000000LL
#define T0   (1700000000LL * S_NS)

/* ---- a store of given spans, traces one after another, newest last ---- */

struct fake {
    struct sf_store base;
    const struct sf_span_batch *batch;
    uint32_t rows_at_once;
    enum sf_err end; /* what the cursor says in the end */
};

struct fake_cursor {
    struct sf_span_cursor base;
    struct fake *store;
    uint32_t at;
    sf_trace_id trace_ids[1024];
    sf_span_id span_ids[1024];
    uint32_t resources[1024], scopes[1024];
};

static bool next_rows(struct sf_span_cursor *base, struct sf_span_rows *out)
{
    struct fake_cursor *c = (struct fake_cursor *)base;
    const struct sf_span_batch *b = c->store->batch;
    uint32_t n = b->n_spans - c->at < c->store->rows_at_once ? b->n_spans - c->at
                                                             : c->store->rows_at_once;
    if (n == 0) {
        base->err = c->store->end;
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        c->trace_ids[i] = b->spans[c->at + i].trace_id;
        c->span_ids[i] = b->spans[c->at + i].span_id;
        c->resources[i] = b->spans[c->at + i].resource;
        c->scopes[i] = b->spans[c->at + i].scope;
    }
    *out = (struct sf_span_rows){.n_rows = n,
                                 .trace_id = c->trace_ids,
                                 .span_id = c->span_ids,
                                 .resource = c->resources,
                                 .scope = c->scopes,
                                 .resources = b->resources,
                                 .scopes = b->scopes,
                                 .n_resources = b->n_resources,
                                 .n_scopes = b->n_scopes,
                                 .spans = b->spans + c->at};
    c->at += n;
    return true;
}

static void close_rows(struct sf_span_cursor *c)
{
    free(c);
}

static enum sf_err scan(struct sf_store *s, const struct sf_span_query *query,
                        struct sf_query_ctx *q, struct sf_span_cursor **out, struct sf_why *why)
{
    struct fake_cursor *c = calloc(1, sizeof(*c));
    (void)query, (void)q, (void)why;
    assert_non_null(c);
    c->base.next = next_rows;
    c->base.close = close_rows;
    c->store = (struct fake *)s;
    *out = &c->base;
    return SF_OK;
}

static const struct sf_store_ops ops = {.name = "fake", .span_scan = scan};

/* ---- asking it ---- */

static struct sf_arena req, scratch;

static void begin(size_t req_len)
{
    sf_arena_done(&req);
    sf_arena_done(&scratch);
    assert_true(sf_arena_init(&req, req_len));
    assert_true(sf_arena_init(&scratch, 64 << 20));
}

static enum sf_err ask_window(struct fake *store, const char *text, struct sf_metrics_window window,
                              struct sf_metrics_result *out, struct sf_why *why)
{
    struct sf_query_ctx q = {.req = &req, .is_exact = true};
    struct sf_metrics_ask ask = {.window = window, .n_exemplars = 100, .scratch = &scratch};
    enum sf_err err = sf_query_parse(sf_str_from(text), &req, &ask.query, NULL, why);
    return err ? err : sf_metrics_run(&store->base, &ask, &q, out, why);
}

static struct fake fixture_store(uint32_t rows_at_once)
{
    return (struct fake){{&ops}, traceql_fixture(T0), rows_at_once, SF_OK};
}

static struct sf_metrics_window instant(void)
{
    struct sf_metrics_window w;
    assert_ok(sf_metrics_window_instant(T0 - 50 * S_NS, T0 + 50 * S_NS, &w, NULL));
    return w;
}

static struct sf_metrics_window range(int64_t from_s, int64_t to_s, int64_t step_s)
{
    struct sf_metrics_window w;
    assert_ok(
        sf_metrics_window_range(T0 + from_s * S_NS, T0 + to_s * S_NS, step_s * S_NS, &w, NULL));
    return w;
}

static void add_series(struct sf_buf *out, const struct sf_metric_series *s)
{
    sf_buf_print(out, "%s", out->len ? "; " : "");
    for (uint32_t i = 0; i < s->labels.n; i++) {
        const struct sf_attr *a = &s->labels.list[i];
        sf_buf_print(out, "%s%.*s=", i ? " " : "", SF_STR_ARG(a->key));
        if (a->val.type == SF_VALUE_STR)
            sf_buf_add_str(out, a->val.str);
        else if (a->val.type == SF_VALUE_DOUBLE)
            sf_buf_print(out, "%.9g", a->val.f64);
        else
            sf_buf_print(out, "%lld", (long long)a->val.i64);
    }
    sf_buf_print(out, ": %.6g", s->values[0]);
}

static bool is_right(const char *line, const char *got)
{
    char want[4096], all[16384], *part, *rest = want;
    if (line[2] == '=')
        return strcmp(got, line[3] ? line + 4 : "") == 0;
    snprintf(want, sizeof(want), "%s", line + 4);
    snprintf(all, sizeof(all), "; %s;", got);
    while ((part = strsep(&rest, ";"))) {
        char whole[1024];
        snprintf(whole, sizeof(whole), ";%s%s;", part[0] == ' ' ? "" : " ", part);
        if (!strstr(all, whole))
            return false;
    }
    return true;
}

static unsigned check_worked_queries(uint32_t rows_at_once, unsigned *n_wrong)
{
    struct fake store = fixture_store(rows_at_once);
    char query[4096] = "", line[4096];
    unsigned n = 0;
    FILE *f;
    snprintf(line, sizeof(line), "%s/tests/golden/traceql_metrics.txt", getenv("SPANFLAME_SOURCE"));
    f = fopen(line, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        struct sf_buf out = {0};
        struct sf_why why = {{0}};
        struct sf_metrics_result result = {0};
        line[strcspn(line, "\n")] = 0;
        if (line[0] == '#')
            continue;
        if (line[0] != ' ') {
            snprintf(query, sizeof(query), "%s", line);
            continue;
        }
        n++;
        begin(16 << 20);
        if (ask_window(&store, query, instant(), &result, &why))
            sf_buf_print(&out, "ERROR");
        for (uint32_t i = 0; i < result.n_series; i++)
            add_series(&out, &result.series[i]);
        sf_buf_add_u8(&out, 0);
        if (!is_right(line, (char *)out.p)) {
            print_error("%s\n  gives %s (%s)\n  not %s\n", query, (char *)out.p, why.text, line);
            ++*n_wrong;
        }
        sf_buf_done(&out);
    }
    fclose(f);
    return n;
}

TEST(metrics, answer_the_worked_queries)
{
    unsigned n_wrong = 0;
    assert_true(check_worked_queries(1024, &n_wrong) > 30);
    assert_int_equal(n_wrong, 0);
}

TEST(metrics, answer_the_same_when_traces_come_in_pieces)
{
    unsigned n_wrong = 0;
    check_worked_queries(1, &n_wrong);
    check_worked_queries(3, &n_wrong);
    assert_int_equal(n_wrong, 0);
}

TEST(metrics, count_a_span_at_an_edge_to_the_left_of_it)
{
    struct fake store = fixture_store(1024);
    struct sf_metrics_result r;
    begin(16 << 20);
    assert_ok(ask_window(&store, "{ } | count_over_time()", range(-50, 50, 100), &r, NULL));
    assert_int_equal(r.n_steps, 3);
    assert_int_equal(r.from_ns, T0 - 200 * S_NS);
    assert_true(r.series[0].values[0] == 0);
    assert_true(r.series[0].values[1] == 1);
    assert_true(r.series[0].values[2] == 9);
}

TEST(metrics, give_no_sample_where_there_is_nothing_to_take_the_least_of)
{
    struct fake store = fixture_store(1024);
    struct sf_metrics_result r;
    begin(16 << 20);
    assert_ok(ask_window(&store, "{ } | min_over_time(duration)", range(-50, 50, 100), &r, NULL));
    assert_true(isnan(r.series[0].values[0]));
    assert_true(r.series[0].values[2] == 0.002);
    assert_ok(
        ask_window(&store, "{ } | quantile_over_time(duration, 1)", range(-50, 50, 100), &r, NULL));
    assert_true(r.series[0].values[0] == 0);
}

TEST(metrics, keep_one_exemplar_of_a_trace_with_what_the_query_touched)
{
    struct fake store = fixture_store(1024);
    struct sf_metrics_result r;
    begin(16 << 20);
    assert_ok(ask_window(&store, "{ kind = server } | max_over_time(duration)", range(-50, 50, 100),
                         &r, NULL));
    assert_int_equal(r.series[0].n_exemplars, 2); /* traces A and B */
    assert_true(r.series[0].exemplars[0].value == 0.5);
    assert_true(sf_str_eq(sf_attrs_str(r.series[0].exemplars[0].labels, SF_STR("trace:id")),
                          SF_STR("11111111111111111111111111111111")));
    assert_true(
        sf_str_eq(sf_attrs_str(r.series[0].exemplars[0].labels, SF_STR("kind")), SF_STR("server")));
    assert_ok(ask_window(&store, "{ } | rate()", range(-50, 50, 100), &r, NULL));
    assert_true(r.series[0].n_exemplars >= 2 && r.series[0].n_exemplars <= 3);
    assert_true(r.series[0].exemplars[0].value == 0.01);
    assert_ok(ask_window(&store, "{ } | rate() with(exemplars=1)", range(-50, 50, 100), &r, NULL));
    assert_int_equal(r.series[0].n_exemplars, 1);
    assert_ok(
        ask_window(&store, "{ } | rate() with(exemplars=false)", range(-50, 50, 100), &r, NULL));
    assert_int_equal(r.series[0].n_exemplars, 0);
}

TEST(metrics, choose_the_top_at_each_step_by_itself)
{
    struct fake store = fixture_store(1024);
    struct sf_metrics_result r;
    begin(16 << 20);
    assert_ok(ask_window(&store, "{ } | count_over_time() by (resource.service.name) | topk(1)",
                         range(0, 2, 1), &r, NULL));
    /* T0: gateway 1; T0 + 1 s: cart 3; T0 + 2 s: gateway and worker 1, gateway first by name */
    assert_int_equal(r.n_series, 2);
    assert_true(isnan(r.series[0].values[0]) && r.series[0].values[1] == 3);
    assert_true(r.series[1].values[0] == 1 && isnan(r.series[1].values[1]));
    assert_true(r.series[1].values[2] == 1);
}

/* ---- windows ---- */

TEST(metrics_window, aligns_start_down_and_end_up_and_adds_a_step_in_front)
{
    struct sf_metrics_window w;
    uint32_t at;
    assert_ok(sf_metrics_window_range(123 * S_NS, 187 * S_NS, 10 * S_NS, &w, NULL));
    assert_int_equal(w.from_ns, 110 * S_NS);
    assert_int_equal(w.to_ns, 190 * S_NS);
    assert_int_equal(w.n_steps, 8);
    assert_false(sf_metrics_window_place(&w, 110 * S_NS, &at));
    assert_true(sf_metrics_window_place(&w, 110 * S_NS + 1, &at) && at == 0);
    assert_true(sf_metrics_window_place(&w, 120 * S_NS, &at) && at == 0);
    assert_true(sf_metrics_window_place(&w, 120 * S_NS + 1, &at) && at == 1);
    assert_true(sf_metrics_window_place(&w, 190 * S_NS, &at) && at == 7);
    assert_false(sf_metrics_window_place(&w, 190 * S_NS + 1, &at));
    assert_false(sf_metrics_window_place(&w, UINT64_MAX, &at));
    assert_ok(sf_metrics_window_range(120 * S_NS, 180 * S_NS, 10 * S_NS, &w, NULL));
    assert_int_equal(w.from_ns, 110 * S_NS); /* the first sample is at the start itself */
    assert_int_equal(w.to_ns, 180 * S_NS);
    assert_ok(sf_metrics_window_instant(5, 9, &w, NULL));
    assert_true(sf_metrics_window_place(&w, 5, &at) && sf_metrics_window_place(&w, 9, &at));
}

TEST(metrics_window, takes_a_step_people_can_read_when_none_is_given)
{
    assert_int_equal(sf_metrics_window_default_step(3600 * S_NS), 15 * S_NS);
    assert_int_equal(sf_metrics_window_default_step(6 * 3600 * S_NS), 60 * S_NS);
    assert_int_equal(sf_metrics_window_default_step(24 * 3600 * S_NS), 300 * S_NS);
    assert_int_equal(sf_metrics_window_default_step(20 * 60 * S_NS), 5 * S_NS);
    assert_int_equal(sf_metrics_window_default_step(2 * 60 * S_NS), S_NS);
    assert_int_equal(sf_metrics_window_default_step(48 * S_NS), S_NS / 5);
    assert_int_equal(sf_metrics_window_default_step(1), S_NS / 20);
}

TEST(metrics_window, refuses_what_would_never_end)
{
    struct sf_metrics_window w;
    struct sf_why why;
    assert_int_equal(sf_metrics_window_range(5, 5, 1, &w, &why), SF_ERR_INPUT);
    assert_string_equal(why.text, "end must be greater than start");
    assert_int_equal(sf_metrics_window_range(0, INT64_MAX, 0, &w, &why), SF_ERR_INPUT);
    assert_string_equal(why.text,
                        "metrics query time range exceeds the maximum allowed duration of 24h0m0s");
    assert_int_equal(sf_metrics_window_instant(0, S_NS * 86400 * 365 * 100, &w, &why),
                     SF_ERR_INPUT);
    assert_int_equal(sf_metrics_window_range(T0, T0 + 3600 * S_NS, 1, &w, &why), SF_ERR_INPUT);
    assert_string_equal(why.text,
                        "step of 1ns is too small, minimum step for given range is 360ms");
    assert_int_equal(sf_metrics_window_range(T0, T0 + S_NS, INT64_MAX, &w, &why), SF_ERR_INPUT);
    assert_int_equal(sf_metrics_window_range(INT64_MAX - 5, INT64_MAX, 3600 * S_NS, &w, &why),
                     SF_ERR_INPUT);
    assert_ok(sf_metrics_window_range(1, 2, 3600 * S_NS, &w, &why)); /* the step before 1970 */
}

/* ---- much, and little memory ---- */

enum { MANY = 20000 };

static struct fake many_store(void)
{
    static struct sf_span spans[MANY];
    static const struct sf_resource resource = {.service = {"s", 1}};
    static const struct sf_scope scope;
    static struct sf_span_batch batch = {&resource, &scope, spans, 1, 1, MANY};
    for (uint32_t i = 0; i < MANY; i++)
        spans[i] = (struct sf_span){.trace_id.b = {[0] = 1,
                                                   [12] = (uint8_t)(i >> 24),
                                                   [13] = (uint8_t)(i >> 16),
                                                   [14] = (uint8_t)(i >> 8),
                                                   [15] = (uint8_t)i},
                                    .span_id = i + 1,
                                    .start_ns = (uint64_t)(T0 + i * (S_NS / 333)),
                                    .end_ns = (uint64_t)(T0 + (i + 1) * (S_NS / 333)),
                                    .name = SF_STR("x")};
    return (struct fake){{&ops}, &batch, 1000, SF_OK};
}

TEST(metrics, cut_series_above_the_cap_and_say_so)
{
    struct fake store = many_store();
    struct sf_metrics_result r;
    begin(512 << 20);
    assert_ok(ask_window(&store, "{ } | rate() by (span:id)", instant(), &r, NULL));
    assert_int_equal(r.n_series, 1000);
    assert_true(r.is_partial);
    assert_true(sf_str_starts(r.note, SF_STR("Response exceeds maximum series limit of 1000, a ")));
    /* A second stage sees them all: the cut comes last. */
    assert_ok(
        ask_window(&store, "{ } | count_over_time() by (span:id) | topk(3)", instant(), &r, NULL));
    assert_int_equal(r.n_series, 3);
    assert_false(r.is_partial);
}

TEST(metrics, give_a_partial_answer_when_memory_is_used_up)
{
    static const char *const queries[] = {
        "{ } | rate() by (span:id)", "{ } | quantile_over_time(duration, .5) by (span:id)",
        "{ } | compare({ name = \"x\" })", "{ } | rate() by (span:id) | topk(5)",
        "{ } | histogram_over_time(duration) by (trace:id)"};
    struct fake store = many_store();
    for (size_t i = 0; i < 5; i++) {
        for (size_t len = 64 << 10; len <= 4 << 20; len *= 4) {
            struct sf_metrics_result r = {0};
            struct sf_why why;
            enum sf_err err;
            begin(len);
            err = ask_window(&store, queries[i], range(0, 60, 1), &r, &why);
            assert_true(err == SF_OK || err == SF_ERR_LIMIT);
            if (!err && i != 2)
                assert_true(r.is_partial && r.note.len);
        }
    }
}

TEST(metrics, spread_exemplars_over_the_whole_range)
{
    struct fake store = many_store();
    struct sf_metrics_result r;
    uint32_t n_late = 0;
    begin(64 << 20);
    assert_ok(ask_window(&store, "{ } | rate()", range(1, 60, 1), &r, NULL));
    assert_true(r.series[0].n_exemplars > 80 && r.series[0].n_exemplars <= 100);
    for (uint32_t i = 0; i < r.series[0].n_exemplars; i++)
        n_late += r.series[0].exemplars[i].time_ns > T0 + 30 * S_NS;
    assert_true(n_late > 35 && n_late < 65);
    assert_ok(ask_window(&store, "{ } | rate() by (span:id)", range(1, 60, 1), &r, NULL));
    uint32_t n = 0;
    for (uint32_t i = 0; i < r.n_series; i++)
        n += r.series[i].n_exemplars;
    assert_true(n <= 100);
}

TEST(metrics, are_partial_when_time_is_up_after_something_was_counted)
{
    struct fake store = fixture_store(3);
    struct sf_metrics_result r;
    begin(16 << 20);
    store.end = SF_ERR_DEADLINE;
    assert_ok(ask_window(&store, "{ } | rate()", instant(), &r, NULL));
    assert_true(r.is_partial);
    assert_int_equal(ask_window(&store, "{ name = \"nobody\" } | rate()", instant(), &r, NULL),
                     SF_ERR_DEADLINE);
}

TEST(metrics, refuse_a_search_and_endless_arithmetic)
{
    struct fake store = fixture_store(1024);
    struct sf_metrics_result r;
    struct sf_buf text = {0};
    begin(64 << 20);
    assert_int_equal(ask_window(&store, "{ }", instant(), &r, NULL), SF_ERR_INPUT);
    for (int i = 0; i < 900; i++)
        sf_buf_print(&text, "%s({ } | rate())", i ? " + " : "");
    sf_buf_add_u8(&text, 0);
    assert_int_equal(ask_window(&store, (char *)text.p, instant(), &r, NULL), SF_ERR_INPUT);
    sf_buf_done(&text);
}

TEST(metrics, outlive_every_failing_allocation)
{
    static const char *const queries[] = {
        "{ name =~ \".*\" } | rate() by (name) | topk(2)", "{ } | compare({ status = error })",
        "({ } | rate() by (kind)) / ({ } | quantile_over_time(duration, .9) by (kind))"};
    struct fake store = fixture_store(2);
    for (size_t i = 0; i < 3; i++) {
        for (uint64_t n = 1; n < 1000; n++) {
            struct sf_metrics_result r = {0};
            struct sf_why why;
            enum sf_err err;
            begin(16 << 20);
            sf_heap_fail_after(n);
            err = ask_window(&store, queries[i], range(-50, 50, 10), &r, &why);
            sf_heap_fail_after(0);
            if (!err)
                break;
            assert_true(err == SF_ERR_NOMEM || err == SF_ERR_LIMIT);
            assert_true(n < 999);
        }
    }
}

TEST(metrics, are_written_without_fields_clients_do_not_know)
{
    struct fake store = fixture_store(1024);
    struct sf_metrics_result r;
    struct sf_buf out = {0};
    begin(16 << 20);
    assert_ok(ask_window(&store, "{ } | count_over_time()", instant(), &r, NULL));
    sf_metrics_result_instant_json(&r, &out);
    sf_buf_add_u8(&out, 0);
    assert_string_equal((char *)out.p,
                        "{\"series\":[{\"labels\":[{\"key\":\"__name__\",\"value\":{"
                        "\"stringValue\":\"count_over_time\"}}],\"value\":10}],\"metrics\":{"
                        "\"inspectedTraces\":3,\"inspectedBytes\":\"0\",\"inspectedSpans\":\"10\","
                        "\"completedJobs\":1,\"totalJobs\":1}}");
    sf_buf_done(&out);
    assert_ok(ask_window(&store, "{ } | count_over_time() with(exemplars=0)", range(-50, 50, 100),
                         &r, NULL));
    r.is_partial = true;
    r.note = SF_STR("why");
    sf_metrics_result_range_json(&r, &out);
    sf_buf_add_u8(&out, 0);
    assert_non_null(strstr((char *)out.p,
                           "\"samples\":[{\"timestampMs\":\"1699999900000\"},{\"timestampMs\":"
                           "\"1700000000000\",\"value\":1},{\"timestampMs\":\"1700000100000\","
                           "\"value\":9}]}],\"metrics\":"));
    assert_non_null(strstr((char *)out.p, ",\"status\":\"PARTIAL\",\"message\":\"why\"}"));
    sf_buf_done(&out);
}
