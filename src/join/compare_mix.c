#include "join/compare_mix.h"

#include <math.h>

enum { NAMES = 64 };    /* at most this many names are told apart; further ones count as one */
#define SMALLEST   0.05 /* smallest difference of a name's share that is stated */
#define CONFIDENCE 3.0  /* standard errors by which a share must differ */

struct name {
    uint64_t hash;
    double n[2], ns[2]; /* on the left and on the right: number of spans; sum of durations */
    const struct sf_set_span *example;
};

struct names {
    struct name list[NAMES];
    uint32_t n;
};

static void compare_mix_add(struct names *w, const struct sf_span_set *set, int side)
{
    for (uint32_t i = 0; i < set->n; i++) {
        const struct sf_set_span *s = &set->spans[i];
        uint32_t at = 0;
        while (at < w->n && w->list[at].hash != s->name_hash && at < NAMES - 1)
            at++;
        struct name *one = &w->list[at];
        if (at == w->n) {
            *one = (struct name){.hash = s->name_hash, .example = s};
            w->n++;
        }
        double weight = s->weight > 0 ? s->weight : 1;
        one->n[side] += weight;
        one->ns[side] += weight * (double)s->duration_ns;
    }
}

/* The mean duration on a side; of a name that is only on the other side, the mean there. */
static double mean_of(const struct name *one, int side)
{
    int at = one->n[side] > 0 ? side : !side;
    return one->ns[at] / one->n[at];
}

static bool differs(double left, double right, double n_left, double n_right)
{
    double all = (left * n_left + right * n_right) / (n_left + n_right);
    double error = sqrt(all * (1 - all) * (1 / n_left + 1 / n_right));
    return fabs(right - left) >= SMALLEST && fabs(right - left) > CONFIDENCE * error;
}

void sf_compare_mix(const struct sf_span_set *left, const struct sf_span_set *right,
                    struct sf_comparison_mix *out)
{
    struct names w = {.n = 0};
    double n[2] = {0, 0}, mean = 0, most = 0, sum = 0;
    *out = (struct sf_comparison_mix){0};
    compare_mix_add(&w, left, 0);
    compare_mix_add(&w, right, 1);
    for (uint32_t i = 0; i < w.n; i++)
        for (int side = 0; side < 2; side++) {
            n[side] += w.list[i].n[side];
            mean += w.list[i].ns[side];
        }
    if (n[0] <= 0 || n[1] <= 0 || w.n < 2)
        return;
    mean /= n[0] + n[1];
    for (uint32_t i = 0; i < w.n; i++) {
        const struct name *one = &w.list[i];
        double before = one->n[0] / n[0], after = one->n[1] / n[1];
        /* Against the mean of all: what one name loses, others get. */
        double ns = (after - before) * ((mean_of(one, 0) + mean_of(one, 1)) / 2 - mean);
        sum += ns;
        if (fabs(ns) <= most || !differs(before, after, n[0], n[1]))
            continue;
        most = fabs(ns);
        out->left_share = before;
        out->right_share = after;
        out->trace = one->example->trace;
        out->span = one->example->id;
    }
    out->ns = most > 0 ? sum : 0;
}
