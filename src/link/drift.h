/* drift.h - has a number that is measured each minute gone up, and stayed up?
 *
 * A sequential test (Page's) of the logarithm: each value adds what it says for an increase of
 * `least` over the level, and takes away what it says against it; an alarm is given when the sum
 * passes a bound that chance reaches about once in e^25 values, and only when the last ten values
 * are up by `least` themselves. The level is a median of the hours before, without the last quarter
 * of an hour; the spread is measured over minutes and over longer blocks, so that noise that lasts
 * counts as noise. What was as high at the same time of an earlier day is no news. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum {
    SF_DRIFT_PAST = 240, /* values that make the level */
    SF_DRIFT_GAP = 15,   /* and the newest, that do not */
    SF_DRIFT_RECENT = 10,
    SF_DRIFT_LEAST = 60, /* fewer are no level */
    SF_DRIFT_DAYS = 7,
    SF_DRIFT_BLOCKS = SF_DRIFT_DAYS * 96, /* quarters of an hour */
};

struct sf_drift_rule {
    double least; /* logarithm of the smallest increase that matters */
    double floor; /* and that increase in the unit of the values */
};

struct sf_drift {                                 /* zeroed: nothing is known */
    float past[SF_DRIFT_PAST + SF_DRIFT_GAP + 1]; /* a ring */
    float days[SF_DRIFT_BLOCKS];                  /* sums by quarter of an hour, and */
    uint8_t days_n[SF_DRIFT_BLOCKS];              /* how many; 0: none */
    int64_t block;                                /* the quarter in hand */
    uint32_t n;                                   /* values so far */
    uint32_t n_fit;                               /* that the level was made after */
    double level, spread;                         /* of the logarithm */
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
