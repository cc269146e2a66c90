#include "test.h"

#include <stdlib.h>

#include "base/limits.h"
#include "base/text.h"
#include "decode/otlp/otlp_trace.h"
#include "wire/pb_write.h"

static struct sf_arena req;
static struct sf_span_batch got;
static struct sf_otlp_rejects rejects;
static struct sf_why why;
static struct sf_buf b;

static enum sf_err decode_with(const struct sf_otlp_limits *limits)
{
    if (!req.base)
        assert_true(sf_arena_init(&req, SF_LIMIT_ARENA_LEN));
    sf_arena_reset(&req);
    assert_true(sf_buf_ok(&b));
    return sf_otlp_trace_decode_pb(sf_buf_bytes(&b), limits, &req, &got, &rejects, &why);
}

static enum sf_err decode(void)
{
    return decode_with(NULL);
}

static size_t rs, ss, sp; /* the open messages */

static void begin(void)
{
    sf_buf_reset(&b);
    rs = sf_pb_write_begin(&b, 1);
    ss = sf_pb_write_begin(&b, 2);
}

static void end(void)
{
    sf_pb_write_end(&b, ss);
    sf_pb_write_end(&b, rs);
}

static void ids(void)
{
    sf_pb_write_str(&b, 1, SF_STR("0123456789abcdef"));
    sf_pb_write_str(&b, 2, SF_STR("\x01\x02\x03\x04\x05\x06\x07\x08"));
}

static void begin_span(void)
{
    sp = sf_pb_write_begin(&b, 2);
    ids();
}

static void end_span(void)
{
    sf_pb_write_end(&b, sp);
}

/* A KeyValue under `field`, its AnyValue given as bytes. */
static void attr(uint32_t field, sf_str key, sf_str any)
{
    size_t kv = sf_pb_write_begin(&b, field);
    sf_pb_write_str(&b, 1, key);
    sf_pb_write_str(&b, 2, any);
    sf_pb_write_end(&b, kv);
}

static void one_span(uint32_t field, sf_str any)
{
    begin();
    begin_span();
    attr(field, SF_STR("k"), any);
    end_span();
    end();
}

static struct sf_value value_of(sf_str any)
{
    one_span(9, any);
    assert_ok(decode());
    assert_int_equal(got.spans[0].attrs.n, 1);
    return got.spans[0].attrs.list[0].val;
}

TEST(otlp_trace_pb, an_empty_request_is_a_success)
{
    sf_buf_reset(&b);
    assert_ok(decode());
    assert_int_equal(got.n_spans, 0);
    assert_int_equal(rejects.n_rejected, 0);
}

