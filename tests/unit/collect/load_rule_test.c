#include "test.h"

#include <math.h>

#include "collect/lib/load_rule.h"

#define S 1000000000ull

static struct sf_profiling rules(void)
{
    struct sf_profiling r;
    sf_profiling_keys_init(&r);
    r.is_adaptive = true;
    return r;
}

static struct sf_load_seen calm(void)
{
    return (struct sf_load_seen){.host = 3000,
                                 .process = 2000,
                                 .memory_len = 100000000,
                                 .length_ns = 10 * S,
                                 .process_ns = 2 * S,
                                 .own_ns = S / 1000};
}

static void assert_share(const struct sf_load *l, double want)
{
    if (fabs(sf_load_rule_share(l) - want) > 1e-3)
        fail_msg("samples at %g of the base, not %g", sf_load_rule_share(l), want);
}

TEST(load_rule, halves_to_an_eighth_and_recovers_by_quarters)
{
    static const double down[] = {0.5, 0.25, 0.125, 0.125}, up[] = {0.375, 0.625, 0.875, 1, 1};
    struct sf_profiling r = rules();
    struct sf_load_seen seen = calm();
    struct sf_load l = {0};
    r.has_shedding = false;
    sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 1);
    seen.host = 8000; /* the threshold itself is above */
    for (int i = 0; i < 4; i++) {
        sf_load_rule_step(&l, &r, &seen);
        assert_share(&l, down[i]);
    }
    seen.host = 7999;
    for (int i = 0; i < 5; i++) {
        sf_load_rule_step(&l, &r, &seen);
        assert_share(&l, up[i]);
    }
}

TEST(load_rule, looks_at_host_process_pressure_and_memory)
{
    struct sf_profiling r = rules();
    for (int i = 0; i < 4; i++) {
        struct sf_load_seen seen = calm();
        struct sf_load l = {0};
        seen.host = i == 0 ? 8500 : seen.host;
        seen.process = i == 1 ? 8500 : seen.process;
        seen.pressure = i == 2 ? 8500 : seen.pressure;
        seen.memory_len = i == 3 ? 512000000 : seen.memory_len;
        sf_load_rule_step(&l, &r, &seen);
        assert_share(&l, 0.5);
    }
}

TEST(load_rule, stays_in_the_budget_for_its_own_cost)
{
    struct sf_profiling r = rules();
    struct sf_load_seen seen = calm();
    struct sf_load l = {0};
    uint64_t at_base_ns = S / 10; /* 5 % of the process's CPU at the full rate */
    for (int i = 0; i < 20; i++) {
        seen.own_ns = (uint64_t)((double)at_base_ns * sf_load_rule_share(&l));
        sf_load_rule_step(&l, &r, &seen);
    }
    assert_share(&l, 0.1875); /* below 1 %, and not a step up and down for ever */
    seen.process_ns = 0;      /* a program that sleeps counts as one that uses a tenth of a CPU */
    seen.own_ns = 4 * S / 1000;
    sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 0.4375);
    seen.own_ns = 11 * S / 1000;
    sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 0.21875);
}

TEST(load_rule, a_cost_far_over_the_budget_ends_with_one_step)
{
    struct sf_profiling r = rules();
    struct sf_load_seen seen = calm();
    struct sf_load l = {0};
    seen.own_ns = seen.process_ns * 4 / 100; /* 4 %, a quarter of it is allowed */
    sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 0.25);
    seen.own_ns = seen.process_ns; /* whatever it takes, an eighth remains */
    sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 0.125);
}

TEST(load_rule, the_budget_holds_while_nothing_else_is_adaptive)
{
    struct sf_profiling r = rules();
    struct sf_load_seen seen = calm();
    struct sf_load l = {0};
    r.is_adaptive = false;
    seen.process = seen.pressure = 9900;
    sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 1); /* the load is none of its business */
    seen.own_ns = seen.process_ns / 100 + 1;
    sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 0.5);
    seen.own_ns /= 2;
    sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 0.75);
    r.adaptive_budget_per_10000 = 10000; /* whatever it takes */
    seen.own_ns = seen.process_ns;
    sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 0.75);
    seen.own_ns = 0;
    r.adaptive_budget_per_10000 = 0;
    sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 1);
}

