#include "test.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/time_unit.h"
#include "collect/lib/profile_sources.h"
#include "collect/lib/profiler.h"
#include "collect/sys/clock.h"

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
