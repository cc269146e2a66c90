/* pace.h - predicts whether a query can finish before its deadline.
 *
 * A query that reads all data of a long range would work until its deadline and then have no
 * answer. When a quarter of its time has passed and the rest would take more than four times the
 * time it has left, it fails at once with a message to narrow the query, and its thread is free for
 * others. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct sf_pace {
    int64_t began_ns;       /* monotonic */
    uint64_t n_done, n_all; /* rows, or other units that take about the same time each */
};

/* `deadline_ns` 0: none. */
bool sf_pace_is_hopeless(const struct sf_pace *p, int64_t now_ns, int64_t deadline_ns);
enum sf_err sf_pace_fail(const struct sf_pace *p, int64_t now_ns, int64_t deadline_ns,
                         struct sf_why *why); /* DEADLINE */