TEST(load_rule, a_lower_base_is_not_lowered_for_what_the_higher_one_took)
{
    struct sf_load l = {.lowered = 0.875}; /* 1,000 a second, of which 125 are in the budget */
    sf_load_rule_rebase(&l, 1000, 1200);
    assert_share(&l, 0.125);
    sf_load_rule_rebase(&l, 1000, 500);
    assert_share(&l, 0.25);
    sf_load_rule_rebase(&l, 500, 100);
    assert_share(&l, 1);
}

TEST(load_rule, pauses_after_two_and_resumes_ten_points_lower)
{
    static const struct {
        uint32_t host;
        bool is_paused;
    } steps[] = {{9500, false}, {8000, false}, {9000, false}, {9000, true}, {8500, true},
                 {9900, true},  {8000, true},  {7999, false}, {9500, false}};
    struct sf_profiling r = rules();
    struct sf_load_seen seen = calm();
    struct sf_load l = {0};
    r.is_adaptive = false;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        seen.host = steps[i].host;
        sf_load_rule_step(&l, &r, &seen);
        if (l.is_paused != steps[i].is_paused)
            fail_msg("step %zu", i);
        assert_share(&l, 1); /* adaptive is off */
    }
    seen.host = 9900;
    sf_load_rule_step(&l, &r, &seen);
    assert_true(l.is_paused);
    r.has_shedding = false;
    sf_load_rule_step(&l, &r, &seen);
    assert_false(l.is_paused);
}

TEST(load_rule, a_raised_rate_goes_down_to_an_eighth_of_the_configured_one)
{
    struct sf_profiling r = rules();
    struct sf_load_seen seen = calm();
    struct sf_load l = {.floor = 0.0125}; /* 1,000 a second where 100 are configured */
    r.has_shedding = false;
    for (int i = 0; i < 4; i++) { /* each sample takes its part of the whole: 1.2 % at 125 */
        seen.own_ns = (uint64_t)(sf_load_rule_share(&l) / 0.125 * 0.012 * 2 * S);
        sf_load_rule_step(&l, &r, &seen);
    }
    assert_share(&l, 0.1);
    seen.own_ns = (uint64_t)(0.0075 * 2 * S);
    sf_load_rule_step(&l, &r, &seen); /* 0.75 % at 100, allowed is 1 %: as many as last, in steps */
    assert_share(&l, 0.13125);
    seen.own_ns = S; /* whatever the rate is */
    for (int i = 0; i < 6; i++)
        sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 0.0125);
}

static void assert_heap_share(const struct sf_load *l, double want)
{
    if (fabs(sf_load_rule_event_share(l, SF_LOAD_HEAP) - want) > 1e-6)
        fail_msg("samples the heap at %g, not %g", sf_load_rule_event_share(l, SF_LOAD_HEAP), want);
}

TEST(load_rule, heap_samples_follow_the_share)
{
    struct sf_profiling r = rules();
    struct sf_load_seen seen = calm();
    struct sf_load l = {0};
    r.has_shedding = false;
    assert_heap_share(&l, 1);
    seen.host = 8500;
    sf_load_rule_step(&l, &r, &seen);
    assert_heap_share(&l, 0.5);
    for (int i = 0; i < 4; i++)
        sf_load_rule_step(&l, &r, &seen);
    assert_heap_share(&l, 0.125);
    seen.host = 3000;
    sf_load_rule_step(&l, &r, &seen);
    assert_heap_share(&l, 0.375);
    /* The server raised the CPU rate tenfold: a tenth of that is the configured rate. */
    l = (struct sf_load){.floor = 0.0125, .lowered = 0.9};
    assert_heap_share(&l, 1);
    l.lowered = 0.95;
    assert_heap_share(&l, 0.5);
}

/* The heap's samples take `heap` and the CPU's `cpu` of the process's CPU time at their full rates,
 * threads 0.3 %; the budget is 1 %. */
static double settle(struct sf_load *l, double heap, double cpu, double *own)
{
    struct sf_profiling r = rules();
    struct sf_load_seen seen = calm();
    for (int i = 0; i < 20; i++) {
        double heap_ns = heap * sf_load_rule_event_share(l, SF_LOAD_HEAP),
               cpu_ns = cpu * sf_load_rule_share(l);
        seen.events_ns[SF_LOAD_HEAP] = (uint64_t)(heap_ns * (double)seen.process_ns);
        seen.own_ns = (uint64_t)((heap_ns + cpu_ns + 0.003) * (double)seen.process_ns);
        sf_load_rule_step(l, &r, &seen);
    }
    *own = heap * sf_load_rule_event_share(l, SF_LOAD_HEAP) + cpu * sf_load_rule_share(l) + 0.003;
    return sf_load_rule_event_share(l, SF_LOAD_HEAP);
}

