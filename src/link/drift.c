/* drift.c - the tests of drift.h.
 *
 * Values are stored as logarithms in a ring; the level and the spread are computed anew every
 * few minutes. For the days before, the largest median of ten values in each block of five minutes
 * is stored. */
#include "link/drift.h"

#include <math.h>
#include <string.h>

enum {
    RING = SF_DRIFT_PAST + SF_DRIFT_GAP + 1,
    REFIT = 5,
    DAY = 1440,
    DOWN = 5,
    BLOCK = 5,
    ASIDE = 4,   /* blocks by which a nightly job may be early or late */
    TREND = 120, /* values from which a trend is computed */
    FITS = 48,   /* number of computations over which the spread of means is averaged: four hours */
    LASTING = 11, /* of this many values all but one must be up, which excludes short problems */
};
/* Of the evidence: with the wider spread, chance reaches it about once in e^25 values. */
#define BOUND      18.0
#define ONE_MAX    (BOUND / 6)
#define WIDER      1.3 /* factor: a spread from a few hours may be too small by chance */
#define NARROW     0.03
#define SIGMAS     6.0  /* by how many spreads of means of ten the last ten must be up */
#define CODE_FROM  16.0 /* a stored code is a logarithm between -16 and 48 */
#define CODE_STEPS 1024.0
#define USUAL      0.5  /* share of the smallest increase by which it must exceed the days before */
#define MORE       1.25 /* largest ratio of the spread of means to that of the hours before */
#define AIM        1.8  /* times the smallest increase: the increase that is detected fastest */

static void swap(float *a, float *b)
{
    float was = *a;
    *a = *b;
    *b = was;
}

/* The k-th smallest value; reorders the array. */
static float nth(float *v, uint32_t n, uint32_t k)
{
    uint32_t low = 0, high = n - 1;
    while (low < high) {
        float pivot = v[low + (high - low) / 2];
        uint32_t i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot)
                i++;
            while (v[j] > pivot)
                j--;
            if (i > j)
                break;
            swap(&v[i++], &v[j]);
            if (j-- == 0)
                break;
        }
        if (k <= j && j < high)
            high = j;
        else if (k >= i)
            low = i;
        else
            break; /* all values between are equal to the pivot */
    }
    return v[k];
}

static float median(float *v, uint32_t n)
{
    float upper = nth(v, n, n / 2);
    return n % 2 ? upper : (nth(v, n, n / 2 - 1) + upper) / 2;
}

/* The standard deviation of a normal distribution, estimated from the lower half: a job that ran in
 * these hours is in the upper half. Reorders the array. */
static double drift_spread_of(float *v, uint32_t n)
{
    float middle = nth(v, n, n / 2);
    return (double)(middle - nth(v, n, n / 4)) / 0.6745;
}

/* The value `back` places before the newest. */
static float at(const struct sf_drift *d, uint32_t back)
{
    return d->past[(d->n - 1 - back) % RING];
}

/* The spread of a value if noise that lasts for `len` values were independent per value. */
static double spread_in_blocks(const float *v, uint32_t n, uint32_t len)
{
    float means[SF_DRIFT_PAST];
    uint32_t n_means = n / len;
    for (uint32_t i = 0; i < n_means; i++) {
        float sum = 0;
        for (uint32_t k = 0; k < len; k++)
            sum += v[i * len + k];
        means[i] = sum / (float)len;
    }
    return n_means >= 4 ? drift_spread_of(means, n_means) * sqrt(len) : 0;
}

/* The spread of means of ten consecutive values. */
static double spread_of_means(const float *v, uint32_t n)
{
    float means[SF_DRIFT_PAST], sum = 0;
    uint32_t n_means = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += v[i];
        if (i >= SF_DRIFT_RECENT)
            sum -= v[i - SF_DRIFT_RECENT];
        if (i + 1 >= SF_DRIFT_RECENT)
            means[n_means++] = sum / SF_DRIFT_RECENT;
    }
    return drift_spread_of(means, n_means);
}

/* The trend per value, from the older half to the newer one. */
static double trend(const float *v, uint32_t n)
{
    float older[SF_DRIFT_PAST / 2], newer[SF_DRIFT_PAST / 2];
    uint32_t half = n / 2;
    if (n < TREND)
        return 0;
    memcpy(newer, v, half * sizeof(*v));
    memcpy(older, v + half, half * sizeof(*v));
    return (double)(median(newer, half) - median(older, half)) / half;
}

/* A trend (time of day) is neither noise nor an alarm: values are moved along it to the time of the
 * newest, and a growing level continues to grow until now. */
static void drift_fit(struct sf_drift *d)
{
    float v[SF_DRIFT_PAST], sorted[SF_DRIFT_PAST];
    uint32_t n = d->n - SF_DRIFT_GAP < SF_DRIFT_PAST ? d->n - SF_DRIFT_GAP : SF_DRIFT_PAST;
    double slope, means;
    for (uint32_t i = 0; i < n; i++)
        v[i] = at(d, SF_DRIFT_GAP + i);
    slope = trend(v, n);
    for (uint32_t i = 0; i < n; i++)
        v[i] += (float)(slope * i);
    memcpy(sorted, v, n * sizeof(*v));
    d->level = (double)median(sorted, n) + fmax(0, slope * SF_DRIFT_GAP);
    d->spread = fmax(drift_spread_of(sorted, n),
                     fmax(spread_in_blocks(v, n, 5), spread_in_blocks(v, n, 15)));
    d->spread = fmax(d->spread * WIDER, NARROW);
    means = spread_of_means(v, n);
    d->n_fits += d->n_fits < FITS;
    d->means_mean += (means - d->means_mean) / d->n_fits;
    d->means_spread = fmax(fmin(means, MORE * d->means_mean), fmax(d->means_mean, NARROW / 2));
    d->n_fit = d->n;
}

