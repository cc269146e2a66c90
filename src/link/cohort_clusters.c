/* cohort_clusters.c - divides the spans of a comparison into clusters that are drawn together. */
#include "link/cohort_clusters.h"

#include <stdlib.h>

struct place { /* of a span of either side */
    uint64_t trace;
    uint64_t trace_ns; /* start of its trace; of the span itself if traces are not joined */
    uint64_t start_ns;
    uint32_t span;
    bool is_right;
};

static int cohort_clusters_by_trace(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->trace != y->trace)
        return x->trace < y->trace ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int cohort_clusters_by_time(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->trace_ns != y->trace_ns)
        return x->trace_ns < y->trace_ns ? -1 : 1;
    if (x->trace != y->trace)
        return x->trace < y->trace ? -1 : 1;
    if (x->is_right != y->is_right)
        return x->is_right ? 1 : -1;
    return (x->span > y->span) - (x->span < y->span);
}

static uint32_t cohort_clusters_add_side(struct place *places, const struct sf_cohort *c,
                                         bool is_right)
{
    for (uint32_t i = 0; i < c->n_spans; i++) {
        struct sf_cohort_when when = c->when ? c->when[i]
                                             : (struct sf_cohort_when){2 * i + is_right, i, 0};
        places[i] = (struct place){.trace = when.trace,
                                   .start_ns = when.start_ns,
                                   .trace_ns = when.start_ns,
                                   .span = i,
                                   .is_right = is_right};
    }
    return c->n_spans;
}

/* Traces of the side with fewer. `places` are sorted by trace. */
static uint32_t cohort_clusters_count_traces(const struct place *places, uint32_t n)
{
    uint32_t counts[2] = {0, 0};
    for (uint32_t i = 0; i < n;) {
        bool has[2] = {false, false};
        uint64_t trace = places[i].trace;
        for (; i < n && places[i].trace == trace; i++)
            has[places[i].is_right] = true;
        counts[0] += has[0];
        counts[1] += has[1];
    }
    return counts[0] < counts[1] ? counts[0] : counts[1];
}

/* Gives all spans of a trace one time, unless there are too few traces for a conclusion. */
static void cohort_clusters_join_traces(struct place *places, uint32_t n)
{
    qsort(places, n, sizeof(*places), cohort_clusters_by_trace);
    bool is_by_trace = cohort_clusters_count_traces(places, n) >= SF_COHORT_SUPPORT;
    for (uint32_t i = 0; i < n; i++) {
        if (!is_by_trace)
            places[i].trace = i;
        else if (i > 0 && places[i].trace == places[i - 1].trace)
            places[i].trace_ns = places[i - 1].trace_ns;
    }
}

/* For spans sorted by time: a new cluster begins when the previous one has its share of the weight,
 * between traces. */
static uint32_t cohort_clusters_cut(const struct place *places, uint32_t n, uint32_t most,
                                    double left_weight, double right_weight, uint32_t *left,
                                    uint32_t *right)
{
    double weight = 0;
    uint32_t cluster = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool is_same = i > 0 && places[i].trace == places[i - 1].trace;
        /* Sums of fractions may be slightly too small. */
        if (i > 0 && !is_same && weight + 1e-9 >= (double)(cluster + 1) / most)
            cluster++;
        weight += places[i].is_right ? right_weight : left_weight;
        (places[i].is_right ? right : left)[places[i].span] = cluster;
    }
    return n > 0 ? cluster + 1 : 0;
}

bool sf_cohort_clusters_make(const struct sf_cohort *left, const struct sf_cohort *right,
                             struct sf_arena *req, struct sf_cohort_clusters *out)
{
    uint32_t n = left->n_spans + right->n_spans, most = n / SF_CLUSTERS_SPANS;
    struct place *places = sf_arena_new_n(req, n + 1u, sizeof(*places));
    uint32_t *l = sf_arena_new_n(req, left->n_spans + 1u, sizeof(*l));
    uint32_t *r = sf_arena_new_n(req, right->n_spans + 1u, sizeof(*r));
    if (!places || !l || !r)
        return false;
    most = most < SF_CLUSTERS_LEAST  ? SF_CLUSTERS_LEAST
           : most > SF_CLUSTERS_MOST ? SF_CLUSTERS_MOST
                                     : most;
    cohort_clusters_add_side(places + cohort_clusters_add_side(places, left, false), right, true);
    cohort_clusters_join_traces(places, n);
    qsort(places, n, sizeof(*places), cohort_clusters_by_time);
    *out = (struct sf_cohort_clusters){.left = l, .right = r};
    out->n = cohort_clusters_cut(places, n, most, left->n_spans ? 0.5 / left->n_spans : 0,
                                 right->n_spans ? 0.5 / right->n_spans : 0, l, r);
    return true;
}
