#include "test.h"

#include <math.h>

#include "base/buf.h"
#include "base/limits.h"
#include "decode/otlp/otlp_trace.h"
#include "model/value_list.h"

static struct sf_arena req;
static struct sf_span_batch got;
static struct sf_otlp_rejects rejects;
static struct sf_why why;

static enum sf_err decode(sf_str text)
{
    if (!req.base)
        assert_true(sf_arena_init(&req, SF_LIMIT_ARENA_LEN));
    sf_arena_reset(&req);
    return sf_otlp_trace_decode_json(sf_str_bytes(text), NULL, &req, &got, &rejects, &why);
}

#define IDS         "\"traceId\":\"5b8efff798038103d269b633813fc60c\",\"spanId\":\"eee19b7ec3c1b174\""
#define SPAN(inner) "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS inner "}]}]}]}"
#define ATTR(any)   SPAN(",\"attributes\":[{\"key\":\"k\",\"value\":" any "}]")

#define decode_ok(literal)            \
    do {                              \
        if (decode(SF_STR(literal)))  \
            fail_msg("%s", why.text); \
    } while (0)

/* The minimal request of the reference. */
TEST(otlp_trace_json, reads_the_minimal_request)
{
    decode_ok("{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\","
              "\"value\":{\"stringValue\":\"api\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"lib\"}"
              ",\"spans\":[{\"traceId\":\"5b8efff798038103d269b633813fc60c\",\"spanId\":"
              "\"eee19b7ec3c1b174\",\"name\":\"GET /\",\"kind\":2,\"startTimeUnixNano\":"
              "\"1544712660000000000\",\"endTimeUnixNano\":\"1544712661000000000\"}]}]}]}");
    assert_int_equal(got.n_spans, 1);
    assert_str(got.resources[0].service, "api");
    assert_str(got.scopes[0].name, "lib");
    assert_str(got.spans[0].name, "GET /");
    assert_true(got.spans[0].span_id == 0xeee19b7ec3c1b174u);
    assert_int_equal(got.spans[0].trace_id.b[0], 0x5b);
    assert_int_equal(got.spans[0].trace_id.b[15], 0x0c);
    assert_int_equal(got.spans[0].kind, SF_KIND_SERVER);
    assert_true(got.spans[0].start_ns == 1544712660000000000u);
    assert_int_equal(sf_span_duration_ns(&got.spans[0]), 1000000000);
}

TEST(otlp_trace_json, reads_every_field)
{
    decode_ok(SPAN(",\"traceState\":\"a=b\",\"parentSpanId\":\"0000000000000009\",\"flags\":257,"
                   "\"droppedAttributesCount\":1,\"droppedEventsCount\":2,\"droppedLinksCount\":3,"
                   "\"status\":{\"message\":\"bad\",\"code\":2},"
                   "\"events\":[{\"timeUnixNano\":\"7\",\"name\":\"boom\",\"attributes\":[{\"key\":"
                   "\"e\",\"value\":{\"intValue\":\"1\"}}],\"droppedAttributesCount\":4}],"
                   "\"links\":[{" IDS ",\"traceState\":\"x=y\",\"flags\":769,"
                   "\"droppedAttributesCount\":5}]"));
    const struct sf_span *s = &got.spans[0];
    assert_str(s->trace_state, "a=b");
    assert_int_equal(s->parent_id, 9);
    assert_int_equal(s->flags, 257);
    assert_int_equal(s->dropped_attrs + 10 * s->dropped_events + 100 * s->dropped_links, 321);
    assert_int_equal(s->status, SF_STATUS_ERROR);
    assert_str(s->status_msg, "bad");
    assert_int_equal(s->n_events, 1);
    assert_int_equal(s->events[0].time_ns, 7);
    assert_int_equal(s->events[0].dropped_attrs, 4);
    assert_int_equal(s->events[0].attrs.list[0].val.i64, 1);
    assert_int_equal(s->n_links, 1);
    assert_int_equal(s->links[0].flags, 769);
    assert_int_equal(s->links[0].dropped_attrs, 5);
    assert_true(s->links[0].span_id == s->span_id);
}