TEST(otlp_trace_pb, reads_all_fields_of_a_span)
{
    size_t m;
    begin();
    begin_span();
    sf_pb_write_str(&b, 3, SF_STR("a=b"));
    sf_pb_write_str(&b, 4, SF_STR("\0\0\0\0\0\0\0\x09"));
    sf_pb_write_str(&b, 5, SF_STR("GET /"));
    sf_pb_write_u64(&b, 6, 2);
    sf_pb_write_fixed64(&b, 7, 1544712660000000000u);
    sf_pb_write_fixed64(&b, 8, UINT64_MAX);
    sf_pb_write_u64(&b, 10, 3);
    m = sf_pb_write_begin(&b, 11);
    sf_pb_write_fixed64(&b, 1, 7);
    sf_pb_write_str(&b, 2, SF_STR("boom"));
    attr(3, SF_STR("e"), SF_STR("\x18\x01"));
    sf_pb_write_u64(&b, 4, 2);
    sf_pb_write_end(&b, m);
    sf_pb_write_u64(&b, 12, 4);
    m = sf_pb_write_begin(&b, 13);
    ids();
    sf_pb_write_str(&b, 3, SF_STR("x=y"));
    attr(4, SF_STR("l"), SF_STR("\x10\x01"));
    sf_pb_write_u64(&b, 5, 6);
    sf_pb_write_fixed32(&b, 6, 0x301);
    sf_pb_write_end(&b, m);
    sf_pb_write_u64(&b, 14, 5);
    m = sf_pb_write_begin(&b, 15);
    sf_pb_write_str(&b, 2, SF_STR("bad"));
    sf_pb_write_u64(&b, 3, 2);
    sf_pb_write_end(&b, m);
    sf_pb_write_fixed32(&b, 16, 0x100);
    attr(9, SF_STR("late"), SF_STR("\x0a\x01z"));
    end_span();
    end();
    assert_ok(decode());
    assert_int_equal(got.n_spans, 1);
    const struct sf_span *s = &got.spans[0];
    assert_memory_equal(s->trace_id.b, "0123456789abcdef", 16);
    assert_true(s->span_id == 0x0102030405060708u);
    assert_int_equal(s->parent_id, 9);
    assert_str(s->trace_state, "a=b");
    assert_str(s->name, "GET /");
    assert_int_equal(s->kind, SF_KIND_SERVER);
    assert_true(s->start_ns == 1544712660000000000u && s->end_ns == UINT64_MAX);
    assert_int_equal(s->dropped_attrs, 3);
    assert_int_equal(s->dropped_events, 4);
    assert_int_equal(s->dropped_links, 5);
    assert_int_equal(s->n_events, 1);
    assert_str(s->events[0].name, "boom");
    assert_int_equal(s->events[0].time_ns, 7);
    assert_int_equal(s->events[0].dropped_attrs, 2);
    assert_int_equal(s->events[0].attrs.list[0].val.i64, 1);
    assert_int_equal(s->n_links, 1);
    assert_str(s->links[0].trace_state, "x=y");
    assert_int_equal(s->links[0].flags, 0x301);
    assert_int_equal(s->links[0].dropped_attrs, 6);
    assert_true(s->links[0].attrs.list[0].val.is_true);
    assert_int_equal(s->status, SF_STATUS_ERROR);
    assert_str(s->status_msg, "bad");
    assert_int_equal(s->flags, 0x100);
    assert_str(sf_attrs_str(s->attrs, SF_STR("late")), "z");
    assert_str(got.resources[0].service, "unknown_service");
}

TEST(otlp_trace_pb, borrows_strings_from_the_body)
{
    begin();
    begin_span();
    sf_pb_write_str(&b, 5, SF_STR("name"));
    end_span();
    end();
    assert_ok(decode());
    assert_true((const uint8_t *)got.spans[0].name.p > b.p &&
                (const uint8_t *)got.spans[0].name.p < b.p + b.len);
}

TEST(otlp_trace_pb, takes_values_of_any_shape)
{
    assert_str(value_of(SF_STR("\x0a\x01v")).str, "v");
    assert_int_equal(value_of(SF_STR("\x0a\x00")).type, SF_VALUE_STR);
    assert_true(value_of(SF_STR("\x10\x01")).is_true);
    assert_int_equal(value_of(SF_STR("\x10\x00")).type, SF_VALUE_BOOL);
    assert_int_equal(value_of(SF_STR("\x18\xac\x02")).i64, 300);
    assert_int_equal(value_of(SF_STR("\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")).i64, -1);
    assert_int_equal(value_of(SF_STR("\x18\x85\x80\x00")).i64, 5); /* padded */
    assert_true(value_of(SF_STR("\x21\0\0\0\0\0\0\xf8\x3f")).f64 == 1.5);
    assert_int_equal(value_of(SF_STR("\x2a\x04\x0a\x02\x18\x01")).type, SF_VALUE_ARRAY);
    assert_str(value_of(SF_STR("\x32\x00")).str, "");
    assert_int_equal(value_of(SF_STR("\x3a\x02\xff\x00")).type, SF_VALUE_BYTES);
    assert_int_equal(value_of(SF_STR("")).type, SF_VALUE_EMPTY);
    assert_int_equal(value_of(SF_STR("\x40\x05")).type, SF_VALUE_EMPTY); /* a string table place */
    assert_int_equal(value_of(SF_STR("\xf8\x06\x05")).type, SF_VALUE_EMPTY); /* unknown */
    assert_int_equal(value_of(SF_STR("\x0a\x01v\x18\x07")).i64, 7); /* the last one counts */
}

