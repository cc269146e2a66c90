/* What a store is told about spans that a metrics query cannot tell apart, and how spans that it
 * counted are counted. */
#include "exec/metrics.h"

#include <math.h>
#include <stdlib.h>

#include "base/heap.h"
#include "query/query_parse.h"
#include "test.h"

#define S_NS 1000000000LL
#define T0   (1700000010LL * S_NS)

/* ---- a store that has counted: three rows, which stand for 5, 1 and 100 spans ---- */

enum { ROWS = 3 };

struct fake {
    struct sf_store base;
    bool was_asked, has_grouping;
    struct sf_span_grouping grouping;
    int64_t durations[8];
    bool has_numbers; /* otherwise each row is one span */
};

struct fake_cursor {
    struct sf_column_cursor base;
    struct fake *store;
    struct sf_span_columns cols;
    struct sf_arena scratch;
    bool is_done;
};

static const uint64_t starts[ROWS] = {T0 + S_NS, T0 + 2 * S_NS, T0 + 31 * S_NS};
static const uint64_t durations[ROWS] = {1000, 2000, 500};
static const uint64_t numbers[ROWS] = {5, 1, 100};
static const double sums[ROWS] = {7000, NAN, 60000};
static const sf_trace_id ids[ROWS] = {{{1}}, {{2}}, {{3}}};
static const uint32_t firsts[ROWS + 1] = {0, 1, 2, 3}, codes[ROWS] = {0, 1, 0};
static const sf_str names[2] = {{"get", 3}, {"put", 3}};
static const sf_span_id span_ids[ROWS] = {1, 2, 3}, parent_ids[ROWS];
static const uint32_t none[ROWS];
static const struct sf_resource resource = {.service = {"web", 3}};
static const struct sf_scope scope;

static enum sf_err add_nothing(struct sf_span_columns *c, uint32_t columns, struct sf_why *why)
{
    (void)c, (void)columns, (void)why;
    return SF_OK;
}

/* Each has 4 of it. */
static enum sf_err size_of(struct sf_span_columns *c, const struct sf_key *key,
                           struct sf_value_column *out, struct sf_why *why)
{
    static const uint32_t code[ROWS];
    static const struct sf_value four = {.type = SF_VALUE_INT, .i64 = 4};
    (void)c, (void)why;
    assert_true(sf_str_eq(key->name, SF_STR("size")));
    *out = (struct sf_value_column){.code = code, .vals = &four, .n_vals = 1};
    return SF_OK;
}

static struct sf_span_columns *next_columns(struct sf_column_cursor *base)
{
    struct fake_cursor *c = (struct fake_cursor *)base;
    if (c->is_done)
        return NULL;
    c->is_done = true;
    c->cols = (struct sf_span_columns){
        .rows = {.n_rows = ROWS,
                 .span_id = span_ids,
                 .trace_id = ids,
                 .parent_id = parent_ids,
                 .resource = none,
                 .scope = none,
                 .resources = &resource,
                 .scopes = &scope,
                 .n_resources = 1,
                 .n_scopes = 1,
                 .start_ns = starts,
                 .duration_ns = durations,
                 .name = {.code = codes, .dict = names, .n_dict = 2}},
        .tables = 1,
        .n_traces = ROWS,
        .trace_ids = ids,
        .firsts = firsts,
        .scratch = &c->scratch,
        .add = add_nothing,
        .value = size_of,
        .n_same = c->store->has_numbers ? numbers : NULL,
        .sums = c->store->has_numbers ? sums : NULL};
    return &c->cols;
}

static void close_columns(struct sf_column_cursor *base)
{
    struct fake_cursor *c = (struct fake_cursor *)base;
    sf_arena_done(&c->scratch);
    free(c);
}

static enum sf_err scan(struct sf_store *s, const struct sf_span_query *query,
                        struct sf_query_ctx *q, struct sf_column_cursor **out, struct sf_why *why)
{
    struct fake *f = (struct fake *)s;
    struct fake_cursor *c = calloc(1, sizeof(*c));
    (void)q, (void)why;
    assert_non_null(c);
    assert_true(sf_arena_init(&c->scratch, 1 << 20));
    c->store = f;
    c->base.next = next_columns;
    c->base.close = close_columns;
    f->was_asked = true;
    f->has_grouping = query->grouping != NULL;
    if (query->grouping) {
        f->grouping = *query->grouping;
        assert_true(f->grouping.n_durations <= 8);
        for (uint32_t i = 0; i < f->grouping.n_durations; i++)
            f->durations[i] = f->grouping.durations[i];
    }
    *out = &c->base;
    return SF_OK;
}

static enum sf_err scan_rows(struct sf_store *s, const struct sf_span_query *query,
                             struct sf_query_ctx *q, struct sf_span_cursor **out,
                             struct sf_why *why)
{
    (void)s, (void)query, (void)q, (void)out;
    return sf_fail(why, SF_ERR_UNSUPPORTED, "only columns");
}

static const struct sf_store_ops ops = {
    .name = "fake", .span_columns = scan, .span_scan = scan_rows};

static struct sf_arena req, scratch;

