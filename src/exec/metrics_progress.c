#include "exec/metrics_progress.h"

#include <math.h>
#include <string.h>

#include "base/limits.h"

enum { ROOM_SHARE = 8 }; /* each of the two arenas may take this fraction of the query's memory */

/* Progress has samples only if a series depends on its spans alone. With topk() and compare() a
 * series may have to be taken back, and arithmetic needs both of its sides. */
static bool can_tell_samples(const struct sf_metrics_progress *p, const struct sf_metrics_count *c)
{
    const struct sf_metrics *m = p->ask->query->metrics;
    return m == c->query && m->n_seconds == 0 && m->metric.fn != SF_FN_COMPARE;
}

static bool make_rooms(struct sf_metrics_progress *p, size_t query_len)
{
    if (!p->has_rooms)
        p->has_rooms = sf_arena_init(&p->rooms[0], query_len / ROOM_SHARE) &&
                       sf_arena_init(&p->rooms[1], query_len / ROOM_SHARE);
    return p->has_rooms;
}

/* A copy of `now`, in the same arena, without samples that `before` has with the same value. */
static struct sf_metrics_set changed_of(const struct sf_metrics_set *now,
                                        const struct sf_metrics_set *before)
{
    struct sf_metrics_set out = {.req = now->req, .n_steps = now->n_steps};
    for (uint32_t i = 0; i < now->n; i++) {
        const struct sf_metric_series *from = &now->list[i];
        struct sf_metric_series *to = sf_metrics_set_add(&out, from->labels, (struct sf_attr){0});
        if (!to)
            return out;
        memcpy(to->values, from->values, now->n_steps * sizeof(*to->values));
    }
    sf_metrics_progress_subtract(&out, before);
    return out;
}

void sf_metrics_progress_subtract(struct sf_metrics_set *now, const struct sf_metrics_set *before)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < now->n; i++) {
        struct sf_metric_series *s = &now->list[i];
        const double *old = NULL;
        while (at < before->n &&
               sf_metrics_set_labels_compare(before->list[at].labels, s->labels) < 0)
            at++;
        if (at < before->n &&
            sf_metrics_set_labels_compare(before->list[at].labels, s->labels) == 0)
            old = before->list[at].values;
        for (uint32_t k = 0; old && k < now->n_steps; k++) {
            if (s->values[k] == old[k])
                s->values[k] = NAN;
        }
    }
    sf_metrics_set_drop_empty(now);
}

static void tell_samples(struct sf_metrics_progress *p, struct sf_metrics_count *c,
                         struct sf_metrics_result *result)
{
    struct sf_arena *room = &p->rooms[p->turn];
    struct sf_metrics_set now = {.req = room, .n_steps = c->window->n_steps}, changed;
    sf_arena_reset(room);
    sf_metrics_count_finish(c, &now);
    sf_metrics_set_sort(&now);
    changed = changed_of(&now, &p->last);
    /* What does not fit is sent at the end only. */
    if (now.is_cut || changed.is_cut || now.n > SF_LIMIT_METRICS_SERIES) {
        p->ask->on_progress(p->ask->progress_arg, result);
        return;
    }
    result->series = changed.list;
    result->n_series = changed.n;
    p->ask->on_progress(p->ask->progress_arg, result);
    p->last = now;
    p->turn ^= 1;
}

void sf_metrics_progress_on_trace(struct sf_metrics_count *c, void *arg)
{
    struct sf_metrics_progress *p = arg;
    const struct sf_metrics_ask *ask = p->ask;
    struct sf_metrics_result result = {.n_steps = c->window->n_steps,
                                       .from_ns = c->window->from_ns,
                                       .step_ns = c->window->step_ns,
                                       .is_running = true,
                                       .n_inspected_traces = c->n_traces,
                                       .n_inspected_spans = c->n_spans,
                                       .read_len = c->q->stats.read_len,
                                       .n_blocks = c->q->stats.n_blocks};
    if (!ask->wants_progress(ask->progress_arg))
        return;
    if (can_tell_samples(p, c) && make_rooms(p, c->q->req->cap))
        tell_samples(p, c, &result);
    else
        ask->on_progress(ask->progress_arg, &result);
}

void sf_metrics_progress_done(struct sf_metrics_progress *p)
{
    sf_arena_done(&p->rooms[0]);
    sf_arena_done(&p->rooms[1]);
}
