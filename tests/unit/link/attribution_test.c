#include "link/attribution.h"

#include "base/account.h"
#include "test.h"

/* A request: gateway (process 7) calls checkout (process 8), which validates, then pays.
 *
 *   1 gateway   0..100   process 7
 *   2 checkout 10..90    process 8, thread 80
 *   3 validate 20..40    process 8, thread 80
 *   4 pay      40..80    process 8, thread 81
 */
enum { GATEWAY, CHECKOUT, VALIDATE, PAY, N_SPANS };

static struct sf_span spans[] = {
    {.span_id = 1, .parent_id = 0, .start_ns = 0, .end_ns = 100},
    {.span_id = 2, .parent_id = 1, .start_ns = 10, .end_ns = 90},
    {.span_id = 3, .parent_id = 2, .start_ns = 20, .end_ns = 40},
    {.span_id = 4, .parent_id = 2, .start_ns = 40, .end_ns = 80},
};
static const struct sf_span_origin with_threads[] = {{7, 0}, {8, 80}, {8, 80}, {8, 81}};
static const struct sf_span_origin without_threads[] = {{7, 0}, {8, 0}, {8, 0}, {8, 0}};

static struct sf_arena req;
static struct sf_attribution a;

static void attribute(const struct sf_span *list, const struct sf_span_origin *origins, uint32_t n,
                      const struct sf_attribution_input *in)
{
    struct sf_span_tree *tree;
    struct sf_local_index *index;
    sf_arena_done(&req);
    assert_true(sf_arena_init(&req, 32 << 20));
    tree = sf_arena_new(&req, sizeof(*tree));
    index = sf_arena_new(&req, sizeof(*index));
    assert_ok(sf_span_tree_build(list, origins, n, &req, tree, NULL));
    assert_ok(sf_local_index_build(tree, &req, index, NULL));
    assert_ok(sf_attribution_make(index, in, &req, &a, NULL));
}

static void one(const struct sf_span_origin *origins, struct sf_link_sample sample)
{
    struct sf_attribution_input in = {.samples = &sample, .n_samples = 1};
    attribute(spans, origins, N_SPANS, &in);
}

static void assert_claim(uint32_t i, uint32_t span, int64_t value, enum sf_grade grade)
{
    assert_true(i < a.n_claims);
    assert_int_equal(a.claims[i].span, span);
    assert_int_equal(a.claims[i].value, value);
    assert_string_equal(sf_attribution_grade_name(a.claims[i].grade),
                        sf_attribution_grade_name(grade));
}

TEST(attribution, gives_a_sample_to_the_span_it_names)
{
    one(with_threads, (struct sf_link_sample){.span_id = 3, .value = 10});
    assert_int_equal(a.n_claims, 1);
    assert_claim(0, VALIDATE, 10, SF_GRADE_EXACT);
    assert_int_equal(a.n_samples[SF_GRADE_EXACT], 1);
    assert_int_equal(a.values[SF_GRADE_EXACT], 10);
}

/* A recording of the whole process, uploaded for checkout: which of its threads worked for it? */
TEST(attribution, believes_a_lent_id_on_a_thread_of_the_request)
{
    one(with_threads, (struct sf_link_sample){.span_id = 4,
                                              .thread = 81,
                                              .value = 10,
                                              .start_ns = 50,
                                              .has_time = true,
                                              .is_lent = true});
    assert_int_equal(a.n_claims, 1);
    assert_claim(0, PAY, 10, SF_GRADE_EXACT);
}

TEST(attribution, takes_other_threads_of_a_lent_id_for_what_went_on_meanwhile)
{
    struct sf_link_sample s = {
        .span_id = 4, .thread = 81, .value = 10, .start_ns = 15, .has_time = true, .is_lent = true};
    one(without_threads, s);
    assert_int_equal(a.n_claims, 1);
    assert_claim(0, CHECKOUT, 10, SF_GRADE_WINDOW);
    s.thread = 99; /* the request's spans were on others */
    one(with_threads, s);
    assert_int_equal(a.n_claims, 0);
    assert_int_equal(a.n_unclaimed[SF_UNCLAIMED_TIME], 1);
    s.has_time = false;
    s.length_ns = 100;
    one(with_threads, s);
    assert_int_equal(a.n_samples[SF_GRADE_WINDOW], 1);
    assert_int_equal(a.n_samples[SF_GRADE_EXACT], 0);
}

