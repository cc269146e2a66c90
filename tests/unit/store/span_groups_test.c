#include "store/clickhouse/span_groups.h"

#include <math.h>

#include "model/span_rows.h"
#include "store/clickhouse/group_sql.h"
#include "store/clickhouse/span_answer.h"
#include "store/local/view.h"
#include "support/store_rig.h"
#include "test.h"
#include "wal/wal.h"
#include "wire/row_binary.h"

/* ---- the statement ---- */

static void put(struct store_rig *r, const struct sf_span_query *query,
                const struct sf_trace_set *whole, struct sf_buf *sql)
{
    struct sf_remote_source source = {.database = "db", .store = r->store};
    uint32_t tenant = 1;
    struct sf_query_ctx q = {.tenants = &tenant, .n_tenants = 1};
    sf_buf_reset(sql);
    sf_group_sql_put(&source, query, &q, whole, sql);
    assert_true(sf_buf_ok(sql));
}

static void assert_has(const struct sf_buf *sql, const char *part)
{
    size_t at;
    if (!sf_str_find(sf_buf_str(sql), sf_str_from(part), &at))
        fail_msg("\"%s\" is not in %.*s", part, SF_STR_ARG(sf_buf_str(sql)));
}

TEST(span_groups, group_by_what_a_query_reads)
{
    struct store_rig r;
    struct sf_buf sql = {0};
    struct sf_trace_set whole = {0};
    int64_t limit = 5000000;
    struct sf_key size = {SF_SCOPE_SPAN, SF_STR("si'ze")};
    struct sf_span_grouping g = {.from_ns = INT64_C(1700000000000000000),
                                 .step_ns = 60000000000,
                                 .n_steps = 10,
                                 .durations = &limit,
                                 .n_durations = 1,
                                 .measure = SF_MEASURE_POWERS,
                                 .measured = size};
    struct sf_span_query query = {.from_ns = g.from_ns,
                                  .to_ns = g.from_ns + 600000000000,
                                  .columns = SF_COL_NAME | SF_COL_RESOURCE,
                                  .want_keys = &size,
                                  .n_want = 1,
                                  .grouping = &g};
    store_rig_init(&r);
    assert_ok(store_rig_open(&r));
    put(&r, &query, &whole, &sql);
    assert_has(&sql, "tenant IN ('single-tenant')");
    assert_has(&sql, "toUInt32(intDiv(toInt64(start_ns) - 1700000000000000000 - 1, 60000000000)) "
                     "AS g_step");
    assert_has(&sql, " AND start_ns > 1700000000000000000 AND start_ns <= 1700000600000000000");
    assert_has(&sql, "(greatest(duration_ns, 0) >= toInt64(5000000)) + (greatest(duration_ns, 0) > "
                     "toInt64(5000000))");
    assert_has(&sql, "if(bucket < 1699999700, cityHash64(trace_id, span_id, kind, start_ns, "
                     "duration_ns), 0) AS g_single");
    assert_has(&sql, "has(ik, 'si\\'ze'), concat('i', char(");
    assert_has(&sql, " GROUP BY g_step, g_duration, g_power, g_single, name, resource, g_value0");
    assert_has(&sql, "any((trace_id, ");
    /* An instant query: one step, closed on both sides. Traces that are rows, and a sum. */
    g = (struct sf_span_grouping){.from_ns = g.from_ns,
                                  .step_ns = 1000,
                                  .n_steps = 1,
                                  .is_closed = true,
                                  .measure = SF_MEASURE_SUM};
    assert_ok(sf_trace_set_add(&whole, (sf_trace_id){"abc'efghijklmnop"}, NULL));
    assert_ok(sf_trace_set_add(&whole, (sf_trace_id){"abc'efghijklmnop"}, NULL));
    assert_int_equal(whole.n, 1);
    query.columns = SF_COL_KIND;
    put(&r, &query, &whole, &sql);
    assert_has(&sql, " AND start_ns >= 1700000000000000000 AND start_ns <= 1700000000000001000");
    assert_has(&sql, " OR trace_id IN ('abc\\'efghijklmnop'), cityHash64");
    assert_has(&sql, "toFloat64(sum(toInt128(greatest(duration_ns, 0)))) AS g_sum");
    assert_has(&sql, "if(g_single = 0, g_sum, toFloat64(nan))");
    assert_has(&sql, "concat('d', reinterpretAsString(dv[indexOf(dk, 'si\\'ze')]))");
    assert_has(&sql, "GROUP BY g_step, g_duration, g_power, g_single, kind, status, g_value0");
    sf_trace_set_done(&whole);
    sf_buf_done(&sql);
    store_rig_done(&r);
}

