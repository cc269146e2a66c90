/* time_part.h - a part of the remaining time of a query, for work that can stop with a partial
 * result. */
#pragma once
#include "os/clock.h"
#include "store/store.h"

/* When that part of the remaining time ends; 0: never. */
static inline int64_t sf_time_part(const struct sf_query_ctx *q, double part)
{
    int64_t now_ns = sf_clock_mono_ns();
    return q->deadline_ns ? now_ns + (int64_t)((double)(q->deadline_ns - now_ns) * part) : 0;
}

static inline bool sf_time_part_is_over(int64_t until_ns)
{
    return until_ns != 0 && sf_clock_mono_ns() >= until_ns;
}
