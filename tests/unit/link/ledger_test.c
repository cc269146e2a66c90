#include "link/ledger.h"

#include "test.h"

/* A span of 100 ns at 1000, on thread 5 unless a test says otherwise; a local child 20..40 of it
 * and a remote one 50..80. */
static struct sf_span spans[] = {
    {.span_id = 1, .start_ns = 1000, .end_ns = 1100},
    {.span_id = 2, .parent_id = 1, .start_ns = 1020, .end_ns = 1040},
    {.span_id = 3, .parent_id = 1, .start_ns = 1050, .end_ns = 1080},
};

static struct sf_ledger ledger_of(uint64_t thread, uint32_t n_spans,
                                  const struct sf_ledger_sample *samples, uint32_t n,
                                  const struct sf_ledger_exact *exact)
{
    const struct sf_span_origin origins[] = {{7, thread}, {7, 0}, {8, 0}};
    struct sf_arena req;
    struct sf_span_tree tree;
    struct sf_ledger l;
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_ok(sf_span_tree_build(spans, origins, n_spans, &req, &tree, NULL));
    assert_ok(sf_ledger_make(&tree, 0, samples, n, exact, &req, &l, NULL));
    sf_arena_done(&req);
    uint64_t sum = 0;
    for (int i = 0; i < SF_PARTS; i++)
        sum += l.ns[i];
    assert_int_equal(sum, l.duration_ns);
    return l;
}

static struct sf_ledger_sample wait_for(enum sf_ledger_part part, int64_t from, int64_t to)
{
    return (struct sf_ledger_sample){.thread = 5,
                                     .start_ns = 1000 + from,
                                     .length_ns = to - from,
                                     .worth_ns = to - from,
                                     .part = (uint8_t)part,
                                     .has_time = true,
                                     .is_measured = true};
}

static struct sf_ledger_sample moment(enum sf_ledger_part part, int64_t at, int64_t worth)
{
    return (struct sf_ledger_sample){.thread = 5,
                                     .start_ns = 1000 + at,
                                     .worth_ns = worth,
                                     .part = (uint8_t)part,
                                     .has_time = true};
}

TEST(ledger, calls_unknown_what_nothing_explains)
{
    struct sf_ledger l = ledger_of(5, 1, NULL, 0, &sf_ledger_unsaid);
    assert_int_equal(l.duration_ns, 100);
    assert_int_equal(l.ns[SF_PART_UNKNOWN], 100);
}

TEST(ledger, tells_children_here_from_children_elsewhere)
{
    struct sf_ledger l = ledger_of(5, 3, NULL, 0, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_CHILD], 20);
    assert_int_equal(l.ns[SF_PART_REMOTE], 30);
    assert_int_equal(l.ns[SF_PART_UNKNOWN], 50);
    assert_string_equal(sf_ledger_source_name(l.sources[SF_PART_CHILD]), "spans");
}

TEST(ledger, lets_the_first_part_win_where_several_lie)
{
    struct sf_ledger_sample s[] = {wait_for(SF_PART_LOCK, 10, 60), wait_for(SF_PART_NET, 50, 70)};
    struct sf_ledger l = ledger_of(5, 3, s, 2, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_LOCK], 50);
    assert_int_equal(l.ns[SF_PART_NET], 10);
    assert_int_equal(l.ns[SF_PART_CHILD], 0);   /* under the lock */
    assert_int_equal(l.ns[SF_PART_REMOTE], 10); /* 70..80 */
    assert_int_equal(l.ns[SF_PART_UNKNOWN], 30);
}

TEST(ledger, clips_waits_to_the_span)
{
    struct sf_ledger_sample s[] = {wait_for(SF_PART_SLEEP, -50, 10),
                                   wait_for(SF_PART_DISK, 90, 500),
                                   wait_for(SF_PART_LOCK, 200, 300)};
    struct sf_ledger l = ledger_of(5, 1, s, 3, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_SLEEP], 10);
    assert_int_equal(l.ns[SF_PART_DISK], 10);
    assert_int_equal(l.ns[SF_PART_LOCK], 0);
    assert_int_equal(l.sources[SF_PART_LOCK], SF_SOURCE_NONE);
}

