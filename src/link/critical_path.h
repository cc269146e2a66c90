/* critical_path.h - the time that, if removed, would have shortened the trace.
 *
 * Read backwards from the trace's end: a span waits for the child that ended last before the point
 * reached; the gap after that child is the span's own. A sibling still running when the later one
 * started was not waited for, so it does not count. A child that outlives its parent counts up to
 * the parent's end, unless the parent did not wait at all (messaging: producer to consumer). */
#pragma once
#include "link/trace_tree.h"

struct sf_critical_step { /* span `place` was what the trace waited for in [from, to) */
    uint32_t place;
    uint64_t from_ns, to_ns;
};

struct sf_critical_path {
    const struct sf_critical_step *steps; /* ordered by time, no overlaps */
    uint32_t n_steps;
    const uint64_t *own_ns; /* per span: its steps added up; 0: not on the path */
};

enum sf_err sf_critical_path_find(const struct sf_span *spans, const struct sf_trace_tree *tree,
                                  struct sf_arena *req, struct sf_critical_path *out,
                                  struct sf_why *why);
