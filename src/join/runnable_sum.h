/* runnable_sum.h - the mean number of runnable threads of the hosts while spans waited for a CPU;
 * each span counts by its wait. */
#pragma once
#include <stdint.h>

struct sf_runnable_sum { /* a zeroed one is empty */
    double threads_ns;   /* threads times nanoseconds of waiting */
    double known_ns;     /* waiting of spans whose number is known */
};

/* `runnable`: at most 0 if not known. */
static inline void sf_runnable_sum_add(struct sf_runnable_sum *sum, double runnable,
                                       double waited_ns)
{
    if (runnable <= 0)
        return;
    sum->threads_ns += runnable * waited_ns;
    sum->known_ns += waited_ns;
}

/* 0: not known for at least half of all waits, `waited_ns`. */
static inline double sf_runnable_sum_mean(const struct sf_runnable_sum *sum, double waited_ns)
{
    return sum->known_ns > 0 && sum->known_ns >= waited_ns / 2 ? sum->threads_ns / sum->known_ns
                                                               : 0;
}
