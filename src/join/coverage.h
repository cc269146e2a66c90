/* coverage.h - how well a service's traces and profiles are joined: what was expected, what came,
 * which link is missing. */
#pragma once
#include "join/span_set.h"
#include "model/answer/coverage.h"

struct sf_coverage_want {
    sf_str service; /* or */
    bool has_span;  /* one span, and its service around it: */
    sf_trace_id trace;
    sf_span_id span;
    sf_str type;               /* as people write it; empty: CPU first */
    int64_t from_ns, until_ns; /* of a service */
    sf_str server;             /* how clients reach this one, for the lines they shall add */
    struct sf_arena *scratch;  /* for one thing at a time; reset */
};

/* Lives in q->req. NOT_FOUND: no such span; a service that sent nothing is answered with what is
 * missing. */
enum sf_err sf_coverage_make(struct sf_store *store, const struct sf_coverage_want *want,
                             struct sf_query_ctx *q, struct sf_coverage *out, struct sf_why *why);
