#include "test.h"

#include "base/limits.h"
#include "decode/otlp/otlp_trace.h"
#include "decode/zipkin/zipkin.h"
#include "wire/pb_write.h"

static const int64_t NOW_NS = INT64_C(1763200000) * 1000000000;

struct rig {
    struct sf_arena arena;
    struct sf_buf otlp;
    struct sf_span_batch got;
    struct sf_otlp_rejects rejects;
    struct sf_why why;
};

static enum sf_err translate(struct rig *r, sf_bytes body, bool is_json)
{
    enum sf_err err;
    if (!r->arena.base)
        assert_true(sf_arena_init(&r->arena, SF_LIMIT_ARENA_LEN));
    sf_arena_reset(&r->arena);
    sf_buf_reset(&r->otlp);
    err = sf_zipkin_to_otlp(body, is_json, NOW_NS, &r->otlp, &r->why);
    if (!err) {
        assert_ok(sf_otlp_trace_decode_pb(sf_buf_bytes(&r->otlp), NULL, &r->arena, &r->got,
                                          &r->rejects, &r->why));
        assert_int_equal(r->rejects.n_rejected, 0);
        assert_int_equal(r->rejects.n_unseen, 0);
    }
    return err;
}

static enum sf_err read_json(struct rig *r, const char *text)
{
    return translate(r, sf_str_bytes(sf_str_from(text)), true);
}

static void done(struct rig *r)
{
    sf_arena_done(&r->arena);
    sf_buf_done(&r->otlp);
}

static sf_str attr(struct sf_attrs attrs, const char *key)
{
    return sf_attrs_str(attrs, sf_str_from(key));
}

static const char checkout[] =
    "[{\"traceId\":\"5af7183fb1d4cf5f\",\"id\":\"352bff9a74ca9ad2\",\"parentId\":"
    "\"6b221d5bc9e6496c\",\"kind\":\"CLIENT\",\"name\":\"get /api\",\"timestamp\":1556604172355737,"
    "\"duration\":1431,\"localEndpoint\":{\"serviceName\":\"backend\",\"ipv4\":\"192.168.99.1\","
    "\"port\":3306},\"remoteEndpoint\":{\"serviceName\":\"mysql\",\"ipv6\":\"2001:db8::c001\","
    "\"port\":9000},\"annotations\":[{\"timestamp\":1556604172355800,\"value\":\"ws\"}],\"tags\":{"
    "\"http.method\":\"GET\",\"error\":\"timed out\",\"otel.scope.name\":\"lib\","
    "\"otel.scope.version\":\"1.2\"}}]";

TEST(zipkin, a_span_keeps_all_it_says)
{
    struct rig r = {0};
    const struct sf_span *s;
    assert_ok(read_json(&r, checkout));
    assert_int_equal(r.got.n_spans, 1);
    s = &r.got.spans[0];
    assert_str(r.got.resources[0].service, "backend");
    assert_str(r.got.scopes[0].name, "lib");
    assert_str(r.got.scopes[0].version, "1.2");
    assert_int_equal(s->trace_id.b[7], 0); /* 64 bits are the lower half */
    assert_int_equal(s->trace_id.b[8], 0x5a);
    assert_int_equal(s->span_id, 0x352bff9a74ca9ad2);
    assert_int_equal(s->parent_id, 0x6b221d5bc9e6496c);
    assert_int_equal(s->kind, SF_KIND_CLIENT);
    assert_int_equal(s->start_ns, UINT64_C(1556604172355737000));
    assert_int_equal(s->end_ns - s->start_ns, 1431000);
    assert_str(attr(s->attrs, "http.method"), "GET");
    assert_str(attr(s->attrs, "peer.service"), "mysql");
    assert_str(attr(s->attrs, "network.peer.address"), "2001:db8::c001");
    assert_str(attr(s->attrs, "network.local.address"), "192.168.99.1");
    assert_int_equal(sf_attrs_get(s->attrs, SF_STR("network.peer.port")).i64, 9000);
    assert_int_equal(sf_attrs_get(s->attrs, SF_STR("network.local.port")).i64, 3306);
    assert_int_equal(s->n_events, 1);
    assert_str(s->events[0].name, "ws");
    assert_int_equal(s->events[0].time_ns, UINT64_C(1556604172355800000));
    assert_int_equal(s->status, SF_STATUS_ERROR);
    assert_str(s->status_msg, "timed out");
    done(&r);
}

