#include "link/ledger_costs.h"

#include "link/trust.h"
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

/* A span of 10 ms that says how long it was on the CPU, and samples of 1 ms each; the first has no
 * stack. */
static uint32_t items_of(uint32_t n_samples, struct sf_ledger_cost *out)
{
    struct sf_span span = {.span_id = 1, .start_ns = 100000000, .end_ns = 110000000};
    struct sf_ledger_exact exact = sf_ledger_unsaid;
    struct sf_ledger_sample samples[8];
    uint32_t items[8], child_items[1] = {SF_NOBODY};
    struct sf_span_tree tree;
    struct sf_ledger ledger;
    exact.ns[SF_PART_CPU] = 4000000;
    for (uint32_t i = 0; i < n_samples; i++) {
        items[i] = i == 0 ? SF_NOBODY : i;
        samples[i] = (struct sf_ledger_sample){.start_ns = 101000000 + i * 1000000,
                                               .worth_ns = 1000000,
                                               .part = SF_PART_CPU,
                                               .grade = SF_GRADE_EXACT,
                                               .has_time = true};
    }
    assert_ok(sf_span_tree_build(&span, NULL, 1, &req, &tree, NULL));
    assert_ok(sf_ledger_make(&tree, 0, samples, n_samples, &exact, &req, &ledger, NULL));
    struct sf_ledger_costs_input in = {&tree, 0, &ledger, samples, items, n_samples, child_items};
    return sf_ledger_costs_items(&in, out);
}

TEST(ledger_costs, come_to_the_spans_own_figure_when_there_are_enough_samples)
{
    struct sf_ledger_cost out[8];
    assert_true(sf_arena_init(&req, 1 << 20));
    assert_int_equal(items_of(SF_TRUST_FEW, out), SF_TRUST_FEW - 1); /* one has no stack */
    for (uint32_t i = 0; i < SF_TRUST_FEW - 1; i++)
        assert_true(out[i].item == i + 1 && out[i].part == SF_PART_CPU && out[i].ns == 800000);
    assert_int_equal(items_of(SF_TRUST_FEW - 1, out), SF_TRUST_FEW - 2);
    assert_true(out[0].item == 1 && out[0].ns == 1000000);
    sf_arena_done(&req);
}
