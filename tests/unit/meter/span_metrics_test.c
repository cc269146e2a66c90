#include "meter/span_metrics.h"

#include "base/heap.h"
#include "base/limits.h"
#include "strict_text.h"

#define NOW_NS ((int64_t)1700000000 * 1000000000)

static const struct sf_resource resources[] = {{.service = {"api", 3}}, {.service = {"db", 2}}};

static struct sf_span span(uint32_t resource, sf_str name, uint64_t ms)
{
    struct sf_span s = {.resource = resource, .name = name, .kind = SF_KIND_SERVER, .span_id = 1};
    s.trace_id.b[15] = (uint8_t)ms;
    s.end_ns = (uint64_t)NOW_NS - 1000000000;
    s.start_ns = s.end_ns - ms * 1000000;
    return s;
}

static void add(struct sf_span_metrics *m, sf_str tenant, const struct sf_span *spans, uint32_t n,
                int64_t now_ns)
{
    struct sf_arena req;
    struct sf_span_tally tally;
    struct sf_span_batch batch = {
        .resources = resources, .n_resources = 2, .spans = spans, .n_spans = n};
    assert_true(sf_arena_init(&req, 8 << 20));
    assert_true(sf_span_metrics_tally_make(m, &batch, now_ns, &req, &tally));
    sf_span_metrics_add(m, tenant, &tally, now_ns);
    sf_arena_done(&req);
}

static char *render(struct sf_span_metrics *m, struct sf_buf *out, bool is_open, int64_t now_ns)
{
    struct sf_exposition e = {.out = out, .is_open_metrics = is_open};
    sf_buf_reset(out);
    sf_span_metrics_render(m, now_ns, &e);
    sf_exposition_end(&e);
    sf_buf_add_u8(out, 0);
    assert_true(sf_buf_ok(out));
    strict_text_check((char *)out->p, is_open);
    return (char *)out->p;
}

TEST(span_metrics, count_calls_and_durations_under_the_known_names)
{
    struct sf_buf out = {0};
    struct sf_span_metrics *m = sf_span_metrics_new(NULL);
    struct sf_span spans[] = {span(0, SF_STR("GET /"), 3), span(0, SF_STR("GET /"), 5),
                              span(1, SF_STR("SELECT"), 20000)};
    spans[1].status = SF_STATUS_ERROR;
    add(m, SF_STR_NONE, spans, 3, NOW_NS);
    add(m, SF_STR_NONE, spans, 1, NOW_NS);
    char *text = render(m, &out, false, NOW_NS);
    assert_non_null(
        strstr(text, "traces_spanmetrics_calls_total{service=\"api\",span_name=\"GET /\","
                     "span_kind=\"SPAN_KIND_SERVER\",status_code=\"STATUS_CODE_UNSET\"} 2\n"));
    assert_non_null(
        strstr(text, "traces_spanmetrics_calls_total{service=\"api\",span_name=\"GET /\","
                     "span_kind=\"SPAN_KIND_SERVER\",status_code=\"STATUS_CODE_ERROR\"} 1\n"));
    assert_non_null(strstr(
        text, "traces_spanmetrics_latency_bucket{service=\"api\",span_name=\"GET /\",span_kind="
              "\"SPAN_KIND_SERVER\",status_code=\"STATUS_CODE_UNSET\",le=\"0.002\"} 0\n"));
    assert_non_null(strstr(
        text, "traces_spanmetrics_latency_bucket{service=\"api\",span_name=\"GET /\",span_kind="
              "\"SPAN_KIND_SERVER\",status_code=\"STATUS_CODE_UNSET\",le=\"0.004\"} 2\n"));
    assert_non_null(strstr(
        text, "traces_spanmetrics_latency_bucket{service=\"db\",span_name=\"SELECT\",span_kind="
              "\"SPAN_KIND_SERVER\",status_code=\"STATUS_CODE_UNSET\",le=\"16.384\"} 0\n"));
    assert_non_null(
        strstr(text, "traces_spanmetrics_latency_sum{service=\"db\",span_name=\"SELECT\",span_kind="
                     "\"SPAN_KIND_SERVER\",status_code=\"STATUS_CODE_UNSET\"} 20\n"));
    sf_span_metrics_free(m);
    sf_buf_done(&out);
}