TEST(ledger, moves_a_moments_worth)
{
    struct sf_ledger_sample s[] = {moment(SF_PART_CPU, 5, 10), moment(SF_PART_CPU, 14, 10),
                                   moment(SF_PART_CPU, 30, 10)};
    struct sf_ledger l = ledger_of(5, 3, s, 3, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_CPU], 30);
    assert_int_equal(l.ns[SF_PART_CHILD], 10); /* the span's own thread worked meanwhile */
    assert_int_equal(l.ns[SF_PART_UNKNOWN], 30);
    assert_int_equal(l.n_samples, 3);
    assert_string_equal(sf_ledger_source_name(l.sources[SF_PART_CPU]), "samples");
}

/* What lies at its end is no longer in the span: it displaces nothing that is. */
TEST(ledger, ends_before_its_end)
{
    struct sf_ledger_sample before[] = {wait_for(SF_PART_SLEEP, 90, 100),
                                        moment(SF_PART_CPU, 99, 10)};
    struct sf_ledger_sample at[] = {wait_for(SF_PART_SLEEP, 90, 100), moment(SF_PART_CPU, 100, 10)};
    struct sf_ledger l = ledger_of(5, 1, before, 2, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_SLEEP], 0);
    assert_int_equal(l.ns[SF_PART_CPU], 10);
    l = ledger_of(5, 1, at, 2, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_SLEEP], 10);
}

TEST(ledger, never_has_more_than_the_span)
{
    struct sf_ledger_sample s[20];
    for (int i = 0; i < 20; i++)
        s[i] = moment(SF_PART_CPU, i * 5, 10);
    struct sf_ledger l = ledger_of(5, 1, s, 20, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_CPU], 100);
}

TEST(ledger, leaves_measured_waits_to_weaker_samples)
{
    struct sf_ledger_sample s[] = {wait_for(SF_PART_LOCK, 0, 50), moment(SF_PART_SLEEP, 20, 10)};
    struct sf_ledger l = ledger_of(5, 1, s, 2, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_LOCK], 50);
    assert_int_equal(l.ns[SF_PART_SLEEP], 0);
}

TEST(ledger, explains_only_the_unknown_with_samples_without_a_time)
{
    struct sf_ledger_sample s = {.worth_ns = 80, .part = SF_PART_CPU};
    struct sf_ledger l = ledger_of(0, 3, &s, 1, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_CPU], 50);
    assert_int_equal(l.ns[SF_PART_REMOTE], 30);
    assert_int_equal(l.ns[SF_PART_UNKNOWN], 0);
}

TEST(ledger, puts_exact_figures_before_samples)
{
    struct sf_ledger_sample s[] = {moment(SF_PART_CPU, 5, 10), moment(SF_PART_CPU, 15, 10)};
    struct sf_ledger_exact exact = sf_ledger_unsaid;
    exact.ns[SF_PART_CPU] = 7;
    exact.ns[SF_PART_RUN_QUEUE] = 3;
    struct sf_ledger l = ledger_of(5, 1, s, 2, &exact);
    assert_int_equal(l.ns[SF_PART_CPU], 7);
    assert_int_equal(l.ns[SF_PART_RUN_QUEUE], 3);
    assert_int_equal(l.ns[SF_PART_UNKNOWN], 90);
    assert_string_equal(sf_ledger_source_name(l.sources[SF_PART_CPU]), "exact");
}

