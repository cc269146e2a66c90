/* trace_tree.h - the spans of one trace as a forest, whatever the senders got wrong.
 *
 * Missing parents and spans that are their own ancestors become roots. Children are ordered by
 * start, ties by span id, so that two readers of one trace see the same tree. */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "model/span.h"

struct sf_trace_tree {
    uint32_t n;             /* spans */
    const uint32_t *parent; /* place of span i's parent, or SF_TREE_NONE */
    const uint32_t *order;  /* all places, parents before children, depth first */
    const uint32_t *depth;  /* of span i; roots are 0 */
    const uint32_t *child;  /* places grouped by parent: children of i are */
    const uint32_t
        *child_at; /* child[child_at[i]] ... child[child_at[i + 1] - 1]; entry n holds the roots */
    uint32_t n_roots;
    uint32_t n_orphans;        /* roots that name a parent which is not here */
    uint32_t n_cut;            /* spans that were their own ancestors */
    uint64_t start_ns, end_ns; /* earliest start, latest end */
};

#define SF_TREE_NONE UINT32_MAX

/* Lists live in `req`. Fails with LIMIT when they do not fit. */
enum sf_err sf_trace_tree_build(const struct sf_span *spans, uint32_t n, struct sf_arena *req,
                                struct sf_trace_tree *out, struct sf_why *why);
