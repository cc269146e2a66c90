#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/time_unit.h"
#include "collect/lib/own_cost.h"
#include "collect/lib/profile_sources.h"
#include "collect/lib/profiler.h"
#include "collect/sys/clock.h"
#include "collect/sys/guest_thread.h"

/* The rate swings tenfold, five times a second, while two threads work; what the samples of all
 * windows represent is compared with what the threads' own clocks say. */
enum { THREADS = 2, CPU_S = 4, SWING_NS = 200000000 };

static atomic_uint_fast64_t sent_ns, n_windows, n_paces;

static void upload(struct sf_profile *list, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (list[i].kind == SF_SAMPLES_CPU)
            atomic_fetch_add(&sent_ns, list[i].table.values[1]);
        atomic_fetch_add(&n_windows, 1);
    }
}

static void swing(int64_t now_ns)
{
    uint64_t periods[SF_SAMPLES_KINDS] = {0};
    bool is_slow = now_ns / SWING_NS % 2;
    periods[SF_SAMPLES_CPU] = is_slow ? SF_NS_PER_S / 50 : SF_NS_PER_S / 500;
    if (periods[SF_SAMPLES_CPU] != sf_profiler_period(SF_SAMPLES_CPU))
        atomic_fetch_add(&n_paces, 1);
    sf_profiler_pace(periods);
}

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * SF_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* Without hooks a thread is found within a tenth of a second: it waits for that first. */
static void *work(void *arg)
{
    struct timespec found = {0, 400000000};
    uint64_t begin_ns;
    nanosleep(&found, NULL);
    begin_ns = cpu_ns();
    while (cpu_ns() - begin_ns < (uint64_t)CPU_S * SF_NS_PER_S)
        ;
    *(uint64_t *)arg = cpu_ns() - begin_ns;
    return NULL;
}

TEST(pace, totals_stay_right_while_the_rate_swings_tenfold)
{
    struct sf_why why = {0};
    pthread_t threads[THREADS];
    uint64_t used_ns[THREADS], all_ns = 0, got_ns;
    sf_profile_sources_set();
    sf_profiler_set_period(SF_SAMPLES_CPU, SF_NS_PER_S / 500);
    sf_profiler_set_upload(10 * SF_NS_PER_S, upload);
    sf_profiler_govern(swing);
    assert_ok(sf_profiler_start(SF_FOR_SERVER, 1u << SF_SAMPLES_CPU, &why));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &used_ns[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all_ns += used_ns[i];
    }
    assert_ok(sf_profiler_stop(SF_FOR_SERVER, 1u << SF_SAMPLES_CPU, NULL, &why));
    got_ns = atomic_load(&sent_ns);
    printf("# %.3f s used, %.3f s in samples (%+.2f %%), %u changes, %u windows\n",
           (double)all_ns / 1e9, (double)got_ns / 1e9, ((double)got_ns / (double)all_ns - 1) * 100,
           (unsigned)atomic_load(&n_paces), (unsigned)atomic_load(&n_windows));
    assert_true(atomic_load(&n_paces) > 10);
    assert_true(atomic_load(&n_windows) >= atomic_load(&n_paces));
    assert_true(fabs((double)got_ns - (double)all_ns) < 0.02 * (double)all_ns);
}

static int pipes[THREADS][2];

struct player {
    int in, out;
    uint64_t used_ns;
};

/* One byte goes round: each thread gets a processor for a few microseconds at a time. Then both
 * work without a break. */
static void *play(void *arg)
{
    struct player *p = arg;
    struct timespec found = {0, 400000000};
    uint64_t begin_ns;
    char ball;
    nanosleep(&found, NULL);
    begin_ns = cpu_ns();
    while (read(p->in, &ball, 1) == 1) {
        ball = cpu_ns() - begin_ns > (uint64_t)CPU_S * SF_NS_PER_S ? 'e' : ball;
        if (write(p->out, &ball, 1) != 1 || ball == 'e')
            break;
    }
    while (cpu_ns() - begin_ns < (uint64_t)(CPU_S + 2) * SF_NS_PER_S)
        ;
    p->used_ns = cpu_ns() - begin_ns;
    return NULL;
}

