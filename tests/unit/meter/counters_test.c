#include "meter/counters.h"

#include "strict_text.h"

static char *render(struct sf_counters *c, struct sf_buf *out, bool is_open)
{
    struct sf_exposition e = {.out = out, .is_open_metrics = is_open};
    sf_buf_reset(out);
    sf_counters_render(c, &e);
    sf_exposition_end(&e);
    sf_buf_add_u8(out, 0);
    assert_true(sf_buf_ok(out));
    return (char *)out->p;
}

TEST(counters, count_requests_by_route_and_status)
{
    struct sf_buf out = {0};
    struct sf_counters *c = sf_counters_new();
    sf_counters_request(c, 3, "/v1/traces", 200, 2000000);
    sf_counters_request(c, 3, "/v1/traces", 200, 40000000);
    sf_counters_request(c, 3, "/v1/traces", 429, 1000);
    sf_counters_request(c, 5, "/ready", 418, 1000);
    char *text = render(c, &out, false);
    strict_text_check(text, false);
    assert_non_null(
        strstr(text, "spanflame_requests_total{route=\"/v1/traces\",status=\"200\"} 2\n"));
    assert_non_null(
        strstr(text, "spanflame_requests_total{route=\"/v1/traces\",status=\"429\"} 1\n"));
    assert_non_null(
        strstr(text, "spanflame_requests_total{route=\"/ready\",status=\"other\"} 1\n"));
    assert_non_null(strstr(
        text, "spanflame_request_duration_seconds_bucket{route=\"/v1/traces\",le=\"0.0025\"} 2\n"));
    assert_non_null(
        strstr(text, "spanflame_request_duration_seconds_count{route=\"/v1/traces\"} 3\n"));
    sf_counters_free(c);
    sf_buf_done(&out);
}

TEST(counters, show_every_reason_even_at_zero_in_both_formats)
{
    struct sf_buf out = {0};
    struct sf_counters *c = sf_counters_new();
    sf_counters_add(c, SF_COUNT_REJECT_MALFORMED, 4);
    assert_int_equal(sf_counters_get(c, SF_COUNT_REJECT_MALFORMED), 4);
    char *text = render(c, &out, false);
    assert_non_null(strstr(text, "spanflame_requests_rejected_total{reason=\"malformed\"} 4\n"));
    assert_non_null(strstr(text, "spanflame_requests_rejected_total{reason=\"disk\"} 0\n"));
    size_t n = strict_text_check(text, false);
    assert_true(n >= SF_COUNTS);
    assert_int_equal(strict_text_check(render(c, &out, true), true), n);
    sf_counters_free(c);
    sf_buf_done(&out);
}

TEST(counters, keep_tenants_apart_under_the_names_dashboards_know)
{
    struct sf_buf out = {0};
    struct sf_counters *c = sf_counters_new();
    struct sf_tenant_counts a = {.n_spans = 10, .body_len = 500, .n_bad_trace_id = 2};
    struct sf_tenant_counts b = {.n_spans = 3, .n_refused = 3};
    sf_counters_tenant(c, SF_STR("red"), &a);
    sf_counters_tenant(c, SF_STR("red"), &a);
    sf_counters_tenant(c, SF_STR("blue"), &b);
    char *text = render(c, &out, false);
    strict_text_check(text, false);
    assert_non_null(strstr(text, "tempo_distributor_spans_received_total{tenant=\"red\"} 20\n"));
    assert_non_null(strstr(text, "tempo_distributor_bytes_received_total{tenant=\"red\"} 1000\n"));
    assert_non_null(strstr(
        text, "tempo_discarded_spans_total{tenant=\"red\",reason=\"invalid_trace_id\"} 4\n"));
    assert_non_null(strstr(text, "tempo_receiver_accepted_spans 20\n"));
    assert_non_null(strstr(text, "tempo_receiver_refused_spans 3\n"));
    sf_counters_free(c);
    sf_buf_done(&out);
}

TEST(counters, put_tenants_beyond_the_cap_on_one_line)
{
    struct sf_buf out = {0};
    struct sf_counters *c = sf_counters_new();
    struct sf_tenant_counts one = {.n_spans = 1};
    for (int i = 0; i < SF_COUNTERS_TENANTS + 10; i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%d", i);
        sf_counters_tenant(c, sf_str_from(name), &one);
    }
    char *text = render(c, &out, false);
    assert_non_null(
        strstr(text, "tempo_distributor_spans_received_total{tenant=\"(other tenants)\"} 11\n"));
    sf_counters_free(c);
    sf_buf_done(&out);
}
