#include "os/clock.h"

#include <time.h>

#include "base/time_unit.h"

static int64_t read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * SF_NS_PER_S + t.tv_nsec;
}

int64_t sf_clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t sf_clock_mono_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t sf_clock_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void sf_clock_sleep_ms(unsigned ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * SF_NS_PER_MS};
    while (nanosleep(&left, &left) != 0) {
        /* a signal: sleep the rest */
    }
}
