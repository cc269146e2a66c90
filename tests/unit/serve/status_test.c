#include "serve/status.h"

#include "test.h"

TEST(status, maps_every_error_to_http_and_grpc)
{
    static const struct {
        enum sf_err err;
        int http, grpc;
        bool is_retryable;
    } cases[] = {
        {SF_OK, 200, 0, false},
        {SF_ERR_INPUT, 400, 3, false},
        {SF_ERR_LIMIT, 413, 8, false},
        {SF_ERR_BUSY, 429, 8, true},
        {SF_ERR_FULL, 503, 14, true},
        {SF_ERR_DENIED, 403, 7, false},
        {SF_ERR_NOT_FOUND, 404, 5, false},
        {SF_ERR_DEADLINE, 504, 4, false},
        {SF_ERR_CANCELLED, 499, 1, false},
        {SF_ERR_IO, 503, 14, true},
        {SF_ERR_CORRUPT, 500, 13, false},
        {SF_ERR_NOMEM, 503, 14, true},
        {SF_ERR_UNSUPPORTED, 415, 12, false},
    };
    assert_int_equal(sizeof(cases) / sizeof(cases[0]), SF_ERR_N);
    for (size_t i = 0; i < SF_ERR_N; i++) {
        struct sf_outcome o = sf_status_of(cases[i].err);
        assert_int_equal(o.http, cases[i].http);
        assert_int_equal(o.grpc, cases[i].grpc);
        assert_int_equal(o.retry_after_s > 0, cases[i].is_retryable);
    }
}

TEST(status, tells_a_fault_in_the_callers_form)
{
    struct sf_response r = {0};
    struct sf_why why;
    sf_fail(&why, SF_ERR_INPUT, "bad \"x\" at byte 7");
    sf_status_fail(&r, SF_FORM_TEXT, SF_ERR_INPUT, &why);
    assert_int_equal(r.status, 400);
    assert_str(sf_buf_str(&r.body), "bad \"x\" at byte 7\n");
    sf_status_fail(&r, SF_FORM_OTLP_JSON, SF_ERR_INPUT, &why);
    assert_str(sf_buf_str(&r.body), "{\"code\":3,\"message\":\"bad \\\"x\\\" at byte 7\"}");
    assert_string_equal(r.content_type, "application/json");
    sf_fail(&why, SF_ERR_BUSY, "busy");
    sf_status_fail(&r, SF_FORM_OTLP_PB, SF_ERR_BUSY, &why);
    assert_int_equal(r.body.len, 8);
    assert_memory_equal(r.body.p,
                        "\x08\x08\x12\x04"
                        "busy",
                        8);
    assert_int_equal(r.retry_after_s, 1);
    sf_status_fail(&r, SF_FORM_CONNECT, SF_ERR_BUSY, &why);
    assert_int_equal(r.status, 429);
    assert_str(sf_buf_str(&r.body), "{\"code\":\"resource_exhausted\",\"message\":\"busy\"}");
    sf_status_fail(&r, SF_FORM_GRPC, SF_ERR_BUSY, &why);
    assert_int_equal(r.status, 200);
    assert_int_equal(r.grpc_status, 8);
    assert_string_equal(r.grpc_message, "busy");
    assert_int_equal(r.body.len, 0);
    sf_response_done(&r);
}

/* 429 tells the client to send the same again. */
TEST(status, what_is_too_large_is_not_to_be_sent_again)
{
    static const enum sf_error_form forms[] = {SF_FORM_TEXT,     SF_FORM_GRPC,    SF_FORM_GRPC_WEB,
                                               SF_FORM_OTLP_PB,  SF_FORM_CONNECT, SF_FORM_PYROSCOPE,
                                               SF_FORM_OTLP_JSON};
    static const int status[] = {413, 200, 200, 413, 400, 413, 413}, grpc[] = {8, 8, 3, 8, 3, 3, 8};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct sf_response r = {0};
        sf_status_fail(&r, forms[i], SF_ERR_LIMIT, NULL);
        assert_int_equal(r.status, status[i]);
        assert_int_equal(r.grpc_status, grpc[i]);
        assert_int_equal(r.retry_after_s, 0);
        sf_response_done(&r);
    }
}

TEST(status, has_words_even_when_nobody_wrote_a_sentence)
{
    struct sf_response r = {0};
    sf_status_fail(&r, SF_FORM_TEXT, SF_ERR_NOMEM, NULL);
    assert_str(sf_buf_str(&r.body), "NOMEM\n");
    sf_response_done(&r);
}
