/* statistics.c - do intervals hold, how wide are they, how often is there a false alarm, and what
 * is found? Over draws with known means, beside oracles that know more than the program does.
 *
 *   statistics DRAWS [FIRST [share|comparison [CELL]]]
 *
 * prints: group, cell, measure, figure, bound, draws.
 *
 * Draws are numbered, and a number is a seed: a figure is the same on every run, and other numbers
 * are other draws. Constants of the comparison were chosen on draws 0 to 19,999; what is published
 * is of others, from FIRST on. What a figure says of yet other draws is its binomial error: at
 * 8,000 a quarter of a point where it is near 5 %. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibration/draws.h"
#include "calibration/student.h"
#include "link/trust.h"

static void say(const char *group, const char *cell, const char *measure, double figure,
                const char *bound, uint32_t n)
{
    printf("%s\t%s\t%s\t%.4f\t%s\t%u\n", group, cell, measure, figure, bound, n);
    fflush(stdout);
}

/* ---- shares of a span's samples ---- */

enum clock {
    CLOCK_RANDOM, /* samples fall at random */
    CLOCK_EVEN,   /* every 10 ms, over runs of exponential length */
    CLOCK_LATE,   /* every second sample, on average, stands for those that came too late */
    N_CLOCKS
};

struct look { /* at a program of which a share is one function */
    double hits, all, squares;
    double truth; /* what the function really had of the time that was looked at */
};

static struct look look_often(struct draw_random *r, enum clock clock, double share, uint32_t n)
{
    struct look l = {0};
    double run = 0, at = draw_uniform(r), inside = 0;
    bool is_in = draw_uniform(r) < share;
    for (uint32_t i = 0; i < n;) {
        uint32_t weight = 1;
        while (clock == CLOCK_LATE && i + weight < n && draw_uniform(r) < 0.5)
            weight++;
        for (at += 1; clock == CLOCK_EVEN && run < at;) { /* runs of four samples, on average */
            is_in = !is_in;
            double length = draw_exponential(r) * (is_in ? share : 1 - share) * 8;
            inside += is_in ? fmax(0, fmin(run + length, n + 1.0) - run) : 0;
            run += length;
        }
        if (clock != CLOCK_EVEN)
            is_in = draw_uniform(r) < share;
        l.hits += is_in ? weight : 0;
        l.all += weight;
        l.squares += (double)weight * weight;
        i += weight;
    }
    l.truth = clock == CLOCK_EVEN ? inside / fmin(run, n + 1.0) : share;
    return l;
}

static void try_share(enum clock clock, double share, uint32_t n, uint32_t first, uint32_t n_draws)
{
    static const char *const names[] = {"random clock", "even clock", "late samples"};
    uint64_t seed = 1000 * n + (uint64_t)(share * 100) + 7919u * (uint32_t)clock;
    double held = 0, width = 0, oracle = 0;
    char cell[80];
    for (uint32_t i = 0; i < n_draws; i++) {
        struct draw_random r = {(seed << 32) + first + i};
        struct look l = look_often(&r, clock, share, n);
        double effective = sf_trust_effective(l.all, l.squares), hits = l.hits / l.all * effective;
        struct sf_interval in = sf_trust_share(hits, effective);
        held += in.low <= l.truth && l.truth <= in.high;
        width += in.high - in.low;
        /* Clopper and Pearson's: what it takes to be sure of 95 % with every share. */
        oracle += sf_student_beta_inverse(hits + 1, fmax(effective - hits, 1e-9), 0.975) -
                  sf_student_beta_inverse(fmax(hits, 1e-9), effective - hits + 1, 0.025);
    }
    snprintf(cell, sizeof(cell), "%s, share %.0f %%, %u samples", names[clock], share * 100, n);
    say("share", cell, "held", held / n_draws, ">= 0.93", n_draws);
    say("share", cell, "width", width / oracle, "<= 1.3", n_draws);
}

/* ---- comparisons ---- */

struct oracle { /* of one function */
    double delta, half;
};

/* Welch's t-test over units that are independent, for each of m functions at 5 % / m. A unit's mean
 * weighs as much as the unit has spans. */
static struct oracle welch(const struct draw *d, uint32_t frame, uint32_t m)
{
    static double sums[DRAW_SPANS * 2 + 1], counts[DRAW_SPANS * 2 + 1];
    double mean[2], part[2], df = 0;
    for (int k = 0; k < 2; k++) {
        const struct sf_cohort *c = &d->sides[k];
        double sum = 0, spread = 0, n_units = 0;
        memset(sums, 0, sizeof(sums));
        memset(counts, 0, sizeof(counts));
        for (uint32_t i = 0; i < c->n_spans; i++)
            counts[d->unit[k][i]]++;
        for (uint32_t i = 0; i < c->n_costs; i++)
            if (c->costs[i].frame == frame) {
                sums[d->unit[k][c->costs[i].span]] += c->costs[i].value;
                sum += c->costs[i].value;
            }
        mean[k] = sum / c->n_spans;
        for (uint32_t u = 0; u < DRAW_SPANS * 2 + 1; u++) {
            double off = sums[u] - mean[k] * counts[u];
            n_units += counts[u] > 0;
            spread += off * off;
        }
        part[k] = spread * n_units / (n_units - 1) / c->n_spans / c->n_spans;
        df += part[k] * part[k] / (n_units - 1);
    }
    double all = part[0] + part[1];
    df = df > 0 ? all * all / df : 1e9;
    static double last_df, last_m, last; /* it is near that of the function before */
    if (last_m != m || fabs(df - last_df) > 0.02 * df) {
        last = sf_student_two_sided(0.05 / m, df);
        last_df = df;
        last_m = m;
    }
    return (struct oracle){mean[1] - mean[0], all > 0 ? last * sqrt(all) : 0};
}