TEST(load_rule, heap_samples_of_any_number_stay_in_the_budget)
{
    static const double costs[] = {0.0001, 0.002, 0.006, 0.02, 0.1, 0.5, 3};
    double own;
    for (size_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
        struct sf_load l = {0};
        double share = settle(&l, costs[i], 0.002, &own);
        if (own > 0.01 || (share < 1 && own < 0.004))
            fail_msg("heap samples that take %g %%: %g %% at a share of %g", 100 * costs[i],
                     100 * own, share);
    }
}

TEST(load_rule, a_program_that_allocates_less_again_gets_its_heap_samples_back)
{
    struct sf_load l = {0};
    double own;
    assert_true(settle(&l, 3, 0.002, &own) <= 1.0 / 512);
    settle(&l, 0.0001, 0.002, &own);
    assert_heap_share(&l, 1);
    assert_share(&l, 1);
}

TEST(load_rule, heap_samples_that_cost_too_much_do_not_lower_the_cpu_rate)
{
    struct sf_load l = {0};
    struct sf_profiling r = rules();
    struct sf_load_seen seen = calm();
    seen.events_ns[SF_LOAD_HEAP] = seen.process_ns / 20; /* 5 % of the process, all else 0.2 % */
    seen.own_ns = seen.events_ns[SF_LOAD_HEAP] + seen.process_ns / 500;
    sf_load_rule_step(&l, &r, &seen);
    assert_heap_share(&l, 0.0625);
    assert_share(&l, 1);
}

/* Heap samples take `full[0]` and samples of waits `full[1]` of the process's CPU time at their
 * full rates, all else 0.3 %; the budget is 1 %. Returns what all of it takes in the end. */
static double settle_events(struct sf_load *l, const double full[SF_LOAD_EVENTS])
{
    struct sf_profiling r = rules();
    struct sf_load_seen seen = calm();
    double own = 0;
    for (int i = 0; i < 20; i++) {
        own = 0.003;
        for (int event = 0; event < SF_LOAD_EVENTS; event++) {
            double part = full[event] * sf_load_rule_event_share(l, (enum sf_load_event)event);
            seen.events_ns[event] = (uint64_t)(part * (double)seen.process_ns);
            own += part;
        }
        seen.own_ns = (uint64_t)(own * (double)seen.process_ns);
        sf_load_rule_step(l, &r, &seen);
    }
    return own;
}

TEST(load_rule, samples_of_heap_and_waits_together_stay_in_the_budget)
{
    static const double costs[] = {0, 0.0001, 0.002, 0.006, 0.02, 0.1, 0.5, 3};
    enum { COSTS = sizeof(costs) / sizeof(costs[0]) };
    for (size_t i = 0; i < COSTS * COSTS; i++) {
        const double full[] = {costs[i / COSTS], costs[i % COSTS]};
        struct sf_load l = {0};
        double own = settle_events(&l, full);
        if (own > 0.01 || (own < 0.0042 && own < full[0] + full[1] + 0.00299))
            fail_msg("heap %g %%, waits %g %%: %g %%", 100 * full[0], 100 * full[1], 100 * own);
        assert_share(&l, 1); /* the CPU rate is not lowered for them */
    }
}

TEST(load_rule, waits_of_thousands_of_threads_stay_in_the_budget)
{
    struct sf_load l = {0};
    assert_true(settle_events(&l, (double[]){0, 100}) <= 0.01);
    assert_true(sf_load_rule_event_share(&l, SF_LOAD_WAITS) < 1.0 / 10000);
    settle_events(&l, (double[]){0, 0.0001});
    assert_true(fabs(sf_load_rule_event_share(&l, SF_LOAD_WAITS) - 1) < 1e-9);
}