TEST(zipkin, status_comes_from_tags)
{
    static const struct {
        const char *tags;
        uint8_t status;
        const char *text;
    } cases[] = {
        {"{}", SF_STATUS_UNSET, ""},
        {"{\"error\":\"\"}", SF_STATUS_ERROR, ""},
        {"{\"error\":\"true\"}", SF_STATUS_ERROR, ""},
        {"{\"error\":\"no route\"}", SF_STATUS_ERROR, "no route"},
        {"{\"otel.status_code\":\"OK\"}", SF_STATUS_OK, ""},
        {"{\"otel.status_code\":\"ERROR\",\"otel.status_description\":\"x\"}", SF_STATUS_ERROR,
         "x"},
        {"{\"otel.status_code\":\"ERROR\",\"error\":\"y\"}", SF_STATUS_ERROR, "y"},
    };
    struct rig r = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[300];
        snprintf(text, sizeof(text),
                 "[{\"traceId\":\"000102030405060708090a0b0c0d0e0f\",\"id\":\"0000000000000001\","
                 "\"timestamp\":1,\"tags\":%s}]",
                 cases[i].tags);
        assert_ok(read_json(&r, text));
        assert_int_equal(r.got.spans[0].status, cases[i].status);
        assert_true(sf_str_eq(r.got.spans[0].status_msg, sf_str_from(cases[i].text)));
        assert_int_equal(r.got.spans[0].kind, SF_KIND_INTERNAL);
    }
    done(&r);
}

TEST(zipkin, services_are_resources_and_order_does_not_matter)
{
    struct rig r = {0};
    assert_ok(read_json(
        &r, "[{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000001\",\"localEndpoint\":{"
            "\"serviceName\":\"a\"}},"
            "{\"localEndpoint\":{\"serviceName\":\"b\"},\"id\":\"0000000000000002\",\"traceId\":"
            "\"00000000000000aa\",\"debug\":true,\"unknown\":[{}]},"
            "{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000003\",\"localEndpoint\":{"
            "\"serviceName\":\"b\"}},"
            "{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000004\"}]"));
    assert_int_equal(r.got.n_spans, 4);
    assert_int_equal(r.got.n_resources, 3);
    assert_str(r.got.resources[r.got.spans[2].resource].service, "b");
    assert_str(r.got.resources[r.got.spans[3].resource].service, "unknown_service");
    assert_true(sf_attrs_get(r.got.spans[1].attrs, SF_STR("debug")).is_true);
    assert_int_equal(r.got.spans[0].attrs.n, 0); /* debug is stated by one of them only */
    assert_int_equal(r.got.spans[0].start_ns, (uint64_t)NOW_NS); /* no time, no annotation */
    assert_ok(read_json(&r, "[]"));
    assert_int_equal(r.got.n_spans, 0);
    done(&r);
}

/* The server's half has an id of its own under the client's; its child goes with it. */
TEST(zipkin, a_shared_span_becomes_two)
{
    struct rig r = {0};
    const struct sf_span *s;
    assert_ok(read_json(
        &r, "[{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000003\",\"parentId\":"
            "\"0000000000000002\",\"localEndpoint\":{\"serviceName\":\"back\"}},"
            "{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000002\",\"parentId\":"
            "\"0000000000000001\",\"kind\":\"SERVER\",\"shared\":true,\"localEndpoint\":{"
            "\"serviceName\":\"back\"}},"
            "{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000002\",\"parentId\":"
            "\"0000000000000001\",\"kind\":\"CLIENT\",\"localEndpoint\":{\"serviceName\":\"front\"}"
            "},"
            "{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000004\",\"parentId\":"
            "\"0000000000000002\",\"localEndpoint\":{\"serviceName\":\"front\"}}]"));
    s = r.got.spans;
    assert_true(s[1].span_id != 2 && s[1].span_id != 0);
    assert_int_equal(s[1].parent_id, 2);
    assert_int_equal(s[0].parent_id, s[1].span_id);
    assert_int_equal(s[2].span_id, 2);
    assert_int_equal(s[2].parent_id, 1);
    assert_int_equal(s[3].parent_id, 2); /* of the client's service */
    done(&r);
}

