#include "cli/search_rows.h"

#include "test.h"

static struct sf_arena req;

static enum sf_err read_rows(const char *body, struct sf_search_rows *out)
{
    static const struct sf_query_attr columns[] = {
        {.scope = SF_SCOPE_SPAN, .name = {"x", 1}},
        {.scope = SF_SCOPE_INTRINSIC, .intrinsic = SF_INTRINSIC_DURATION}};
    struct sf_why why;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 1 << 20));
    *out = (struct sf_search_rows){0};
    return sf_search_rows_read(sf_str_from(body), columns, 2, &req, out, &why);
}

static void assert_cell(const char *spans, const char *want)
{
    struct sf_search_rows rows;
    struct sf_buf body = {0};
    sf_buf_print(&body, "{\"traces\":[{\"spanSets\":[{\"matched\":2,\"spans\":[%s]}]}]}", spans);
    sf_buf_add_u8(&body, 0);
    assert_ok(read_rows((char *)body.p, &rows));
    assert_int_equal(rows.n, 1);
    assert_int_equal(rows.list[0].n_matched, 2);
    if (!sf_str_eq(rows.list[0].cells[0], sf_str_from(want)))
        fail_msg("%.*s, not %s", SF_STR_ARG(rows.list[0].cells[0]), want);
    sf_buf_done(&body);
}

#define X(value) "{\"attributes\":[{\"key\":\"x\",\"value\":{" value "}}]}"

TEST(search_rows, shows_values_of_every_type)
{
    assert_cell(X("\"stringValue\":\"a\""), "a");
    assert_cell(X("\"intValue\":\"-9223372036854775808\""), "-9223372036854775808");
    assert_cell(X("\"doubleValue\":0.5"), "0.5");
    assert_cell(X("\"boolValue\":false"), "false");
    assert_cell(X("\"arrayValue\":{\"values\":[{\"intValue\":\"1\"},{\"boolValue\":true}]}"),
                "[1 true]");
    assert_cell(X("\"arrayValue\":null"), "[]");
    assert_cell(X("\"kvlistValue\":{}"), "...");
}

TEST(search_rows, joins_different_values_once)
{
    assert_cell(X("\"intValue\":\"1\"") "," X("\"intValue\":\"2\"") "," X("\"intValue\":\"1\""),
                "1, 2");
    assert_cell("{}", "");
}

TEST(search_rows, reads_what_is_no_attribute)
{
    struct sf_search_rows rows;
    assert_ok(read_rows("{\"traces\":[{\"traceID\":\"ab\",\"durationMs\":7,\"startTimeUnixNano\":"
                        "\"5\",\"spanSets\":[{\"spans\":[{\"durationNanos\":\"1500000\"}]}]},{}],"
                        "\"metrics\":{}}",
                        &rows));
    assert_int_equal(rows.n, 2);
    assert_int_equal(rows.list[0].duration_ms, 7);
    assert_true(sf_str_eq(rows.list[0].cells[1], SF_STR("1.5ms")));
    assert_int_equal(rows.list[1].trace_id.len, 0);
}

TEST(search_rows, refuses_what_is_no_answer)
{
    struct sf_search_rows rows;
    static const char *const bad[] = {"", "<html>", "{\"traces\":[",
                                      "{\"traces\":[{\"durationMs\":-1}]}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (!read_rows(bad[i], &rows))
            fail_msg("taken: %s", bad[i]);
    }
    sf_arena_done(&req);
}
