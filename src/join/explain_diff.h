/* explain_diff.h - explains why the spans of one set take longer than those of another. */
#pragma once
#include "model/answer/explain.h"
#include "store/store.h"

struct sf_explain_diff_want {
    sf_str query; /* with `split`: the slow spans against the others */
    double split;
    sf_str split_word; /* "p95" */
    /* Or: the requests of two versions of a service; the version whose first request came later
     * is the newer one. Without `other`: the version that served before the first request of
     * `version`. */
    sf_str service, version, other;
    int64_t from_ns, to_ns;
    struct sf_arena *scratch; /* reset */
};

/* Divides the difference in duration per span by parts, with intervals (join/compare.h). If it is
 * in child spans, these are compared in turn, down to spans that take longer themselves. The result
 * is in q->req. INPUT: a bad query. */
enum sf_err sf_explain_diff(struct sf_store *store, const struct sf_explain_diff_want *want,
                            struct sf_query_ctx *q, struct sf_explain_view *out,
                            struct sf_why *why);