TEST(zipkin, what_is_wrong_is_refused_with_its_place)
{
    static const char *const cases[][2] = {
        {"{}", "expected a list of spans"},
        {"", "expected a list of spans"},
        {"[{}]", "a span without a trace id"},
        {"[{\"traceId\":\"00000000000000aa\"}]", "a span without an id"},
        {"[{\"traceId\":\"00aa\",\"id\":\"0000000000000001\"}]", "16 or 32 hexadecimal digits"},
        {"[{\"traceId\":\"00000000000000ax\",\"id\":\"0000000000000001\"}]", "traceId"},
        {"[{\"traceId\":\"00000000000000aa\",\"id\":\"1\"}]", "a span id has 16"},
        {"[{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000001\",\"parentId\":\"zz\"}]",
         "a parent id has 16"},
        {"[{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000001\",\"tags\":{\"a\":[]}}]",
         "tags"},
        {"[{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000001\"}", "Zipkin"},
    };
    struct rig r = {0};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        assert_err(read_json(&r, cases[i][0]), SF_ERR_INPUT);
        if (!strstr(r.why.text, cases[i][1]))
            fail_msg("%s: \"%s\"", cases[i][0], r.why.text);
    }
    r.otlp.max = 20;
    assert_err(read_json(&r, checkout), SF_ERR_LIMIT);
    done(&r);
}

/* A span of the service "back", under 2, with `more` in it. */
static void add_span(struct sf_buf *list, const char *trace, int id, const char *kind,
                     const char *more)
{
    sf_buf_print(list,
                 "%s{\"traceId\":\"00000000000000%s\",\"id\":\"000000000000000%d\",\"parentId\":"
                 "\"0000000000000002\",\"kind\":\"%s\",\"localEndpoint\":{\"serviceName\":"
                 "\"back\"}%s}",
                 list->len ? "," : "[", trace, id, kind, more);
}

static enum sf_err read_list(struct rig *r, struct sf_buf *list)
{
    enum sf_err err;
    sf_buf_add_u8(list, ']');
    err = translate(r, sf_buf_bytes(list), true);
    sf_buf_reset(list);
    return err;
}

/* Only what a service sends with its own half goes with that; a half is a server's. */
TEST(zipkin, a_child_moves_within_its_trace_and_for_a_server_alone)
{
    struct rig r = {0};
    struct sf_buf list = {0};
    add_span(&list, "aa", 2, "SERVER", ",\"shared\":true");
    add_span(&list, "bb", 3, "CLIENT", "");
    add_span(&list, "aa", 4, "CLIENT", "");
    assert_ok(read_list(&r, &list));
    assert_int_equal(r.got.spans[1].parent_id, 2); /* of another trace */
    assert_int_equal(r.got.spans[2].parent_id, r.got.spans[0].span_id);
    add_span(&list, "aa", 2, "CLIENT", ",\"shared\":true");
    add_span(&list, "aa", 3, "CLIENT", "");
    assert_ok(read_list(&r, &list));
    assert_int_equal(r.got.spans[0].span_id, 2);
    assert_int_equal(r.got.spans[1].parent_id, 2);
    /* false is not true, and not the word but the field says it */
    add_span(&list, "aa", 2, "SERVER", ",\"shared\":false,\"name\":\"shared\"");
    assert_ok(read_list(&r, &list));
    assert_int_equal(r.got.spans[0].span_id, 2);
    sf_buf_done(&list);
    done(&r);
}

TEST(zipkin, without_a_time_a_span_begins_with_its_first_annotation)
{
    struct rig r = {0};
    assert_ok(read_json(
        &r,
        "[{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000001\",\"duration\":2,"
        "\"annotations\":[{\"timestamp\":30,\"value\":\"b\"},{\"timestamp\":20,\"value\":\"a\"},"
        "{\"timestamp\":0,\"value\":\"never\"},{\"timestamp\":25,\"value\":\"c\"}]},"
        "{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000002\",\"timestamp\":50,"
        "\"annotations\":[{\"timestamp\":30,\"value\":\"b\"}]}]"));
    assert_int_equal(r.got.spans[0].start_ns, 20000);
    assert_int_equal(r.got.spans[0].end_ns, 22000);
    assert_int_equal(r.got.spans[1].start_ns, 50000); /* its own time is before any of them */
    done(&r);
}

TEST(zipkin, times_beyond_all_others_do_not_wrap)
{
    struct rig r = {0};
    assert_ok(read_json(&r, "[{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000001\","
                            "\"timestamp\":18446744073709550,\"duration\":18446744073709551},"
                            "{\"traceId\":\"00000000000000aa\",\"id\":\"0000000000000002\","
                            "\"timestamp\":1,\"duration\":18446744073709551615}]"));
    for (size_t i = 0; i < 2; i++) {
        const struct sf_span *s = &r.got.spans[i];
        assert_true(s->end_ns >= s->start_ns);
    }
    assert_int_equal(r.got.spans[0].start_ns, UINT64_C(18446744073709550000));
    done(&r);
}