TEST(ledger, lets_an_exact_figure_displace_what_is_least_sure)
{
    struct sf_ledger_sample s[] = {wait_for(SF_PART_LOCK, 0, 20)};
    struct sf_ledger_exact exact = sf_ledger_unsaid;
    exact.ns[SF_PART_CPU] = 70;
    struct sf_ledger l = ledger_of(5, 3, s, 1, &exact);
    assert_int_equal(l.ns[SF_PART_CPU], 70);
    assert_int_equal(l.ns[SF_PART_LOCK], 20);
    assert_int_equal(l.ns[SF_PART_CHILD], 10); /* unknown first, then remote, then children */
    assert_int_equal(l.ns[SF_PART_REMOTE], 0);
}

TEST(ledger, believes_an_exact_wait_more_than_the_stretch_that_tells_of_many)
{
    /* One stretch carries earlier waits with it; the disk was waited for in pieces too short to be
     * seen, once a millisecond at most. */
    struct sf_ledger_sample s[] = {wait_for(SF_PART_LOCK, 0, 15), moment(SF_PART_DISK, 90, 10)};
    struct sf_ledger_exact exact = sf_ledger_unsaid;
    exact.ns[SF_PART_CPU] = 5;
    exact.ns[SF_PART_LOCK] = 4;
    exact.ns[SF_PART_DISK] = 60;
    struct sf_ledger l = ledger_of(5, 3, s, 2, &exact);
    assert_int_equal(l.ns[SF_PART_LOCK], 4);
    assert_int_equal(l.ns[SF_PART_DISK], 60);
    assert_int_equal(l.ns[SF_PART_UNKNOWN], 0);
    assert_int_equal(l.ns[SF_PART_REMOTE],
                     11); /* gave way: who waits for a disk waits for nobody */
    assert_int_equal(l.ns[SF_PART_CHILD], 20);
    assert_string_equal(sf_ledger_source_name(l.sources[SF_PART_DISK]), "exact");
}

TEST(ledger, hears_samples_of_waits_where_the_exact_figure_is_none)
{
    struct sf_ledger_sample s = moment(SF_PART_NET, 90, 10); /* in a call that no hook sees */
    struct sf_ledger_exact exact = sf_ledger_unsaid;
    exact.ns[SF_PART_NET] = 0;
    assert_int_equal(ledger_of(5, 1, &s, 1, &exact).ns[SF_PART_NET], 10);
}

TEST(ledger, lists_other_threads_apart)
{
    struct sf_ledger_sample s[] = {moment(SF_PART_CPU, 5, 10), moment(SF_PART_CPU, 7, 10),
                                   moment(SF_PART_LOCK, 7, 10)};
    s[1].thread = 6;
    s[2].thread = 6;
    struct sf_ledger l = ledger_of(5, 1, s, 3, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_CPU], 10);
    assert_int_equal(l.ns[SF_PART_LOCK], 0);
    assert_int_equal(l.other_cpu_ns, 10);
    assert_int_equal(l.n_others, 2);
}

TEST(ledger, takes_no_vote_among_threads)
{
    struct sf_ledger_sample s[] = {moment(SF_PART_CPU, 25, 10), wait_for(SF_PART_LOCK, 0, 100),
                                   wait_for(SF_PART_LOCK, 0, 100)};
    s[1].thread = 6; /* idle threads of a pool, without ids */
    s[2].thread = 7;
    s[1].grade = s[2].grade = SF_GRADE_WINDOW;
    struct sf_ledger l = ledger_of(0, 1, s, 3, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_CPU], 10);
    assert_int_equal(l.ns[SF_PART_LOCK], 0);
    assert_int_equal(l.apart_ns[SF_PART_LOCK], 200);
    assert_int_equal(l.n_apart, 2);
    assert_int_equal(l.n_samples, 1);
}

/* Block profiles on: the pool's idle threads wait without ids all the while, the request burns CPU
 * and waits for a CPU. */
