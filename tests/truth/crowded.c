/* A program on processors that others want, too: crowded FILE CPU-SECONDS [closed]. With "closed"
 * its threads let no signal in but SIGPROF.
 *
 * Threads serve requests of three steps and sleep between them, beside processes that never sleep.
 * Who runs changes when the kernel ticks, so a clock that is examined there sees the steps at the
 * end of a turn too often. Prints the CPU time each step really took. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <spanflame.h>

enum { THREADS = 4, STEPS = 3, CROWD_MAX = 64 };

static const char *const names[STEPS] = {"burn_first", "burn_main", "burn_last"};
static double spent[THREADS][STEPS];
static atomic_bool is_over;
static volatile unsigned long sink;

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline __attribute__((always_inline)) double burn(double length)
{
    double begin = seconds(CLOCK_THREAD_CPUTIME_ID), now;
    do {
        for (int i = 0; i < 500; i++)
            sink += (unsigned long)i;
        now = seconds(CLOCK_THREAD_CPUTIME_ID);
    } while (now - begin < length);
    return now - begin;
}

#define STEP(name, length)                                  \
    __attribute__((noinline)) static void name(double *sum) \
    {                                                       \
        __asm__ volatile("# " #name); /* not the same */    \
        *sum += burn(length);                               \
    }
STEP(burn_first, 0.0025)
STEP(burn_main, 0.001)
STEP(burn_last, 0.0005)

static void *serve(void *arg)
{
    double *sum = arg;
    struct timespec pause = {0, 1000000};
    while (!atomic_load(&is_over)) {
        burn_first(&sum[0]);
        burn_main(&sum[1]);
        burn_last(&sum[2]);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void crowd(pid_t *others, long n)
{
    for (long i = 0; i < n; i++) {
        others[i] = fork();
        if (others[i])
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            sink++;
    }
}

static void close_to_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGPROF);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    pid_t others[CROWD_MAX];
    struct timespec pause = {0, 10000000};
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    if (argc < 3)
        return 2;
    n = n > CROWD_MAX ? CROWD_MAX : n;
    if (argc > 3)
        close_to_signals();
    crowd(others, n);
    if (sf_cpu_profile_start(argv[1], 250))
        return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, serve, spent[i]);
    while (seconds(CLOCK_PROCESS_CPUTIME_ID) < strtod(argv[2], NULL))
        nanosleep(&pause, NULL);
    atomic_store(&is_over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (long i = 0; i < n; i++)
        kill(others[i], SIGKILL);
    if (sf_cpu_profile_stop())
        return 1;
    for (int k = 0; k < STEPS; k++) {
        double sum = 0;
        for (int i = 0; i < THREADS; i++)
            sum += spent[i][k];
        printf("cpu %s %.6f\n", names[k], sum);
    }
    return 0;
}
