#include "decode/otlp/otlp_count.h"

#include "base/buf.h"
#include "test.h"
#include "wire/pb_write.h"

static struct sf_why why;
static struct sf_arena arena;

static uint64_t count_json(enum sf_otlp_signal signal, const char *text)
{
    uint64_t n = 99;
    if (!arena.base)
        assert_true(sf_arena_init(&arena, 1 << 16));
    sf_arena_reset(&arena);
    if (sf_otlp_count_json(signal, sf_str_bytes(sf_str_from(text)), &arena, &n, &why))
        fail_msg("%s", why.text);
    return n;
}

/* A message in the fields `path`, outermost first; 0 ends it. */
static size_t nest(struct sf_buf *b, const uint32_t *path, const char *content)
{
    size_t mark = sf_pb_write_begin(b, path[0]);
    if (path[1])
        nest(b, path + 1, content);
    else
        sf_buf_add_str(b, sf_str_from(content));
    sf_pb_write_end(b, mark);
    return b->len;
}

TEST(otlp_count, counts_data_points_of_every_kind_of_metric)
{
    static const uint32_t kinds[] = {4, 5, 6, 7, 8, 9, 10, 11};
    struct sf_buf b = {0};
    uint64_t n = 0;
    for (size_t i = 0; i < 8; i++) {
        nest(&b, (uint32_t[]){1, i % 2 ? 2 : 1000, 2, kinds[i], 1, 0},
             "\x09"
             "eighteen");
        nest(&b, (uint32_t[]){1, 2, 2, 12, 1, 0}, ""); /* metadata is not a kind of metric */
        nest(&b, (uint32_t[]){1, 1, 2, 5, 1, 0}, "");  /* nor is a resource */
    }
    assert_err(sf_otlp_count_pb(SF_OTLP_METRICS, sf_buf_bytes(&b), &n, &why), SF_OK);
    assert_int_equal(n, 8);
    assert_err(sf_otlp_count_pb(SF_OTLP_METRICS, (sf_bytes){0}, &n, &why), SF_OK);
    assert_int_equal(n, 0);
    sf_buf_done(&b);
    assert_int_equal(
        count_json(
            SF_OTLP_METRICS,
            "{\"resourceMetrics\":[{\"resource\":{\"attributes\":[]},\"scopeMetrics\":["
            "{\"metrics\":[{\"name\":\"a\",\"gauge\":{\"dataPoints\":[{},{\"asInt\":\"1\"}]}},"
            "{\"sum\":{\"isMonotonic\":true,\"data_points\":[{}]}},"
            "{\"histogram\":{\"dataPoints\":[{}]},\"metadata\":[]},"
            "{\"exponential_histogram\":{\"dataPoints\":[{}]}},{\"summary\":null},"
            "{\"exponentialHistogram\":{\"dataPoints\":[{},{}]}}]}]},"
            "{\"scope_metrics\":[{\"metrics\":[{\"summary\":{\"dataPoints\":[{}]}}]}]}]}"),
        8);
}

TEST(otlp_count, counts_log_records)
{
    struct sf_buf b = {0};
    uint64_t n = 0;
    nest(&b, (uint32_t[]){1, 2, 2, 0}, "");
    nest(&b, (uint32_t[]){1, 1000, 2, 0}, "");
    nest(&b, (uint32_t[]){1, 2, 1, 0}, ""); /* the scope */
    assert_err(sf_otlp_count_pb(SF_OTLP_LOGS, sf_buf_bytes(&b), &n, &why), SF_OK);
    assert_int_equal(n, 2);
    sf_buf_done(&b);
    assert_int_equal(count_json(SF_OTLP_LOGS, "{}"), 0);
    assert_int_equal(count_json(SF_OTLP_LOGS,
                                "{\"resourceLogs\":null,\"resource_logs\":[{"
                                "\"scopeLogs\":[{\"logRecords\":[{},{},{\"body\":{"
                                "\"stringValue\":\"x\"}}]},{\"log_records\":[{}]}]}]}"),
                     4);
}

TEST(otlp_count, says_where_bytes_are_broken)
{
    uint64_t n = 7;
    assert_err(sf_otlp_count_pb(SF_OTLP_METRICS,
                                sf_str_bytes(SF_STR("\x0a\x05\x12\x03\x12\x09\x2a")), &n, &why),
               SF_ERR_INPUT);
    assert_non_null(strstr(why.text, "OTLP metrics: "));
    assert_non_null(strstr(why.text, "at byte 5"));
    assert_err(sf_otlp_count_json(SF_OTLP_LOGS, sf_str_bytes(SF_STR("{\"resourceLogs\":[7]}")),
                                  &arena, &n, &why),
               SF_ERR_INPUT);
    assert_non_null(strstr(why.text, "OTLP logs: resourceLogs[0]: "));
    assert_err(sf_otlp_count_json(SF_OTLP_LOGS, sf_str_bytes(SF_STR("{}}")), &arena, &n, &why),
               SF_ERR_INPUT);
    assert_int_equal(n, 7);
}
