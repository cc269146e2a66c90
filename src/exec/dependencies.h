/* dependencies.h - which service calls which, from the parents of spans. */
#pragma once
#include "store/store.h"

struct sf_dependency {
    sf_str parent, child;
    uint64_t n_calls;
};

struct sf_dependencies {
    const struct sf_dependency *list; /* sorted by parent, then child */
    uint32_t n;
    bool is_partial; /* a limit was hit: `note` says which */
    sf_str note;
};

/* Spans that start in [from, to] below a span of another service; each is one call. In q->req;
 * `scratch` holds the current trace. */
enum sf_err sf_dependencies_get(struct sf_store *store, int64_t from_ns, int64_t to_ns,
                                struct sf_query_ctx *q, struct sf_arena *scratch,
                                struct sf_dependencies *out, struct sf_why *why);
