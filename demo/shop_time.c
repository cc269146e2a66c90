#include "shop.h"

#include <errno.h>
#include <time.h>

static uint64_t clock_us(clockid_t which)
{
    struct timespec t;
    clock_gettime(which, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t shop_now_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

uint64_t shop_cpu_us(void)
{
    return clock_us(CLOCK_THREAD_CPUTIME_ID);
}

void shop_sleep_us(uint64_t us)
{
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
        ;
}

uint64_t cpu_budget_us(uint64_t us)
{
    return shop_cpu_us() + us;
}

bool cpu_is_left(uint64_t end)
{
    return shop_cpu_us() < end;
}