TEST(otlp_trace_pb, merges_what_comes_in_parts)
{
    /* an array in two parts is one array */
    assert_str(value_of(SF_STR("\x2a\x04\x0a\x02\x18\x01\x2a\x04\x0a\x02\x18\x02")).str,
               "\x0a\x02\x18\x01\x0a\x02\x18\x02");
    size_t m;
    begin();
    begin_span();
    m = sf_pb_write_begin(&b, 15);
    sf_pb_write_str(&b, 2, SF_STR("first"));
    sf_pb_write_end(&b, m);
    m = sf_pb_write_begin(&b, 15);
    sf_pb_write_u64(&b, 3, 1);
    sf_pb_write_end(&b, m);
    sf_pb_write_u64(&b, 6, 2);
    sf_pb_write_u64(&b, 6, 3);
    end_span();
    m = sf_pb_write_begin(&b, 1); /* the scope, behind its spans, in two parts */
    sf_pb_write_str(&b, 1, SF_STR("lib"));
    attr(3, SF_STR("a"), SF_STR("\x18\x01"));
    sf_pb_write_end(&b, m);
    m = sf_pb_write_begin(&b, 1);
    sf_pb_write_str(&b, 2, SF_STR("9"));
    attr(3, SF_STR("b"), SF_STR("\x18\x02"));
    sf_pb_write_end(&b, m);
    sf_pb_write_str(&b, 3, SF_STR("scope-url"));
    sf_pb_write_end(&b, ss);
    m = sf_pb_write_begin(&b, 1); /* likewise the resource */
    attr(1, SF_STR("service.name"),
         SF_STR("\x0a\x03"
                "api"));
    sf_pb_write_end(&b, m);
    m = sf_pb_write_begin(&b, 1);
    attr(1, SF_STR("x"), SF_STR("\x18\x01"));
    sf_pb_write_end(&b, m);
    sf_pb_write_str(&b, 3, SF_STR("url"));
    sf_pb_write_end(&b, rs);
    assert_ok(decode());
    assert_str(got.spans[0].status_msg, "first");
    assert_int_equal(got.spans[0].status, SF_STATUS_OK);
    assert_int_equal(got.spans[0].kind, SF_KIND_CLIENT);
    assert_str(got.scopes[0].name, "lib");
    assert_str(got.scopes[0].version, "9");
    assert_str(got.scopes[0].schema_url, "scope-url");
    assert_int_equal(got.scopes[0].attrs.n, 2);
    assert_str(got.resources[0].service, "api");
    assert_str(got.resources[0].schema_url, "url");
    assert_int_equal(got.resources[0].attrs.n, 2);
}

TEST(otlp_trace_pb, a_service_must_be_a_name)
{
    static const char *const bad[] = {"\x18\x01", "\x0a\x00"};
    for (size_t i = 0; i < 2; i++) {
        size_t m;
        sf_buf_reset(&b);
        rs = sf_pb_write_begin(&b, 1);
        m = sf_pb_write_begin(&b, 1);
        attr(1, SF_STR("service.name"), (sf_str){bad[i], 2});
        sf_pb_write_end(&b, m);
        ss = sf_pb_write_begin(&b, 2);
        begin_span();
        end_span();
        end();
        assert_ok(decode());
        assert_str(got.resources[0].service, "unknown_service");
    }
}

