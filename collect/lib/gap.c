#include "collect/lib/gap.h"

#include <stdatomic.h>
#include <string.h>

#include "collect/sys/clock.h"

#define LN_2 0.69314718055994530942

static uint64_t gap_mix(uint64_t v)
{
    v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9u;
    v = (v ^ v >> 27) * 0x94d049bb133111ebu;
    return v ^ v >> 31;
}

/* splitmix64: one word of state, any seed works. */
uint64_t sf_gap_random(struct sf_gap_chance *c)
{
    static atomic_uint_fast64_t n_seeded;
    if (!c->state) /* distinct per thread; address and time make it differ per process */
        c->state = gap_mix((uint64_t)sf_clock_mono_ns() ^ (uint64_t)(uintptr_t)c) +
                   atomic_fetch_add_explicit(&n_seeded, 0x632be59bd9b4e019u, memory_order_relaxed);
    c->state += 0x9e3779b97f4a7c15u;
    if (!c->state)
        c->state = 0x9e3779b97f4a7c15u;
    return gap_mix(c->state);
}

/* ln of a positive, normal number: its exponent, and 2 atanh((m - 1) / (m + 1)) for the rest. */
static double ln(double v)
{
    uint64_t bits;
    double m, s, square, sum = 0;
    memcpy(&bits, &v, sizeof(bits));
    int exponent = (int)(bits >> 52 & 2047) - 1023;
    bits = (bits & 0xfffffffffffffu) | (uint64_t)1023 << 52;
    memcpy(&m, &bits, sizeof(m));
    s = (m - 1) / (m + 1); /* at most a third */
    square = s * s;
    for (int i = 21; i >= 1; i -= 2)
        sum = sum * square + 1.0 / i;
    return exponent * LN_2 + 2 * s * sum;
}

/* 1 - exp(-x) for x at least 0, exact also where x is tiny. */
static double covered(double x)
{
    double left = 0;
    if (x > 40)
        return 1;
    if (x < 0.01)
        return x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4)));
    for (int i = 14; i >= 1; i--) /* exp(-x / 64), by its series */
        left = (left + 1) * (-x / 64) / i;
    left += 1;
    for (int i = 0; i < 6; i++)
        left *= left;
    return 1 - left;
}

double sf_gap_uniform(struct sf_gap_chance *c)
{
    return (double)(sf_gap_random(c) >> 11) * 0x1p-53;
}

uint64_t sf_gap_draw(struct sf_gap_chance *c, uint64_t mean)
{
    double u = (double)((sf_gap_random(c) >> 11) + 1) * 0x1p-53; /* above 0, at most 1 */
    double gap = -ln(u) * (double)mean;
    return gap < 1 ? 1 : (uint64_t)gap;
}

double sf_gap_stands_for(uint64_t size, uint64_t mean)
{
    return 1 / covered((double)size / (double)mean);
}

uint64_t sf_gap_whole(struct sf_gap_chance *c, double v)
{
    uint64_t whole = (uint64_t)v;
    double rest = v - (double)whole;
    return whole + (sf_gap_uniform(c) < rest);
}
