/* trace_view.h - one whole trace as TraceQL sees it: spans with their position in the tree.
 *
 * A span is connected if a chain of parents leads to a root (a span without parent id). Other
 * spans, and all spans of a trace with more than two spans of one id, have no relations: their
 * numbers are 0. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/span.h"

#define SF_VIEW_NONE UINT32_MAX

struct sf_trace_profiles; /* exec/profile_conds.h */

struct sf_trace_view {
    sf_trace_id id;
    const struct sf_span *spans; /* ordered by start, span id, kind */
    uint32_t n_spans;
    const struct sf_resource *resources;
    const struct sf_scope *scopes;
    uint64_t start_ns, end_ns;
    uint32_t root; /* the first root, or SF_VIEW_NONE */
    /* By span; set by sf_trace_view_link(), NULL before. */
    const uint32_t *parent; /* index of the parent, or SF_VIEW_NONE (root or not connected) */
    const uint32_t *order;  /* connected spans, parents before children, depth first */
    uint32_t n_order;
    const uint32_t *left, *right;             /* nested-set numbers from 1; 0: not connected */
    const uint32_t *n_children;               /* direct children by id, connected or not */
    const struct sf_trace_profiles *profiles; /* sums of their samples; NULL: not loaded */
};

/* Finds start, end and root. Spans must be ordered. */
void sf_trace_view_init(struct sf_trace_view *v);
/* Adds the tree; the lists are in `req`. LIMIT if they do not fit. */
enum sf_err sf_trace_view_link(struct sf_trace_view *v, struct sf_arena *req, struct sf_why *why);
/* The trace's duration in ns. */
int64_t sf_trace_view_duration_ns(const struct sf_trace_view *v);