TEST(attribution, does_not_take_a_lent_id_for_a_process_that_tags_children)
{
    struct sf_link_sample samples[] = {{.span_id = 2, .value = 100},
                                       {.span_id = 4, .value = 1, .thread = 99, .is_lent = true}};
    struct sf_attribution_input in = {.samples = samples, .n_samples = 2};
    attribute(spans, with_threads, N_SPANS, &in);
    assert_claim(0, CHECKOUT, 25, SF_GRADE_SHARED);
}

/* Others name the request; this one lost its id. */
TEST(attribution, gives_what_lost_its_id_to_the_span_on_its_thread)
{
    struct sf_link_sample s = {.process = 8,
                               .thread = 80,
                               .value = 10,
                               .start_ns = 50,
                               .has_time = true,
                               .is_by_thread = true};
    one(with_threads, s); /* pay runs on another thread meanwhile */
    assert_int_equal(a.n_claims, 1);
    assert_claim(0, CHECKOUT, 10, SF_GRADE_WINDOW);
    assert_true(a.claims[0].is_known);
    s.thread = 99;
    one(with_threads, s);
    assert_int_equal(a.n_claims, 0);
    assert_int_equal(a.n_unclaimed[SF_UNCLAIMED_TIME], 1);
    s.thread = 80;
    one(without_threads, s); /* time alone does not decide it */
    assert_int_equal(a.n_claims, 0);
}

TEST(attribution, gives_what_lost_its_id_to_nobody_where_two_requests_had_its_thread)
{
    const struct sf_span two[] = {{.span_id = 1, .start_ns = 0, .end_ns = 100},
                                  {.span_id = 2, .start_ns = 40, .end_ns = 60}};
    const struct sf_span_origin origins[] = {{8, 80}, {8, 80}};
    struct sf_link_sample samples[] = {
        {.process = 8, .thread = 80, .value = 1, .start_ns = 50, .has_time = true},
        {.process = 8, .thread = 80, .value = 2, .start_ns = 70, .has_time = true}};
    struct sf_attribution_input in = {.samples = samples, .n_samples = 2};
    samples[0].is_by_thread = samples[1].is_by_thread = true;
    attribute(two, origins, 2, &in);
    assert_int_equal(a.n_claims, 1);
    assert_claim(0, 0, 2, SF_GRADE_WINDOW);
    assert_int_equal(a.values[SF_GRADE_NONE], 1);
}

TEST(attribution, leaves_a_sample_of_an_unknown_span)
{
    one(with_threads, (struct sf_link_sample){.span_id = 99, .value = 10});
    assert_int_equal(a.n_claims, 0);
    assert_int_equal(a.n_unclaimed[SF_UNCLAIMED_SPAN], 1);
    assert_int_equal(a.values[SF_GRADE_NONE], 10);
}

TEST(attribution, hands_a_local_roots_sample_down_by_time)
{
    one(without_threads,
        (struct sf_link_sample){.span_id = 2, .value = 10, .start_ns = 50, .has_time = true});
    assert_int_equal(a.n_claims, 1);
    assert_claim(0, PAY, 10, SF_GRADE_INHERITED);
}

TEST(attribution, looks_at_the_middle_of_a_stretch)
{
    one(without_threads,
        (struct sf_link_sample){
            .span_id = 2, .start_ns = 34, .length_ns = 10, .value = 10, .has_time = true});
    assert_claim(0, VALIDATE, 10, SF_GRADE_INHERITED);
    one(without_threads,
        (struct sf_link_sample){
            .span_id = 2, .start_ns = 36, .length_ns = 10, .value = 10, .has_time = true});
    assert_claim(0, PAY, 10, SF_GRADE_INHERITED);
}

