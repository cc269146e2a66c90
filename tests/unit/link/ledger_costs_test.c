#include "link/ledger_costs.h"
#include "test.h"

static struct sf_arena req;

/* A span of 5 ms with samples of 10 ms each. */
static struct sf_ledger_parts parts_of(uint32_t n_samples)
{
    struct sf_span span = {.span_id = 1, .start_ns = 100000000, .end_ns = 105000000};
    struct sf_ledger_sample samples[4];
    struct sf_span_tree tree;
    struct sf_ledger ledger;
    struct sf_ledger_parts parts;
    for (uint32_t i = 0; i < n_samples; i++)
        samples[i] = (struct sf_ledger_sample){.start_ns = 101000000 + i * 1000000,
                                               .worth_ns = 10000000,
                                               .part = SF_PART_CPU,
                                               .grade = SF_GRADE_EXACT,
                                               .has_time = true};
    assert_ok(sf_span_tree_build(&span, NULL, 1, &req, &tree, NULL));
    assert_ok(sf_ledger_make(&tree, 0, samples, n_samples, &sf_ledger_unsaid, &req, &ledger, NULL));
    sf_ledger_costs_parts(&ledger, &parts);
    return parts;
}

TEST(ledger_costs, count_a_sample_whole_where_all_spans_together_have_room)
{
    assert_true(sf_arena_init(&req, 1 << 20));
    struct sf_ledger_parts hit = parts_of(1), missed = parts_of(0);
    assert_true(hit.ns[SF_PART_CPU] == 5e6 && hit.cut[SF_PART_CPU] == 5e6);
    double room = sf_ledger_costs_room(hit.ns[SF_PART_UNKNOWN] + missed.ns[SF_PART_UNKNOWN],
                                       hit.cut[SF_PART_CPU]);
    assert_true(room == 1 && sf_ledger_costs_scale(&hit, SF_PART_CPU, room) == 1);
    sf_ledger_costs_fit(&hit, room);
    sf_ledger_costs_fit(&missed, room);
    /* Both were on the CPU all the time, and one of two ticks hit. */
    assert_true((hit.ns[SF_PART_CPU] + missed.ns[SF_PART_CPU]) / 2 == 5e6);
    assert_true(hit.ns[SF_PART_UNKNOWN] + missed.ns[SF_PART_UNKNOWN] == 0);
    assert_true(hit.ns[SF_PART_CPU] + hit.ns[SF_PART_UNKNOWN] == 5e6);
    sf_arena_done(&req);
}

TEST(ledger_costs, leave_samples_cut_that_contradict_the_spans)
{
    assert_true(sf_arena_init(&req, 1 << 20));
    struct sf_ledger_parts p = parts_of(3); /* 30 ms in 5 ms: not one thread's */
    double room = sf_ledger_costs_room(p.ns[SF_PART_UNKNOWN], p.cut[SF_PART_CPU]);
    assert_true(room == 0 && sf_ledger_costs_scale(&p, SF_PART_CPU, room) == 5e6 / 30e6);
    sf_ledger_costs_fit(&p, room);
    assert_true(p.ns[SF_PART_CPU] == 5e6 && p.ns[SF_PART_UNKNOWN] == 0);
    sf_arena_done(&req);
}