TEST(span_groups, read_only_so_many_traces_as_rows)
{
    struct sf_trace_set set = {0};
    struct sf_why why;
    for (uint32_t i = 0; i <= SF_TRACE_SET_MOST; i++) {
        sf_trace_id id = {{(uint8_t)i, (uint8_t)(i >> 8), (uint8_t)(i >> 16)}};
        enum sf_err err = sf_trace_set_add(&set, id, &why);
        assert_int_equal(err, i < SF_TRACE_SET_MOST ? SF_OK : SF_ERR_LIMIT);
    }
    sf_trace_set_done(&set);
}

/* ---- the answer ---- */

static void add_group(struct sf_buf *b, sf_str first, sf_str second, uint64_t n, double sum)
{
    uint64_t bits;
    memcpy(&bits, &sum, sizeof(bits));
    sf_row_add_str(b, SF_STR("t"));
    sf_row_add_str(b, SF_STR("web"));
    sf_row_add_str(b, SF_STR("op"));
    sf_buf_add_u64le(b, 100);
    sf_buf_add_u64le(b, 40);
    sf_buf_add(b, "0123456789abcdef", 16);
    sf_buf_add_u64le(b, 7);
    sf_buf_add_u64le(b, 0);
    sf_buf_add_u8(b, SF_KIND_SERVER);
    sf_buf_add_u8(b, 0);
    sf_row_add_str(b, SF_STR_NONE);
    sf_buf_add_u64le(b, 11);
    sf_buf_add_u64le(b, 12);
    for (int i = 0; i < 9; i++) /* no attributes, of no type, in no order */
        sf_buf_add_varint(b, 0);
    sf_buf_add_u32le(b, 0);
    for (int i = 0; i < 4; i++)
        sf_buf_add_varint(b, 0);
    sf_row_add_str(b, first);
    sf_row_add_str(b, second);
    sf_buf_add_u64le(b, n);
    sf_buf_add_u64le(b, bits);
}

static const struct sf_key keys[2] = {{SF_SCOPE_SPAN, {"a", 1}}, {SF_SCOPE_SPAN, {"b", 1}}};

static enum sf_err read_group(sf_str first, uint64_t n, size_t cut, struct sf_arena *req,
                              struct sf_span_answer *out)
{
    static struct sf_buf b;
    struct sf_why why;
    sf_buf_reset(&b);
    sf_arena_reset(req);
    *out = (struct sf_span_answer){.req = req, .has_groups = true, .keys = keys, .n_keys = 2};
    add_group(&b, first, SF_STR("i\x05\x01"), n, 2.5);
    return sf_span_answer_add(out, (sf_bytes){b.p, b.len - cut}, &why);
}

TEST(span_groups, are_read_with_their_values_and_numbers)
{
    static const struct {
        sf_str text;
        struct sf_value val;
    } values[] = {{{"s", 1}, {.type = SF_VALUE_STR}},
                  {{"sxyz", 4}, {.type = SF_VALUE_STR, .str = {"xyz", 3}}},
                  {{"i", 1}, {.type = SF_VALUE_INT}},
                  {{"i\xff\xff\xff\xff\xff\xff\xff\xff", 9}, {.type = SF_VALUE_INT, .i64 = -1}},
                  {{"d\0\0\0\0\0\0\xd0\x3f", 9}, {.type = SF_VALUE_DOUBLE, .f64 = 0.25}}};
    struct sf_span_answer a;
    struct sf_arena req;
    assert_true(sf_arena_init(&req, 1 << 20));
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        assert_ok(read_group(values[i].text, 3, 0, &req, &a));
        const struct sf_attrs attrs = a.rows[0].span.attrs;
        assert_int_equal(attrs.n, 2);
        assert_int_equal(attrs.list[0].val.type, values[i].val.type);
        if (values[i].val.type == SF_VALUE_STR)
            assert_true(sf_str_eq(attrs.list[0].val.str, values[i].val.str));
        else
            assert_int_equal(attrs.list[0].val.i64, values[i].val.i64);
        assert_int_equal(attrs.list[1].val.i64, 0x105);
        assert_int_equal(a.rows[0].n_same, 3);
        assert_true(a.rows[0].sum == 2.5);
        sf_span_answer_done(&a);
    }
    assert_ok(read_group(SF_STR_NONE, 3, 0, &req, &a));
    assert_int_equal(a.rows[0].span.attrs.n, 1);
    sf_span_answer_done(&a);
    assert_int_equal(read_group(SF_STR("q"), 3, 0, &req, &a), SF_ERR_CORRUPT);
    sf_span_answer_done(&a);
    assert_int_equal(read_group(SF_STR("i123456789"), 3, 0, &req, &a), SF_ERR_CORRUPT);
    sf_span_answer_done(&a);
    assert_int_equal(read_group(SF_STR("x"), 3, 0, &req, &a), SF_ERR_CORRUPT);
    sf_span_answer_done(&a);
    assert_int_equal(read_group(SF_STR("s"), 0, 0, &req, &a), SF_ERR_CORRUPT);
    sf_span_answer_done(&a);
    for (size_t cut = 1; cut < 100; cut++) {
        assert_int_equal(read_group(SF_STR("s"), 3, cut, &req, &a), SF_ERR_CORRUPT);
        sf_span_answer_done(&a);
    }
    sf_arena_done(&req);
}