TEST(otlp_trace_pb, skips_unknown_fields_and_unexpected_wire_types)
{
    begin();
    begin_span();
    sf_pb_write_u64(&b, 5, 9);                   /* the name as a number */
    sf_pb_write_str(&b, 7, SF_STR("yesterday")); /* the start as text */
    sf_pb_write_u64(&b, 16, 1);                  /* flags not fixed */
    sf_pb_write_fixed32(&b, 900, 1);
    sf_pb_write_str(&b, 901, SF_STR("?"));
    end_span();
    sf_pb_write_u64(&b, 77, 1);
    end();
    sf_pb_write_str(&b, 2, SF_STR("dictionary"));
    assert_ok(decode());
    assert_int_equal(got.n_spans, 1);
    assert_int_equal(got.spans[0].name.len, 0);
    assert_int_equal(got.spans[0].start_ns, 0);
}

TEST(otlp_trace_pb, kinds_and_codes_out_of_range_are_zero)
{
    size_t m;
    begin();
    begin_span();
    sf_pb_write_u64(&b, 6, 6);
    m = sf_pb_write_begin(&b, 15);
    sf_pb_write_i64(&b, 3, -1);
    sf_pb_write_end(&b, m);
    end_span();
    end();
    assert_ok(decode());
    assert_int_equal(got.spans[0].kind, 0);
    assert_int_equal(got.spans[0].status, 0);
}

TEST(otlp_trace_pb, maps_the_old_library_spans)
{
    size_t m;
    sf_buf_reset(&b);
    rs = sf_pb_write_begin(&b, 1);
    ss = sf_pb_write_begin(&b, 1000);
    m = sf_pb_write_begin(&b, 1);
    sf_pb_write_str(&b, 1, SF_STR("oldlib"));
    sf_pb_write_end(&b, m);
    begin_span();
    end_span();
    end();
    assert_ok(decode());
    assert_int_equal(got.n_spans, 1);
    assert_str(got.scopes[0].name, "oldlib");
    /* beside scope_spans they are an unknown field */
    sf_buf_reset(&b);
    rs = sf_pb_write_begin(&b, 1);
    ss = sf_pb_write_begin(&b, 1000);
    begin_span();
    end_span();
    sf_pb_write_end(&b, ss);
    ss = sf_pb_write_begin(&b, 2);
    end();
    assert_ok(decode());
    assert_int_equal(got.n_spans, 0);
}

static void span_with_ids(sf_str trace, sf_str span, sf_str parent)
{
    sp = sf_pb_write_begin(&b, 2);
    sf_pb_write_str(&b, 1, trace);
    sf_pb_write_str(&b, 2, span);
    sf_pb_write_str(&b, 4, parent);
    end_span();
}