TEST(ledger, leaves_the_waits_of_idle_threads_out)
{
    struct sf_ledger_sample s[30];
    uint32_t n = 0;
    for (int i = 0; i < 4; i++)
        s[n++] = moment(SF_PART_CPU, 5 + 25 * i, 4);
    for (int i = 0; i < 8; i++)
        s[n++] = moment(SF_PART_RUN_QUEUE, 2 + 12 * i, 10);
    for (int i = 0; i < 8; i++) {
        s[n] = wait_for(SF_PART_LOCK, 0, 100);
        s[n].thread = 10 + (uint64_t)i;
        s[n].is_shared = i % 2;
        s[n++].grade = i % 2 ? SF_GRADE_WINDOW : SF_GRADE_SHARED;
    }
    for (uint64_t thread = 0; thread <= 5; thread += 5) { /* the span says its thread, or not */
        struct sf_ledger l = ledger_of(thread, 1, s, n, &sf_ledger_unsaid);
        assert_int_equal(l.ns[SF_PART_LOCK], 0);
        assert_int_equal(l.ns[SF_PART_CPU], 16);
        assert_int_equal(l.ns[SF_PART_RUN_QUEUE], 80);
        assert_int_equal(l.apart_ns[SF_PART_LOCK], 800);
    }
}

/* Go's profiles: CPU tagged and without times or threads, mutex and block of the whole process. */
TEST(ledger, does_not_spread_a_process_profile_over_its_spans)
{
    struct sf_ledger_sample s[] = {
        {.worth_ns = 60, .part = SF_PART_CPU},
        {.worth_ns = 90, .part = SF_PART_LOCK, .grade = SF_GRADE_WINDOW, .is_shared = true},
        {.worth_ns = 90, .part = SF_PART_LOCK, .grade = SF_GRADE_WINDOW},
        {.worth_ns = 30, .part = SF_PART_CPU, .grade = SF_GRADE_SHARED, .is_shared = true}};
    struct sf_ledger l = ledger_of(0, 1, s, 4, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_CPU], 60);
    assert_int_equal(l.ns[SF_PART_LOCK], 0);
    assert_int_equal(l.ns[SF_PART_UNKNOWN], 40);
    assert_int_equal(l.apart_ns[SF_PART_LOCK], 180);
    assert_int_equal(l.apart_ns[SF_PART_CPU], 30);
}

/* JFR: execution samples carry ids, parked threads of the executor do not. */
TEST(ledger, sees_a_busy_loop_beside_parked_threads)
{
    struct sf_ledger_sample s[13];
    for (int i = 0; i < 10; i++)
        s[i] = moment(SF_PART_CPU, 5 + 10 * i, 10);
    for (int i = 10; i < 13; i++) {
        s[i] = wait_for(SF_PART_LOCK, -1000, 2000);
        s[i].thread = (uint64_t)i + 40;
        s[i].grade = SF_GRADE_WINDOW;
    }
    struct sf_ledger l = ledger_of(0, 1, s, 13, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_CPU], 100);
    assert_int_equal(l.ns[SF_PART_LOCK], 0);
}

TEST(ledger, takes_unnamed_waits_of_the_spans_own_thread)
{
    struct sf_ledger_sample s[] = {moment(SF_PART_CPU, 5, 10), wait_for(SF_PART_LOCK, 20, 50)};
    s[1].grade = SF_GRADE_WINDOW;
    assert_int_equal(ledger_of(0, 1, s, 2, &sf_ledger_unsaid).ns[SF_PART_LOCK], 30);
    assert_int_equal(ledger_of(5, 1, s + 1, 1, &sf_ledger_unsaid).ns[SF_PART_LOCK], 30);
    assert_int_equal(ledger_of(0, 1, s + 1, 1, &sf_ledger_unsaid).ns[SF_PART_LOCK], 0);
}

