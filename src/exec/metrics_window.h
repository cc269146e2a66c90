/* metrics_window.h - the time range of a metrics query, divided into steps.
 *
 * A range is aligned to its step, so that a dashboard gets the same samples again a moment later:
 * start rounded down, end up, and one more step in front. Steps are open on the left and closed on
 * the right; a sample has the time of the right edge. An instant query is one step, closed on both
 * sides. */
#pragma once
#include "base/err.h"

#include <stdbool.h>

struct sf_metrics_window {
    int64_t from_ns, to_ns, step_ns;
    uint32_t n_steps;
    bool is_instant;
};

/* The default step: about 240 per range, rounded to usual axis steps. */
int64_t sf_metrics_window_default_step(int64_t len_ns);
/* `step_ns` 0: the default. INPUT: end before start, too long, or too many steps. */
enum sf_err sf_metrics_window_range(int64_t from_ns, int64_t to_ns, int64_t step_ns,
                                    struct sf_metrics_window *out, struct sf_why *why);
enum sf_err sf_metrics_window_instant(int64_t from_ns, int64_t to_ns, struct sf_metrics_window *out,
                                      struct sf_why *why);
/* The step in which a span with that start is counted; false: none. */
bool sf_metrics_window_place(const struct sf_metrics_window *w, uint64_t start_ns, uint32_t *out);
