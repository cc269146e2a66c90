/* set_load.h - loads the spans of a query, and the time breakdown of each. */
#pragma once
#include "join/link_set.h"
#include "join/set_breakdown.h"
#include "join/span_set.h"

struct sf_set_load {
    struct sf_span_set set; /* by trace */
    struct sf_link_keep keep;
    struct sf_link_gathered *gathered; /* of the first n_read spans of the set, */
    struct sf_set_breakdown b;         /* likewise, by node of their stacks */
};

struct sf_set_load_want {
    sf_str query;
    int64_t from_ns, to_ns;
    uint32_t most_traces;
    struct sf_arena *scratch; /* reset */
};

/* Finds the spans. In q->req. INPUT: a bad query. */
enum sf_err sf_set_load_find(struct sf_store *store, const struct sf_set_load_want *want,
                             struct sf_query_ctx *q, struct sf_set_load *out, struct sf_why *why);
/* Divides their time. The breakdown is in `scratch`. LIMIT: they do not fit; fewer may. */
enum sf_err sf_set_load_divide(struct sf_store *store, struct sf_arena *scratch,
                               struct sf_query_ctx *q, struct sf_set_load *io, struct sf_why *why);
