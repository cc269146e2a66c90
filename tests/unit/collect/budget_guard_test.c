/* A process is simulated turn by turn, ten a second, with a guard that sets its rates. In every
 * turn the cost so far is compared with what it may be from the start on. */
#include "test.h"

#include <math.h>

#include "collect/lib/budget_guard.h"

#define MS ((int64_t)1000000)
#define S  ((int64_t)1000000000)
enum { TURNS = 10 };

struct world { /* a program, and the prices of the machine it runs on */
    double cpus;
    double price_ns;   /* of a CPU sample */
    double heap_ns;    /* of heap samples at their full rate, in a CPU second */
    double waits_ns;   /* the same of waits, in a second */
    double wall_ns;    /* of a sample of the wall clock: the library's thread takes it */
    double threads_ns; /* of the library's threads in a second; while profiling pauses at most 300
                          us */
    double window_ns;  /* to send a window */
    bool has_symbols;  /* there is always more code to read symbols of */
};

struct process {
    struct world w;
    struct sf_profiling rules;
    struct sf_budget_terms terms;
    struct sf_budget_guard guard;
    struct sf_cost_reading now;
    uint64_t cpu_hz, wall_hz;
    double granted_ns, stretch_cpu_ns, before_share; /* before_share: at the end of the last turn */
    double allowed_ns, captured_ns; /* share of the granted time; what captures add to it */
    int64_t captures;
    int turn, n_low, n_paused;
    double shares; /* sum of those of all turns */
    double n_signals;
    uint64_t allowed_process_ns; /* up to which allowed_ns was computed */
};

static void take(struct process *p, double ns, uint64_t *part)
{
    p->now.own_ns += (uint64_t)ns;
    p->now.process_ns += (uint64_t)ns;
    if (part)
        *part += (uint64_t)ns;
}

/* What samples take in so much time. Returns it. */
static double take_samples(struct process *p, double s)
{
    const struct sf_load *l = &p->guard.load;
    double share = sf_load_rule_share(l), n = (double)p->cpu_hz * share * s * p->w.cpus;
    double cpu_ns = n * p->w.price_ns, wall_ns = (double)p->wall_hz * share * s * p->w.wall_ns;
    double heap_ns = p->w.heap_ns * sf_load_rule_event_share(l, SF_LOAD_HEAP) * s * p->w.cpus;
    double waits_ns = p->w.waits_ns * sf_load_rule_event_share(l, SF_LOAD_WAITS) * s;
    p->n_signals += n;
    p->now.n_signals = (uint64_t)p->n_signals;
    take(p, cpu_ns, &p->now.signals_ns);
    take(p, wall_ns, &p->now.threads_ns);
    take(p, heap_ns, &p->now.events_ns[SF_LOAD_HEAP]);
    take(p, waits_ns, &p->now.events_ns[SF_LOAD_WAITS]);
    return cpu_ns + heap_ns + waits_ns;
}

static void send_window(struct process *p)
{
    double credit_ns;
    p->terms.rules = &p->rules;
    sf_budget_guard_note(&p->guard, &p->terms, &p->now);
    credit_ns = (double)sf_budget_guard_credit(&p->guard);
    take(p, p->w.window_ns, &p->now.threads_ns);
    credit_ns -= p->w.window_ns;
    if (p->w.has_symbols && credit_ns > 0)
        take(p, credit_ns, &p->now.symbols_ns);
}

/* What the text of the budget promises, computed in another way than the account does. */
static void allow(struct process *p, double cpu_ns)
{
    double before_ns, all_ns;
    double stretch_ns = (double)(p->turn % (10 * TURNS)) * S / TURNS;
    if (!(p->turn % (10 * TURNS)))
        p->stretch_cpu_ns = 0;
    before_ns = fmax(p->stretch_cpu_ns, stretch_ns / 10);
    p->stretch_cpu_ns += cpu_ns;
    all_ns = fmax(p->stretch_cpu_ns, (stretch_ns + (double)S / TURNS) / 10);
    p->granted_ns += all_ns - before_ns;
    p->allowed_ns += (all_ns - before_ns) *
                     fmax(p->terms.budget_per_10000, p->terms.is_capturing ? 1000 : 0) / 10000;
}

