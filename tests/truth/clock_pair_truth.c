#include "test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/lib/clock_pair.h"
#include "collect/sys/perf_clock.h"

enum { MOST = 4096, PERIOD_NS = 4000000, TURN_NS = 100000000, TURNS = 10, SIG = SIGURG };

/* Real clocks of the kernel, so this is not a unit test. All of it is told in this thread's own CPU
 * time, so other programs hardly matter. Gaps are drawn from a fixed seed; what is left to chance
 * is where the kernel delivers a signal late. The bounds on the sum leave space for one late draw
 * in eight; how often that happens is the machine's. */
static volatile int n_taken;
static volatile uint64_t each_ns;
static uint64_t at_ns[MOST], worth_ns[MOST];

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void on_signal(int sig)
{
    (void)sig;
    if (n_taken == MOST)
        return;
    at_ns[n_taken] = cpu_ns();
    worth_ns[n_taken] = each_ns;
    n_taken++;
}

static bool is_allowed(void)
{
    struct sf_why why = {0};
    return sf_perf_clock_try(&why) == SF_OK;
}

/* Runs for some turns; the CPU time that took. */
static uint64_t run(bool is_two)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sf_clock_aim aim = {(uint32_t)syscall(SYS_gettid), SIG, PERIOD_NS};
    struct sf_clock_pair pair;
    struct sf_gap_chance chance = {12345};
    uint64_t begin_ns = cpu_ns(), next_ns = begin_ns;
    sigaction(SIG, &action, NULL);
    n_taken = 0;
    each_ns = sf_clock_pair_start(&pair, &aim, &chance);
    assert_true(each_ns && sf_clock_pair_is_on(&pair));
    for (int turn = 0; turn < TURNS; turn++) {
        each_ns = sf_clock_pair_vary(&pair, &aim, is_two, &chance);
        next_ns += TURN_NS;
        while (cpu_ns() < next_ns)
            ;
    }
    sf_clock_pair_stop(&pair);
    assert_true(!sf_clock_pair_is_on(&pair));
    return cpu_ns() - begin_ns;
}

struct gaps {
    int n_odd, n_short,
        n_long; /* unlike the one before; below half a period; above one and a half */
};

static struct gaps gaps_of(void)
{
    struct gaps g = {0};
    for (int i = 2; i < n_taken; i++) {
        uint64_t gap = at_ns[i] - at_ns[i - 1], before = at_ns[i - 1] - at_ns[i - 2];
        uint64_t differ = gap > before ? gap - before : before - gap;
        g.n_odd += differ > PERIOD_NS / 10;
        g.n_short += gap < PERIOD_NS / 2;
        g.n_long += gap > PERIOD_NS + PERIOD_NS / 2;
    }
    return g;
}

/* Two clocks that were drawn from the same numbers on every run of this test. */
TEST(clock_pair, samples_come_unevenly_and_are_worth_the_time_that_passed)
{
    uint64_t ran_ns, sum_ns = 0;
    struct gaps two, one;
    if (!is_allowed()) { /* timers are examined when the kernel ticks: that is its own affair */
        printf("# perf is not allowed here\n");
        skip();
    }
    if (getenv("UNDER_VALGRIND")) {
        printf("# valgrind delivers signals later than they come\n");
        skip();
    }
    ran_ns = run(true);
    assert_true(n_taken > 100);
    for (int i = 0; i < n_taken; i++)
        sum_ns += worth_ns[i];
    /* Each draw loses half a sample of one clock, two of them when the second is added. */
    assert_true(sum_ns > ran_ns - ran_ns / 8 && sum_ns < ran_ns + ran_ns / 20);
    two = gaps_of();
    run(false);
    one = gaps_of();
    assert_true(two.n_odd > 3 * one.n_odd);
    assert_true(two.n_short > one.n_short + 10 && two.n_long > one.n_long);
}
