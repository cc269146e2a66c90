#include "join/trace_rows.h"

#include "test.h"

static const struct sf_resource resources[] = {{.service = {"web", 3}}};
static const struct sf_scope scopes[1];

TEST(trace_rows, put_parents_before_children_and_siblings_by_start)
{
    struct sf_span spans[] = {
        {.span_id = 4, .parent_id = 2, .start_ns = 30, .end_ns = 35},
        {.span_id = 3, .parent_id = 1, .start_ns = 50, .end_ns = 60},
        {.span_id = 2, .parent_id = 1, .start_ns = 20, .end_ns = 40},
        {.span_id = 1, .parent_id = 0, .start_ns = 10, .end_ns = 100},
        {.span_id = 9, .parent_id = 77, .start_ns = 5, .end_ns = 6},
    };
    struct sf_trace trace = {.spans = {resources, scopes, spans, 1, 1, 5}};
    struct sf_trace_rows rows;
    struct sf_arena req;
    static const sf_span_id want[] = {9, 1, 2, 4, 3};
    static const uint32_t depths[] = {0, 0, 1, 2, 1};
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_ok(sf_trace_rows_make((sf_trace_id){{7}}, &trace, &req, &rows, NULL));
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(rows.rows[i].span->span_id, want[i]);
        assert_int_equal(rows.rows[i].depth, depths[i]);
    }
    assert_int_equal(rows.start_ns, 5);
    assert_int_equal(rows.end_ns, 100);
    /* 9: 5-6; 1: 10-20, 40-50, 60-100; 2: 20-30, 35-40; 4: 30-35; 3: 50-60 */
    assert_int_equal(rows.critical_ns, 91);
    assert_int_equal(rows.rows[1].n_segments, 3);
    assert_int_equal(rows.rows[1].segments[1].start_ns, 40);
    assert_int_equal(rows.rows[1].critical_ns, 60);
    assert_true(rows.rows[3].is_critical);
    sf_arena_done(&req);
}

TEST(trace_rows, of_a_chain_of_many_spans_need_no_deep_stack)
{
    static struct sf_span spans[100000];
    for (uint32_t i = 0; i < 100000; i++)
        spans[i] = (struct sf_span){
            .span_id = i + 1, .parent_id = i, .start_ns = i, .end_ns = 200000 - i};
    struct sf_trace trace = {.spans = {resources, scopes, spans, 1, 1, 100000}};
    struct sf_trace_rows rows;
    struct sf_arena req;
    assert_true(sf_arena_init(&req, 64 << 20));
    assert_ok(sf_trace_rows_make((sf_trace_id){{7}}, &trace, &req, &rows, NULL));
    assert_int_equal(rows.rows[99999].depth, 99999);
    sf_arena_done(&req);
}

TEST(trace_rows, say_limit_when_they_do_not_fit)
{
    static struct sf_span spans[1000];
    struct sf_trace trace = {.spans = {resources, scopes, spans, 1, 1, 1000}};
    struct sf_trace_rows rows;
    struct sf_arena req;
    assert_true(sf_arena_init(&req, 64 << 10));
    assert_err(sf_trace_rows_make((sf_trace_id){{7}}, &trace, &req, &rows, NULL), SF_ERR_LIMIT);
    sf_arena_done(&req);
}