static void assert_in_budget(const struct process *p)
{
    double own_ns = (double)(p->now.own_ns - p->now.asked_ns);
    double most_ns = p->allowed_ns + (double)((1 + p->captures) * SF_COST_START_NS);
    if (own_ns > most_ns)
        fail_msg("after %d.%d s own cost is %.1f ms, allowed are %.1f", p->turn / TURNS,
                 p->turn % TURNS, own_ns / MS, most_ns / MS);
}

static void decide(struct process *p)
{
    double interval_ns = (double)p->rules.adaptive_interval_ns;
    struct sf_load_seen load = {.process_ns = (uint64_t)(p->w.cpus * interval_ns)};
    enum sf_load_due due;
    p->terms.rules = &p->rules;
    sf_budget_guard_note(&p->guard, &p->terms, &p->now);
    sf_budget_guard_rates(&p->guard, &p->terms, p->cpu_hz, p->wall_hz, 100 + (p->wall_hz ? 20 : 0));
    due = sf_budget_guard_due(&p->guard, &p->terms);
    if (due)
        sf_budget_guard_step(&p->guard, &p->terms, due, due == SF_LOAD_INTERVAL ? &load : NULL);
}

static struct process begin_process(struct world w)
{
    struct process p = {.w = w, .cpu_hz = 100, .before_share = 1};
    sf_profiling_keys_init(&p.rules);
    p.rules.has_shedding = false;
    p.terms = (struct sf_budget_terms){.budget_per_10000 = 100, .has_bursts = true, .paced = 3};
    p.now.time_ns = 1000 * S;
    decide(&p); /* profiles begin in the first turn */
    return p;
}

/* A change of the rate and a pause end a window. */
static void decide_and_send(struct process *p)
{
    bool was_paused = p->guard.load.is_in_debt;
    decide(p);
    if (!was_paused && (p->guard.load.is_in_debt ||
                        fabs(sf_load_rule_share(&p->guard.load) - p->before_share) > 1e-9))
        send_window(p);
    p->before_share = sf_load_rule_share(&p->guard.load);
}

/* Time passes in hundredths of a turn; the guard is called when samples took so much, and in the
 * end. */
static void run_turn(struct process *p)
{
    enum { PARTS = 100 };
    uint64_t turn_ns = p->allowed_process_ns;
    double part_s = 1.0 / TURNS / PARTS, since_ns = 0, threads_ns;
    for (int i = 0; i < PARTS; i++) {
        uint64_t before_ns = p->now.process_ns;
        since_ns += p->guard.load.is_in_debt ? 0 : take_samples(p, part_s);
        p->now.process_ns = before_ns + (uint64_t)(p->w.cpus * part_s * S); /* it is in it */
        p->now.time_ns += S / TURNS / PARTS;
        if (since_ns >= (double)SF_BUDGET_GLANCE_NS) {
            since_ns = 0;
            decide_and_send(p);
        }
    }
    threads_ns = p->guard.load.is_in_debt ? fmin(p->w.threads_ns, 300000) : p->w.threads_ns;
    take(p, threads_ns / TURNS, &p->now.threads_ns);
    p->now.process_ns -= (uint64_t)(threads_ns / TURNS);
    if (!p->guard.load.is_in_debt && p->turn % (10 * TURNS) == 10 * TURNS - 1)
        send_window(p);
    allow(p, (double)(p->now.process_ns - turn_ns));
    p->allowed_process_ns = p->now.process_ns;
    decide_and_send(p);
    p->n_low += p->before_share < 1.0 / 8;
    p->n_paused += p->guard.load.is_in_debt;
    p->shares += p->guard.load.is_in_debt ? 0 : p->before_share;
    p->turn++;
    assert_in_budget(p);
}

static void run(struct process *p, int seconds)
{
    for (int i = 0; i < seconds * TURNS; i++)
        run_turn(p);
}

/* As own_cost_truth measures it. */
static const struct world usual = {.cpus = 1,
                                   .price_ns = 55000,
                                   .heap_ns = 1200000,
                                   .wall_ns = 100000,
                                   .threads_ns = 300000,
                                   .window_ns = 1200000};

