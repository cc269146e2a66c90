/* ticks.h - the cheapest clock: the CPU's time stamp counter if its rate is constant, else the
 * monotonic clock. Two reads take a third of the time of the monotonic clock. */
#pragma once
#include <stdint.h>

#include "collect/sys/clock.h"

struct sf_tick_rate {
    double ns; /* length of a tick */
    int is_counter;
};
extern struct sf_tick_rate sf_tick_rate; /* set by sf_ticks_measure */

static inline uint64_t sf_ticks(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(sf_tick_rate.is_counter, 1))
        return __builtin_ia32_rdtsc();
#endif
    return (uint64_t)sf_clock_mono_ns();
}
static inline uint64_t sf_ticks_to_ns(uint64_t ticks)
{
    return (uint64_t)((double)ticks * sf_tick_rate.ns);
}
/* Measures the length of a tick; waits two milliseconds the first time. One thread at a time,
 * before two reads are compared. */
void sf_ticks_measure(void);
