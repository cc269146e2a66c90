/* compare.h - what one set of spans does more of than another, per request.
 *
 * Two queries; or one, split at a quantile of duration (the fast ones are left, the slow ones
 * right), by outcome (errors are right), or by two values of an attribute. Each span's profile is
 * made as its own flame graph would be (with its children in the process) and counted by function,
 * by self value. */
#pragma once
#include "join/span_set.h"
#include "model/answer/comparison.h"

struct sf_compare_want {
    sf_str left, right; /* queries; with `by` values of that attribute */
    sf_str query;       /* one, and */
    double split;       /* 0.95: slow are those from there on; or */
    bool is_by_error;   /* errors against the rest; or */
    sf_str by;          /* an attribute as TraceQL writes it */
    sf_str type;
    int64_t from_ns, to_ns;
    int64_t left_from_ns,
        left_to_ns;  /* of the left one, where that is another time; 0: it is not */
    bool is_charged; /* in the parts of time: libraries to the functions that called them */
    struct sf_arena *scratch; /* for one thing at a time; reset */
};

/* Lives in q->req. INPUT: a bad query. */
enum sf_err sf_compare_make(struct sf_store *store, const struct sf_compare_want *want,
                            struct sf_query_ctx *q, struct sf_comparison *out, struct sf_why *why);