static struct world usual_with(double cpus, double price_ns)
{
    struct world w = usual;
    w.cpus = cpus;
    w.price_ns = price_ns;
    return w;
}

TEST(budget_guard, a_usual_program_keeps_its_rate)
{
    struct process p = begin_process(usual);
    run(&p, 600);
    assert_int_equal(p.n_low + p.n_paused, 0);
    assert_true(p.shares / p.turn > 0.95);
}

TEST(budget_guard, is_kept_from_the_start_on_at_any_price)
{
    static const double cpus[] = {0, 0.02, 0.1, 1, 8, 64}, prices[] = {3000, 55000, 300000};
    for (int i = 0; i < 6 * 3; i++) {
        struct process p = begin_process(usual_with(cpus[i / 3], prices[i % 3]));
        p.w.has_symbols = true;
        p.w.heap_ns *= 1 + 10.0 * (i % 2);
        run(&p, 300);
        assert_int_equal(p.n_paused, 0);
    }
}

TEST(budget_guard, is_kept_where_symbols_take_all_that_is_left)
{
    struct process p = begin_process(usual);
    p.w.has_symbols = true;
    run(&p, 600);
    assert_int_equal(p.n_paused, 0);
    assert_true(p.now.symbols_ns > (uint64_t)(SF_COST_START_NS / 2 + 600 * S / 1000));
}

/* Whatever the last interval took says nothing about the next one. */
TEST(budget_guard, is_kept_by_a_program_that_changes_all_the_time)
{
    uint64_t chance = 1;
    for (int world = 0; world < 40; world++) {
        struct process p = begin_process(usual);
        for (int i = 0; i < 300; i++) {
            chance = chance * 6364136223846793005u + 1442695040888963407u;
            p.w.cpus = (double)(chance >> 60) / (world % 3 ? 4 : 40);
            p.w.heap_ns = usual.heap_ns * (double)(1u << (chance >> 56 & 15) % 9);
            p.w.waits_ns = 100000.0 * (double)(1u << (chance >> 48 & 15) % 10);
            p.w.threads_ns = usual.threads_ns * (double)(1u << (chance >> 40 & 3));
            p.w.price_ns = 10000 * (double)(1 + (chance >> 32 & 15));
            p.w.has_symbols = chance >> 24 & 1;
            run(&p, 1);
        }
    }
}

TEST(budget_guard, what_one_second_took_too_much_is_missing_in_the_next_ones)
{
    struct process p = begin_process(usual);
    double before;
    run(&p, 60);
    before = p.shares;
    take(&p, (double)p.guard.account.balance_ns - 11.0 * MS, &p.now.threads_ns);
    run(&p, 2);
    assert_true(p.n_low + p.n_paused > 0);
    assert_true(p.shares - before < 10);
    run(&p, 60); /* and then it has its rate again */
    assert_true(sf_load_rule_share(&p.guard.load) > 0.9);
}

static void leave(struct process *p, double ns)
{
    const struct sf_cost_account *a = &p->guard.account;
    uint64_t before_ns = p->now.process_ns;
    take(p, (double)(a->balance_ns - 2 * a->lump_ns) - ns, &p->now.symbols_ns);
    p->now.process_ns = before_ns; /* the program does less for it */
}

TEST(budget_guard, a_small_debt_lowers_the_rate_by_as_much_and_a_larger_one_to_the_lowest)
{
    static const struct {
        int64_t interval_ns; /* a second pays 3.2 ms */
        double left_ms, least, most;
    } cases[] = {{S, 12.5, 0.03, 0.15}, {10 * S, 12.5, 0.2, 0.5}, {10 * S, 7, 0.01, 0.02}};
    for (int i = 0; i < 3; i++) {
        struct process p = begin_process(usual_with(0.4, 120000));
        double share;
        p.rules.adaptive_interval_ns = cases[i].interval_ns;
        p.w.heap_ns = p.w.window_ns = 0;
        run(&p, 65);
        leave(&p, cases[i].left_ms * MS);
        run_turn(&p);
        share = sf_load_rule_share(&p.guard.load);
        if (share < cases[i].least || share > cases[i].most)
            fail_msg("with %g ms left at %g", cases[i].left_ms, share);
        run(&p, 60);
        assert_int_equal(p.n_paused, 0);
        assert_true(sf_load_rule_share(&p.guard.load) > 0.4);
    }
}

