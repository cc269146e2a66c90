#include "link/clock_fix.h"

#include "link/clock_skew.h"
#include "link/critical_path.h"
#include "link/ledger.h"
#include "test.h"

/* Times are small numbers: the rules know no units. A span's process is its id's hundreds. */
static struct sf_span span(sf_span_id id, sf_span_id parent, uint8_t kind, uint64_t start,
                           uint64_t end)
{
    return (struct sf_span){
        .span_id = id, .parent_id = parent, .kind = kind, .start_ns = start, .end_ns = end};
}

struct fixed {
    struct sf_arena req;
    struct sf_span_tree t;
    struct sf_clock_fix fix;
};

static void fix(const struct sf_span *spans, uint32_t n, struct fixed *f)
{
    static struct sf_span_origin origins[64];
    for (uint32_t i = 0; i < n; i++)
        origins[i].process = spans[i].span_id / 100;
    assert_true(sf_arena_init(&f->req, 1 << 20));
    assert_ok(sf_span_tree_build(spans, origins, n, &f->req, &f->t, NULL));
    assert_ok(sf_clock_fix_make(&f->t, &f->req, &f->fix, NULL));
}

static void assert_at(const struct fixed *f, uint32_t i, uint64_t start, uint64_t end)
{
    assert_int_equal(sf_span_tree_start_ns(&f->t, i), start);
    assert_int_equal(sf_span_tree_end_ns(&f->t, i), end);
}

TEST(clock_fix, moves_a_whole_process_by_one_difference)
{
    /* 200's clock is 300 ahead; what it does itself and what it calls in 300 goes along. */
    const struct sf_span spans[] = {
        span(100, 0, SF_KIND_CLIENT, 1000, 1100), span(200, 100, SF_KIND_SERVER, 1310, 1390),
        span(201, 200, SF_KIND_INTERNAL, 1320, 1330), span(202, 200, SF_KIND_CLIENT, 1340, 1380),
        span(300, 202, SF_KIND_SERVER, 1350, 1370)};
    struct fixed f;
    fix(spans, 5, &f);
    assert_at(&f, 0, 1000, 1100);
    assert_at(&f, 1, 1010, 1090);
    assert_at(&f, 2, 1020, 1030);
    assert_at(&f, 3, 1040, 1080);
    assert_at(&f, 4, 1050, 1070); /* 300's clock is that of 200 */
    assert_int_equal(f.fix.n_offsets, 1);
    assert_int_equal(f.fix.offsets[0].parent, 0);
    assert_int_equal(f.fix.offsets[0].child, 1);
    assert_int_equal(f.fix.offsets[0].offset_ns, 300);
    assert_int_equal(f.fix.offsets[0].slack_ns, 10);
    assert_int_equal(f.fix.offsets[0].n_calls, 1);
    assert_false(f.fix.offsets[0].is_contradictory);
    assert_int_equal(f.fix.n_calls, 2);
    assert_int_equal(f.fix.n_moved, 4);
    sf_arena_done(&f.req);
}

TEST(clock_fix, takes_what_all_calls_of_two_processes_allow_together)
{
    /* Alone the first allows -40..-10, the second -70..-20, the third (back) -30..10. */
    const struct sf_span spans[] = {
        span(100, 0, SF_KIND_SERVER, 0, 1000),    span(101, 100, SF_KIND_CLIENT, 100, 200),
        span(200, 101, SF_KIND_SERVER, 90, 160),  span(102, 100, SF_KIND_CLIENT, 300, 400),
        span(201, 102, SF_KIND_SERVER, 280, 330), span(202, 201, SF_KIND_CLIENT, 290, 320),
        span(103, 202, SF_KIND_SERVER, 320, 330),
    };
    struct fixed f;
    fix(spans, 7, &f);
    assert_int_equal(f.fix.n_offsets, 1);
    assert_false(f.fix.offsets[0].is_contradictory);
    assert_int_equal(f.fix.offsets[0].n_calls, 3);
    assert_int_equal(f.fix.offsets[0].offset_ns, -25);
    assert_int_equal(f.fix.offsets[0].slack_ns, 5);
    assert_at(&f, 2, 115, 185);
    assert_at(&f, 6, 320, 330); /* its own process is that of the root: not moved */
    sf_arena_done(&f.req);
}

TEST(clock_fix, leaves_clocks_alone_that_agree)
{
    const struct sf_span spans[] = {
        span(100, 0, SF_KIND_CLIENT, 1000, 1100), span(200, 100, SF_KIND_SERVER, 1000, 1100),
        span(300, 100, SF_KIND_CONSUMER, 1050, 5000), /* a message, handled later */
        span(400, 100, SF_KIND_SERVER, 1090, 1500),   /* longer than its caller: it continued */
    };
    struct fixed f;
    fix(spans, 4, &f);
    assert_int_equal(f.fix.n_offsets, 0);
    assert_int_equal(f.fix.n_calls, 3);
    assert_null(f.t.shifts_ns);
    assert_at(&f, 3, 1090, 1500);
    sf_arena_done(&f.req);
}

TEST(clock_fix, moves_calls_one_by_one_where_no_difference_fits_all)
{
    /* 200 is 500 ahead, then 500 behind: its clock was set between the calls. */
    const struct sf_span spans[] = {
        span(100, 0, SF_KIND_SERVER, 0, 3000),      span(101, 100, SF_KIND_CLIENT, 1000, 1100),
        span(200, 101, SF_KIND_SERVER, 1510, 1590), span(102, 100, SF_KIND_CLIENT, 2000, 2100),
        span(201, 102, SF_KIND_SERVER, 1510, 1590), span(202, 201, SF_KIND_INTERNAL, 1520, 1530),
    };
    struct fixed f;
    fix(spans, 6, &f);
    assert_int_equal(f.fix.n_offsets, 1);
    assert_true(f.fix.offsets[0].is_contradictory);
    assert_int_equal(f.fix.offsets[0].n_calls, 2);
    assert_int_equal(f.fix.offsets[0].offset_ns, 500);
    assert_at(&f, 2, 1010, 1090);
    assert_at(&f, 4, 2010, 2090);
    assert_at(&f, 5, 2020, 2030); /* with what it did */
    sf_arena_done(&f.req);
}

