#include "test.h"

#include "render/waterfall.h"

static const char want[] =
    "trace 0a000000000000000000000000000000  100 ms  3 spans  1 error\n"
    "started 2023-11-14 22:13:20.000 UTC   # critical path   = rest of the span   ! error\n"
    "\n"
    "service operation     0         25 ms      50 ms     75 ms\n"
    "gateway GET /checkout ####=================================#####    100 ms\n"
    "order     totals          #############################              70 ms !\n"
    "order     audit                                =                    500 us\n"
    "\n"
    "errors\n"
    "  order  totals: rule 7 ?[31mbroke\n";

TEST(waterfall, draws_tree_bars_errors_and_critical_path)
{
    const uint64_t t0 = 1700000000000000000u, ms = 1000000;
    struct sf_span spans[] = {
        {.name = SF_STR("GET /checkout"), .start_ns = t0, .end_ns = t0 + 100 * ms},
        {.name = SF_STR("totals"),
         .start_ns = t0 + 10 * ms,
         .end_ns = t0 + 80 * ms,
         .status = SF_STATUS_ERROR,
         .status_msg = SF_STR("rule 7 \033[31mbroke")},
        {.name = SF_STR("audit"), .start_ns = t0 + 60 * ms, .end_ns = t0 + 60 * ms + ms / 2},
    };
    struct sf_waterfall_row rows[] = {
        {&spans[0], SF_STR("gateway"), 0, SF_STR_NONE, 0},
        {&spans[1], SF_STR("order"), 1, SF_STR_NONE, 0},
        {&spans[2], SF_STR("order"), 1, SF_STR_NONE, 0},
    };
    struct sf_waterfall_mark marks[] = {
        {0, t0, t0 + 10 * ms}, {0, t0 + 90 * ms, t0 + 100 * ms}, {1, t0 + 10 * ms, t0 + 80 * ms}};
    struct sf_waterfall w = {.trace_id = {{0x0a}},
                             .rows = rows,
                             .n_rows = 3,
                             .marks = marks,
                             .n_marks = 3,
                             .start_ns = t0,
                             .end_ns = t0 + 100 * ms,
                             .columns = 76};
    struct sf_buf out = {0};
    sf_waterfall_render(&w, &out);
    sf_buf_add_u8(&out, 0);
    assert_string_equal((char *)out.p, want);
    sf_buf_done(&out);
}

TEST(waterfall, fits_any_width_and_absurd_times)
{
    struct sf_span s = {.name = SF_STR("x"), .start_ns = UINT64_MAX, .end_ns = 0};
    struct sf_waterfall_row row = {&s, SF_STR("a service with a long name indeed"), 5000,
                                   SF_STR("note"), 0};
    struct sf_waterfall_mark mark = {0, 0, UINT64_MAX};
    struct sf_buf out = {0};
    for (uint32_t columns = 0; columns < 500; columns += 7) {
        struct sf_waterfall w = {.rows = &row,
                                 .n_rows = 1,
                                 .marks = &mark,
                                 .n_marks = 1,
                                 .end_ns = UINT64_MAX,
                                 .columns = columns,
                                 .has_color = columns % 2};
        sf_waterfall_render(&w, &out);
    }
    assert_true(sf_buf_ok(&out));
    sf_buf_done(&out);
}

TEST(waterfall, draws_spans_on_the_clock_of_the_trace)
{
    struct sf_span spans[] = {{.name = SF_STR("call"), .start_ns = 1000, .end_ns = 2000},
                              {.name = SF_STR("serve"), .start_ns = 5000, .end_ns = 6000}};
    struct sf_waterfall_row rows[] = {{&spans[0], SF_STR("a"), 0, SF_STR_NONE, 0},
                                      {&spans[1], SF_STR("b"), 1, SF_STR_NONE, -4000}};
    struct sf_waterfall w = {
        .rows = rows, .n_rows = 2, .start_ns = 1000, .end_ns = 2000, .columns = 60};
    struct sf_buf out = {0};
    size_t at;
    sf_waterfall_render(&w, &out);
    assert_true(sf_str_find(sf_buf_str(&out), SF_STR("b         serve ===="), &at));
    sf_buf_done(&out);
}

/* A note has its own columns where there is space, and its own line in a narrow window. */
TEST(waterfall, writes_notes_behind_the_spans)
{
    struct sf_span s = {.name = SF_STR("totals"), .start_ns = 0, .end_ns = 1000};
    struct sf_waterfall_row row = {&s, SF_STR("order"), 0, SF_STR("checkRules 38 %"), 0};
    struct sf_waterfall w = {.rows = &row, .n_rows = 1, .end_ns = 1000, .columns = 90};
    struct sf_buf out = {0};
    size_t at;
    sf_waterfall_render(&w, &out);
    assert_true(sf_str_find(sf_buf_str(&out), SF_STR("1 us   checkRules 38 %\n"), &at));
    sf_str line = sf_buf_str(&out), part;
    while (sf_str_split_next(&line, '\n', &part))
        assert_true(part.len <= 90);
    sf_buf_reset(&out);
    w.columns = 50;
    sf_waterfall_render(&w, &out);
    assert_true(sf_str_find(sf_buf_str(&out), SF_STR("\n        ^ checkRules 38 %\n"), &at));
    line = sf_buf_str(&out);
    while (sf_str_split_next(&line, '\n', &part))
        assert_true(part.len <= 90);
    sf_buf_done(&out);
}

TEST(waterfall, writes_numbers_and_ids_where_there_is_room)
{
    struct sf_span spans[12] = {0};
    struct sf_waterfall_row rows[12];
    struct sf_buf out = {0};
    size_t at;
    for (uint32_t i = 0; i < 12; i++) {
        spans[i] = (struct sf_span){.name = SF_STR("op"), .span_id = 0xabc0 + i, .end_ns = 1000};
        rows[i] = (struct sf_waterfall_row){&spans[i], SF_STR("order"), 0, SF_STR_NONE, 0};
    }
    struct sf_waterfall w = {
        .rows = rows, .n_rows = 12, .end_ns = 1000, .has_ids = true, .has_numbers = true};
    for (w.columns = 40; w.columns < 140; w.columns += 10) {
        sf_str line, part;
        sf_buf_reset(&out);
        sf_waterfall_render(&w, &out);
        line = sf_buf_str(&out);
        while (sf_str_split_next(&line, '\n', &part))
            assert_true(part.len <= w.columns || part.len == 84 || w.columns < 60);
        assert_int_equal(sf_str_find(sf_buf_str(&out), SF_STR("\n 1 000000000000abc0 order"), &at),
                         w.columns >= 60);
        assert_int_equal(sf_str_find(sf_buf_str(&out), SF_STR("\n12 order"), &at), w.columns < 60);
    }
    sf_buf_done(&out);
}
