#include "calibration/draws.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"

enum { PARTS = 6, /* of a request that an even clock looks at */ PLAIN = 20 };

double draw_uniform(struct draw_random *r)
{
    r->state += 0x9e3779b97f4a7c15u;
    return (double)(sf_hash_mix(r->state, r->state >> 9) >> 11) / 9007199254740992.0;
}

double draw_exponential(struct draw_random *r)
{
    return -log(1 - draw_uniform(r));
}

uint32_t draw_poisson(struct draw_random *r, double mean)
{
    double sum = draw_exponential(r);
    uint32_t n = 0;
    for (; sum < mean; sum += draw_exponential(r))
        n++;
    return n;
}

const char *draw_world_name(enum draw_world world)
{
    static const char *const names[] = {"independent", "sampled",          "even clock",
                                        "bursts",      "before and after", "plain"};
    return names[world];
}

/* ---- parts of all worlds ---- */

static uint32_t add_span(struct draw *d, bool is_right, uint64_t trace, double ms, uint32_t unit)
{
    struct sf_cohort *s = &d->sides[is_right];
    d->when[is_right][s->n_spans] = (struct sf_cohort_when){trace, (uint64_t)(ms * 1e6), 0};
    d->unit[is_right][s->n_spans] = unit;
    return s->n_spans++;
}

static void add_cost(struct draw *d, bool is_right, uint32_t span, uint32_t frame, double value)
{
    struct sf_cohort *s = &d->sides[is_right];
    if (value > 0)
        d->costs[is_right][s->n_costs++] = (struct sf_cohort_cost){span, frame, value};
}

static bool is_full(const struct draw *d, const struct draw_ask *ask, bool is_right)
{
    return d->sides[is_right].n_spans >= (is_right ? ask->n_right : ask->n_left);
}

/* ---- requests on their own ---- */

static void make_even(const struct draw_ask *ask, struct draw_random *r, struct draw *d)
{
    bool is_sampled = ask->world == DRAW_SAMPLED, is_plain = ask->world == DRAW_PLAIN;
    for (uint64_t i = 0; !is_full(d, ask, false) || !is_full(d, ask, true); i++) {
        bool is_right = is_full(d, ask, false) || (!is_full(d, ask, true) && draw_uniform(r) < 0.5);
        uint32_t span = add_span(d, is_right, i, (double)i, (uint32_t)i);
        for (uint32_t f = 0; f < d->n_frames; f++) {
            double times = f == d->planted && is_right ? 1 + ask->more : 1;
            if (!is_plain && f % 4 == 1 && draw_uniform(r) > 0.1)
                continue;
            /* Gamma of shape 4: requests differ by half of their mean. */
            double ms = is_sampled ? (draw_exponential(r) + draw_exponential(r) +
                                      draw_exponential(r) + draw_exponential(r)) *
                                         (double)(2 + f % 7)
                                   : draw_exponential(r) * (double)(1 + f % 7);
            add_cost(d, is_right, span, f,
                     is_sampled ? 10 * draw_poisson(r, ms * times / 10) : ms * times);
        }
    }
    for (uint32_t f = 0; f < d->n_frames; f++)
        for (int k = 0; k < 2; k++)
            d->means[k][f] = (!is_plain && f % 4 == 1 ? 0.1 : 1) *
                             (is_sampled ? 4 * (2 + f % 7) : 1 + f % 7) *
                             (k && f == d->planted ? 1 + ask->more : 1);
}

/* ---- one thread and an even clock ---- */

