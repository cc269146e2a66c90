/* span_moments.c - the samples of a span one by one, in the order they were taken. */
#include "join/span_moments.h"

#include <stdlib.h>

struct moment {
    struct sf_span_moment m;
    uint64_t process, thread;
};

static int span_moments_by_thread(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int span_moments_by_time(const void *a, const void *b)
{
    const struct sf_span_moment *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

enum sf_err sf_span_moments_make(const struct sf_link_set *set, const struct sf_attribution *a,
                                 const uint32_t *nodes, struct sf_arena *req,
                                 struct sf_span_profile *out, struct sf_why *why)
{
    int64_t start_ns = (int64_t)set->spans[set->span].start_ns;
    struct moment *all = sf_arena_new_n(req, a->n_claims + 1u, sizeof(*all));
    struct sf_span_moment *moments = sf_arena_new_n(req, a->n_claims + 1u, sizeof(*moments));
    uint32_t n = 0, thread = 0;
    if (!all || !moments)
        return sf_no_room(why, "the query");
    for (uint32_t i = 0; i < a->n_claims; i++) {
        const struct sf_link_sample *s = &set->samples[a->claims[i].sample];
        if (s->has_time)
            all[n++] = (struct moment){.m = {.start_ns = s->start_ns - start_ns,
                                             .length_ns = s->length_ns,
                                             .value = a->claims[i].value,
                                             .node = nodes[s->node]},
                                       .process = s->process,
                                       .thread = s->thread};
    }
    qsort(all, n, sizeof(*all), span_moments_by_thread);
    for (uint32_t i = 0; i < n; i++) {
        thread += i > 0 && span_moments_by_thread(&all[i - 1], &all[i]) != 0;
        moments[i] = all[i].m;
        moments[i].thread = thread;
    }
    qsort(moments, n, sizeof(*moments), span_moments_by_time);
    out->has_timeline = true;
    out->moments = moments;
    out->n_moments = n;
    return SF_OK;
}
