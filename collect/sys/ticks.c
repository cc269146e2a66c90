#include "collect/sys/ticks.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <errno.h>
#include <stdbool.h>
#include <time.h>

struct sf_tick_rate sf_tick_rate = {1, 0};

#if defined(__x86_64__)
/* Whether the counter has one constant rate on all cores, also in sleep states. */
static bool ticks_is_steady(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
}

/* Reads both clocks at the same time: of several attempts, the one that took least. */
static void read_both(uint64_t *ticks, int64_t *ns)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = __builtin_ia32_rdtsc(), after;
        int64_t now_ns = sf_clock_mono_ns();
        after = __builtin_ia32_rdtsc();
        if (after - before < best) {
            best = after - before;
            *ticks = before + best / 2;
            *ns = now_ns;
        }
    }
}
#endif

void sf_ticks_measure(void)
{
#if defined(__x86_64__)
    struct timespec pause = {0, 2000000};
    uint64_t from_ticks = 0, to_ticks = 0;
    int64_t from_ns = 0, to_ns = 0;
    int saved = errno;
    if (sf_tick_rate.is_counter || !ticks_is_steady())
        return;
    read_both(&from_ticks, &from_ns);
    nanosleep(&pause, NULL);
    read_both(&to_ticks, &to_ns);
    errno = saved;
    if (to_ticks <= from_ticks || to_ns - from_ns < 1000000)
        return;
    sf_tick_rate.ns = (double)(to_ns - from_ns) / (double)(to_ticks - from_ticks);
    sf_tick_rate.is_counter = 1;
#endif
}
