/* compare_time.h - compares the durations of two sets of spans, part by part.
 *
 * The parts are those of a span's time breakdown (link/ledger.h); their means add up to the mean
 * duration, so their differences add up to the difference in duration. Intervals hold for all parts
 * and the duration together, at 95 %; those of functions and child spans hold for all of these
 * together. */
#pragma once
#include "join/span_pair.h"
#include "model/answer/comparison.h"

struct sf_link_gathered; /* join/link_set.h */

struct sf_compare_time_want {
    const struct sf_span_set *left, *right; /* sorted by trace */
    const struct sf_link_keep *keep;        /* of their traces, with figures; or NULL */
    const struct sf_span_pair *pair;        /* both sides, if their spans were already gathered */
    struct sf_link_gathered *gathered;      /* in here, with calls */
    struct sf_arena *scratch;               /* reset */
    bool is_charged; /* charge time in libraries to the service's function that called them */
};

/* The result is in q->req. If the spans exceed the memory of a query, half of them are used, or
 * half of these, and so on; if that is not enough or time is up, the reason says so. */
enum sf_err sf_compare_time_make(struct sf_store *store, const struct sf_compare_time_want *want,
                                 struct sf_query_ctx *q, struct sf_comparison_time *out,
                                 struct sf_why *why);