TEST(otlp_trace_json, takes_the_names_of_the_proto_file)
{
    decode_ok("{\"resource_spans\":[{\"schema_url\":\"u\",\"scope_spans\":[{\"schema_url\":\"v\","
              "\"spans\":[{\"trace_id\":\"5B8EFFF798038103D269B633813FC60C\",\"span_id\":"
              "\"EEE19B7EC3C1B174\",\"parent_span_id\":\"\",\"start_time_unix_nano\":5,"
              "\"end_time_unix_nano\":6,\"trace_state\":\"t\",\"dropped_attributes_count\":\"1\","
              "\"attributes\":[{\"key\":\"k\",\"value\":{\"string_value\":\"s\"}}]}]}]}]}");
    assert_int_equal(got.n_spans, 1);
    assert_str(got.resources[0].schema_url, "u");
    assert_str(got.scopes[0].schema_url, "v");
    assert_int_equal(got.spans[0].start_ns, 5);
    assert_int_equal(got.spans[0].end_ns, 6);
    assert_int_equal(got.spans[0].dropped_attrs, 1);
    assert_str(sf_attrs_str(got.spans[0].attrs, SF_STR("k")), "s");
}

TEST(otlp_trace_json, keys_come_in_any_order)
{
    decode_ok("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS
              "}],\"scope\":{\"name\":\"l\"}"
              ",\"schemaUrl\":\"v\"}],\"resource\":{\"attributes\":[{\"value\":{\"stringValue\":"
              "\"api\"},\"key\":\"service.name\"}]},\"schemaUrl\":\"u\"}]}");
    assert_str(got.resources[0].service, "api");
    assert_str(got.resources[0].schema_url, "u");
    assert_str(got.scopes[0].name, "l");
    assert_str(got.scopes[0].schema_url, "v");
}

TEST(otlp_trace_json, enums_are_numbers_or_names)
{
    decode_ok(SPAN(",\"kind\":\"SPAN_KIND_CONSUMER\",\"status\":{\"code\":\"STATUS_CODE_ERROR\"}"));
    assert_int_equal(got.spans[0].kind, SF_KIND_CONSUMER);
    assert_int_equal(got.spans[0].status, SF_STATUS_ERROR);
    decode_ok(SPAN(",\"kind\":\"3\",\"status\":{\"code\":1}"));
    assert_int_equal(got.spans[0].kind, SF_KIND_CLIENT);
    assert_int_equal(got.spans[0].status, SF_STATUS_OK);
    decode_ok(SPAN(",\"kind\":99,\"status\":{\"code\":\"STATUS_CODE_WEIRD\"}"));
    assert_int_equal(got.spans[0].kind, 0);
    assert_int_equal(got.spans[0].status, 0);
    decode_ok(SPAN(",\"kind\":-1,\"status\":{\"code\":-7}"));
    assert_int_equal(got.spans[0].kind, 0);
    assert_int_equal(got.spans[0].status, 0);
}

TEST(otlp_trace_json, null_is_absent_and_unknown_keys_are_ignored)
{
    decode_ok(SPAN(",\"name\":null,\"kind\":null,\"startTimeUnixNano\":null,\"attributes\":null,"
                   "\"events\":null,\"links\":null,\"status\":null,\"flags\":null,"
                   "\"parentSpanId\":null,\"new\":{\"x\":[1,{\"y\":null}]}"));
    assert_int_equal(got.n_spans, 1);
    decode_ok("{\"resourceSpans\":null,\"other\":1}");
    assert_int_equal(got.n_spans, 0);
    decode_ok("{\"resourceSpans\":[{\"resource\":null,\"scopeSpans\":null},{}]}");
    decode_ok("{}");
    decode_ok(ATTR("null"));
    assert_int_equal(got.spans[0].attrs.list[0].val.type, SF_VALUE_EMPTY);
}

TEST(otlp_trace_json, of_repeated_keys_the_last_counts)
{
    decode_ok(SPAN(",\"name\":\"a\",\"name\":\"b\",\"attributes\":[{\"key\":\"x\"}],"
                   "\"attributes\":[{\"key\":\"y\",\"value\":{\"intValue\":1}}]"));
    assert_str(got.spans[0].name, "b");
    assert_int_equal(got.spans[0].attrs.n, 1);
    assert_str(got.spans[0].attrs.list[0].key, "y");
}

static struct sf_value first_value(void)
{
    assert_int_equal(got.spans[0].attrs.n, 1);
    return got.spans[0].attrs.list[0].val;
}

