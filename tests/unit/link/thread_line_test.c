#include "link/thread_line.h"

#include "test.h"

/* A span from 1000 to 1100; the threads it was on as "5:1000 6:1050", each from where it begins. */
static const char *line(uint64_t own, const struct sf_thread_tie *given, uint32_t n)
{
    static char text[256];
    struct sf_arena req;
    struct sf_thread_line l;
    struct sf_thread_tie ties[16];
    size_t len = 0;
    assert_true(sf_arena_init(&req, 1 << 16));
    for (uint32_t i = 0; i < n; i++)
        ties[i] = given[i];
    assert_ok(sf_thread_line_make(1000, 1100, own, ties, n, &req, &l, NULL));
    assert_true(l.n > 0);
    assert_int_equal(l.pieces[0].start_ns, 1000);
    assert_int_equal(l.pieces[l.n - 1].end_ns, 1100);
    for (uint32_t i = 0; i < l.n; i++) {
        assert_true(i == 0 || l.pieces[i].start_ns == l.pieces[i - 1].end_ns);
        assert_ptr_equal(sf_thread_line_at(&l, l.pieces[i].start_ns), &l.pieces[i]);
        assert_ptr_equal(sf_thread_line_at(&l, l.pieces[i].end_ns - 1), &l.pieces[i]);
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%d:%d", i ? " " : "",
                                (int)l.pieces[i].thread, (int)l.pieces[i].start_ns);
    }
    assert_ptr_equal(sf_thread_line_at(&l, 0), &l.pieces[0]);
    assert_ptr_equal(sf_thread_line_at(&l, 5000), &l.pieces[l.n - 1]);
    sf_arena_done(&req);
    return text;
}

TEST(thread_line, is_unknown_when_nothing_ties_the_span_to_a_thread)
{
    assert_string_equal(line(0, NULL, 0), "0:1000");
}

TEST(thread_line, is_the_spans_own_where_no_sample_names_it)
{
    assert_string_equal(line(5, NULL, 0), "5:1000");
}

TEST(thread_line, is_that_of_the_samples_that_name_the_span)
{
    struct sf_thread_tie ties[] = {{6, 1020, 1030}, {6, 1060, 1070}};
    assert_string_equal(line(0, ties, 2), "6:1000");
}

TEST(thread_line, changes_half_way_where_a_span_is_handed_over)
{
    struct sf_thread_tie ties[] = {{6, 1000, 1040}, {7, 1060, 1070}, {6, 1090, 1095}};
    assert_string_equal(line(0, ties, 3), "6:1000 7:1050 6:1080");
}

TEST(thread_line, begins_on_the_spans_own_thread)
{
    struct sf_thread_tie ties[] = {{6, 1060, 1070}};
    assert_string_equal(line(5, ties, 1), "5:1000 6:1060");
}

TEST(thread_line, stays_with_the_thread_that_was_there_first_when_several_work)
{
    struct sf_thread_tie ties[] = {{6, 1000, 1010}, {7, 1005, 1015}, {6, 1010, 1020},
                                   {7, 1015, 1025}, {6, 1020, 1060}, {7, 1030, 1080}};
    assert_string_equal(line(0, ties, 6), "6:1000 7:1060");
}

TEST(thread_line, prefers_the_spans_own_thread_when_several_work)
{
    struct sf_thread_tie ties[] = {{6, 1000, 1100}, {5, 1040, 1060}};
    assert_string_equal(line(5, ties, 2), "6:1000 5:1040 6:1060");
}

TEST(thread_line, takes_a_gap_no_longer_than_a_sample_for_none)
{
    struct sf_thread_tie ties[] = {{6, 1000, 1010}, {7, 1012, 1018}, {6, 1020, 1030}};
    assert_string_equal(line(0, ties, 3), "6:1000"); /* 7 worked beside it */
}

TEST(thread_line, ignores_samples_outside_the_span)
{
    struct sf_thread_tie ties[] = {{6, 0, 1000}, {7, 1100, 2000}, {8, 900, 1001}};
    assert_string_equal(line(0, ties, 2), "0:1000");
    assert_string_equal(line(0, ties, 3), "8:1000");
}

TEST(thread_line, of_a_span_without_time_is_one_piece)
{
    struct sf_arena req;
    struct sf_thread_line l;
    struct sf_thread_tie tie = {6, 0, 2000};
    assert_true(sf_arena_init(&req, 1 << 16));
    assert_ok(sf_thread_line_make(7, 7, 5, &tie, 1, &req, &l, NULL));
    assert_int_equal(l.n, 1);
    assert_int_equal(l.pieces[0].thread, 5);
    req.cap = req.at;
    assert_int_equal(sf_thread_line_make(7, 9, 5, &tie, 1, &req, &l, NULL), SF_ERR_LIMIT);
    req.cap = 1 << 16;
    sf_arena_done(&req);
}
