#include "render/trace_json.h"

#include "golden.h"
#include "render/services_json.h"
#include "trace_sample.h"

TEST(trace_json, is_flat_and_marks_the_critical_path)
{
    static const struct sf_trace_segment segments[] = {{1700000000000000000, 1700000000000000500},
                                                       {1700000000000001500, 1700000000000002000}};
    static const struct sf_trace_segment inner[] = {{1700000000000000500, 1700000000000001500}};
    const struct sf_trace_row rows[] = {{.span = &sample_spans[0],
                                         .is_critical = true,
                                         .critical_ns = 1000,
                                         .segments = segments,
                                         .n_segments = 2},
                                        {.span = &sample_spans[1],
                                         .depth = 1,
                                         .is_critical = true,
                                         .critical_ns = 1000,
                                         .segments = inner,
                                         .n_segments = 1}};
    struct sf_trace_rows t = {.trace_id = sample_spans[0].trace_id,
                              .spans = &sample_batch,
                              .rows = rows,
                              .n_rows = 2,
                              .start_ns = 1700000000000000000,
                              .end_ns = 1700000000000002000,
                              .critical_ns = 2000,
                              .is_exact = true};
    struct sf_buf out = {0};
    sf_trace_json(&t, &out);
    assert_golden("trace-own.json", &out);
    sf_buf_done(&out);
}

TEST(services_json, has_rates_over_the_range)
{
    static const struct sf_call_stats ops[] = {
        {{"GET /", 5}, {120, 6, 10, 20, 30, 40}, {60, 3, 5, 6, 7, 8}}};
    static const struct sf_service_stats list[] = {
        {{{"web", 3}, {120, 6, 10, 20, 30, 40}, {60, 3, 5, 6, 7, 8}}, ops, 1}};
    struct sf_services s = {.from_ns = 0, .until_ns = 60000000000, .list = list, .n = 1};
    struct sf_buf out = {0};
    sf_services_json(&s, &out);
    assert_str(sf_buf_str(&out),
               "{\"fromUnixNano\":\"0\",\"untilUnixNano\":\"60000000000\",\"isExact\":false,"
               "\"isQuantileEstimate\":true,"
               "\"services\":[{\"service\":\"web\",\"spans\":120,\"errors\":6,\"ratePerSecond\":2,"
               "\"errorShare\":0.05,\"meanNs\":10,\"p50Ns\":20,\"p95Ns\":30,\"p99Ns\":40,"
               "\"requests\":{\"count\":60,\"errors\":3,\"ratePerSecond\":1,\"errorShare\":0.05,"
               "\"meanNs\":5,\"p50Ns\":6,\"p95Ns\":7,\"p99Ns\":8},"
               "\"operations\":[{\"operation\":\"GET /\",\"spans\":120,\"errors\":6,"
               "\"ratePerSecond\":2,\"errorShare\":0.05,\"meanNs\":10,\"p50Ns\":20,\"p95Ns\":30,"
               "\"p99Ns\":40,\"requests\":{\"count\":60,\"errors\":3,\"ratePerSecond\":1,"
               "\"errorShare\":0.05,\"meanNs\":5,\"p50Ns\":6,\"p95Ns\":7,\"p99Ns\":8}}]}]}");
    sf_buf_done(&out);
}