TEST(attribution, goes_by_thread_when_both_know_it)
{
    one(with_threads,
        (struct sf_link_sample){
            .span_id = 2, .thread = 80, .start_ns = 50, .value = 10, .has_time = true});
    assert_claim(0, CHECKOUT, 10, SF_GRADE_INHERITED); /* pay runs on thread 81 */
    one(with_threads,
        (struct sf_link_sample){
            .span_id = 2, .thread = 81, .start_ns = 50, .value = 10, .has_time = true});
    assert_claim(0, PAY, 10, SF_GRADE_INHERITED);
}

/* Many SDKs tag the request's first span only: its own code is as sure as its children's. */
TEST(attribution, calls_a_local_roots_own_code_inherited)
{
    one(without_threads,
        (struct sf_link_sample){.span_id = 2, .value = 10, .start_ns = 15, .has_time = true});
    assert_claim(0, CHECKOUT, 10, SF_GRADE_INHERITED);
    assert_true(a.claims[0].is_whole);
    struct sf_link_sample s = {
        .span_id = 2, .value = 10, .start_ns = 15, .thread = 99, .has_time = true};
    one(with_threads, s); /* on a thread of no span: of the request, and no child */
    assert_claim(0, CHECKOUT, 10, SF_GRADE_INHERITED);
}

TEST(attribution, calls_the_only_span_of_a_process_exact)
{
    one(without_threads,
        (struct sf_link_sample){.span_id = 1, .value = 10, .start_ns = 15, .has_time = true});
    assert_claim(0, GATEWAY, 10, SF_GRADE_EXACT);
}

TEST(attribution, leaves_what_names_a_span_that_did_not_run_then)
{
    struct sf_link_sample late[] = {
        {.span_id = 2, .value = 10, .start_ns = 95, .has_time = true},
        {.span_id = 1, .value = 10, .start_ns = 105, .has_time = true},
        {.span_id = 3, .value = 10, .start_ns = 45, .has_time = true},
        {.span_id = 3, .value = 10, .start_ns = 5, .length_ns = 10, .has_time = true}};
    for (int i = 0; i < 4; i++) {
        one(without_threads, late[i]);
        assert_int_equal(a.n_claims, 0);
        assert_int_equal(a.n_unclaimed[SF_UNCLAIMED_OUTSIDE], 1);
        assert_int_equal(a.values[SF_GRADE_NONE], 10);
        struct sf_attribution_input in = {.samples = &late[i], .n_samples = 1, .slack_ns = 6};
        attribute(spans, without_threads, N_SPANS, &in); /* clocks are that far apart */
        assert_int_equal(a.n_claims, 1);
    }
    late[3].length_ns = 16; /* a wait that lasts into it */
    one(without_threads, late[3]);
    assert_claim(0, VALIDATE, 10, SF_GRADE_EXACT);
}

TEST(attribution, shares_a_local_roots_untimed_samples_by_self_time)
{
    /* self: checkout 80 - 60 = 20, validate 20, pay 40; the gateway's process is another */
    one(without_threads, (struct sf_link_sample){.span_id = 2, .value = 101});
    assert_int_equal(a.n_claims, 3);
    assert_claim(0, CHECKOUT, 25, SF_GRADE_SHARED);
    assert_claim(1, VALIDATE, 26, SF_GRADE_SHARED);
    assert_claim(2, PAY, 50, SF_GRADE_SHARED);
    assert_int_equal(a.n_samples[SF_GRADE_SHARED], 1);
}

TEST(attribution, believes_a_process_that_tags_children)
{
    struct sf_link_sample samples[] = {{.span_id = 2, .value = 100}, {.span_id = 4, .value = 1}};
    struct sf_attribution_input in = {.samples = samples, .n_samples = 2};
    attribute(spans, without_threads, N_SPANS, &in);
    assert_int_equal(a.n_claims, 2);
    assert_claim(0, CHECKOUT, 100, SF_GRADE_EXACT);
    assert_claim(1, PAY, 1, SF_GRADE_EXACT);
}