TEST(load_rule, a_burst_of_events_lowers_their_rates_alone)
{
    struct sf_profiling r = rules();
    struct sf_load_seen seen = {.length_ns = S / 20, .process_ns = S / 20};
    struct sf_load l = {0};
    /* 10 s of a tenth of a CPU: half of 1 % of a second */
    assert_false(sf_load_rule_is_burst(&r, S / 200, 0));
    assert_true(sf_load_rule_is_burst(&r, S / 200 + 1, 0));
    assert_false(sf_load_rule_is_burst(&r, S / 200 + 1, 2 * S)); /* of a busy program */
    seen.events_ns[SF_LOAD_WAITS] = S / 200 + 1; /* a tenth of the process, 0.5 % are allowed */
    seen.threads_ns = S / 500;
    seen.own_ns = seen.events_ns[SF_LOAD_WAITS] + seen.threads_ns;
    sf_load_rule_step_burst(&l, &r, &seen);
    assert_share(&l, 1);
    assert_true(fabs(sf_load_rule_event_share(&l, SF_LOAD_WAITS) - 1.0 / 32) < 1e-9);
    assert_heap_share(&l, 1);
    seen.events_ns[SF_LOAD_WAITS] = 0; /* nor does it raise them */
    sf_load_rule_step_burst(&l, &r, &seen);
    assert_true(fabs(sf_load_rule_event_share(&l, SF_LOAD_WAITS) - 1.0 / 32) < 1e-9);
}

/* A program that uses a tenth of a CPU, as it was measured: its samples take 0.7 % of that by the
 * CPU's clock and 1.4 % by allocations at their full rates, the library's threads 0.4 %, 2.6 ms in
 * the first second and 1.2 ms for each window that is sent. Ten turns a second by a simulated
 * clock. */
enum { TURNS = 10, SECONDS = 120 };
struct simulated {
    struct sf_load load;
    struct sf_load_times times;
    struct sf_load_seen sum, last; /* CPU times so far, and at the last measurement */
    double base;                   /* the rate, as a part of the configured one */
    double own_ns[SECONDS + 1];    /* so far, at the end of each second */
    double share[SECONDS + 1];
};

static void simulate_turn(struct simulated *s, const struct sf_profiling *r, int turn)
{
    double used_ns = 0.1 * S / TURNS, share = sf_load_rule_share(&s->load);
    double heap_ns = 0.014 * used_ns * sf_load_rule_event_share(&s->load, SF_LOAD_HEAP);
    double threads_ns = 0.004 * used_ns + (turn < TURNS ? 2.6e6 / TURNS : 0) +
                        (turn % (10 * TURNS) == 0 ? 1.2e6 : 0);
    int64_t now_ns = (int64_t)(turn + 1) * (int64_t)(S / TURNS);
    enum sf_load_due due = sf_load_rule_due(&s->times, now_ns, 10 * (int64_t)S);
    struct sf_load_seen seen = {.host = 3000, .length_ns = (uint64_t)now_ns - s->last.length_ns};
    s->sum.length_ns = (uint64_t)now_ns;
    s->sum.process_ns += (uint64_t)used_ns;
    s->sum.events_ns[SF_LOAD_HEAP] += (uint64_t)heap_ns;
    s->sum.threads_ns += (uint64_t)threads_ns;
    s->sum.own_ns += (uint64_t)(heap_ns + threads_ns + 0.007 * used_ns * s->base * share);
    if (due == SF_LOAD_NOT_DUE)
        return;
    seen.process_ns = s->sum.process_ns - s->last.process_ns;
    seen.own_ns = s->sum.own_ns - s->last.own_ns;
    seen.events_ns[SF_LOAD_HEAP] = s->sum.events_ns[SF_LOAD_HEAP] - s->last.events_ns[SF_LOAD_HEAP];
    seen.threads_ns = s->sum.threads_ns - s->last.threads_ns;
    if (due == SF_LOAD_EARLY)
        sf_load_rule_step_early(&s->load, r, &seen);
    else if (turn)
        sf_load_rule_step(&s->load, r, &seen);
    s->last = s->sum;
    if (fabs(sf_load_rule_share(&s->load) - share) > 1e-6)
        s->sum.own_ns += 1200000, s->sum.threads_ns += 1200000; /* a change ends a window */
}