TEST(otlp_trace_pb, bad_ids_refuse_only_their_span)
{
    sf_str t = SF_STR("0123456789abcdef"), s = SF_STR("12345678"), none = SF_STR("");
    begin();
    begin_span();
    end_span();
    span_with_ids(t, s, s);
    span_with_ids(t, s, none);
    span_with_ids(SF_STR("01234567"), s, none);
    span_with_ids(SF_STR("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), s, none);
    span_with_ids(t, SF_STR("1234567"), none);
    span_with_ids(t, SF_STR("\0\0\0\0\0\0\0\0"), none);
    span_with_ids(t, s, SF_STR("123"));
    span_with_ids(none, none, none);
    begin_span();
    end_span();
    end();
    assert_ok(decode());
    assert_int_equal(got.n_spans, 4);
    assert_int_equal(rejects.n_rejected, 6);
    assert_int_equal(rejects.n_bad_trace_id, 3);
    assert_int_equal(rejects.n_bad_span_id, 3);
    assert_string_equal(rejects.first, "resourceSpans[0].scopeSpans[0].spans[3]: trace id of 8 "
                                       "bytes, 16 are needed");
    assert_int_equal(got.spans[2].parent_id, 0);
}

TEST(otlp_trace_pb, links_without_ids_are_no_links)
{
    size_t m;
    begin();
    begin_span();
    m = sf_pb_write_begin(&b, 13);
    sf_pb_write_str(&b, 1, SF_STR("short"));
    sf_pb_write_end(&b, m);
    m = sf_pb_write_begin(&b, 13);
    ids();
    sf_pb_write_end(&b, m);
    end_span();
    end();
    assert_ok(decode());
    assert_int_equal(got.spans[0].n_links, 1);
    assert_int_equal(got.spans[0].dropped_links, 1);
    assert_int_equal(rejects.n_cut_links, 1);
}

TEST(otlp_trace_pb, malformed_bytes_refuse_the_request_and_name_the_byte)
{
    got.n_spans = 77;
    rejects.n_rejected = 88;
    begin();
    begin_span();
    end_span();
    end();
    sf_buf_add(&b, "\x0a\x05", 2);
    assert_err(decode(), SF_ERR_INPUT);
    assert_non_null(strstr(why.text, "a length runs past the end of its message at byte 35"));
    assert_int_equal(got.n_spans, 77);
    assert_int_equal(rejects.n_rejected, 88);
    one_span(9, SF_STR("\x18")); /* an int without digits, deep inside */
    assert_err(decode(), SF_ERR_INPUT);
    one_span(9, SF_STR("\x0a\x05x"));
    assert_err(decode(), SF_ERR_INPUT);
    one_span(9, SF_STR("\x23")); /* a group */
    assert_err(decode(), SF_ERR_INPUT);
}

static void nested(unsigned depth)
{
    size_t marks[256];
    size_t n = 0;
    begin();
    begin_span();
    marks[n++] = sf_pb_write_begin(&b, 9);
    marks[n++] = sf_pb_write_begin(&b, 2);
    for (unsigned i = 0; i < depth; i++) {
        marks[n++] = sf_pb_write_begin(&b, 5);
        if (i + 1 < depth)
            marks[n++] = sf_pb_write_begin(&b, 1);
    }
    while (n)
        sf_pb_write_end(&b, marks[--n]);
    end_span();
    end();
}

TEST(otlp_trace_pb, drops_values_nested_too_deep_and_keeps_the_rest)
{
    nested(SF_LIMIT_NESTING);
    assert_ok(decode());
    assert_int_equal(rejects.n_cut_attrs, 0);
    for (unsigned depth = SF_LIMIT_NESTING + 1; depth <= 100; depth += 67) {
        nested(depth);
        assert_ok(decode());
        assert_int_equal(rejects.n_cut_attrs, 1);
        assert_int_equal(got.n_spans, 1);
        assert_int_equal(got.spans[0].attrs.n, 0);
        assert_int_equal(got.spans[0].dropped_attrs, 1);
    }
}

TEST(otlp_trace_pb, a_million_attributes_cost_no_more_than_the_limit)
{
    begin();
    begin_span();
    for (int i = 0; i < 1000000; i++)
        sf_buf_add(&b, "\x4a\x07\x0a\x01k\x12\x02\x18\x01", 9);
    end_span();
    end();
    assert_ok(decode());
    assert_int_equal(got.spans[0].attrs.n, SF_LIMIT_ATTRS);
    assert_int_equal(got.spans[0].dropped_attrs, 1000000 - SF_LIMIT_ATTRS);
    assert_int_equal(rejects.n_cut_attrs, 1000000 - SF_LIMIT_ATTRS);
    assert_true(sf_arena_used(&req) < 100000);
}

TEST(otlp_trace_pb, cuts_keys_values_and_names_at_characters)
{
    char *text = malloc(100000);
    sf_str s = {text, 99999};
    struct sf_buf any = {0};
    struct sf_otlp_limits limits = {.max_attrs = 2, .max_value_len = 10};
    memset(text, 'x', 100000);
    memcpy(text + 8, "\xe2\x82\xac", 3);
    begin();
    begin_span();
    sf_pb_write_str(&b, 5, s);
    sf_pb_write_str(&any, 1, s);
    attr(9, s, sf_buf_str(&any));
    attr(9, SF_STR("short"),
         SF_STR("\x0a\x0c"
                "0123456789ab"));
    attr(9, SF_STR("third"), SF_STR("\x18\x01"));
    end_span();
    end();
    assert_ok(decode_with(&limits));
    assert_int_equal(got.spans[0].name.len, SF_LIMIT_NAME_LEN);
    assert_int_equal(got.spans[0].attrs.n, 2);
    assert_int_equal(got.spans[0].attrs.list[0].key.len, SF_LIMIT_KEY_LEN);
    assert_int_equal(got.spans[0].attrs.list[0].val.str.len, 8); /* not inside the euro sign */
    assert_str(got.spans[0].attrs.list[1].val.str, "0123456789");
    assert_int_equal(rejects.n_cut_names, 1);
    assert_int_equal(rejects.n_cut_keys, 1);
    assert_int_equal(rejects.n_cut_values, 2);
    assert_int_equal(rejects.n_cut_attrs, 1);
    assert_ok(decode());
    assert_int_equal(got.spans[0].attrs.list[0].val.str.len, SF_LIMIT_VALUE_LEN);
    /* an array loses whole elements */
    limits.max_value_len = 9;
    one_span(9, SF_STR("\x2a\x0c\x0a\x02\x18\x01\x0a\x02\x18\x02\x0a\x02\x18\x03"));
    assert_ok(decode_with(&limits));
    assert_str(got.spans[0].attrs.list[0].val.str, "\x0a\x02\x18\x01\x0a\x02\x18\x02");
    sf_buf_done(&any);
    free(text);
}

TEST(otlp_trace_pb, counts_events_and_links_over_their_limits)
{
    begin();
    begin_span();
    for (int i = 0; i < SF_LIMIT_EVENTS + 5; i++)
        sf_pb_write_str(&b, 11, SF_STR("\x12\x01x"));
    for (int i = 0; i < SF_LIMIT_LINKS + 7; i++) {
        size_t m = sf_pb_write_begin(&b, 13);
        ids();
        sf_pb_write_end(&b, m);
    }
    end_span();
    end();
    assert_ok(decode());
    assert_int_equal(got.spans[0].n_events, SF_LIMIT_EVENTS);
    assert_int_equal(got.spans[0].dropped_events, 5);
    assert_int_equal(rejects.n_cut_events, 5);
    assert_int_equal(got.spans[0].n_links, SF_LIMIT_LINKS);
    assert_int_equal(got.spans[0].dropped_links, 7);
    assert_int_equal(rejects.n_cut_links, 7);
    /* the ones left out are still examined */
    b.p[b.len - 1] = 0xff;
    begin();
    begin_span();
    for (int i = 0; i < SF_LIMIT_EVENTS; i++)
        sf_pb_write_str(&b, 11, SF_STR(""));
    sf_pb_write_str(&b, 11, SF_STR("\x12\x09x"));
    end_span();
    end();
    assert_err(decode(), SF_ERR_INPUT);
}

TEST(otlp_trace_pb, empty_messages_take_no_memory)
{
    sf_buf_reset(&b);
    for (int i = 0; i < 1000000; i++)
        sf_buf_add(&b, "\x0a\x06\x0a\x02\x0a\x00\x12\x00", 8); /* a resource, a scope, no span */
    assert_ok(decode());
    assert_int_equal(got.n_spans, 0);
    assert_int_equal(got.n_resources, 0);
    assert_true(sf_arena_used(&req) < 4096);
}

TEST(otlp_trace_pb, too_many_spans_are_a_limit)
{
    begin();
    for (uint32_t i = 0; i <= SF_LIMIT_SPANS; i++)
        sf_buf_add(&b, "\x12\x00", 2);
    end();
    assert_err(decode(), SF_ERR_LIMIT);
}