TEST(otlp_trace_json, reads_values_of_every_type)
{
    decode_ok(ATTR("{\"stringValue\":\"a\\nb\"}"));
    assert_str(first_value().str, "a\nb");
    decode_ok(ATTR("{\"boolValue\":true}"));
    assert_true(first_value().is_true);
    decode_ok(ATTR("{\"intValue\":\"-9223372036854775808\"}"));
    assert_true(first_value().i64 == INT64_MIN);
    decode_ok(ATTR("{\"intValue\":9007199254740993}"));
    assert_true(first_value().i64 == 9007199254740993);
    decode_ok(ATTR("{\"intValue\":1e3}"));
    assert_int_equal(first_value().i64, 1000);
    decode_ok(ATTR("{\"doubleValue\":1}"));
    assert_true(first_value().type == SF_VALUE_DOUBLE && first_value().f64 == 1.0);
    decode_ok(ATTR("{\"doubleValue\":\"NaN\"}"));
    assert_true(isnan(first_value().f64));
    decode_ok(ATTR("{\"doubleValue\":\"-Infinity\"}"));
    assert_true(first_value().f64 == -INFINITY);
    decode_ok(ATTR("{\"bytesValue\":\"+/8=\"}"));
    assert_str(first_value().str, "\xfb\xff");
    decode_ok(ATTR("{\"bytesValue\":\"-_8\"}"));
    assert_str(first_value().str, "\xfb\xff");
    decode_ok(ATTR("{}"));
    assert_int_equal(first_value().type, SF_VALUE_EMPTY);
    decode_ok(ATTR("{\"stringValueStrindex\":4}"));
    assert_int_equal(first_value().type, SF_VALUE_EMPTY);
    decode_ok(ATTR("{\"stringValue\":null}"));
    assert_int_equal(first_value().type, SF_VALUE_EMPTY);
}

TEST(otlp_trace_json, lists_become_protobuf)
{
    struct sf_value_list l;
    struct sf_attr at;
    decode_ok(ATTR("{\"arrayValue\":{\"values\":[{\"intValue\":1},{\"stringValue\":\"x\"},{},"
                   "{\"arrayValue\":{}},{\"intValue\":1,\"boolValue\":true}]}}"));
    assert_int_equal(first_value().type, SF_VALUE_ARRAY);
    assert_str(first_value().str, "\x0a\x02\x18\x01\x0a\x03\x0a\x01x\x0a\x00\x0a\x02\x2a\x00"
                                  "\x0a\x02\x10\x01");
    decode_ok(ATTR("{\"kvlistValue\":{\"values\":[{\"key\":\"a\",\"value\":{\"bytesValue\":"
                   "\"AQ==\"}},{\"key\":\"b\"}]}}"));
    l = sf_value_list_init(first_value());
    assert_true(sf_value_list_next(&l, &at));
    assert_str(at.key, "a");
    assert_str(at.val.str, "\x01");
    assert_true(sf_value_list_next(&l, &at));
    assert_str(at.key, "b");
    assert_int_equal(at.val.type, SF_VALUE_EMPTY);
    assert_false(sf_value_list_next(&l, &at));
}

TEST(otlp_trace_json, refuses_values_of_the_wrong_shape)
{
    static const char *const bad[] = {
        ATTR("\"bare\""),
        ATTR("7"),
        ATTR("[1]"),
        ATTR("{\"intValue\":1.5}"),
        ATTR("{\"intValue\":\"x\"}"),
        ATTR("{\"intValue\":9223372036854775808}"),
        ATTR("{\"boolValue\":1}"),
        ATTR("{\"stringValue\":5}"),
        ATTR("{\"doubleValue\":\"much\"}"),
        ATTR("{\"bytesValue\":\"*\"}"),
        ATTR("{\"arrayValue\":[]}"),
        ATTR("{\"arrayValue\":{\"values\":[1]}}"),
        SPAN(",\"startTimeUnixNano\":-1"),
        SPAN(",\"flags\":4294967296"),
        SPAN(",\"name\":{}"),
        SPAN(",\"attributes\":{}"),
        "[]",
        "null",
        "",
        "{} {}",
        "{\"resourceSpans\":{}}",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        got.n_spans = 77;
        if (decode(sf_str_from(bad[i])) != SF_ERR_INPUT)
            fail_msg("takes %s", bad[i]);
        assert_int_equal(got.n_spans, 77);
    }
}

TEST(otlp_trace_json, names_the_path_of_a_fault)
{
    assert_err(decode(SF_STR("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS "},\n{" IDS
                             ",\"kind\":{}}]}]}]}")),
               SF_ERR_INPUT);
    assert_non_null(
        strstr(why.text, "OTLP traces: resourceSpans[0].scopeSpans[0].spans[1].kind: "));
    assert_non_null(strstr(why.text, "(line 2, byte "));
}