/* ---- this node's rows ---- */

#define START_NS (UINT64_C(1700000000) * 1000000000)
#define HOUR_NS  (INT64_C(3600) * 1000000000)

static uint64_t last_lsn(struct store_rig *r)
{
    return sf_wal_last_lsn(sf_local_log(r->store));
}

static void put_spans(struct store_rig *r, struct sf_otlp_make *m, uint32_t n)
{
    struct sf_span_batch b;
    sf_otlp_make_batch(m, n, &r->arena, &b);
    assert_ok(store_put(r, 0, 1, &b, 0));
}

/* How many spans a view borrows of records after `lsn`; -1: it cannot know. */
static int borrow(struct store_rig *r, uint64_t lsn, uint64_t history_lsn)
{
    struct sf_store *view = NULL;
    struct sf_span_query query = {.from_ns = (int64_t)START_NS - HOUR_NS,
                                  .to_ns = (int64_t)START_NS + HOUR_NS,
                                  .columns = SF_COL_TIMES};
    struct sf_span_cursor *c;
    struct sf_span_rows rows;
    bool is_all;
    int n = 0;
    assert_ok(sf_view_open(r->store, &view, &r->why));
    assert_ok(sf_view_lend_recent(view, &r->q, lsn, history_lsn, query.from_ns, query.to_ns,
                                  &is_all, &r->why));
    assert_ok(sf_store_local_ops.span_scan(view, &query, &r->q, &c, &r->why));
    while (c->next(c, &rows))
        n += (int)rows.n_rows;
    assert_ok(c->err);
    c->close(c);
    sf_view_close(view);
    return is_all ? n : -1;
}

TEST(span_groups, borrow_what_this_node_has_not_shipped)
{
    struct store_rig r;
    struct sf_otlp_make m;
    uint64_t first, second;
    store_rig_init(&r);
    sf_otlp_make_init(&m, 1, START_NS);
    assert_ok(store_rig_open(&r));
    put_spans(&r, &m, 100);
    first = last_lsn(&r);
    assert_int_equal(borrow(&r, 0, 0), 100); /* also makes a part of them */
    assert_int_equal(borrow(&r, first, 0), 0);
    put_spans(&r, &m, 7);
    assert_int_equal(borrow(&r, first, 0), 7);
    assert_ok(r.store->ops->flush(r.store, &r.why));
    second = last_lsn(&r);
    assert_int_equal(borrow(&r, first, 0), 107); /* one block */
    assert_int_equal(borrow(&r, second, 0), 0);
    put_spans(&r, &m, 3); /* in memory */
    assert_int_equal(borrow(&r, second, 0), 3);
    assert_int_equal(borrow(&r, second, first), -1); /* a block from before it shipped */
    assert_int_equal(borrow(&r, last_lsn(&r), 0), 0);
    assert_ok(
        r.store->ops->erase(r.store, 1, &(struct sf_selector){.what = SF_SELECT_ALL}, &r.why));
    put_spans(&r, &m, 1);
    assert_true(borrow(&r, second, 0) != 0);
    store_rig_done(&r);
}
