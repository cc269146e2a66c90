/* Threads that live for some milliseconds: short_lives FILE CPU-SECONDS. Two at a time, of 20 ms
 * and of 4 ms, each with a function of its own, beside one that lives as long as all of them.
 * Prints the CPU time that each kind really took. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <spanflame.h>

static atomic_bool is_over;
static atomic_llong spent_ns[3];
static volatile unsigned long sink;

static long long cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline __attribute__((always_inline)) void burn(long long ns)
{
    long long end = cpu_ns() + ns;
    do {
        for (int i = 0; i < 500; i++)
            sink += (unsigned long)i;
    } while (cpu_ns() < end);
}

#define LIFE(name, at, ns)                                  \
    __attribute__((noinline)) static void burn_##name(void) \
    {                                                       \
        __asm__ volatile("# " #name); /* not the same */    \
        burn(ns);                                           \
    }                                                       \
    static void *live_##name(void *arg)                     \
    {                                                       \
        do                                                  \
            burn_##name();                                  \
        while (arg && !atomic_load(&is_over));              \
        spent_ns[at] += cpu_ns();                           \
        return NULL;                                        \
    }
LIFE(short, 0, 20000000)
LIFE(tiny, 1, 4000000)
LIFE(long, 2, 10000000)

int main(int argc, char **argv)
{
    double seconds = argc > 2 ? strtod(argv[2], NULL) : 1;
    pthread_t lasting, t[2];
    if (argc < 3 || sf_cpu_profile_start(argv[1], 100))
        return 3;
    pthread_create(&lasting, NULL, live_long, &is_over);
    while ((double)(spent_ns[0] + spent_ns[1]) / 1e9 < seconds) {
        pthread_create(&t[0], NULL, live_short, NULL);
        for (int i = 0; i < 4; i++) {
            pthread_create(&t[1], NULL, live_tiny, NULL);
            pthread_join(t[1], NULL);
        }
        pthread_join(t[0], NULL);
    }
    atomic_store(&is_over, true);
    pthread_join(lasting, NULL);
    printf("cpu live_short %.6f\ncpu live_tiny %.6f\ncpu live_long %.6f\n",
           (double)spent_ns[0] / 1e9, (double)spent_ns[1] / 1e9, (double)spent_ns[2] / 1e9);
    return sf_cpu_profile_stop() ? 6 : 0;
}
