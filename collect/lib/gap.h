/* gap.h - random distances between samples, and the weight of a sample.
 *
 * Sampling points are random on the sequence of allocated bytes (or waited time), one per `mean` on
 * average. An object that contains at least one point is a sample: for size s the probability is 1
 * - exp(-s / mean), so the sample represents 1 / probability such objects. Gaps are memoryless:
 * after a sample the next one is drawn independently. Without libm: the library needs only libc. */
#pragma once
#include <stdint.h>

struct sf_gap_chance {
    uint64_t state; /* 0: not yet seeded */
};

/* 64 random bits. No system call: a program may have forbidden them. */
uint64_t sf_gap_random(struct sf_gap_chance *c);
double sf_gap_uniform(struct sf_gap_chance *c);               /* in [0, 1) */
uint64_t sf_gap_draw(struct sf_gap_chance *c, uint64_t mean); /* at least 1 */
double sf_gap_stands_for(uint64_t size, uint64_t mean);       /* at least 1; size must be above 0 */
/* A random whole number whose mean is `v`: 1.58 becomes 2 in 58 of 100 cases. */
uint64_t sf_gap_whole(struct sf_gap_chance *c, double v);
