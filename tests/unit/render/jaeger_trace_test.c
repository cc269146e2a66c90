#include "render/jaeger_trace.h"

#include "golden.h"
#include "render/otlp_trace.h"
#include "trace_sample.h"

TEST(jaeger_trace, has_everything_a_span_has_as_tags_logs_and_references)
{
    struct sf_buf out = {0};
    struct sf_json_writer w = sf_json_writer_init(&out);
    sf_jaeger_trace_json(&sample_batch, SF_STR_NONE, &w);
    assert_golden("trace-jaeger.json", &out);
    sf_buf_done(&out);
}

TEST(jaeger_trace, shortens_ids_of_64_bits_and_says_what_is_wrong)
{
    static const struct sf_span span = {.trace_id = {{[15] = 7}}, .span_id = 1};
    static const struct sf_span_batch b = {sample_resources, sample_scopes, &span, 1, 1, 1};
    struct sf_buf out = {0};
    struct sf_json_writer w = sf_json_writer_init(&out);
    sf_jaeger_trace_json(&b, SF_STR("cut"), &w);
    assert_str(sf_buf_str(&out),
               "{\"traceID\":\"0000000000000007\",\"spans\":[{\"traceID\":\"0000000000000007\","
               "\"spanID\":\"0000000000000001\",\"flags\":0,\"operationName\":\"\","
               "\"references\":[],\"startTime\":0,\"duration\":0,\"tags\":[{\"key\":"
               "\"otel.scope.name\",\"type\":\"string\",\"value\":\"lib\"},{\"key\":"
               "\"otel.scope.version\",\"type\":\"string\",\"value\":\"1.0\"}],\"logs\":[],"
               "\"processID\":\"p1\",\"warnings\":null}],\"processes\":{\"p1\":{\"serviceName\":"
               "\"web\",\"tags\":[]}},\"warnings\":[\"cut\"]}");
    sf_buf_done(&out);
}

TEST(jaeger_trace, of_the_newer_api_is_json_as_otlp_wants_it)
{
    struct sf_buf out = {0};
    struct sf_json_writer w = sf_json_writer_init(&out);
    sf_json_write_array(&w);
    sf_otlp_trace_resource_spans_json(&sample_batch, &w);
    sf_json_write_array_end(&w);
    assert_golden("trace-otlp.json", &out);
    sf_buf_done(&out);
}