TEST(ledger, estimates_cpu_where_the_span_was_the_only_candidate)
{
    struct sf_ledger_sample s[] = {moment(SF_PART_CPU, 5, 10), moment(SF_PART_CPU, 25, 10),
                                   moment(SF_PART_SLEEP, 45, 10)};
    s[0].grade = s[1].grade = s[2].grade = SF_GRADE_WINDOW;
    s[1].is_shared = true;
    struct sf_ledger l = ledger_of(0, 1, s, 3, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_CPU], 10);
    assert_int_equal(l.ns[SF_PART_SLEEP], 0);
    assert_string_equal(sf_ledger_source_name(l.sources[SF_PART_CPU]), "estimate");
    s[0].grade = SF_GRADE_INHERITED; /* names the request, and a time with one candidate */
    s[2].grade = SF_GRADE_INHERITED;
    l = ledger_of(0, 1, s, 3, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_CPU], 10);
    assert_int_equal(l.ns[SF_PART_SLEEP], 10);
    assert_string_equal(sf_ledger_source_name(l.sources[SF_PART_CPU]), "samples");
}

TEST(ledger, calls_what_spans_share_an_estimate)
{
    struct sf_ledger_sample s[] = {moment(SF_PART_CPU, 5, 10), moment(SF_PART_CPU, 25, 10),
                                   moment(SF_PART_CPU, 45, 1), wait_for(SF_PART_LOCK, 60, 80)};
    struct sf_ledger l = ledger_of(0, 1, s, 4, &sf_ledger_unsaid);
    assert_string_equal(sf_ledger_source_name(l.sources[SF_PART_CPU]), "samples");
    s[2].is_guess = true; /* two requests ran on its thread; a twentieth is hardly anything */
    l = ledger_of(0, 1, s, 4, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_CPU], 21);
    assert_string_equal(sf_ledger_source_name(l.sources[SF_PART_CPU]), "samples");
    s[1].is_guess = s[3].is_guess = true;
    l = ledger_of(0, 1, s, 4, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_CPU], 21);
    assert_string_equal(sf_ledger_source_name(l.sources[SF_PART_CPU]), "estimate");
    assert_string_equal(sf_ledger_source_name(l.sources[SF_PART_LOCK]), "estimate");
}

TEST(ledger, follows_a_span_that_is_handed_over)
{
    struct sf_ledger_sample s[] = {moment(SF_PART_CPU, 5, 10),     moment(SF_PART_CPU, 15, 10),
                                   moment(SF_PART_CPU, 65, 10),    moment(SF_PART_CPU, 75, 10),
                                   wait_for(SF_PART_LOCK, 20, 35), wait_for(SF_PART_DISK, 80, 95),
                                   wait_for(SF_PART_SLEEP, 0, 30), wait_for(SF_PART_NET, 50, 100)};
    s[2].thread = s[3].thread = 6; /* from about 40 on */
    s[4].grade = s[5].grade = s[6].grade = s[7].grade = SF_GRADE_WINDOW;
    s[5].thread = 6;
    s[6].thread = 6; /* it was not the span's yet */
    s[7].thread = 5; /* not any more */
    for (uint64_t thread = 0; thread <= 5; thread += 5) {
        struct sf_ledger l = ledger_of(thread, 1, s, 8, &sf_ledger_unsaid);
        assert_int_equal(l.ns[SF_PART_CPU], 40);
        assert_int_equal(l.ns[SF_PART_LOCK], 15);
        assert_int_equal(l.ns[SF_PART_DISK], 15);
        assert_int_equal(l.ns[SF_PART_SLEEP], 0);
        assert_int_equal(l.ns[SF_PART_NET], 0);
        assert_int_equal(l.other_cpu_ns, 0);
    }
}

/* The thread that takes a span over may have waited for it before. */
TEST(ledger, counts_a_wait_from_when_the_span_was_on_that_thread)
{
    struct sf_ledger_sample s[] = {moment(SF_PART_CPU, 5, 0), moment(SF_PART_CPU, 75, 0),
                                   wait_for(SF_PART_DISK, 20, 90)};
    s[1].thread = s[2].thread = 6; /* from 40 on */
    s[2].grade = SF_GRADE_WINDOW;
    struct sf_ledger l = ledger_of(5, 1, s, 3, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_DISK], 50);
}