/* The server raises the rate to `raised` times the configured one at second `at`. */
static void simulate(struct simulated *s, int at, double raised)
{
    struct sf_profiling r = rules();
    r.adaptive_budget_per_10000 = 80; /* as the governor sets it for a budget of 1 % */
    *s = (struct simulated){.base = 1};
    for (int turn = 0; turn < SECONDS * TURNS; turn++) {
        if (turn == at * TURNS && raised > 1) {
            s->base = raised;
            s->load.floor = 0.125 / raised;
            sf_load_rule_rebase(&s->load, 1, raised);
            sf_load_rule_restart(&s->times, (int64_t)turn * (int64_t)(S / TURNS));
            s->last = s->sum;
        }
        simulate_turn(s, &r, turn);
        s->own_ns[(turn + 1) / TURNS] = (double)s->sum.own_ns;
        s->share[(turn + 1) / TURNS] = sf_load_rule_share(&s->load);
    }
}

/* 10 s of a tenth of a CPU are a second of CPU time. */
static void assert_in_budget(const struct simulated *s, int from, int to)
{
    for (int i = from; i + 10 <= to; i++) {
        double own = (s->own_ns[i + 10] - s->own_ns[i]) / S;
        if (own > 0.01)
            fail_msg("%.2f %% in the 10 s from %d s on", 100 * own, i);
    }
}

TEST(load_rule, a_program_is_in_the_budget_from_its_second_second_on)
{
    static struct simulated s;
    simulate(&s, SECONDS, 1);
    assert_in_budget(&s, 2, SECONDS);
    assert_true((s.own_ns[2] - s.own_ns[1]) < (s.own_ns[1] - s.own_ns[0]) / 2);
    for (int i = 2; i < 9; i++) /* early checks do not raise the rate */
        assert_true(s.share[i + 1] <= s.share[i]);
}

TEST(load_rule, a_raised_rate_is_in_the_budget_two_seconds_later)
{
    static struct simulated s;
    for (int at = 40; at <= 50; at++) {
        simulate(&s, at, 10);
        assert_in_budget(&s, 2, at);
        assert_in_budget(&s, at + 2, SECONDS);
    }
}

TEST(load_rule, early_checks_double_and_the_end_of_an_interval_is_one)
{
    static const struct {
        int64_t tenths;
        enum sf_load_due due;
    } seen[] = {{10, SF_LOAD_INTERVAL}, {19, SF_LOAD_NOT_DUE},  {20, SF_LOAD_EARLY},
                {39, SF_LOAD_NOT_DUE},  {40, SF_LOAD_EARLY},    {79, SF_LOAD_NOT_DUE},
                {80, SF_LOAD_EARLY},    {109, SF_LOAD_NOT_DUE}, {110, SF_LOAD_INTERVAL},
                {209, SF_LOAD_NOT_DUE}, {210, SF_LOAD_INTERVAL}};
    struct sf_load_times t = {0};
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++) {
        if (sf_load_rule_due(&t, seen[i].tenths * 100000000, 10 * (int64_t)S) != seen[i].due)
            fail_msg("at %d tenths of a second", (int)seen[i].tenths);
    }
    t = (struct sf_load_times){0}; /* an interval of a second: no check a tenth after its end */
    for (int i = 10; i < 100; i++) {
        enum sf_load_due due = sf_load_rule_due(&t, i * (int64_t)100000000, (int64_t)S);
        assert_int_equal(due, i % 10 ? SF_LOAD_NOT_DUE : SF_LOAD_INTERVAL);
    }
}

TEST(load_rule, early_checks_leave_pauses_and_thresholds_to_intervals)
{
    struct sf_profiling r = rules();
    struct sf_load_seen seen = calm();
    struct sf_load l = {0};
    seen.host = 9900;
    for (int i = 0; i < 4; i++)
        sf_load_rule_step_early(&l, &r, &seen);
    assert_share(&l, 1);
    assert_false(l.is_paused);
}

TEST(load_rule, the_cost_of_threads_does_not_fall_with_the_rate)
{
    struct sf_profiling r = rules();
    struct sf_load_seen seen = calm();
    struct sf_load l = {0};
    seen.own_ns = seen.process_ns * 14 / 1000; /* 1.4 %: threads 0.6, samples 0.8 */
    seen.threads_ns = seen.process_ns * 6 / 1000;
    sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 0.5);
    l = (struct sf_load){0};
    seen.own_ns = seen.process_ns * 24 / 1000; /* samples 1.8: 0.4 is 2 / 9 of it, in sixteenths */
    sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 0.1875);
    seen.own_ns = seen.threads_ns = seen.process_ns * 2 / 100;
    sf_load_rule_step(&l, &r, &seen);
    assert_share(&l, 0.125);
}