TEST(otlp_trace_json, bad_ids_refuse_only_their_span)
{
    decode_ok(
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS "},"
        "{\"traceId\":\"5b8efff798038103\",\"spanId\":\"eee19b7ec3c1b174\"},"
        "{\"traceId\":\"5b8efff798038103d269b633813fc60z\",\"spanId\":\"eee19b7ec3c1b174\"},"
        "{\"traceId\":\"00000000000000000000000000000000\",\"spanId\":\"eee19b7ec3c1b174\"},"
        "{\"traceId\":\"5b8efff798038103d269b633813fc60c\",\"spanId\":\"eee19b7ec3c1b17400\"},"
        "{\"traceId\":\"5b8efff798038103d269b633813fc60c\",\"spanId\":\"eee19b7ec3c1b174\","
        "\"parentSpanId\":\"1\"},{},null]}]}]}");
    assert_int_equal(got.n_spans, 1);
    assert_int_equal(rejects.n_rejected, 7);
    assert_int_equal(rejects.n_bad_trace_id, 5);
    assert_int_equal(rejects.n_bad_span_id, 2);
    assert_string_equal(rejects.first, "resourceSpans[0].scopeSpans[0].spans[1]: trace id of 8 "
                                       "bytes, 16 are needed");
    decode_ok("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"nope\"}]}]}]}");
    assert_string_equal(rejects.first,
                        "resourceSpans[0].scopeSpans[0].spans[0]: trace id is not hexadecimal");
}

static void nested(struct sf_buf *out, unsigned depth, const char *open, const char *close)
{
    sf_buf_reset(out);
    sf_buf_add_str(out, SF_STR("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS
                               ",\"attributes\":[{\"key\":\"k\",\"value\":"));
    for (unsigned i = 0; i < depth; i++)
        sf_buf_print(out, "%s", open);
    sf_buf_add_str(out, SF_STR("{}"));
    for (unsigned i = 0; i < depth; i++)
        sf_buf_print(out, "%s", close);
    sf_buf_add_str(out, SF_STR("}]}]}]}]}"));
}

TEST(otlp_trace_json, nests_as_deep_as_protobuf)
{
    static const char *const shapes[][2] = {
        {"{\"arrayValue\":{\"values\":[", "]}}"},
        {"{\"kvlistValue\":{\"values\":[{\"value\":", "}]}}"},
    };
    struct sf_buf text = {0};
    for (size_t i = 0; i < 2; i++) {
        nested(&text, SF_LIMIT_NESTING, shapes[i][0], shapes[i][1]);
        if (decode(sf_buf_str(&text)))
            fail_msg("%s", why.text);
        for (unsigned depth = SF_LIMIT_NESTING + 1; depth <= 100; depth += 67) {
            nested(&text, depth, shapes[i][0], shapes[i][1]);
            assert_ok(decode(sf_buf_str(&text)));
            assert_int_equal(rejects.n_cut_attrs, 1);
            assert_int_equal(got.n_spans, 1);
            assert_int_equal(got.spans[0].attrs.n, 0);
        }
        nested(&text, 1000, shapes[i][0], shapes[i][1]); /* deeper than any JSON may be */
        assert_err(decode(sf_buf_str(&text)), SF_ERR_INPUT);
    }
    sf_buf_done(&text);
}

TEST(otlp_trace_json, a_million_attributes_cost_no_more_than_the_limit)
{
    struct sf_buf text = {0};
    sf_buf_add_str(&text, SF_STR("{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{" IDS
                                 ",\"attributes\":[{}"));
    for (int i = 1; i < 1000000; i++)
        sf_buf_add_str(&text, SF_STR(",{\"key\":\"k\"}"));
    sf_buf_add_str(&text, SF_STR("]}]}]}]}"));
    if (decode(sf_buf_str(&text)))
        fail_msg("%s", why.text);
    assert_int_equal(got.spans[0].attrs.n, SF_LIMIT_ATTRS);
    assert_int_equal(rejects.n_cut_attrs, 1000000 - SF_LIMIT_ATTRS);
    assert_true(sf_arena_used(&req) < 8u << 20);
    sf_buf_done(&text);
}

/* 64 MiB of "0," under a key it is not known: no tree, no memory. */
TEST(otlp_trace_json, a_flood_of_numbers_takes_no_memory)
{
    struct sf_buf text = {0};
    sf_buf_add_str(&text, SF_STR("{\"x\":["));
    for (int i = 0; i < 4 << 20; i++)
        sf_buf_add_str(&text, SF_STR("0,"));
    sf_buf_add_str(&text, SF_STR("0]}"));
    if (decode(sf_buf_str(&text)))
        fail_msg("%s", why.text);
    assert_true(sf_arena_used(&req) < 4096);
    sf_buf_done(&text);
}