static void make_clocked(const struct draw_ask *ask, struct draw_random *r, struct draw *d)
{
    double length = 9.3 + 1.2 * draw_uniform(r), at = draw_uniform(r) * 1000;
    double tick = ceil(at / 10) * 10, part = length / PARTS;
    uint32_t left_of_run = 0;
    bool is_right = false;
    for (uint64_t i = 0; !is_full(d, ask, false) || !is_full(d, ask, true); i++) {
        if (left_of_run-- == 0) {
            is_right = draw_uniform(r) < 0.5;
            left_of_run = (uint32_t)(draw_uniform(r) * 8);
        }
        if (is_full(d, ask, is_right)) {
            is_right = !is_right;
            left_of_run = 0;
        }
        double more = is_right ? ask->more * part : 0, costs[PARTS] = {0};
        uint32_t span = add_span(d, is_right, i, at, (uint32_t)(i / 40));
        for (; tick < at + length + more; tick += 10) {
            double in = tick - at;
            uint32_t f = in < 2 * part          ? (uint32_t)(in / part)
                         : in < 3 * part + more ? 2
                                                : (uint32_t)((in - more) / part);
            costs[f < PARTS ? f : PARTS - 1] += 10;
        }
        for (uint32_t f = 0; f < PARTS; f++)
            add_cost(d, is_right, span, f, costs[f]);
        at += length + more;
    }
    for (uint32_t f = 0; f < PARTS; f++)
        for (int k = 0; k < 2; k++)
            d->means[k][f] = part * (k && f == 2 ? 1 + ask->more : 1);
}

/* ---- bursts ---- */

static bool side_of_burst(const struct draw_ask *ask, const struct draw *d, struct draw_random *r)
{
    if (ask->world == DRAW_BEFORE || is_full(d, ask, false) || is_full(d, ask, true))
        return is_full(d, ask, false);
    return draw_uniform(r) < 0.5;
}

static void make_bursts(const struct draw_ask *ask, struct draw_random *r, struct draw *d)
{
    uint32_t longest = 2 + (uint32_t)(draw_uniform(r) * 6), unit = 0;
    double at = 0;
    for (uint64_t trace = 0; !is_full(d, ask, false) || !is_full(d, ask, true); unit++) {
        bool is_right = side_of_burst(ask, d, r);
        uint32_t n = 1 + (uint32_t)(draw_uniform(r) * longest);
        double kinds[DRAW_FRAMES];
        for (uint32_t f = 0; f < DRAW_FRAMES; f++)
            kinds[f] = f % 4 == 1 && draw_uniform(r) < 0.6 ? 0 : 1 + draw_exponential(r);
        at += 1000 * draw_exponential(r);
        for (uint32_t i = 0; i < n; i++, trace++) {
            bool is_other = ask->world == DRAW_BURSTS && draw_uniform(r) < 0.1 ? !is_right
                                                                               : is_right;
            if (is_full(d, ask, is_other))
                continue;
            uint32_t span = add_span(d, is_other, trace / 2, at + i, unit);
            for (uint32_t f = 0; f < DRAW_FRAMES; f++)
                add_cost(d, is_other, span, f,
                         kinds[f] * (0.5 + draw_uniform(r)) *
                             (f == d->planted && is_other ? 1 + ask->more : 1));
        }
    }
    for (uint32_t f = 0; f < DRAW_FRAMES; f++)
        for (int k = 0; k < 2; k++)
            d->means[k][f] = (f % 4 == 1 ? 0.8 : 2) * (k && f == d->planted ? 1 + ask->more : 1);
}

void draw_make(const struct draw_ask *ask, struct draw *out)
{
    struct draw_random r = {ask->seed};
    for (int k = 0; k < 2; k++)
        out->sides[k] = (struct sf_cohort){.costs = out->costs[k], .when = out->when[k]};
    memset(out->means, 0, sizeof(out->means));
    out->n_frames = ask->world == DRAW_CLOCKED ? PARTS
                    : ask->world == DRAW_PLAIN ? PLAIN
                                               : DRAW_FRAMES;
    out->planted = ask->world == DRAW_CLOCKED ? 2 : 3;
    if (ask->world == DRAW_CLOCKED)
        make_clocked(ask, &r, out);
    else if (ask->world == DRAW_BURSTS || ask->world == DRAW_BEFORE)
        make_bursts(ask, &r, out);
    else
        make_even(ask, &r, out);
}
