#include "base/time_unit.h"
#include "model/batch_codec.h"
#include "store/clickhouse/remote_outbox.h"
#include "test.h"
#include "wire/row_binary.h"

#define RECV_NS (INT64_C(20774) * SF_NS_PER_DAY + 7 * SF_NS_PER_HOUR)

static struct sf_span_batch one_span(struct sf_span *span, struct sf_resource *resource,
                                     struct sf_scope *scope)
{
    return (struct sf_span_batch){resource, scope, span, 1, 1, 1};
}

static void skip_array(struct sf_row_reader *r)
{
    uint32_t n = sf_row_binary_count(r, 1);
    for (uint32_t i = 0; i < n; i++)
        (void)sf_row_binary_str(r);
}

/* To the start of the attributes. */
static void skip_head(struct sf_row_reader *r)
{
    (void)sf_row_binary_str(r);
    (void)sf_row_binary_u16(r);
    (void)sf_row_binary_u32(r);
    (void)sf_row_binary_str(r);
    (void)sf_row_binary_str(r);
    (void)sf_row_binary_fixed(r, 8 + 8 + 16 + 8 + 8 + 1 + 1);
    (void)sf_row_binary_str(r);
    (void)sf_row_binary_fixed(r, 16);
}

TEST(ship_rows, keep_what_has_no_column_in_the_form_of_the_log)
{
    struct sf_remote_outbox o;
    struct sf_why why;
    struct sf_attr tag = {SF_STR("k"), {.type = SF_VALUE_STR, .str = SF_STR("v")}};
    struct sf_event event = {.time_ns = 5, .name = SF_STR("e"), .attrs = {&tag, 1}};
    struct sf_link link = {.trace_id = {{4}}, .span_id = 9, .trace_state = SF_STR("a=b")};
    struct sf_attr attrs[] = {{SF_STR("b"), {.type = SF_VALUE_BOOL, .is_true = true}},
                              {SF_STR("s"), {.type = SF_VALUE_STR, .str = SF_STR("x")}},
                              {SF_STR("y"), {.type = SF_VALUE_BYTES, .str = SF_STR("\0\1")}},
                              {SF_STR("i"), {.type = SF_VALUE_INT, .i64 = INT64_MIN}},
                              {SF_STR("n"), {.type = SF_VALUE_EMPTY}}};
    struct sf_span span = {.start_ns = 7, /* absurd: long before it was received */
                           .end_ns = 3,
                           .name = SF_STR("op"),
                           .attrs = {attrs, 5},
                           .events = &event,
                           .n_events = 1,
                           .links = &link,
                           .n_links = 1,
                           .dropped_links = 4};
    struct sf_resource resource = {.service = SF_STR("web")};
    struct sf_scope scope = {0};
    struct sf_span_batch b = one_span(&span, &resource, &scope), back;
    struct sf_row_reader r;
    struct sf_arena req;
    sf_str rest;
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_ok(sf_remote_outbox_init(&o, 1, &why));
    sf_remote_outbox_begin(&o, 77);
    sf_span_rows_add(&o, SF_STR("t"), RECV_NS, &b);
    assert_ok(sf_remote_outbox_check(&o, &why));
    assert_int_equal(sf_remote_outbox_part(&o, 0, SF_SHIP_SPANS)->n, 1);
    assert_int_equal(sf_remote_outbox_part(&o, 0, SF_SHIP_TRACES)->n, 1);
    assert_int_equal(o.from_day, 20774); /* the receipt's, so that no partition is far away */
    assert_int_equal(o.to_day, 20774);
    r = sf_row_reader_init(sf_buf_bytes(&sf_remote_outbox_part(&o, 0, SF_SHIP_SPANS)->rows));
    assert_true(sf_str_eq(sf_row_binary_str(&r), SF_STR("t")));
    assert_int_equal(sf_row_binary_u16(&r), 20774);
    r = sf_row_reader_init(sf_buf_bytes(&sf_remote_outbox_part(&o, 0, SF_SHIP_SPANS)->rows));
    skip_head(&r);
    skip_array(&r); /* sk, sv */
    skip_array(&r);
    skip_array(&r); /* ik */
    assert_int_equal(sf_row_binary_count(&r, 8), 1);
    assert_true((int64_t)sf_row_binary_u64(&r) == INT64_MIN);
    skip_array(&r); /* dk, dv */
    assert_int_equal(sf_row_binary_count(&r, 8), 0);
    skip_array(&r); /* xk */
    assert_int_equal(sf_row_binary_count(&r, 1), 3);
    assert_true(sf_str_eq(sf_row_binary_str(&r), SF_STR("\3\1")));   /* BOOL, true */
    assert_true(sf_str_eq(sf_row_binary_str(&r), SF_STR("\6\0\1"))); /* BYTES */
    assert_true(sf_str_eq(sf_row_binary_str(&r), SF_STR("\1")));     /* EMPTY */
    assert_true(sf_str_eq(sf_row_binary_str(&r), SF_STR("xsxix")));
    (void)sf_row_binary_u32(&r);
    (void)sf_row_binary_str(&r);
    assert_int_equal(sf_row_binary_count(&r, 8), 1);
    assert_int_equal(sf_row_binary_u64(&r), 5);
    skip_array(&r);
    rest = sf_row_binary_str(&r);
    assert_int_equal(sf_row_binary_u64(&r), 77);
    assert_false(sf_row_more(&r));
    assert_ok(sf_row_binary_check(&r, &why));
    assert_ok(sf_batch_codec_decode(sf_str_bytes(rest), &req, &back, &why));
    assert_int_equal(back.spans[0].n_links, 1);
    assert_true(sf_str_eq(back.spans[0].links[0].trace_state, SF_STR("a=b")));
    assert_int_equal(back.spans[0].events[0].attrs.n, 1);
    assert_int_equal(back.spans[0].dropped_links, 4);
    sf_remote_outbox_done(&o);
    sf_arena_done(&req);
}