/* The rate does not matter here: only a pause repays it. */
TEST(budget_guard, pauses_where_the_lowest_rate_costs_too_much)
{
    struct process p = begin_process(usual);
    p.w.window_ns = 14.0 * MS;
    p.w.threads_ns = 20.0 * MS; /* 2 % */
    run(&p, 600);
    assert_true(p.n_paused > p.turn / 4 && p.n_paused < p.turn * 3 / 4);
}

TEST(budget_guard, a_raised_rate_begins_with_what_the_price_allows)
{
    static const double cpus[] = {0.1, 1, 64};
    for (int i = 0; i < 3; i++) {
        struct process p = begin_process(usual_with(cpus[i], 55000));
        run(&p, 47);
        p.cpu_hz = 1000;
        run_turn(&p);
        assert_true(sf_load_rule_share(&p.guard.load) * 1000 * p.w.price_ns <= 0.008 * S);
        run(&p, 200);
        assert_in_range((int)(sf_load_rule_share(&p.guard.load) * 1000), cpus[i] < 1 ? 12 : 60,
                        150);
        assert_int_equal(p.n_paused, 0);
        p.cpu_hz = 100;
        run(&p, 100);
        assert_true(sf_load_rule_share(&p.guard.load) > (cpus[i] < 1 ? 0.3 : 0.99));
    }
}

TEST(budget_guard, a_raised_rate_of_a_cheap_sample_is_as_requested_at_once)
{
    struct process p = begin_process(usual_with(1, 5000));
    run(&p, 47);
    p.cpu_hz = 1000;
    run_turn(&p);
    assert_true(sf_load_rule_share(&p.guard.load) > 0.99);
    run(&p, 300);
}

/* The library's thread may get no CPU when the process takes all of them. */
TEST(budget_guard, an_idle_process_is_sampled_at_what_the_price_allows_once_it_computes)
{
    struct process p = begin_process(usual_with(0.01, 55000));
    p.cpu_hz = 1000; /* half a millisecond of CPU time in a second */
    for (int i = 0; i < 300 * TURNS; i++) {
        run_turn(&p);
        assert_true(sf_load_rule_share(&p.guard.load) * 1000 * p.w.price_ns <= 0.009 * S);
    }
}

TEST(budget_guard, a_rate_that_is_configured_too_high_is_never_in_effect)
{
    struct process p = begin_process(usual_with(4, 60000));
    p.cpu_hz = 1000;
    run_turn(&p);
    assert_true(sf_load_rule_share(&p.guard.load) <= 0.134);
    run(&p, 100);
}

TEST(budget_guard, samples_of_the_wall_clock_are_limited_before_their_first_interval_ends)
{
    struct process p = begin_process(usual_with(0.05, 55000));
    p.wall_hz = 1000;
    run(&p, 300);
}

TEST(budget_guard, a_capture_has_its_own_account)
{
    struct process p = begin_process(usual_with(1, 55000));
    int64_t before_ns;
    run(&p, 62);
    before_ns = p.guard.account.balance_ns;
    for (int i = 0; i < 3; i++) {
        p.terms.is_capturing = true;
        p.cpu_hz = 1000;
        p.captures++;
        run_turn(&p);
        assert_true(sf_load_rule_share(&p.guard.load) > 0.99); /* 5.5 % of 10 */
        run(&p, 30);
        assert_true(sf_load_rule_share(&p.guard.load) > 0.99);
        p.terms.is_capturing = false;
        p.cpu_hz = 100;
        run_turn(&p);
        assert_true(sf_load_rule_share(&p.guard.load) > 0.99);
        assert_true(p.guard.account.balance_ns <= before_ns + MS);
        run(&p, 9);
        before_ns = p.guard.account.balance_ns;
    }
    assert_int_equal(p.n_low + p.n_paused, 0);
}

