/* explain_set.h - explains why the spans of a query take so long: the mean per span. */
#pragma once
#include "model/answer/explain.h"
#include "store/store.h"

struct sf_explain_set_want {
    sf_str query;
    sf_str focus; /* a function or the name of child spans; empty: none */
    int64_t from_ns, to_ns;
    struct sf_arena *scratch; /* reset */
};

/* The result is in q->req. The parts are computed from up to 1,000 spans; child spans and their
 * descendants (and everything if samples carry no ids) from a few of those. INPUT: a bad query. */
enum sf_err sf_explain_set(struct sf_store *store, const struct sf_explain_set_want *want,
                           struct sf_query_ctx *q, struct sf_explain_view *out, struct sf_why *why);