TEST(ship_rows, send_an_entry_of_a_dictionary_once_a_day_and_shard)
{
    struct sf_remote_outbox o;
    struct sf_why why;
    struct sf_resource resource = {.service = SF_STR("web")};
    struct sf_scope scope = {.name = SF_STR("lib")};
    struct sf_span span = {.start_ns = (uint64_t)RECV_NS, .end_ns = (uint64_t)RECV_NS + 1};
    struct sf_span_batch b = one_span(&span, &resource, &scope);
    assert_ok(sf_remote_outbox_init(&o, 1, &why));
    for (int i = 0; i < 3; i++) {
        sf_remote_outbox_begin(&o, 1);
        sf_span_rows_add(&o, SF_STR("t"), RECV_NS, &b);
        assert_int_equal(sf_remote_outbox_part(&o, 0, SF_SHIP_RESOURCES)->n, i == 0);
        assert_int_equal(sf_remote_outbox_part(&o, 0, SF_SHIP_SCOPES)->n, i == 0);
    }
    sf_span_rows_add(&o, SF_STR("other"), RECV_NS, &b); /* another tenant never shares one */
    assert_int_equal(sf_remote_outbox_part(&o, 0, SF_SHIP_RESOURCES)->n, 1);
    span.start_ns += (uint64_t)SF_NS_PER_HOUR / 2;
    sf_span_rows_add(&o, SF_STR("t"), RECV_NS + SF_NS_PER_DAY, &b);
    assert_int_equal(sf_remote_outbox_part(&o, 0, SF_SHIP_RESOURCES)->n,
                     1); /* the span's own day */
    sf_remote_outbox_forget(&o);
    sf_span_rows_add(&o, SF_STR("t"), RECV_NS, &b);
    assert_int_equal(sf_remote_outbox_part(&o, 0, SF_SHIP_RESOURCES)->n, 2);
    sf_remote_outbox_done(&o);
}

