/* critical_path.h - which time, if removed, would have made the trace shorter.
 *
 * Walking back from the end of the trace: whatever finished last was being waited for. Inside a
 * span that is its child that finished last, then, from where that child began, the one that
 * finished last before, and so on; the stretches between are the span's own. A child that is still
 * running when its parent ends was not waited for and is left out beyond that point.
 *
 * Pure: spans in, stretches out. Spans without a known parent hang below a common root that has no
 * time of its own, so a broken trace still has a path through its pieces. */
#pragma once
#include "link/span_tree.h"

struct sf_path_stretch { /* one span was being waited for */
    uint32_t span;       /* place in the list */
    uint64_t start_ns, end_ns;
};

struct sf_critical_path {
    const struct sf_path_stretch *stretches; /* by time, not overlapping */
    uint32_t n_stretches;
    const uint64_t *critical_ns; /* per span: its own time on the path; 0: not on it */
    const bool *is_on_path;      /* per span: it or something below it was waited for */
    const uint32_t *parents;     /* per span: place of its parent, or UINT32_MAX; without loops */
    uint64_t total_ns;           /* of all stretches */
};

/* On one clock, where the tree has shifts. LIMIT: the arena is full. */
enum sf_err sf_critical_path_find(const struct sf_span_tree *tree, struct sf_arena *req,
                                  struct sf_critical_path *out, struct sf_why *why);
