/* compare_time.h - the duration of two sets of spans compared, part by part.
 *
 * The parts are those of a span's ledger; their means add up to the mean duration, and so their
 * differences to the difference in duration. Intervals hold for all parts and the duration
 * together, at 95 %; those of functions and child spans hold for all of these together. */
#pragma once
#include "join/span_pair.h"
#include "model/answer/comparison.h"

struct sf_link_gathered; /* join/link_set.h */

struct sf_compare_time_want {
    const struct sf_span_set *left, *right; /* sorted by trace */
    const struct sf_link_keep *keep;        /* of their traces, with figures; or NULL */
    const struct sf_span_pair *pair;        /* both, if their spans were gathered already, */
    struct sf_link_gathered *gathered;      /* here, with calls */
    struct sf_arena *scratch;               /* reset */
    bool is_charged; /* time of libraries is that of the service's function that called them */
};

/* Lives in q->req. Where they are too many for the memory of a query, half of them are taken, and
 * half of these; where that is not enough or the time is up, the reason reports it. */
enum sf_err sf_compare_time_make(struct sf_store *store, const struct sf_compare_time_want *want,
                                 struct sf_query_ctx *q, struct sf_comparison_time *out,
                                 struct sf_why *why);
