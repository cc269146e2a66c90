/* critical_path.h - which time, if removed, would have made the trace shorter.
 *
 * The path is walked back from the end of the trace's roots, and every instant of them is on it
 * once:
 *
 *   - A span is waited for by the nearest span above it that does not end before it: its parent,
 *     or where it outlives its parent an ancestor. One that outlives them all was not waited for:
 *     neither it nor what is below it is on the path, and it is listed.
 *   - Of a span's time, from the end backwards: the span it waited for that ended last was being
 *     waited for, from there on back to its start; then the one that ended last before that.
 *   - Between those, while another one of them was still running, that one was (of several the one
 *     that ended first); while none ran, the time is the span's own.
 *   - Spans that begin before the one that waits for them are cut at its start.
 *
 * Pure: spans in, segments out. Spans without a known parent hang below a common root that has no
 * time of its own, so a broken trace still has a path through its pieces; time between them is a
 * gap. So total + gap + outside is the time from the first start to the last end of all spans. */
#pragma once
#include "link/span_tree.h"

struct sf_path_segment { /* one span was being waited for */
    uint32_t span;       /* place in the list */
    uint64_t start_ns, end_ns;
};

struct sf_critical_path {
    const struct sf_path_segment *segments; /* by time, not overlapping */
    uint32_t n_segments;
    const uint64_t *critical_ns; /* per span: its own time on the path; 0: not on it */
    const bool *is_on_path;      /* per span: it or something below it was waited for */
    const bool *is_unwaited;     /* per span: it outlives all above it */
    const uint32_t *parents;     /* per span: place of its parent, or UINT32_MAX; without loops */
    uint32_t n_unwaited;
    uint64_t total_ns;   /* of all segments */
    uint64_t gap_ns;     /* between roots, where there are several */
    uint64_t outside_ns; /* before the first root and after the last: spans not waited for */
};

/* On one clock, where the tree has shifts. LIMIT: the arena is full. */
enum sf_err sf_critical_path_find(const struct sf_span_tree *tree, struct sf_arena *req,
                                  struct sf_critical_path *out, struct sf_why *why);