TEST(pace, a_thread_that_switches_often_costs_little_and_has_its_total)
{
    struct sf_why why = {0};
    pthread_t threads[THREADS];
    struct player players[THREADS];
    uint64_t all_ns = 0, got_ns, own_ns = sf_own_cost_ns() - sf_guest_thread_cpu_ns();
    uint64_t before_ns = atomic_load(&sent_ns);
    sf_profiler_govern(NULL);
    sf_profiler_set_period(SF_SAMPLES_CPU, SF_NS_PER_S / 100);
    assert_ok(sf_profiler_start(SF_FOR_SERVER, 1u << SF_SAMPLES_CPU, &why));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pipe(pipes[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        players[i] = (struct player){.in = pipes[i][0], .out = pipes[1 - i][1]};
        assert_int_equal(pthread_create(&threads[i], NULL, play, &players[i]), 0);
    }
    assert_int_equal(write(pipes[0][1], "b", 1), 1);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all_ns += players[i].used_ns;
    }
    assert_ok(sf_profiler_stop(SF_FOR_SERVER, 1u << SF_SAMPLES_CPU, NULL, &why));
    got_ns = atomic_load(&sent_ns) - before_ns;
    own_ns = sf_own_cost_ns() - sf_guest_thread_cpu_ns() - own_ns;
    printf(
        "# %.3f s used, %.3f s in samples (%+.2f %%), of which samples and clocks took %.2f %%\n",
        (double)all_ns / 1e9, (double)got_ns / 1e9, ((double)got_ns / (double)all_ns - 1) * 100,
        (double)own_ns / (double)all_ns * 100);
    assert_true(fabs((double)got_ns - (double)all_ns) < 0.02 * (double)all_ns);
    assert_true(own_ns < all_ns / 40); /* a clock of perf's would take a tenth of the first part */
}

/* Threads that sleep most of the time use a few hundredths of a second while the rate is low: at
 * one sample in a second of CPU time the first one would come in half a minute. */
enum { SLEEPERS = 20, LOW_NAPS = 20, NAPS = 120, NAP_NS = 10000000, WORK_NS = 1000000 };
static atomic_bool is_raised;
static atomic_uint n_slept;

static void *sleep_mostly(void *arg)
{
    struct timespec found = {0, 400000000}, nap = {0, NAP_NS};
    uint64_t begin_ns;
    nanosleep(&found, NULL);
    begin_ns = cpu_ns();
    for (int i = 0; i < NAPS; i++) {
        uint64_t now_ns = cpu_ns();
        while (cpu_ns() - now_ns < WORK_NS)
            ;
        nanosleep(&nap, NULL);
        if (i == LOW_NAPS && atomic_fetch_add(&n_slept, 1) + 1 == SLEEPERS)
            atomic_store(&is_raised, true);
        while (i == LOW_NAPS && !atomic_load(&is_raised))
            nanosleep(&nap, NULL);
    }
    *(uint64_t *)arg = cpu_ns() - begin_ns;
    return NULL;
}

static void raise_rate(int64_t now_ns)
{
    uint64_t periods[SF_SAMPLES_KINDS] = {0};
    (void)now_ns;
    periods[SF_SAMPLES_CPU] = atomic_load(&is_raised) ? SF_NS_PER_S / 500 : SF_NS_PER_S;
    sf_profiler_pace(periods);
}

TEST(pace, a_raised_rate_does_not_wait_for_the_gaps_of_a_low_one)
{
    struct sf_why why = {0};
    pthread_t threads[SLEEPERS];
    uint64_t used_ns[SLEEPERS], all_ns = 0, got_ns, before_ns = atomic_load(&sent_ns);
    uint64_t n_before, n_after, n_dropped;
    sf_profiler_govern(raise_rate);
    sf_profiler_set_period(SF_SAMPLES_CPU, SF_NS_PER_S);
    sf_profiler_count(&n_before, &n_dropped);
    assert_ok(sf_profiler_start(SF_FOR_SERVER, 1u << SF_SAMPLES_CPU, &why));
    for (int i = 0; i < SLEEPERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sleep_mostly, &used_ns[i]), 0);
    for (int i = 0; i < SLEEPERS; i++) {
        pthread_join(threads[i], NULL);
        all_ns += used_ns[i];
    }
    assert_ok(sf_profiler_stop(SF_FOR_SERVER, 1u << SF_SAMPLES_CPU, NULL, &why));
    got_ns = atomic_load(&sent_ns) - before_ns;
    sf_profiler_count(&n_after, &n_dropped);
    printf("# %.3f s used, %.3f s in %u samples (%+.2f %%)\n", (double)all_ns / 1e9,
           (double)got_ns / 1e9, (unsigned)(n_after - n_before),
           ((double)got_ns / (double)all_ns - 1) * 100);
    assert_true(n_after - n_before > SLEEPERS * (NAPS - LOW_NAPS) / 8);
    assert_true(fabs((double)got_ns - (double)all_ns) < 0.04 * (double)all_ns);
}