TEST(zipkin, scopes_have_older_names_and_part_spans)
{
    struct rig r = {0};
    struct sf_buf list = {0};
    add_span(&list, "aa", 1, "CLIENT",
             ",\"tags\":{\"otel.library.name\":\"l\",\"otel.library.version\":\"1\"}");
    add_span(&list, "aa", 2, "CLIENT",
             ",\"tags\":{\"otel.scope.name\":\"l\",\"otel.scope.version\":\"1\"}");
    add_span(&list, "aa", 3, "CLIENT",
             ",\"tags\":{\"otel.scope.name\":\"l\",\"otel.scope.version\":\"2\"}");
    add_span(&list, "aa", 4, "CLIENT", ",\"tags\":{\"a\":\"b\"}");
    assert_ok(read_list(&r, &list));
    assert_int_equal(r.got.n_spans, 4);
    assert_str(r.got.scopes[r.got.spans[0].scope].name, "l");
    assert_str(r.got.scopes[r.got.spans[0].scope].version, "1");
    assert_int_equal(r.got.spans[0].scope, r.got.spans[1].scope);
    assert_str(r.got.scopes[r.got.spans[2].scope].version, "2");
    assert_str(r.got.scopes[r.got.spans[3].scope].name, "");
    assert_int_equal(r.got.spans[0].attrs.n, 0); /* a scope is not an attribute as well */
    assert_int_equal(r.got.spans[3].attrs.n, 1);
    sf_buf_done(&list);
    done(&r);
}

/* A zipkin.proto3 ListOfSpans, by hand. */
static void write_pb(struct sf_buf *out, size_t id_len)
{
    static const uint8_t id[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9};
    size_t span = sf_pb_write_begin(out, 1), part;
    sf_pb_write_bytes(out, 1, (sf_bytes){id, 16});
    sf_pb_write_bytes(out, 3, (sf_bytes){id + 16 - id_len, id_len});
    sf_pb_write_u64(out, 4, 2); /* SERVER */
    sf_pb_write_str(out, 5, SF_STR("post /buy"));
    sf_pb_write_fixed64(out, 6, 1556604172355737);
    sf_pb_write_u64(out, 7, 25);
    part = sf_pb_write_begin(out, 8);
    sf_pb_write_str(out, 1, SF_STR("shop"));
    sf_pb_write_bytes(out, 2, (sf_bytes){(const uint8_t[]){10, 0, 0, 7}, 4});
    sf_pb_write_end(out, part);
    part = sf_pb_write_begin(out, 10);
    sf_pb_write_fixed64(out, 1, 1556604172355740);
    sf_pb_write_str(out, 2, SF_STR("cache miss"));
    sf_pb_write_end(out, part);
    part = sf_pb_write_begin(out, 11);
    sf_pb_write_str(out, 1, SF_STR("http.path"));
    sf_pb_write_str(out, 2, SF_STR("/buy"));
    sf_pb_write_end(out, part);
    sf_pb_write_u64(out, 12, 1); /* debug */
    sf_pb_write_end(out, span);
}

TEST(zipkin, protobuf_says_the_same)
{
    struct rig r = {0};
    struct sf_buf body = {0};
    const struct sf_span *s;
    write_pb(&body, 8);
    assert_ok(translate(&r, sf_buf_bytes(&body), false));
    s = &r.got.spans[0];
    assert_str(r.got.resources[0].service, "shop");
    assert_int_equal(s->span_id, 9);
    assert_int_equal(s->trace_id.b[15], 9);
    assert_int_equal(s->kind, SF_KIND_SERVER);
    assert_str(s->name, "post /buy");
    assert_int_equal(s->start_ns, UINT64_C(1556604172355737000));
    assert_int_equal(s->end_ns - s->start_ns, 25000);
    assert_str(attr(s->attrs, "network.local.address"), "10.0.0.7");
    assert_str(attr(s->attrs, "http.path"), "/buy");
    assert_true(sf_attrs_get(s->attrs, SF_STR("debug")).is_true);
    assert_str(s->events[0].name, "cache miss");
    sf_buf_reset(&body);
    write_pb(&body, 5);
    assert_err(translate(&r, sf_buf_bytes(&body), false), SF_ERR_INPUT);
    assert_non_null(strstr(r.why.text, "a span id has 8 bytes at byte"));
    sf_buf_done(&body);
    done(&r);
}
