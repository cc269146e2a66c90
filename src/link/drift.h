/* drift.h - detects whether a number that is measured every minute has gone up and stayed up.
 *
 * Two tests of the logarithm; an alarm needs one of them. Page's sequential test: each value adds
 * its evidence for an increase of `least` over the level, and subtracts evidence against it, until
 * the sum exceeds a bound. The second test: the median of the last ten values is up by six times
 * the spread of means of ten; it detects what the first is slow at, a step in noise that lasts for
 * minutes.
 *
 * In both cases the median of the last ten must be up by `least`, ten of the last eleven values by
 * half of it (which excludes two short problems in a row), and the median must exceed, by half of
 * `least` and by the noise, what was usual within 20 minutes of that time on the days before: a
 * nightly job is no alarm, and one that is early or late cannot be distinguished from a regression
 * of its size until its time is over.
 *
 * The level is a median of the hours before, without the last quarter of an hour, moved along their
 * trend: changes with the time of day are neither noise nor an alarm. The spread is that around the
 * trend, over minutes and over longer blocks, so that lasting noise counts as noise. It is
 * estimated from the lower half of the values: a job of half an hour within these four hours is in
 * the upper half, and does not count as noise. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum {
    SF_DRIFT_PAST = 240, /* number of values for the level */
    SF_DRIFT_GAP = 15,   /* number of newest values that are left out */
    SF_DRIFT_RECENT = 10,
    SF_DRIFT_LEAST = 60, /* at least this many values for a level */
    SF_DRIFT_DAYS = 7,
    SF_DRIFT_BLOCKS = SF_DRIFT_DAYS * 288, /* blocks of five minutes */
};

struct sf_drift_rule {
    double least; /* logarithm of the smallest increase that matters */
    double floor; /* and that increase in the unit of the values */
};

struct sf_drift {                                 /* zero-initialized */
    float past[SF_DRIFT_PAST + SF_DRIFT_GAP + 1]; /* a ring */
    uint16_t days[SF_DRIFT_BLOCKS]; /* largest median of ten values in a block, coded; 0: none */
    int64_t block;                  /* number of the current block */
    uint32_t n;                     /* values so far */
    uint32_t n_fit;                 /* n when the level was last computed */
    double level, spread;           /* of the logarithm */
    /* Spread of means of ten; and averaged over several computations. */
    double means_spread, means_mean;
    uint32_t n_fits;
    double evidence;
    uint32_t n_down;
    int64_t up_minute; /* since when */
    bool is_up;
};

/* Adds the value of a minute (minutes since 1970, increasing); must be above zero. */
void sf_drift_step(struct sf_drift *d, const struct sf_drift_rule *rule, int64_t minute,
                   double value);
double sf_drift_before(const struct sf_drift *d); /* the level, in the unit of the values */
double sf_drift_now(const struct sf_drift *d);    /* the median of the last ten */
