/* metrics_progress.h - intermediate results of a metrics query, sent while it runs.
 *
 * Each update converts the current table to series and leaves out samples that were already sent
 * with the same value. Two arenas are used in turn: one holds what was sent last. */
#pragma once
#include "exec/metrics.h"
#include "exec/metrics_count.h"

struct sf_metrics_progress {
    const struct sf_metrics_ask *ask;
    struct sf_arena rooms[2];
    unsigned turn;
    struct sf_metrics_set last; /* in the arena of the previous update */
    bool has_rooms;
};

/* For sf_metrics_count.on_trace; `arg` is the struct above, with `ask` set. */
void sf_metrics_progress_on_trace(struct sf_metrics_count *c, void *arg);
void sf_metrics_progress_done(struct sf_metrics_progress *p);
/* Sets samples of `now` to NaN that are the same in `before`, and drops series without samples.
 * Both are sorted. */
void sf_metrics_progress_subtract(struct sf_metrics_set *now, const struct sf_metrics_set *before);