static double recent(const struct sf_drift *d)
{
    float v[SF_DRIFT_RECENT];
    for (uint32_t i = 0; i < SF_DRIFT_RECENT; i++)
        v[i] = at(d, i);
    return (double)median(v, SF_DRIFT_RECENT);
}

/* ---- earlier days ---- */

static uint16_t drift_code_of(double x)
{
    return (uint16_t)fmax(1, fmin(UINT16_MAX, (x + CODE_FROM) * CODE_STEPS));
}

static double decoded(uint16_t code)
{
    return code / CODE_STEPS - CODE_FROM;
}

static void drift_remember(struct sf_drift *d, int64_t minute, double x)
{
    int64_t block = minute / BLOCK;
    uint16_t code = drift_code_of(x);
    if (block - d->block >= SF_DRIFT_BLOCKS)
        memset(d->days, 0, sizeof(d->days));
    else
        for (int64_t b = d->block + 1; b <= block; b++) /* clear the blocks of a week ago */
            d->days[b % SF_DRIFT_BLOCKS] = 0;
    d->block = block;
    if (d->days[block % SF_DRIFT_BLOCKS] < code)
        d->days[block % SF_DRIFT_BLOCKS] = code;
}

/* How high it was at that time of day: reached on at least two of the days before, so that a
 * problem on one day does not count as usual. If only one day is known, on that day. */
static double was_before(const struct sf_drift *d)
{
    uint16_t highest = 0, second = 0;
    uint32_t n = 0;
    for (int64_t day = 1; day < SF_DRIFT_DAYS; day++) {
        uint16_t high = 0;
        for (int64_t k = -ASIDE; k <= ASIDE; k++) {
            int64_t block = d->block - day * (DAY / BLOCK) + k;
            if (block > 0 && d->days[block % SF_DRIFT_BLOCKS] > high)
                high = d->days[block % SF_DRIFT_BLOCKS];
        }
        n += high > 0;
        if (high > highest) {
            second = highest;
            highest = high;
        } else if (high > second) {
            second = high;
        }
    }
    return n == 0 ? -INFINITY : decoded(n > 1 ? second : highest);
}

/* ---- a step ---- */

static bool is_lasting(const struct sf_drift *d, const struct sf_drift_rule *rule)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < LASTING; i++)
        n += (double)at(d, i) > d->level + rule->least / 2;
    return n >= LASTING - 1;
}

static void step_up(struct sf_drift *d, const struct sf_drift_rule *rule, int64_t minute)
{
    d->n_down = recent(d) < d->level + rule->least / 2 ? d->n_down + 1 : 0;
    if (d->n_down >= DOWN) {
        d->is_up = false;
        d->evidence = 0;
    } else if (minute - d->up_minute >= DAY) { /* accept the new level */
        d->is_up = false;
        d->n = d->n_fit = 0;
        d->evidence = 0;
    }
}

void sf_drift_step(struct sf_drift *d, const struct sf_drift_rule *rule, int64_t minute,
                   double value)
{
    double x = log(value), aim = AIM * rule->least, one, now;
    if (!isfinite(x))
        return;
    d->past[d->n++ % RING] = (float)x;
    if (d->n == 2u * RING) { /* avoids overflow; the ring does not move */
        d->n_fit -= d->n_fit < RING ? d->n_fit : RING;
        d->n -= RING;
    }
    if (d->n >= SF_DRIFT_RECENT)
        drift_remember(d, minute, recent(d)); /* without short problems */
    if (d->is_up) {
        step_up(d, rule, minute);
        return;
    }
    if (d->n < SF_DRIFT_LEAST + SF_DRIFT_GAP)
        return;
    if (d->n_fit == 0 || d->n - d->n_fit >= REFIT)
        drift_fit(d);
    one = aim * (x - d->level - aim / 2) / (d->spread * d->spread);
    d->evidence = fmax(0, fmin(2 * BOUND, d->evidence + fmin(one, ONE_MAX)));
    now = recent(d);
    /* The second test. With lasting noise the sum of evidence grows slowly, but such noise moves
     * the median of ten values only little. */
    if (d->evidence < BOUND && now - d->level < SIGMAS * d->means_spread)
        return;
    if (now < d->level + rule->least || exp(now) - exp(d->level) < rule->floor ||
        !is_lasting(d, rule) || now < was_before(d) + USUAL * rule->least + 3 * d->means_spread)
        return;
    d->is_up = true;
    d->up_minute = minute;
    d->n_down = 0;
}

double sf_drift_before(const struct sf_drift *d)
{
    return exp(d->level);
}

double sf_drift_now(const struct sf_drift *d)
{
    return d->n < SF_DRIFT_RECENT ? NAN : exp(recent(d));
}
