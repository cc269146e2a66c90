/* coverage.h - checks how well a service's traces and profiles are joined: what was expected, what
 * was received, which link is missing. */
#pragma once
#include "join/span_set.h"
#include "model/answer/coverage.h"

struct sf_coverage_want {
    sf_str service; /* or */
    bool has_span;  /* check one span, and its service around it: */
    sf_trace_id trace;
    sf_span_id span;
    sf_str type;               /* as written by users; empty: CPU first */
    int64_t from_ns, until_ns; /* of a service */
    /* How clients reach this server, for the configuration lines that are suggested. */
    sf_str server;
    struct sf_arena *scratch; /* for temporary data; is reset */
};

/* The result is in q->req. NOT_FOUND: no such span. For a service that sent nothing, the answer
 * lists what is missing. */
enum sf_err sf_coverage_make(struct sf_store *store, const struct sf_coverage_want *want,
                             struct sf_query_ctx *q, struct sf_coverage *out, struct sf_why *why);