TEST(span_metrics, show_the_last_trace_of_a_bucket_as_exemplar)
{
    struct sf_buf out = {0};
    struct sf_span_metrics *m = sf_span_metrics_new(NULL);
    struct sf_span spans[] = {span(0, SF_STR("a"), 3), span(0, SF_STR("a"), 4)};
    add(m, SF_STR_NONE, spans, 2, NOW_NS);
    assert_non_null(strstr(render(m, &out, true, NOW_NS),
                           "le=\"0.004\"} 2 # {traceID=\"00000000000000000000000000000004\"} "
                           "0.004 1700000000.000\n"));
    assert_null(strstr(render(m, &out, false, NOW_NS), "traceID"));
    sf_span_metrics_free(m);
    sf_buf_done(&out);
}

TEST(span_metrics, measure_the_encoded_span)
{
    /* trace id 18, span id 10, name "ab" 4, kind 2, times 18, attribute {"k": "vv"} 11,
     * status{code 2} 4 */
    struct sf_buf out = {0};
    struct sf_span_metrics *m = sf_span_metrics_new(NULL);
    struct sf_attr attr = {.key = SF_STR("k"), .val = {.type = SF_VALUE_STR, .str = SF_STR("vv")}};
    struct sf_span s = span(0, SF_STR("ab"), 1);
    s.status = SF_STATUS_ERROR;
    s.attrs = (struct sf_attrs){&attr, 1};
    add(m, SF_STR_NONE, &s, 1, NOW_NS);
    assert_non_null(
        strstr(render(m, &out, false, NOW_NS), "status_code=\"STATUS_CODE_ERROR\"} 67\n"));
    sf_span_metrics_free(m);
    sf_buf_done(&out);
}

TEST(span_metrics, ignore_spans_that_ended_more_than_30_s_from_now)
{
    struct sf_buf out = {0};
    struct sf_span_metrics *m = sf_span_metrics_new(NULL);
    struct sf_span s = span(0, SF_STR("a"), 1);
    add(m, SF_STR_NONE, &s, 1, NOW_NS + (int64_t)60 * 1000000000);
    add(m, SF_STR_NONE, &s, 1, NOW_NS - (int64_t)60 * 1000000000);
    s.end_ns = UINT64_MAX;
    add(m, SF_STR_NONE, &s, 1, NOW_NS);
    char *text = render(m, &out, false, NOW_NS);
    assert_null(strstr(text, "traces_spanmetrics_calls_total{"));
    assert_non_null(
        strstr(text, "ignored_spans_total{reason=\"outside_metrics_ingestion_slack\"} 3\n"));
    sf_span_metrics_free(m);
    sf_buf_done(&out);
}

TEST(span_metrics, count_what_does_not_fit_under_the_cap)
{
    struct sf_buf out = {0};
    struct sf_span_metrics_config config = {.max_series = 10};
    struct sf_span_metrics *m = sf_span_metrics_new(&config);
    struct sf_span spans[100];
    char names[100][8];
    for (size_t i = 0; i < 100; i++) {
        snprintf(names[i], sizeof(names[i]), "op%zu", i);
        spans[i] = span(0, sf_str_from(names[i]), 1);
    }
    add(m, SF_STR_NONE, spans, 100, NOW_NS);
    char *text = render(m, &out, false, NOW_NS);
    assert_non_null(strstr(text, "ignored_spans_total{reason=\"too_many_series\"} 90\n"));
    assert_non_null(strstr(text, "spanflame_span_metrics_series 10\n"));
    sf_span_metrics_free(m);
    sf_buf_done(&out);
}