TEST(ledger, says_what_had_no_room)
{
    struct sf_ledger_sample s[] = {moment(SF_PART_CPU, 50, 130), moment(SF_PART_CPU, 60, 5)};
    struct sf_ledger_exact exact = sf_ledger_unsaid;
    struct sf_ledger l = ledger_of(5, 1, s, 2, &exact);
    assert_int_equal(l.ns[SF_PART_CPU], 100);
    assert_int_equal(l.cut_ns[SF_PART_CPU], 35);
    exact.ns[SF_PART_CPU] = 90;
    exact.ns[SF_PART_DISK] = 30;
    l = ledger_of(5, 1, s, 2, &exact);
    assert_int_equal(l.ns[SF_PART_DISK], 10);
    assert_int_equal(l.cut_ns[SF_PART_DISK], 20);
    assert_int_equal(l.cut_ns[SF_PART_CPU], 0);
}

TEST(ledger, lets_a_filler_say_only_what_nothing_else_did)
{
    struct sf_ledger_sample s[] = {wait_for(SF_PART_SLEEP, 0, 50), moment(SF_PART_LOCK, 20, 10),
                                   moment(SF_PART_LOCK, 70, 10)};
    s[1].is_filler = s[2].is_filler = true;
    struct sf_ledger l = ledger_of(5, 1, s, 3, &sf_ledger_unsaid);
    assert_int_equal(l.ns[SF_PART_SLEEP], 50);
    assert_int_equal(l.ns[SF_PART_LOCK], 10);
}

TEST(ledger, copes_with_spans_without_time_and_absurd_samples)
{
    struct sf_span saved = spans[0];
    struct sf_ledger_sample s[] = {wait_for(SF_PART_LOCK, 0, 10),
                                   moment(SF_PART_CPU, 0, 10),
                                   {.start_ns = -5,
                                    .length_ns = INT64_MAX,
                                    .worth_ns = INT64_MAX,
                                    .part = SF_PART_NET,
                                    .has_time = true,
                                    .is_measured = true},
                                   {.worth_ns = -7, .part = SF_PART_CPU}};
    spans[0].end_ns = 10;
    struct sf_ledger l = ledger_of(5, 1, s, 4, &sf_ledger_unsaid);
    spans[0] = saved;
    assert_int_equal(l.duration_ns, 0);
    l = ledger_of(5, 1, s, 4, &sf_ledger_unsaid);
    assert_int_equal(l.duration_ns, 100);
}

TEST(ledger, has_a_part_for_every_state)
{
    assert_int_equal(sf_ledger_part_of(SF_STATE_RUNNING), SF_PART_CPU);
    assert_int_equal(sf_ledger_part_of(SF_STATE_GC), SF_PART_GC);
    assert_int_equal(sf_ledger_part_of(SF_STATE_RUN_QUEUE), SF_PART_RUN_QUEUE);
    assert_int_equal(sf_ledger_part_of(SF_STATE_UNKNOWN), SF_PART_UNKNOWN);
    for (int i = 0; i < SF_PARTS; i++) {
        assert_non_null(sf_ledger_part_name((enum sf_ledger_part)i));
        assert_non_null(sf_ledger_part_words((enum sf_ledger_part)i));
    }
}

TEST(ledger, says_when_memory_runs_out)
{
    static struct sf_ledger_sample s[100];
    struct sf_arena req, small;
    struct sf_span_tree tree;
    struct sf_ledger l;
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_true(sf_arena_init(&small, 128));
    assert_ok(sf_span_tree_build(spans, NULL, 1, &req, &tree, NULL));
    assert_err(sf_ledger_make(&tree, 0, s, 100, &sf_ledger_unsaid, &small, &l, NULL), SF_ERR_LIMIT);
    sf_arena_done(&small);
    sf_arena_done(&req);
}
