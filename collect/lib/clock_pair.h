/* clock_pair.h - perf's clocks over one thread, so drawn that its samples do not come evenly.
 *
 * A program that works in step with an even clock shows the same place again and again. A period
 * cannot be changed from the handler without a descriptor and a system call, so two clocks of
 * different, random periods run side by side, each at about half the rate, and one of the two is
 * drawn again from time to time. A sample represents 1 / (sum of both rates), whichever clock it is
 * of: each clock samples a place in proportion to the time the thread spends there, so it does not
 * matter which one fired.
 *
 * A clock makes a switch between threads 0.6 us dearer. A thread that switches often has one only,
 * drawn again as often; what it waits for puts it out of step anyway. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "collect/lib/gap.h"

struct sf_clock_pair {
    void *clocks[2]; /* [0] NULL: none at all; [1] NULL: one */
    uint64_t every_ns[2];
    unsigned next; /* which one is drawn */
};

struct sf_clock_aim {
    uint32_t tid;
    int sig;
    uint64_t period_ns; /* requested */
};

/* Starts one clock. What a sample represents, ns; 0: refused. */
uint64_t sf_clock_pair_start(struct sf_clock_pair *p, const struct sf_clock_aim *aim,
                             struct sf_gap_chance *chance);
/* Draws one of them again; with `is_two` there are two from now on, else one. What a sample
 * represents then. Half a sample is lost: not too often. */
uint64_t sf_clock_pair_vary(struct sf_clock_pair *p, const struct sf_clock_aim *aim, bool is_two,
                            struct sf_gap_chance *chance);
void sf_clock_pair_stop(struct sf_clock_pair *p);
void sf_clock_pair_forget(struct sf_clock_pair *p); /* in a forked child: they were not inherited */
static inline bool sf_clock_pair_is_on(const struct sf_clock_pair *p)
{
    return p->clocks[0];
}