TEST(span_metrics, has_room_for_so_many_series_and_no_more)
{
    struct sf_buf out = {0};
    struct sf_span_metrics *m = sf_span_metrics_new(NULL);
    static char names[SF_LIMIT_METER_SERIES + 1][8];
    for (size_t i = 0; i <= SF_LIMIT_METER_SERIES; i++) {
        snprintf(names[i], sizeof(names[i]), "op%zu", i);
        struct sf_span one = span(0, sf_str_from(names[i]), 1);
        if (i == SF_LIMIT_METER_SERIES)
            assert_null(strstr(render(m, &out, false, NOW_NS), "{reason=\"too_many_series\"} 1\n"));
        add(m, SF_STR_NONE, &one, 1, NOW_NS);
    }
    assert_non_null(strstr(render(m, &out, false, NOW_NS), "{reason=\"too_many_series\"} 1\n"));
    sf_span_metrics_free(m);
    sf_buf_done(&out);
}

/* Names of 4 KiB made a page of 83 MB, which a scrape held in memory. */
TEST(span_metrics, cut_names_that_would_make_the_page_large)
{
    enum { N = 100, NAME_LEN = 4000 };
    static char names[N][NAME_LEN];
    struct sf_span_metrics *m = sf_span_metrics_new(NULL);
    struct sf_span spans[N];
    struct sf_buf out = {0};
    for (int i = 0; i < N; i++) {
        memset(names[i], 'a' + i % 26, NAME_LEN);
        names[i][0] = (char)('a' + i / 26);
        spans[i] = span(0, (sf_str){names[i], NAME_LEN}, 3);
    }
    add(m, SF_STR_NONE, spans, N, NOW_NS);
    assert_non_null(strstr(render(m, &out, false, NOW_NS), "span_name=\"baaaa"));
    assert_true(out.len > 200 * N && out.len < 20 * 512 * N);
    sf_span_metrics_free(m);
    sf_buf_done(&out);
}

TEST(span_metrics, drop_series_without_spans_for_15_minutes)
{
    struct sf_buf out = {0};
    struct sf_span_metrics *m = sf_span_metrics_new(NULL);
    struct sf_span old = span(0, SF_STR("old"), 1), fresh = span(1, SF_STR("new"), 1);
    int64_t later_ns = NOW_NS + (int64_t)16 * 60 * 1000000000;
    add(m, SF_STR_NONE, &old, 1, NOW_NS);
    fresh.end_ns = (uint64_t)later_ns;
    fresh.start_ns = fresh.end_ns - 1000;
    add(m, SF_STR_NONE, &fresh, 1, later_ns);
    char *text = render(m, &out, false, later_ns);
    assert_null(strstr(text, "span_name=\"old\""));
    assert_non_null(strstr(text, "span_name=\"new\""));
    add(m, SF_STR_NONE, &fresh, 1, later_ns); /* the table still finds what stayed */
    assert_non_null(strstr(render(m, &out, false, later_ns),
                           "span_name=\"new\",span_kind=\"SPAN_KIND_SERVER\",status_code=\"STATUS_"
                           "CODE_UNSET\"} 2\n"));
    sf_span_metrics_free(m);
    sf_buf_done(&out);
}

TEST(span_metrics, keep_tenants_apart_when_there_are_any)
{
    struct sf_buf out = {0};
    struct sf_span_metrics *m = sf_span_metrics_new(NULL);
    struct sf_span s = span(0, SF_STR("a"), 1);
    add(m, SF_STR("red"), &s, 1, NOW_NS);
    add(m, SF_STR("blue"), &s, 1, NOW_NS);
    char *text = render(m, &out, false, NOW_NS);
    assert_non_null(strstr(text, "status_code=\"STATUS_CODE_UNSET\",tenant=\"red\"} 1\n"));
    assert_non_null(strstr(text, "status_code=\"STATUS_CODE_UNSET\",tenant=\"blue\"} 1\n"));
    sf_span_metrics_free(m);
    sf_buf_done(&out);
}

