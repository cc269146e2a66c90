/* gap.h - how far it is to the next sample, and what a sample represents.
 *
 * Points lie on a line of bytes (or of waited time) at random, one per `mean` on average. Whatever
 * covers at least one point is a sample: something of size s with the chance 1 - exp(-s / mean), so
 * it represents 1 / that many like it. Gaps between points have no memory: after a sample the next
 * one is drawn afresh. No libm: the library needs libc and nothing else. */
#pragma once
#include <stdint.h>

struct sf_gap_chance {
    uint64_t state; /* 0: not yet seeded */
};

/* 64 random bits. No system call: a program may have forbidden them. */
uint64_t sf_gap_random(struct sf_gap_chance *c);
double sf_gap_uniform(struct sf_gap_chance *c);               /* 0 and up, below 1 */
uint64_t sf_gap_draw(struct sf_gap_chance *c, uint64_t mean); /* at least 1 */
double sf_gap_stands_for(uint64_t size, uint64_t mean);       /* 1 and up; size above 0 */
/* A whole number that is `v` on average: 1.58 objects are 2 in 58 of 100 cases. */
uint64_t sf_gap_whole(struct sf_gap_chance *c, double v);
