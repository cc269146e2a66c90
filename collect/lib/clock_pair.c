#include "collect/lib/clock_pair.h"

#include <string.h>

#include "collect/sys/perf_clock.h"

/* Draws a random rate from `least` to `most` times the requested one; returns the period. */
static uint64_t clock_pair_draw(struct sf_gap_chance *chance, uint64_t period_ns, double least,
                                double most)
{
    return (uint64_t)((double)period_ns / (least + (most - least) * sf_gap_uniform(chance)));
}

static uint64_t stands_for(const struct sf_clock_pair *p)
{
    double rate = 1 / (double)p->every_ns[0];
    if (p->clocks[1])
        rate += 1 / (double)p->every_ns[1];
    return (uint64_t)(1 / rate);
}

/* The old clock keeps running if a new one is refused. */
static void clock_pair_replace(struct sf_clock_pair *p, unsigned which,
                               const struct sf_clock_aim *aim, uint64_t every_ns)
{
    void *clock = sf_perf_clock_start(aim->tid, every_ns, aim->sig);
    if (!clock)
        return;
    if (p->clocks[which])
        sf_perf_clock_stop(p->clocks[which]);
    p->clocks[which] = clock;
    p->every_ns[which] = every_ns;
}

uint64_t sf_clock_pair_start(struct sf_clock_pair *p, const struct sf_clock_aim *aim,
                             struct sf_gap_chance *chance)
{
    memset(p, 0, sizeof(*p));
    p->next = 1;
    clock_pair_replace(p, 0, aim, clock_pair_draw(chance, aim->period_ns, 0.75, 1.25));
    return p->clocks[0] ? stands_for(p) : 0;
}

uint64_t sf_clock_pair_vary(struct sf_clock_pair *p, const struct sf_clock_aim *aim, bool is_two,
                            struct sf_gap_chance *chance)
{
    if (is_two) {
        bool was_alone = !p->clocks[1];
        clock_pair_replace(p, p->next, aim, clock_pair_draw(chance, aim->period_ns, 0.3, 0.7));
        p->next = !p->next;
        if (was_alone && p->clocks[1]) /* the first clock ran at the full rate */
            clock_pair_replace(p, 0, aim, clock_pair_draw(chance, aim->period_ns, 0.3, 0.7));
        return stands_for(p);
    }
    if (p->clocks[1]) {
        sf_perf_clock_stop(p->clocks[1]);
        p->clocks[1] = NULL;
    }
    p->next = 1;
    clock_pair_replace(p, 0, aim, clock_pair_draw(chance, aim->period_ns, 0.75, 1.25));
    return stands_for(p);
}

void sf_clock_pair_stop(struct sf_clock_pair *p)
{
    for (int i = 0; i < 2; i++) {
        if (p->clocks[i])
            sf_perf_clock_stop(p->clocks[i]);
        p->clocks[i] = NULL;
    }
}

void sf_clock_pair_forget(struct sf_clock_pair *p)
{
    memset(p, 0, sizeof(*p));
}