TEST(span_metrics, say_so_when_a_tally_does_not_fit_its_arena)
{
    struct sf_arena req;
    struct sf_span_tally tally = {0};
    struct sf_span s = span(0, SF_STR("a"), 1);
    struct sf_span_batch batch = {
        .resources = resources, .n_resources = 2, .spans = &s, .n_spans = 1};
    assert_true(sf_arena_init(&req, 4096));
    assert_non_null(sf_arena_new(&req, 4000));
    struct sf_span_metrics *m = sf_span_metrics_new(NULL);
    assert_false(sf_span_metrics_tally_make(m, &batch, NOW_NS, &req, &tally));
    assert_int_equal(tally.n_rows, 0);
    sf_span_metrics_free(m);
    sf_arena_done(&req);
}

TEST(span_metrics, make_configured_attributes_labels)
{
    static const char *const dims[] = {"http.route", "service", "n", "missing"};
    struct sf_span_metrics_config config = {.dimensions = dims, .n_dimensions = 4};
    struct sf_span_metrics *m = sf_span_metrics_new(&config);
    struct sf_attr attrs[] = {
        {.key = SF_STR("http.route"), .val = {.type = SF_VALUE_STR, .str = SF_STR("/a\0b")}},
        {.key = SF_STR("service"), .val = {.type = SF_VALUE_STR, .str = SF_STR("mine")}},
        {.key = SF_STR("n"), .val = {.type = SF_VALUE_INT, .i64 = 7}}};
    struct sf_span spans[] = {span(0, SF_STR("a"), 1), span(0, SF_STR("a"), 1),
                              span(0, SF_STR("a"), 1)};
    struct sf_buf out = {0};
    spans[0].attrs = spans[1].attrs = (struct sf_attrs){attrs, 3};
    add(m, SF_STR_NONE, spans, 3, NOW_NS);
    char *text = render(m, &out, false, NOW_NS);
    assert_non_null(strstr(text, "traces_spanmetrics_calls_total{service=\"api\",span_name=\"a\","
                                 "span_kind=\"SPAN_KIND_SERVER\",status_code=\"STATUS_CODE_UNSET\","
                                 "http_route=\"/a\",__service=\"mine\",n=\"7\",missing=\"\"} 2\n"));
    assert_non_null(strstr(text, "http_route=\"\",__service=\"\",n=\"\",missing=\"\"} 1\n"));
    sf_span_metrics_free(m);
    sf_buf_done(&out);
}

TEST(span_metrics, name_job_and_instance_for_joins_with_target_info)
{
    struct sf_span_metrics_config config = {.has_target = true};
    struct sf_span_metrics *m = sf_span_metrics_new(&config);
    struct sf_attr attrs[] = {
        {.key = SF_STR("service.name"), .val = {.type = SF_VALUE_STR, .str = SF_STR("api")}},
        {.key = SF_STR("service.instance.id"), .val = {.type = SF_VALUE_STR, .str = SF_STR("i")}}};
    struct sf_resource resource = {.service = SF_STR("api"), .attrs = {attrs, 2}};
    struct sf_span s = span(0, SF_STR("a"), 1);
    struct sf_span_batch batch = {
        .resources = &resource, .n_resources = 1, .spans = &s, .n_spans = 1};
    struct sf_arena req;
    struct sf_span_tally tally;
    struct sf_buf out = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_true(sf_span_metrics_tally_make(m, &batch, NOW_NS, &req, &tally));
    sf_span_metrics_add(m, SF_STR_NONE, &tally, NOW_NS);
    assert_non_null(strstr(render(m, &out, false, NOW_NS),
                           "status_code=\"STATUS_CODE_UNSET\",job=\"api\",instance=\"i\"} 1\n"));
    sf_span_metrics_free(m);
    sf_arena_done(&req);
    sf_buf_done(&out);
}