TEST(attribution, believes_a_process_the_caller_knows)
{
    const uint64_t exact[] = {8};
    struct sf_link_sample sample = {.span_id = 2, .value = 100};
    struct sf_attribution_input in = {
        .samples = &sample, .n_samples = 1, .exact_processes = exact, .n_exact = 1};
    attribute(spans, without_threads, N_SPANS, &in);
    assert_int_equal(a.n_claims, 1);
    assert_claim(0, CHECKOUT, 100, SF_GRADE_EXACT);
}

TEST(attribution, keeps_only_claims_that_are_wanted_but_the_same_ones)
{
    const bool wanted[N_SPANS] = {[VALIDATE] = true};
    struct sf_link_sample sample = {.span_id = 2, .value = 101};
    struct sf_attribution_input in = {.samples = &sample, .n_samples = 1, .is_wanted = wanted};
    attribute(spans, without_threads, N_SPANS, &in);
    assert_int_equal(a.n_claims, 1);
    assert_claim(0, VALIDATE, 26, SF_GRADE_SHARED);
}

TEST(attribution, shares_unnamed_work_among_what_the_process_did_then)
{
    /* A second request in process 8 meanwhile: 5 export 30..60. */
    struct sf_span more[N_SPANS + 1];
    struct sf_span_origin origins[N_SPANS + 1];
    memcpy(more, spans, sizeof(spans));
    memcpy(origins, without_threads, sizeof(without_threads));
    more[N_SPANS] = (struct sf_span){.span_id = 5, .start_ns = 30, .end_ns = 60};
    origins[N_SPANS] = (struct sf_span_origin){8, 0};
    struct sf_link_sample samples[] = {
        {.process = 8, .start_ns = 50, .value = 10, .has_time = true}, /* pay and export */
        {.process = 8, .start_ns = 70, .value = 10, .has_time = true}, /* pay */
        {.process = 8, .start_ns = 99, .value = 10, .has_time = true}, /* idle */
        {.process = 9, .start_ns = 50, .value = 10, .has_time = true}, /* somebody else */
    };
    struct sf_attribution_input in = {.samples = samples, .n_samples = 4};
    attribute(more, origins, N_SPANS + 1, &in);
    assert_int_equal(a.n_claims, 3);
    assert_claim(0, N_SPANS, 5, SF_GRADE_WINDOW);
    assert_claim(1, PAY, 5, SF_GRADE_WINDOW);
    assert_claim(2, PAY, 10, SF_GRADE_WINDOW);
    assert_int_equal(a.n_unclaimed[SF_UNCLAIMED_TIME], 1);
    assert_int_equal(a.n_unclaimed[SF_UNCLAIMED_PROCESS], 1);
}

TEST(attribution, lets_the_samples_own_thread_outbid_others)
{
    struct sf_span more[N_SPANS + 1];
    struct sf_span_origin origins[N_SPANS + 1];
    memcpy(more, spans, sizeof(spans));
    memcpy(origins, with_threads, sizeof(with_threads));
    more[N_SPANS] = (struct sf_span){.span_id = 5, .start_ns = 30, .end_ns = 60};
    origins[N_SPANS] = (struct sf_span_origin){8, 0};
    struct sf_link_sample sample = {
        .process = 8, .thread = 81, .start_ns = 50, .value = 10, .has_time = true};
    struct sf_attribution_input in = {.samples = &sample, .n_samples = 1};
    attribute(more, origins, N_SPANS + 1, &in);
    assert_int_equal(a.n_claims, 1);
    assert_claim(0, PAY, 10, SF_GRADE_WINDOW);
}

TEST(attribution, shares_an_untagged_profile_by_self_time_inside_it)
{
    /* The profile covers 0..30: checkout by itself 10..20, validate 20..30. */
    one(without_threads,
        (struct sf_link_sample){.process = 8, .start_ns = 0, .length_ns = 30, .value = 30});
    assert_int_equal(a.n_claims, 2);
    assert_claim(0, CHECKOUT, 15, SF_GRADE_WINDOW);
    assert_claim(1, VALIDATE, 15, SF_GRADE_WINDOW);
}