TEST(clock_fix, moves_a_third_one_by_itself_when_two_disagree_of_it)
{
    /* 300 fits 100's clock, but 200 says it is 500 ahead of it and 200 is right with 100. */
    const struct sf_span spans[] = {
        span(100, 0, SF_KIND_CLIENT, 1000, 2000),   span(300, 100, SF_KIND_SERVER, 1100, 1200),
        span(200, 100, SF_KIND_SERVER, 1300, 1900), span(201, 200, SF_KIND_CLIENT, 1400, 1500),
        span(301, 201, SF_KIND_SERVER, 1910, 1990),
    };
    struct fixed f;
    fix(spans, 5, &f);
    assert_at(&f, 1, 1100, 1200);
    assert_at(&f, 4, 1410, 1490);
    assert_int_equal(f.fix.n_offsets, 1);
    assert_true(f.fix.offsets[0].is_contradictory);
    sf_arena_done(&f.req);
}

TEST(clock_fix, takes_the_clock_of_who_began_it_all)
{
    /* The first by time has lost its parent; what it called is the root's process. */
    const struct sf_span spans[] = {
        span(200, 999, SF_KIND_CLIENT, 10, 50), span(300, 200, SF_KIND_SERVER, 520, 540),
        span(100, 0, SF_KIND_CLIENT, 1000, 1100), span(301, 100, SF_KIND_SERVER, 1010, 1090)};
    struct fixed f;
    fix(spans, 4, &f);
    assert_at(&f, 2, 1000, 1100);
    assert_at(&f, 3, 1010, 1090);
    assert_at(&f, 0, 10, 50);
    assert_at(&f, 1, 20, 40); /* contradicts the root's clock: by itself */
    sf_arena_done(&f.req);
}

TEST(clock_fix, makes_the_critical_path_go_through_the_call)
{
    const struct sf_span spans[] = {span(100, 0, SF_KIND_CLIENT, 1000, 1100),
                                    span(200, 100, SF_KIND_SERVER, 1310, 1390)};
    struct sf_critical_path p;
    struct fixed f;
    fix(spans, 2, &f);
    assert_ok(sf_critical_path_find(&f.t, &f.req, &p, NULL));
    assert_int_equal(p.critical_ns[0], 20);
    assert_int_equal(p.critical_ns[1], 80);
    assert_int_equal(p.total_ns, 100);
    assert_int_equal(p.segments[1].start_ns, 1010);
    sf_arena_done(&f.req);
}

TEST(clock_fix, lets_a_ledger_see_the_remote_child)
{
    const struct sf_span spans[] = {
        span(100, 0, SF_KIND_CLIENT, 1000, 1100), span(200, 100, SF_KIND_SERVER, 1310, 1390),
        span(201, 200, SF_KIND_CLIENT, 1320, 1380), span(300, 201, SF_KIND_SERVER, 2330, 2370)};
    struct sf_ledger l;
    struct fixed f;
    fix(spans, 4, &f);
    assert_ok(sf_ledger_make(&f.t, 0, NULL, 0, &sf_ledger_unsaid, &f.req, &l, NULL));
    assert_int_equal(l.ns[SF_PART_REMOTE], 80);
    assert_int_equal(l.ns[SF_PART_UNKNOWN], 20);
    assert_ok(
        sf_ledger_make(&f.t, 2, NULL, 0, &sf_ledger_unsaid, &f.req, &l, NULL)); /* moved itself */
    assert_int_equal(l.ns[SF_PART_REMOTE], 40);
    assert_int_equal(l.ns[SF_PART_UNKNOWN], 20);
    sf_arena_done(&f.req);
}

TEST(clock_fix, bears_absurd_times_loops_and_long_chains)
{
    static struct sf_span spans[60];
    struct fixed f;
    for (uint32_t i = 0; i < 60; i++) /* each host 2^61 behind the last, and so on round */
        spans[i] = span((i + 1) * 100, i * 100, SF_KIND_SERVER, i % 2 ? 0 : UINT64_MAX / 2,
                        i % 3 ? UINT64_MAX : 0);
    spans[0].parent_id = 6000;
    fix(spans, 60, &f);
    for (uint32_t i = 0; i < 60; i++)
        assert_true(sf_span_tree_start_ns(&f.t, i) <= sf_span_tree_end_ns(&f.t, i));
    sf_arena_done(&f.req);
}

TEST(clock_fix, says_limit_when_the_arena_is_full)
{
    static const struct sf_span spans[] = {{.span_id = 100, .start_ns = 10, .end_ns = 20},
                                           {.span_id = 200, .parent_id = 100}};
    static const struct sf_span_origin origins[] = {{1, 0}, {2, 0}};
    struct sf_arena req, small;
    struct sf_span_tree t;
    struct sf_clock_fix out;
    assert_true(sf_arena_init(&req, 1 << 20) && sf_arena_init(&small, 64));
    assert_ok(sf_span_tree_build(spans, origins, 2, &req, &t, NULL));
    while (sf_arena_new(&small, 16))
        continue;
    assert_err(sf_clock_fix_make(&t, &small, &out, NULL), SF_ERR_LIMIT);
    sf_arena_done(&req);
    sf_arena_done(&small);
}