struct tally {
    double alarms, found, oracle_found, held, oracle_held, width, oracle_width;
};

static void look_at(const struct draw *d, const struct draw_ask *ask,
                    const struct sf_cohort_result *r, struct tally *t)
{
    uint32_t n_judged = 0;
    bool is_alarm = false, is_held = true, is_oracle_held = true;
    for (uint32_t i = 0; i < r->n_rows; i++)
        n_judged += isfinite(r->rows[i].low) ? 1 : 0;
    for (uint32_t i = 0; i < r->n_rows; i++) {
        const struct sf_cohort_row *row = &r->rows[i];
        double truth = d->means[1][row->frame] - d->means[0][row->frame];
        if (!isfinite(row->low))
            continue;
        is_held = is_held && row->low <= truth && truth <= row->high;
        is_alarm = is_alarm || (row->is_significant && truth == 0);
        struct oracle o = welch(d, row->frame, n_judged);
        is_oracle_held = is_oracle_held && fabs(o.delta - truth) <= o.half;
        t->width += row->high - row->low;
        t->oracle_width += 2 * o.half;
        if (row->frame == d->planted && ask->more > 0) {
            t->found += row->is_significant && row->delta > 0;
            t->oracle_found += o.delta > o.half;
        }
    }
    t->alarms += is_alarm;
    t->held += is_held;
    t->oracle_held += is_oracle_held;
}

static void try_comparison(struct draw_ask ask, uint32_t first, uint32_t n_draws)
{
    static struct draw d;
    struct tally t = {0};
    struct sf_arena req = {0};
    char cell[80];
    uint64_t seed = (uint64_t)ask.world * 1000003 + ask.n_left * 1009 + ask.n_right +
                    (uint64_t)(ask.more * 100) * 7;
    for (uint32_t i = 0; i < n_draws; i++) {
        struct sf_cohort_result r;
        if (!sf_arena_init(&req, 64 << 20))
            exit(1);
        ask.seed = (seed << 20) + first + i;
        draw_make(&ask, &d);
        if (sf_cohort_compare(&d.sides[0], &d.sides[1], d.n_frames, 1, &req, &r, NULL))
            exit(1);
        look_at(&d, &ask, &r, &t);
        sf_arena_done(&req);
    }
    snprintf(cell, sizeof(cell), "%s, %u and %u spans, +%.0f %%", draw_world_name(ask.world),
             ask.n_left, ask.n_right, ask.more * 100);
    say("comparison", cell, "all hold", t.held / n_draws, ">= 0.93", n_draws);
    say("comparison", cell, "oracle's hold", t.oracle_held / n_draws, "", n_draws);
    say("comparison", cell, "width", t.width / t.oracle_width, "<= 1.3", n_draws);
    say("comparison", cell, "false alarm", t.alarms / n_draws, "<= 0.05", n_draws);
    if (ask.more > 0) {
        char bound[32];
        snprintf(bound, sizeof(bound), ">= %.4f", 0.9 * t.oracle_found / n_draws);
        say("comparison", cell, "found", t.found / n_draws, bound, n_draws);
        say("comparison", cell, "oracle finds", t.oracle_found / n_draws, "", n_draws);
    }
}

int main(int argc, char **argv)
{
    uint32_t n_draws = argc > 1 ? (uint32_t)atoi(argv[1]) : 2000;
    uint32_t first = argc > 2 ? (uint32_t)atoi(argv[2]) : 0;
    const char *only = argc > 3 ? argv[3] : "";
    static const double shares[] = {0.02, 0.1, 0.3, 0.5};
    static const uint32_t counts[] = {10, 30, 100, 400};
    for (int clock = 0; clock < N_CLOCKS && strcmp(only, "comparison") != 0; clock++)
        for (size_t s = 0; s < sizeof(shares) / sizeof(shares[0]); s++)
            for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
                try_share((enum clock)clock, shares[s], counts[n], first, n_draws);
    static const struct draw_ask asks[] = {
        {DRAW_EVEN, 200, 200, 0, 0},      {DRAW_EVEN, 200, 200, 0.3, 0},
        {DRAW_EVEN, 200, 200, 0.5, 0},    {DRAW_EVEN, 200, 200, 1, 0},
        {DRAW_EVEN, 30, 70, 0, 0},        {DRAW_EVEN, 350, 20, 0, 0},
        {DRAW_SAMPLED, 200, 200, 0, 0},   {DRAW_SAMPLED, 200, 200, 0.3, 0},
        {DRAW_SAMPLED, 200, 200, 0.5, 0}, {DRAW_SAMPLED, 60, 60, 1, 0},
        {DRAW_CLOCKED, 120, 120, 0, 0},   {DRAW_CLOCKED, 200, 200, 1, 0},
        {DRAW_BURSTS, 120, 120, 0, 0},    {DRAW_BURSTS, 200, 200, 0.5, 0},
        {DRAW_BURSTS, 200, 200, 1, 0},    {DRAW_BEFORE, 120, 120, 0, 0},
        {DRAW_BEFORE, 200, 200, 0.5, 0},  {DRAW_BEFORE, 1000, 1000, 0.3, 0},
        {DRAW_PLAIN, 200, 200, 0, 0},     {DRAW_PLAIN, 200, 200, 0.3, 0},
        {DRAW_PLAIN, 200, 200, 0.5, 0},   {DRAW_PLAIN, 200, 200, 1, 0},
        {DRAW_PLAIN, 400, 400, 0.3, 0},   {DRAW_PLAIN, 400, 400, 0.5, 0},
    };
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]) && strcmp(only, "share") != 0; i++)
        if (argc <= 4 || (size_t)atoi(argv[4]) == i)
            try_comparison(asks[i], first, n_draws);
    return 0;
}
