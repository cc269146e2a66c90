#include "store/clickhouse/cond_sql.h"

#include "store/clickhouse/remote_source.h"
#include "test.h"

/* What is asked of the shards for some conditions. */
static sf_str where(struct sf_buf *sql, const struct sf_span_query *query)
{
    struct sf_remote_source source = {.database = "db"};
    struct sf_query_ctx q = {0};
    sf_buf_reset(sql);
    sf_cond_sql_where(&source, query, &q, sql);
    assert_true(sf_buf_ok(sql));
    return sf_buf_str(sql);
}

TEST(cond_sql, says_of_columns_what_is_asked)
{
    struct sf_value text = {.type = SF_VALUE_STR, .str = SF_STR("it's \\")},
                    error = {.type = SF_VALUE_INT, .i64 = 2},
                    second = {.type = SF_VALUE_INT, .i64 = 1000000000};
    struct sf_cond conds[] = {{SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("name"), &text, 1, {0}},
                              {SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("status"), &error, 1, {0}},
                              {SF_SCOPE_INTRINSIC, SF_OP_GT, SF_STR("duration"), &second, 1, {0}},
                              {SF_SCOPE_RESOURCE, SF_OP_EQ, SF_STR("service.name"), &text, 1, {0}}};
    struct sf_span_query query = {.conds = conds, .n_conds = 4, .is_all = true};
    struct sf_buf sql = {0};
    assert_true(sf_str_eq(where(&sql, &query),
                          SF_STR(" AND (name IN ('it\\'s \\\\') AND status IN (2) AND (duration_ns "
                                 "< 0 OR duration_ns > toInt64(1000000000)) AND service IN "
                                 "('it\\'s \\\\'))")));
    query.n_conds = 0;
    query.from_ns = INT64_C(1794930000000000000);
    query.to_ns = INT64_C(1794930060000000000);
    assert_true(sf_str_eq(
        where(&sql, &query),
        SF_STR(" AND bucket <= 1794930060 AND start_ns <= 1794930060000000000 AND bucket >= "
               "1794843300 AND (start_ns >= 1794930000000000000 OR start_ns + "
               "toUInt64(greatest(duration_ns, 0)) >= 1794930000000000000)")));
    query.from_ns = 0;
    query.to_ns = INT64_MAX;
    assert_int_equal(where(&sql, &query).len, 0);
    sf_buf_done(&sql);
}

/* Conditions that hold for rows that lack the attribute, or compare what SQL compares otherwise,
 * are left to the node. */
TEST(cond_sql, leaves_out_what_is_not_certain)
{
    struct sf_value text = {.type = SF_VALUE_STR, .str = SF_STR("x")},
                    none = {.type = SF_VALUE_EMPTY};
    struct sf_cond name = {SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("name"), &text, 1, {0}};
    const struct sf_cond open[] = {
        {SF_SCOPE_SPAN, SF_OP_NE, SF_STR("k"), &text, 1, {0}},
        {SF_SCOPE_SPAN, SF_OP_NOT_EXISTS, SF_STR("k"), NULL, 0, {0}},
        {SF_SCOPE_SPAN, SF_OP_NO_MATCH, SF_STR("k"), &text, 1, {0}},
        {SF_SCOPE_SPAN, SF_OP_EQ, SF_STR("k"), &none, 1, {0}},
        {SF_SCOPE_EVENT, SF_OP_EQ, SF_STR("k"), &text, 1, {0}},
        {SF_SCOPE_INTRINSIC, SF_OP_LT, SF_STR("name"), &text, 1, {0}},
        {SF_SCOPE_INTRINSIC, SF_OP_EQ, SF_STR("rootName"), &text, 1, {0}}};
    struct sf_buf sql = {0};
    for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
        struct sf_cond both[] = {open[i], name};
        struct sf_span_query query = {.conds = both, .n_conds = 2, .is_all = true};
        assert_true(sf_str_eq(where(&sql, &query), SF_STR(" AND (name IN ('x'))")));
        query.is_all = false; /* one that may hold anywhere: all rows may */
        assert_int_equal(where(&sql, &query).len, 0);
    }
    sf_buf_done(&sql);
}

TEST(cond_sql, looks_for_attributes_by_type)
{
    struct sf_value text = {.type = SF_VALUE_STR, .str = SF_STR("v")},
                    number = {.type = SF_VALUE_DOUBLE, .f64 = 0.5};
    struct sf_cond c = {SF_SCOPE_SPAN, SF_OP_EQ, SF_STR("k"), &text, 1, {0}};
    struct sf_span_query query = {.conds = &c, .n_conds = 1, .is_all = true};
    struct sf_buf sql = {0};
    assert_true(sf_str_eq(where(&sql, &query),
                          SF_STR(" AND ((hasAny(arrayConcat(sv, xk), ['v','k']) AND "
                                 "(arrayExists((k, v) -> k = 'k' AND v IN ('v'), sk, sv) OR "
                                 "has(xk, 'k'))))")));
    c = (struct sf_cond){SF_SCOPE_SPAN, SF_OP_LE, SF_STR("k"), &number, 1, {0}};
    assert_true(sf_str_eq(
        where(&sql, &query),
        SF_STR(" AND ((arrayExists((k, v) -> k = 'k' AND (v <= toFloat64(0.5)), ik, iv) OR "
               "arrayExists((k, v) -> k = 'k' AND (v <= toFloat64(0.5) OR isNaN(v)), dk, dv) OR "
               "has(sk, 'k') OR has(xk, 'k')))")));
    c = (struct sf_cond){SF_SCOPE_RESOURCE, SF_OP_EQ, SF_STR("k"), &text, 1, {0}};
    assert_true(sf_str_eq(where(&sql, &query),
                          SF_STR(" AND ((resource IN (SELECT resource FROM db.resources WHERE "
                                 "tenant IN () AND arrayExists((k, v) -> k = 'k' AND v IN "
                                 "('v',''), keys, vals))))")));
    sf_buf_done(&sql);
}

TEST(cond_sql, a_batch_tells_its_node_and_record)
{
    struct sf_remote_source source = {.node = 5};
    struct sf_buf sql = {0};
    uint64_t batch = sf_remote_source_batch(5, 123, 77);
    assert_int_equal(batch >> 42, 5);
    assert_int_equal(batch & ((UINT64_C(1) << 38) - 1), 77);
    assert_true(batch != sf_remote_source_batch(5, 124, 77) ||
                batch != sf_remote_source_batch(5, 125, 77));
    sf_remote_source_others(&source, 76, &sql);
    assert_true(sf_str_eq(sf_buf_str(&sql), SF_STR(" AND NOT (bitShiftRight(batch, 42) = 5 AND "
                                                   "bitAnd(batch, 274877906943) > 76)")));
    sf_buf_done(&sql);
}