static struct sf_metrics_result ask(struct fake *f, const char *text)
{
    struct sf_query_ctx q = {.req = &req, .is_exact = true};
    struct sf_metrics_ask ask = {.n_exemplars = 10, .scratch = &scratch};
    struct sf_metrics_result out = {0};
    struct sf_why why = {0};
    sf_arena_done(&req);
    sf_arena_done(&scratch);
    assert_true(sf_arena_init(&req, 16 << 20) && sf_arena_init(&scratch, 16 << 20));
    f->base.ops = &ops;
    f->was_asked = f->has_grouping = false;
    assert_ok(sf_metrics_window_range(T0, T0 + 60 * S_NS, 30 * S_NS, &ask.window, &why));
    assert_ok(sf_query_parse(sf_str_from(text), &req, &ask.query, NULL, &why));
    (void)sf_metrics_run(&f->base, &ask, &q, &out, &why);
    return out;
}

static double value_of(const struct sf_metrics_result *r, uint32_t series, uint32_t step)
{
    assert_true(series < r->n_series && step < r->n_steps);
    return r->series[series].values[step];
}

/* Steps end at T0, T0 + 30 s (rows 0 and 1) and T0 + 60 s (row 2). */
TEST(metrics_grouping, counts_a_row_as_often_as_there_are_spans)
{
    struct fake f = {.has_numbers = true};
    struct sf_metrics_result r = ask(&f, "{} | count_over_time()");
    uint32_t first = r.n_steps - 2;
    assert_true(f.has_grouping);
    assert_int_equal(value_of(&r, 0, first), 6);
    assert_int_equal(value_of(&r, 0, first + 1), 100);
    assert_int_equal(r.n_inspected_spans, 106);
    assert_true(r.series[0].n_exemplars > 0);
    r = ask(&f, "{} | count_over_time() by (name)");
    assert_int_equal(value_of(&r, 0, first), 5);
    assert_int_equal(value_of(&r, 1, first), 1);
    r = ask(&f, "{ name = `put` } | rate()");
    assert_true(value_of(&r, 0, first) == 1 / 30.0);
    r = ask(&f, "{} | sum_over_time(duration)"); /* one sum is known, the other span is alone */
    assert_true(fabs(value_of(&r, 0, first) - 9000 / 1e9) < 1e-15);
    r = ask(&f, "{} | avg_over_time(duration)");
    assert_true(fabs(value_of(&r, 0, first + 1) - 600 / 1e9) < 1e-15);
    r = ask(&f, "{} | max_over_time(duration)");
    assert_true(value_of(&r, 0, first) == 2000 / 1e9);
    r = ask(&f, "{} | sum_over_time(span.size)");
    assert_int_equal(value_of(&r, 0, first + 1), 60000);
    r = ask(&f, "{} | histogram_over_time(duration)");
    assert_int_equal(r.n_series, 3);
    assert_int_equal(value_of(&r, 0, first) + value_of(&r, 1, first) + value_of(&r, 2, first), 6);
    f.has_numbers = false;
    r = ask(&f, "{} | count_over_time()");
    assert_int_equal(value_of(&r, 0, first), 2);
    r = ask(&f, "{} | sum_over_time(duration)");
    assert_true(fabs(value_of(&r, 0, first) - 3000 / 1e9) < 1e-15);
    sf_arena_done(&req);
    sf_arena_done(&scratch);
}

TEST(metrics_grouping, says_what_a_query_cannot_tell_apart)
{
    struct fake f = {.has_numbers = true};
    (void)ask(&f, "{ duration > 5ms && 7 <= duration } | avg_over_time(span.size) by (name)");
    assert_true(f.has_grouping);
    assert_int_equal(f.grouping.step_ns, 30 * S_NS);
    assert_int_equal(f.grouping.n_durations, 2);
    assert_int_equal(f.durations[0], 5000000);
    assert_int_equal(f.durations[1], 7);
    assert_int_equal(f.grouping.measure, SF_MEASURE_SUM);
    assert_true(sf_str_eq(f.grouping.measured.name, SF_STR("size")));
    (void)ask(&f, "{} | quantile_over_time(duration, .5)");
    assert_true(f.has_grouping && f.grouping.measure == SF_MEASURE_POWERS);
    assert_int_equal(f.grouping.measured.name.len, 0);
    /* The filter knows more of the attribute than its type. */
    (void)ask(&f, "{ span.size > 3 } | min_over_time(span.size)");
    assert_true(f.has_grouping && f.grouping.measure == SF_MEASURE_NONE);
    (void)ask(&f, "{} | min_over_time(span.size) by (.size)");
    assert_true(f.has_grouping && f.grouping.measure == SF_MEASURE_NONE);
    (void)ask(&f, "{} | max_over_time(resource.size)");
    assert_true(f.has_grouping && f.grouping.measure == SF_MEASURE_NONE);
}

TEST(metrics_grouping, has_none_where_any_two_spans_may_differ)
{
    static const char *const texts[] = {
        "{ duration > span.size } | rate()", "{ duration * 2 > 1s } | rate()",
        "{} | rate() by (duration)",         "{} | rate() by (span:id)",
        "{ trace:id = `1` } | rate()",       "{ span:parentID = `1` } | rate()"};
    struct fake f = {.has_numbers = false};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        (void)ask(&f, texts[i]);
        if (!f.was_asked || f.has_grouping)
            fail_msg("%s: asked %d, grouping %d", texts[i], f.was_asked, f.has_grouping);
    }
    sf_arena_done(&req);
    sf_arena_done(&scratch);
}
