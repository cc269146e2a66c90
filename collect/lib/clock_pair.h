/* clock_pair.h - one or two perf clocks of a thread with random periods, so that its samples are
 * not evenly spaced.
 *
 * A program whose work is periodic could be sampled at the same place again and again by an even
 * clock. A period cannot be changed from the handler without a descriptor and a system call, so two
 * clocks with different random periods run in parallel, each at about half the rate, and from time
 * to time one of them gets a new random period. A sample represents 1 / (sum of both rates),
 * whichever clock it is of: each clock samples a place in proportion to the time the thread spends
 * there, so it does not matter which one fired.
 *
 * Each clock makes a context switch 0.6 us more expensive. A thread that switches often has only
 * one, with a new period as often; its waits make the samples uneven anyway. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "collect/lib/gap.h"

struct sf_clock_pair {
    void *clocks[2]; /* [0] NULL: no clock; [1] NULL: one clock */
    uint64_t every_ns[2];
    unsigned next; /* index of the clock that gets the next new period */
};

struct sf_clock_aim {
    uint32_t tid;
    int sig;
    uint64_t period_ns; /* the requested period */
};

/* Starts one clock. Returns the time that a sample represents, in ns; 0: refused. */
uint64_t sf_clock_pair_start(struct sf_clock_pair *p, const struct sf_clock_aim *aim,
                             struct sf_gap_chance *chance);
/* Gives one of them a new period; with `is_two` there are two from now on, else one. Returns the
 * time that a sample represents then. Half a sample is lost on average, so do not call it too
 * often. */
uint64_t sf_clock_pair_vary(struct sf_clock_pair *p, const struct sf_clock_aim *aim, bool is_two,
                            struct sf_gap_chance *chance);
void sf_clock_pair_stop(struct sf_clock_pair *p);
void sf_clock_pair_forget(struct sf_clock_pair *p); /* in a forked child: they were not inherited */
static inline bool sf_clock_pair_is_on(const struct sf_clock_pair *p)
{
    return p->clocks[0];
}
static inline unsigned sf_clock_pair_n(const struct sf_clock_pair *p)
{
    return (p->clocks[0] ? 1u : 0u) + (p->clocks[1] ? 1u : 0u);
}