TEST(budget_guard, a_capture_does_not_exceed_its_share)
{
    struct process p = begin_process(usual_with(4, 300000));
    run(&p, 25);
    leave(&p, 1.0 * MS); /* its level is not that of the capture */
    run_turn(&p);
    p.terms.is_capturing = true;
    p.cpu_hz = 1000; /* 30 % */
    p.captures++;
    run(&p, 120);
    assert_true(p.shares > 0);
}

TEST(budget_guard, a_capture_of_a_process_in_debt_is_taken)
{
    struct process p = begin_process(usual);
    double lowered;
    run(&p, 20);
    take(&p, (double)p.guard.account.balance_ns - 1.0 * MS, &p.now.threads_ns);
    run_turn(&p);
    assert_true(p.guard.load.is_in_debt);
    lowered = p.guard.load.lowered;
    p.terms.is_capturing = true;
    p.captures++;
    run_turn(&p);
    assert_false(p.guard.load.is_in_debt);
    assert_true(sf_load_rule_share(&p.guard.load) > 0.99);
    p.terms.is_capturing = false;
    run_turn(&p);
    assert_true(p.guard.load.is_in_debt); /* it is still to be repaid */
    assert_true(p.guard.load.lowered >= lowered);
}

TEST(budget_guard, a_rate_lowered_before_a_capture_is_lowered_after_it)
{
    struct process p = begin_process(usual_with(1, 200000)); /* 2 % at 100 */
    double share;
    run(&p, 62);
    share = sf_load_rule_share(&p.guard.load);
    assert_true(share < 0.5);
    p.terms.is_capturing = true;
    p.cpu_hz = 400;
    p.captures++;
    run(&p, 5);
    p.terms.is_capturing = false;
    p.cpu_hz = 100;
    run_turn(&p);
    assert_true(fabs(sf_load_rule_share(&p.guard.load) - share) < 1e-9);
}

TEST(budget_guard, calls_of_the_program_are_not_repaid)
{
    struct process p = begin_process(usual);
    run(&p, 10);
    for (int i = 0; i < 100 * TURNS; i++) { /* sf_flush() ten times a second */
        take(&p, 2.0 * MS, &p.now.threads_ns);
        p.now.asked_ns += (uint64_t)(2 * MS);
        run_turn(&p);
    }
    assert_int_equal(p.n_paused, 0);
}

TEST(budget_guard, waits_that_were_requested_for_a_file_are_not_repaid)
{
    struct process p = begin_process(usual);
    p.terms.paced = 1u << SF_LOAD_HEAP;
    p.terms.has_bursts = false;
    p.terms.rules = &p.rules;
    for (int i = 0; i < 100 * TURNS; i++) {
        take(&p, 3.0 * MS, &p.now.events_ns[SF_LOAD_WAITS]);
        p.now.time_ns += S / TURNS;
        p.now.process_ns += (uint64_t)(S / TURNS);
        decide(&p);
        assert_int_equal(p.guard.load.is_in_debt, false);
    }
    assert_true(p.guard.account.balance_ns >= SF_COST_START_NS);
}

TEST(budget_guard, a_budget_of_everything_limits_nothing)
{
    struct process p = begin_process(usual_with(1, 300000));
    p.terms.budget_per_10000 = 10000;
    p.cpu_hz = 1000;
    run(&p, 60);
    assert_int_equal(p.n_low + p.n_paused, 0);
    assert_true(p.shares / p.turn > 0.99);
}

TEST(budget_guard, a_budget_of_nothing_leaves_the_start)
{
    struct process p = begin_process(usual);
    p.terms.budget_per_10000 = 0;
    run(&p, 20);
    p.w.threads_ns = 0; /* nobody can promise anything of these */
    run(&p, 600);
    assert_true(p.guard.load.is_in_debt);
}

TEST(budget_guard, begins_again_in_a_process_whose_profiles_had_no_budget)
{
    struct process p = begin_process(usual);
    run(&p, 10);
    take(&p, 500.0 * MS, &p.now.threads_ns); /* a profile that the program writes to a file */
    p.now.time_ns += 30 * S;
    sf_budget_guard_skip(&p.guard, &p.now);
    decide(&p);
    assert_int_equal(sf_cost_account_level(&p.guard.account), SF_COST_FINE);
    assert_true(sf_load_rule_share(&p.guard.load) > 0.99);
}
