/* critical_path.h - finds the time that, if removed, would have made the trace shorter.
 *
 * The path is walked back from the end of the trace's roots, and every instant of them is on it
 * once:
 *
 *   - A span is waited for by the nearest ancestor that does not end before it: its parent, or a
 *     higher ancestor if it outlives its parent. A span that outlives all ancestors was not
 *     waited for: neither it nor its descendants are on the path, and it is listed.
 *   - The time of a span, from its end backwards: the awaited span that ended last was being
 *     waited for, from its end back to its start; then the one that ended last before that.
 *   - Between those, if another awaited span was still running, that one was being waited for
 *     (of several, the one that ended first); if none ran, the time is the span's own.
 *   - Spans that begin before the one that waits for them are cut at its start.
 *
 * A pure function: spans in, segments out. Spans without a known parent are below a common root
 * without its own time, so an incomplete trace still has a path through its pieces; time between
 * them is a gap. So total + gap + outside is the time from the first start to the last end of all
 * spans. */
#pragma once
#include "link/span_tree.h"

struct sf_path_segment { /* a time in which one span was being waited for */
    uint32_t span;       /* place in the list */
    uint64_t start_ns, end_ns;
};

struct sf_critical_path {
    const struct sf_path_segment *segments; /* by time, not overlapping */
    uint32_t n_segments;
    const uint64_t *critical_ns; /* per span: its own time on the path; 0: not on it */
    const bool *is_on_path;      /* by span: it or a descendant was waited for */
    const bool *is_unwaited;     /* by span: it outlives all its ancestors */
    const uint32_t *parents;     /* per span: place of its parent, or UINT32_MAX; without loops */
    uint32_t n_unwaited;
    uint64_t total_ns; /* sum of all segments */
    uint64_t gap_ns;   /* between roots, where there are several */
    /* Before the first root and after the last: spans that were not waited for. */
    uint64_t outside_ns;
};

/* Uses corrected times if the tree has shifts. LIMIT: the arena is full. */
enum sf_err sf_critical_path_find(const struct sf_span_tree *tree, struct sf_arena *req,
                                  struct sf_critical_path *out, struct sf_why *why);
