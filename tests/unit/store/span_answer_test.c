#include "store/clickhouse/span_answer.h"

#include "base/time_unit.h"
#include "model/batch_codec.h"
#include "store/clickhouse/remote_outbox.h"
#include "test.h"
#include "wire/row_binary.h"

/* A row of the columns that are requested, with one attribute of each letter. */
static void add_row(struct sf_buf *b, const char *order, uint8_t kind)
{
    struct sf_value yes = {.type = SF_VALUE_BOOL, .is_true = true};
    uint8_t other[] = {(uint8_t)yes.type, 1};
    sf_row_add_str(b, SF_STR("t"));
    sf_row_add_str(b, SF_STR("web"));
    sf_row_add_str(b, SF_STR("op"));
    sf_buf_add_u64le(b, 100);
    sf_buf_add_u64le(b, (uint64_t)-40); /* ends before it starts */
    sf_buf_add(b, "0123456789abcdef", 16);
    sf_buf_add_u64le(b, 7);
    sf_buf_add_u64le(b, 0);
    sf_buf_add_u8(b, kind);
    sf_buf_add_u8(b, SF_STATUS_ERROR);
    sf_row_add_str(b, SF_STR("boom"));
    sf_buf_add_u64le(b, 11);
    sf_buf_add_u64le(b, 12);
    for (const char *key = "sidx"; *key; key++) {
        sf_buf_add_varint(b, 1);
        sf_row_add_str(b, (sf_str){key, 1});
        sf_buf_add_varint(b, 1);
        if (*key == 's')
            sf_row_add_str(b, SF_STR("v"));
        else if (*key == 'x')
            sf_row_add_str(b, (sf_str){(const char *)other, 2});
        else
            sf_buf_add_u64le(b, 5);
    }
    sf_row_add_str(b, sf_str_from(order));
    sf_buf_add_u32le(b, 0x101);
    sf_row_add_str(b, SF_STR("a=b"));
    sf_buf_add_varint(b, 1);
    sf_buf_add_u64le(b, 99);
    sf_buf_add_varint(b, 1);
    sf_row_add_str(b, SF_STR("event"));
    sf_row_add_str(b, SF_STR_NONE);
}

static enum sf_err read_row(const char *order, uint8_t kind, size_t cut, struct sf_span_answer *a,
                            struct sf_buf *b, struct sf_why *why)
{
    sf_buf_reset(b);
    add_row(b, order, kind);
    return sf_span_answer_add(a, (sf_bytes){b->p, b->len - cut}, why);
}

TEST(span_answer, gives_the_span_that_was_sent)
{
    struct sf_arena req;
    struct sf_buf b = {0}, entries = {0}, body = {0};
    struct sf_why why;
    assert_true(sf_arena_init(&req, 1 << 20));
    struct sf_span_answer a = {.req = &req};
    assert_ok(read_row("xdis", SF_KIND_SERVER, 0, &a, &b, &why));
    assert_int_equal(a.n_rows, 1);
    const struct sf_span *s = &a.rows[0].span;
    assert_int_equal(s->end_ns, 60);
    assert_int_equal(s->attrs.n, 4);
    assert_int_equal(s->attrs.list[0].val.type, SF_VALUE_BOOL); /* in the sender's order */
    assert_true(s->attrs.list[0].val.is_true);
    assert_int_equal(s->attrs.list[2].val.i64, 5);
    assert_true(sf_str_eq(s->attrs.list[3].val.str, SF_STR("v")));
    assert_int_equal(s->flags, 0x101);
    assert_int_equal(s->n_events, 1);
    assert_true(sf_str_eq(a.resources[s->resource].service, SF_STR("web"))); /* until it comes */
    struct sf_attr host = {SF_STR("host.name"), {.type = SF_VALUE_STR, .str = SF_STR("h")}};
    struct sf_resource resource = {.attrs = {&host, 1}, .service = SF_STR("web")};
    sf_batch_codec_encode(&(struct sf_span_batch){.resources = &resource, .n_resources = 1}, &body);
    sf_buf_add_u8(&entries, 0);
    sf_buf_add_u64le(&entries, 11);
    sf_row_add_str(&entries, sf_buf_str(&body));
    sf_buf_add_u8(&entries, 0);
    sf_buf_add_u64le(&entries, 999); /* of nobody */
    sf_row_add_str(&entries, SF_STR("not read"));
    assert_ok(sf_span_answer_add_entries(&a, sf_buf_bytes(&entries), &why));
    assert_int_equal(a.resources[s->resource].attrs.n, 1);
    sf_span_answer_done(&a);
    sf_buf_done(&b);
    sf_buf_done(&entries);
    sf_buf_done(&body);
    sf_arena_done(&req);
}

TEST(span_answer, refuses_what_does_not_fit_together)
{
    struct sf_buf b = {0};
    struct sf_why why;
    static const char *const orders[] = {"", "sid", "sidxx", "siid", "ssss", "siq?"};
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        struct sf_arena req;
        assert_true(sf_arena_init(&req, 1 << 20));
        struct sf_span_answer a = {.req = &req};
        assert_int_equal(read_row(orders[i], 1, 0, &a, &b, &why), SF_ERR_CORRUPT);
        assert_int_equal(a.n_rows, 0);
        sf_span_answer_done(&a);
        sf_arena_done(&req);
    }
    for (size_t cut = 1; cut < 120; cut++) { /* at every byte */
        struct sf_arena req;
        assert_true(sf_arena_init(&req, 1 << 20));
        struct sf_span_answer a = {.req = &req};
        assert_int_equal(read_row("sidx", 1, cut, &a, &b, &why), SF_ERR_CORRUPT);
        sf_span_answer_done(&a);
        sf_arena_done(&req);
    }
    struct sf_arena req;
    assert_true(sf_arena_init(&req, 1 << 20));
    struct sf_span_answer a = {.req = &req};
    assert_int_equal(read_row("sidx", 77, 0, &a, &b, &why), SF_ERR_CORRUPT);
    sf_span_answer_done(&a);
    sf_arena_done(&req);
    sf_buf_done(&b);
}
