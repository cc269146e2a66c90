/* draws.h - pairs of cohorts with known means, drawn from a seed: what a comparison is tried on. */
#pragma once
#include "link/cohort.h"

enum { DRAW_FRAMES = 40, DRAW_SPANS = 1200 };

enum draw_world {
    DRAW_EVEN,    /* requests are independent; costs are exponential, some functions in a tenth */
    DRAW_SAMPLED, /* the same, seen by a sampler: 10 ms a sample, some requests without any */
    DRAW_CLOCKED, /* an even clock over requests of nearly one length, one after the other */
    DRAW_BURSTS,  /* requests come in bursts that are alike, mostly of one side */
    DRAW_BEFORE,  /* the same, and the right side begins when the left one has ended */
    DRAW_PLAIN    /* the plainest: requests are independent, and have all of 20 functions, whose
                     costs are exponential: as large a deviation as their mean */
};

struct draw { /* stays where it was made */
    struct sf_cohort sides[2];
    struct sf_cohort_cost costs[2][DRAW_SPANS * DRAW_FRAMES];
    struct sf_cohort_when when[2][DRAW_SPANS];
    uint32_t unit[2][DRAW_SPANS]; /* which spans are alike: an oracle knows */
    double means[2][DRAW_FRAMES]; /* that the costs were drawn from */
    uint32_t n_frames, planted;   /* the function that is slower on the right */
};

struct draw_ask {
    enum draw_world world;
    uint32_t n_left, n_right;
    double more; /* of the planted function on the right: 0.5 is half as much again */
    uint64_t seed;
};

void draw_make(const struct draw_ask *ask, struct draw *out);
const char *draw_world_name(enum draw_world world);

struct draw_random {
    uint64_t state;
};
double draw_uniform(struct draw_random *r); /* [0, 1) */
double draw_exponential(struct draw_random *r);
uint32_t draw_poisson(struct draw_random *r, double mean);