/* The rows of a large batch are compressed while more come: the node never holds all of them. */
TEST(ship_rows, are_compressed_while_more_are_added)
{
    struct sf_remote_outbox o;
    struct sf_why why;
    static char value[4096];
    struct sf_attr attr = {SF_STR("k"), {.type = SF_VALUE_STR, .str = {value, sizeof(value)}}};
    struct sf_resource resource = {.service = SF_STR("web")};
    struct sf_scope scope = {0};
    struct sf_span span = {.start_ns = (uint64_t)RECV_NS, .attrs = {&attr, 1}};
    struct sf_span_batch b = one_span(&span, &resource, &scope);
    struct sf_outbox_part *p;
    sf_bytes body, again;
    uint64_t n = 0;
    assert_ok(sf_remote_outbox_init(&o, 1, &why));
    sf_remote_outbox_begin(&o, 1);
    p = sf_remote_outbox_part(&o, 0, SF_SHIP_SPANS);
    while (!sf_remote_outbox_is_full(&o)) {
        sf_span_rows_add(&o, SF_STR("t"), RECV_NS, &b);
        assert_ok(sf_remote_outbox_check(&o, &why));
        assert_true(p->rows.len < 5 << 20);
        assert_int_equal(p->n, ++n);
    }
    assert_true(p->len + p->rows.len > 100 << 20);
    assert_ok(sf_remote_outbox_body(&o, 0, SF_SHIP_SPANS, &body, &why));
    assert_true(body.len > 1000 && body.len < 1 << 20);
    assert_int_equal(p->rows.len, 0);
    assert_ok(sf_remote_outbox_body(&o, 0, SF_SHIP_SPANS, &again, &why)); /* of a repeated insert */
    assert_ptr_equal(again.p, body.p);
    assert_int_equal(again.len, body.len);
    sf_remote_outbox_begin(&o, 2);
    assert_false(sf_remote_outbox_is_full(&o));
    assert_ok(sf_remote_outbox_body(&o, 0, SF_SHIP_SPANS, &body, &why));
    assert_int_equal(body.len, 0);
    sf_remote_outbox_done(&o);
}

TEST(ship_rows, sum_samples_by_profile_and_stack)
{
    struct sf_remote_outbox o;
    struct sf_why why;
    struct sf_function functions[] = {{.name = SF_STR("main")}, {.name = SF_STR("work")}};
    struct sf_line lines[] = {{0, 1}, {1, 2}};
    struct sf_location locations[] = {{.mapping = SF_NONE, .lines = &lines[0], .n_lines = 1},
                                      {.mapping = SF_NONE, .lines = &lines[1], .n_lines = 1}};
    uint32_t places[] = {1, 0};
    struct sf_stack stacks[] = {{places, 2}, {places + 1, 1}};
    struct sf_series series[] = {{.service = SF_STR("web"),
                                  .type = {.name = SF_STR("cpu")},
                                  .process = SF_NONE,
                                  .time_ns = RECV_NS - 5}};
    struct sf_sample samples[] = {{.stack = 0, .value = 10, .count = 1},
                                  {.stack = 0, .value = 20, .count = 2, .span_id = 8},
                                  {.stack = 1, .value = 5, .count = 1}};
    struct sf_profile_batch b = {.functions = functions,
                                 .n_functions = 2,
                                 .locations = locations,
                                 .n_locations = 2,
                                 .stacks = stacks,
                                 .n_stacks = 2,
                                 .series = series,
                                 .n_series = 1,
                                 .samples = samples,
                                 .n_samples = 3};
    assert_ok(sf_remote_outbox_init(&o, 1, &why));
    sf_remote_outbox_begin(&o, 1);
    sf_profile_rows_add(&o, SF_STR("t"), RECV_NS, &b);
    assert_ok(sf_remote_outbox_check(&o, &why));
    assert_int_equal(sf_remote_outbox_part(&o, 0, SF_SHIP_PROFILES)->n, 1);
    assert_int_equal(sf_remote_outbox_part(&o, 0, SF_SHIP_AGGREGATES)->n, 2);
    assert_int_equal(sf_remote_outbox_part(&o, 0, SF_SHIP_DETAILS)->n, 1);
    assert_int_equal(sf_remote_outbox_part(&o, 0, SF_SHIP_STACKS)->n, 2);
    assert_int_equal(sf_remote_outbox_part(&o, 0, SF_SHIP_FRAMES)->n, 2);
    assert_int_equal(sf_remote_outbox_part(&o, 0, SF_SHIP_SERIES)->n, 1);
    sf_remote_outbox_done(&o);
}
