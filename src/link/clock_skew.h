/* clock_skew.h - clocks of two hosts that contradict each other, seen from the spans of a trace.
 *
 * A call's server span lies inside its client span. Where it does not, and is short enough to, the
 * two clocks differ: by how much is known to within the room the server span has in the client's.
 * The middle of that is the estimate, as of network time protocols. */
#pragma once
#include "link/span_tree.h"

struct sf_clock_skew {
    uint32_t parent, child; /* spans of the call, in different processes */
    int64_t offset_ns;      /* what the child's clock is ahead of the parent's */
    int64_t slack_ns;       /* the estimate is right to within this, plus or minus */
};

/* The contradictions among the spans, in their order. In `req`; `out_calls` says how many calls
 * between processes were looked at. LIMIT: it is full. */
enum sf_err sf_clock_skew_find(const struct sf_span_tree *t, struct sf_arena *req,
                               const struct sf_clock_skew **out, uint32_t *out_n,
                               uint32_t *out_calls, struct sf_why *why);
