/* compare.h - compares two sets of spans: what one does more of than the other, per request.
 *
 * The sets come from two queries; or from one query split at a quantile of duration (fast ones
 * left, slow ones right), by outcome (errors right), or by two values of an attribute. The profile
 * of each span is made as for its flame graph (with its children in the process) and counted by
 * function, by self value. */
#pragma once
#include "join/span_set.h"
#include "model/answer/comparison.h"

struct sf_compare_want {
    sf_str left, right; /* queries; or, with `by`, values of that attribute */
    sf_str query;       /* one query, split by: */
    double split;       /* e.g. 0.95: spans from this quantile of duration on are slow; or */
    bool is_by_error;   /* errors against the others; or */
    sf_str by;          /* an attribute as TraceQL writes it */
    sf_str sides[2];    /* what notes call the left and the right side; empty: so */
    sf_str type;
    int64_t from_ns, to_ns;
    int64_t left_from_ns, left_to_ns; /* time range of the left one, if it differs; 0: the same */
    bool is_charged; /* in the time breakdown: charge libraries to the functions that called them */
    struct sf_arena *scratch; /* for temporary data; is reset */
};

/* The result is in q->req. INPUT: a bad query. */
enum sf_err sf_compare_make(struct sf_store *store, const struct sf_compare_want *want,
                            struct sf_query_ctx *q, struct sf_comparison *out, struct sf_why *why);
