/* A program that works in step with the sampling timer: in_step FILE CPU-SECONDS.
 *
 * Two functions take turns, each half of every cycle of CPU time, and a cycle is as long as the
 * timer's period. A timer that never varies meets the same half again and again. Prints the CPU
 * time each really took. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <spanflame.h>

#define PERIOD_S 0.01

static volatile unsigned long sink;

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline __attribute__((always_inline)) double burn_until(double end)
{
    double begin = cpu_s(), now;
    do {
        for (int i = 0; i < 1000; i++)
            sink += (unsigned long)i;
        now = cpu_s();
    } while (now < end);
    return now - begin;
}

__attribute__((noinline)) static double burn_first(double end)
{
    __asm__ volatile("# first"); /* two functions, however alike */
    return burn_until(end);
}

__attribute__((noinline)) static double burn_second(double end)
{
    __asm__ volatile("# second");
    return burn_until(end);
}

int main(int argc, char **argv)
{
    double first = 0, second = 0, begin;
    unsigned n;
    if (argc < 3)
        return 2;
    if (sf_cpu_profile_start(argv[1], (unsigned)(1 / PERIOD_S)))
        return 1;
    begin = cpu_s();
    n = (unsigned)(strtod(argv[2], NULL) / PERIOD_S);
    for (unsigned i = 0; i < n; i++) {
        first += burn_first(begin + (i + 0.5) * PERIOD_S);
        second += burn_second(begin + (i + 1) * PERIOD_S);
    }
    if (sf_cpu_profile_stop())
        return 1;
    printf("cpu burn_first %.6f\ncpu burn_second %.6f\n", first, second);
    return 0;
}
