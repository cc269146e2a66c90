#include "cli/trace_notes.h"

#include "test.h"

TEST(trace_notes, reads_the_spans_that_have_one)
{
    struct sf_arena req = {0};
    struct sf_trace_notes notes = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_true(sf_trace_notes_read(
        SF_STR("{\"traceId\":\"1\",\"hotUnit\":\"nanoseconds\",\"note\":\"some are left out\","
               "\"spans\":["
               "{\"spanId\":\"00000000000000ff\",\"hot\":{\"function\":\"a\\u001b[31mb\","
               "\"value\":232000000,\"share\":0.38,\"samples\":9}},"
               "{\"spanId\":\"0000000000000002\",\"name\":\"x\"},"
               "{\"spanId\":\"0000000000000001\",\"hot\":{\"function\":\"sum\",\"value\":1000,"
               "\"share\":1}}]}"),
        &req, &notes));
    assert_int_equal(notes.n, 2);
    assert_true(sf_str_eq(notes.left_out, SF_STR("some are left out")));
    sf_str text = sf_trace_notes_find(&notes, 0xff);

    assert_true(sf_str_eq(text, SF_STR("a?[31mb 232 ms, 38 %")));
    assert_int_equal(sf_trace_notes_find(&notes, 2).len, 0);
    assert_true(sf_trace_notes_find(&notes, 1).len > 0);
    sf_arena_done(&req);
}

TEST(trace_notes, leaves_what_is_no_answer)
{
    struct sf_arena req = {0};
    struct sf_trace_notes notes = {0};
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_false(sf_trace_notes_read(SF_STR("{\"spans\":[{\"spanId\":1"), &req, &notes));
    assert_true(sf_trace_notes_read(SF_STR("{\"spans\":null}"), &req, &notes));
    assert_int_equal(notes.n, 0);
    sf_arena_done(&req);
}
