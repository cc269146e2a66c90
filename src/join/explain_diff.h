/* explain_diff.h - why the spans of one set take longer than those of another. */
#pragma once
#include "model/answer/explain.h"
#include "store/store.h"

struct sf_explain_diff_want {
    sf_str query; /* with `split`: the slow ones against the rest */
    double split;
    sf_str split_word;              /* "p95" */
    sf_str service, version, other; /* or: the requests of two versions of a service; the one whose
                                       first request came later is the newer. Without `other` the
                                       version that served before the first request of `version` */
    int64_t from_ns, to_ns;
    struct sf_arena *scratch; /* reset */
};

/* The difference in duration per span by parts, with intervals (join/compare.h). Where it is in
 * child spans, these are compared in turn, down to what takes longer by itself. Lives in q->req.
 * INPUT: a bad query. */
enum sf_err sf_explain_diff(struct sf_store *store, const struct sf_explain_diff_want *want,
                            struct sf_query_ctx *q, struct sf_explain_view *out,
                            struct sf_why *why);