TEST(attribution, finds_the_requests_tree_from_its_trace_alone)
{
    struct sf_span two[] = {
        {.trace_id = {{1}}, .span_id = 1, .start_ns = 0, .end_ns = 10},
        {.trace_id = {{2}}, .span_id = 1, .start_ns = 0, .end_ns = 10},
    };
    const struct sf_span_origin origins[] = {{8, 0}, {8, 0}};
    struct sf_link_sample samples[] = {
        {.trace_id = {{2}}, .process = 8, .start_ns = 5, .value = 3, .has_time = true},
        {.trace_id = {{1}}, .process = 8, .value = 4},
        {.trace_id = {{3}}, .process = 8, .value = 5},
    };
    struct sf_attribution_input in = {.samples = samples, .n_samples = 3};
    attribute(two, origins, 2, &in);
    assert_int_equal(a.n_claims, 2);
    assert_claim(0, 1, 3, SF_GRADE_INHERITED);
    assert_claim(1, 0, 4, SF_GRADE_INHERITED);
    assert_int_equal(a.n_unclaimed[SF_UNCLAIMED_TIME], 1);
}

TEST(attribution, gives_a_root_without_any_time_its_samples)
{
    struct sf_span list[] = {{.span_id = 1, .start_ns = 5, .end_ns = 5},
                             {.span_id = 2, .parent_id = 1, .start_ns = 5, .end_ns = 5}};
    struct sf_link_sample sample = {.span_id = 1, .value = 7};
    struct sf_attribution_input in = {.samples = &sample, .n_samples = 1};
    attribute(list, NULL, 2, &in);
    assert_int_equal(a.n_claims, 1);
    assert_claim(0, 0, 7, SF_GRADE_INHERITED);
}

TEST(attribution, says_when_memory_runs_out)
{
    static struct sf_link_sample samples[4000];
    struct sf_span_tree tree;
    struct sf_local_index index;
    struct sf_attribution got;
    struct sf_why why;
    struct sf_arena small, big;
    for (int i = 0; i < 4000; i++)
        samples[i] = (struct sf_link_sample){.span_id = 2, .value = 100};
    struct sf_attribution_input in = {.samples = samples, .n_samples = 4000};
    assert_true(sf_arena_init(&big, 1 << 20));
    assert_true(sf_arena_init(&small, 4096));
    assert_ok(sf_span_tree_build(spans, without_threads, N_SPANS, &big, &tree, NULL));
    assert_ok(sf_local_index_build(&tree, &big, &index, NULL));
    assert_int_equal(sf_attribution_make(&index, &in, &small, &got, &why), SF_ERR_LIMIT);
    assert_string_equal(why.text, "link: no memory to attribute 4000 samples");
    sf_arena_done(&small);
    sf_arena_done(&big);
}

/* Children of 1 ms, 0.3 ms after the whole one; the time of the sample was cut to that. */
TEST(attribution, splits_a_sample_whose_time_was_cut_among_the_spans_of_its_millisecond)
{
    struct sf_span kids[] = {
        {.span_id = 1, .start_ns = 0, .end_ns = 10000000},
        {.span_id = 2, .parent_id = 1, .start_ns = 2300000, .end_ns = 3300000},
        {.span_id = 3, .parent_id = 1, .start_ns = 3300000, .end_ns = 4300000},
    };
    const struct sf_span_origin origins[] = {{8, 0}, {8, 0}, {8, 0}};
    struct sf_link_sample s = {
        .span_id = 1, .value = 1000, .start_ns = 3000000, .blur_ns = 1000000, .has_time = true};
    struct sf_attribution_input in = {.samples = &s, .n_samples = 1};
    attribute(kids, origins, 3, &in);
    assert_int_equal(a.n_claims, 2);
    assert_claim(0, 1, 300, SF_GRADE_INHERITED);
    assert_claim(1, 2, 700, SF_GRADE_INHERITED);
    assert_false(a.claims[0].is_known);
    assert_int_equal(a.claims[0].within, 0);
    s.blur_ns = 0; /* exact */
    attribute(kids, origins, 3, &in);
    assert_int_equal(a.n_claims, 1);
    assert_claim(0, 1, 1000, SF_GRADE_INHERITED);
    assert_true(a.claims[0].is_known);
    s = (struct sf_link_sample){
        .process = 8, .value = 1000, .start_ns = 6000000, .blur_ns = 1000000, .has_time = true};
    attribute(kids, origins, 3, &in); /* one span in all of it */
    assert_int_equal(a.n_claims, 1);
    assert_claim(0, 0, 1000, SF_GRADE_WINDOW);
    assert_true(a.claims[0].is_known);
}

