/* drift.h - has a number that is measured each minute gone up, and stayed up?
 *
 * Two tests of the logarithm; an alarm needs one of them. Page's sequential test: each value adds
 * what it says for an increase of `least` over the level, and takes away what it says against it,
 * until the sum passes a bound. And the median of the last ten values is up by six times what
 * means of ten vary by: that finds what the first is slow at, a step in noise that lasts for
 * minutes.
 *
 * With either of them, the median of the last ten must be up by `least`, ten of the last eleven
 * values by half of it (two short troubles in a row are fewer), and the median by half of it, and
 * by the noise, above what was usual within 20 minutes of that time on the days before: a nightly
 * job is no news, and one that is early or late is not told from a regression of its size until
 * its time is over.
 *
 * The level is a median of the hours before, without the last quarter of an hour, moved along their
 * trend: the time of day is neither noise nor news. The spread is that around the trend, over
 * minutes and over longer blocks, so that noise that lasts counts as noise. It is made of the lower
 * half of the values: a job of half an hour within these four hours is in the upper one, and
 * is not a noise. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum {
    SF_DRIFT_PAST = 240, /* values that make the level */
    SF_DRIFT_GAP = 15,   /* and the newest, that do not */
    SF_DRIFT_RECENT = 10,
    SF_DRIFT_LEAST = 60, /* fewer are no level */
    SF_DRIFT_DAYS = 7,
    SF_DRIFT_BLOCKS = SF_DRIFT_DAYS * 288, /* of five minutes */
};

struct sf_drift_rule {
    double least; /* logarithm of the smallest increase that matters */
    double floor; /* and that increase in the unit of the values */
};

struct sf_drift {                                 /* zeroed: nothing is known */
    float past[SF_DRIFT_PAST + SF_DRIFT_GAP + 1]; /* a ring */
    uint16_t days[SF_DRIFT_BLOCKS];               /* the highest of a block, coded; 0: none */
    int64_t block;                                /* the one in hand */
    uint32_t n;                                   /* values so far */
    uint32_t n_fit;                               /* that the level was made after */
    double level, spread;                         /* of the logarithm */
    double means_spread, means_mean;              /* of means of ten; and averaged over fits */
    uint32_t n_fits;
    double evidence;
    uint32_t n_down;
    int64_t up_minute; /* since when */
    bool is_up;
};

/* A value of that minute (minutes since 1970, growing); above zero. */
void sf_drift_step(struct sf_drift *d, const struct sf_drift_rule *rule, int64_t minute,
                   double value);
double sf_drift_before(const struct sf_drift *d); /* the level, in the unit of the values */
double sf_drift_now(const struct sf_drift *d);    /* the median of the last ten */
