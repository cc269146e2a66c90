/* pace.h - whether a query that reads on can end in time.
 *
 * A query that reads everything of a long range works until its deadline and then has no answer.
 * When a quarter of its time has brought it so little of the way that the rest would take four
 * times as long as it has, it ends at once and reports it: what it requests must be narrowed, and
 * its thread is free for others. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct sf_pace {
    int64_t began_ns;       /* monotonic */
    uint64_t n_done, n_all; /* rows, or anything else that takes about the same time each */
};

/* `deadline_ns` 0: there is none. */
bool sf_pace_is_hopeless(const struct sf_pace *p, int64_t now_ns, int64_t deadline_ns);
enum sf_err sf_pace_fail(const struct sf_pace *p, int64_t now_ns, int64_t deadline_ns,
                         struct sf_why *why); /* DEADLINE */
