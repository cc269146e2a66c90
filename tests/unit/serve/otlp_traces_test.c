#include "serve/otlp/otlp_traces.h"

#include "test.h"

TEST(otlp_traces, answer_nothing_when_all_was_taken)
{
    struct sf_otlp_rejects none = {0};
    struct sf_buf out = {0};
    sf_otlp_traces_answer(&none, false, &out);
    assert_int_equal(out.len, 0);
    sf_otlp_traces_answer(&none, true, &out);
    assert_str(sf_buf_str(&out), "{}");
    sf_buf_done(&out);
}

TEST(otlp_traces, say_how_many_spans_were_left_out_and_why)
{
    struct sf_otlp_rejects r = {
        .n_rejected = 4, .n_bad_trace_id = 1, .n_bad_span_id = 2, .first = "span 3: 7 bytes"};
    struct sf_buf out = {0};
    sf_otlp_traces_answer(&r, true, &out);
    assert_str(sf_buf_str(&out),
               "{\"partialSuccess\":{\"rejectedSpans\":\"4\",\"errorMessage\":\"1 span with an "
               "invalid trace id, 2 spans with an invalid span id, 1 span refused; first: span 3: "
               "7 bytes\"}}");
    sf_buf_done(&out);
}

TEST(otlp_traces, write_partial_success_as_the_specification_shows)
{
    struct sf_otlp_rejects r = {.n_rejected = 3, .n_bad_span_id = 3};
    struct sf_buf out = {0};
    sf_otlp_traces_answer(&r, false, &out);
    assert_int_equal(out.p[0], 0x0a); /* partial_success */
    assert_int_equal(out.p[1], out.len - 2);
    assert_memory_equal(out.p + 2, "\x08\x03\x12", 3);
    sf_buf_done(&out);
}

TEST(otlp_traces, warn_without_rejecting_when_something_was_cut)
{
    struct sf_otlp_rejects r = {.n_cut_values = 1, .n_cut_attrs = 20};
    struct sf_buf out = {0};
    sf_otlp_traces_answer(&r, true, &out);
    assert_str(sf_buf_str(&out),
               "{\"partialSuccess\":{\"errorMessage\":\"20 attributes dropped, 1 value cut (over "
               "the limits of this server)\"}}");
    sf_buf_done(&out);
}