/* ---- very many ---- */

static bool is_ended(__attribute__((unused)) void *arg)
{
    return true;
}

/* Nobody claims these samples, so that no memory is used up: each is held against each span. */
TEST(attribution, ends_between_samples_and_spans_when_the_time_is_up)
{
    enum { SPANS = 5000, SAMPLES = 5000 };
    static struct sf_span list[SPANS];
    static struct sf_span_origin origins[SPANS];
    static struct sf_link_sample samples[SAMPLES];
    struct sf_account_pool pool = {.cap = 64 << 20, .query_cap = 64 << 20, .sum_cap = 64 << 20};
    struct sf_account account = {.pool = &pool, .is_ended = is_ended};
    struct sf_attribution_input in = {.samples = samples, .n_samples = SAMPLES};
    struct sf_span_tree tree;
    struct sf_local_index index;
    struct sf_why why = {0};
    for (uint32_t i = 0; i < SPANS; i++) {
        list[i] = (struct sf_span){.span_id = i + 1, .start_ns = 1000000, .end_ns = 2000000};
        origins[i] = (struct sf_span_origin){.process = 7};
    }
    for (uint32_t i = 0; i < SAMPLES; i++)
        samples[i] = (struct sf_link_sample){
            .process = 7, .value = 1, .start_ns = i, .length_ns = 1000};
    for (int is_lent = 0; is_lent < 2; is_lent++) {
        for (uint32_t i = 0; i < SAMPLES; i++) {
            samples[i].is_lent = is_lent;
            samples[i].thread = is_lent ? 5 : 0;
            samples[i].has_time = is_lent;
        }
        sf_arena_done(&req);
        assert_true(sf_arena_init(&req, 64 << 20));
        assert_ok(sf_span_tree_build(list, origins, SPANS, &req, &tree, NULL));
        assert_ok(sf_local_index_build(&tree, &req, &index, NULL));
        account.is_late = false;
        account.n_steps = 0;
        sf_account_open(&account);
        assert_int_equal(sf_attribution_make(&index, &in, &req, &a, &why), SF_ERR_LIMIT);
        assert_true(account.is_late);
        sf_account_close();
    }
}

/* Two profiles in turn, and a sample that names a trace in between: none gets what was found for
 * another. */
TEST(attribution, weighs_spans_anew_for_each_profile_and_trace)
{
    struct sf_span list[] = {
        {.trace_id = {{1}}, .span_id = 1, .start_ns = 0, .end_ns = 100},
        {.trace_id = {{2}}, .span_id = 2, .start_ns = 50, .end_ns = 150},
    };
    const struct sf_span_origin origins[] = {{7, 0}, {7, 0}};
    struct sf_link_sample samples[] = {
        {.process = 7, .value = 100, .start_ns = 0, .length_ns = 50},
        {.process = 7, .value = 100, .start_ns = 0, .length_ns = 50},
        {.process = 7, .value = 100, .start_ns = 0, .length_ns = 50, .trace_id = {{1}}},
        {.process = 7, .value = 100, .start_ns = 100, .length_ns = 50},
        {.process = 7, .value = 100, .start_ns = 0, .length_ns = 150},
        {.process = 7, .value = 100, .start_ns = 0, .length_ns = 50},
    };
    static const struct {
        uint32_t span;
        int64_t value;
    } want[] = {{0, 100}, {0, 100}, {0, 100}, {1, 100}, {0, 50}, {1, 50}, {0, 100}};
    struct sf_attribution_input in = {.samples = samples, .n_samples = 6};
    attribute(list, origins, 2, &in);
    assert_int_equal(a.n_claims, 7);
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(a.claims[i].span, want[i].span);
        assert_int_equal(a.claims[i].value, want[i].value);
    }
}
