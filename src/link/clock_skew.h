/* clock_skew.h - clocks of two hosts that contradict each other, seen from the spans of a trace.
 *
 * A call's server span lies inside its client span. Where it does not, and is short enough to, the
 * two clocks differ: by how much is known to within the space the server span has in the client's.
 * The middle of that is the estimate, as of network time protocols. What outlives its parent
 * rightly (messages, work that continues, servers whose client gave up) still does not begin before
 * it: of those only the least difference is known. */
#pragma once
#include "link/span_tree.h"

#define SF_SLACK_UNKNOWN (-1)

/* What the child's clock may be ahead of the parent's, both ends included. */
struct sf_clock_range {
    int64_t low_ns, high_ns;
};
#define SF_CLOCK_FROM_ANY (INT64_MIN / 2) /* low_ns: nothing is known */

struct sf_clock_skew {
    uint32_t parent, child; /* spans of the call, in different processes */
    int64_t offset_ns;      /* what the child's clock is ahead of the parent's */
    int64_t slack_ns;       /* right to within this, plus or minus; or SF_SLACK_UNKNOWN */
};

/* Of a span and its parent in another process. */
struct sf_clock_range sf_clock_skew_range_of(const struct sf_span_tree *t, uint32_t child);
/* The best guess in a range that is not empty. `slack_ns` as above. */
int64_t sf_clock_skew_range_guess(struct sf_clock_range r, int64_t *slack_ns);
static inline bool sf_clock_range_has(struct sf_clock_range r, int64_t offset_ns)
{
    return r.low_ns <= offset_ns && offset_ns <= r.high_ns;
}

/* The contradictions among the spans, in their order. In `req`; `out_calls` says how many calls
 * between processes were examined. LIMIT: it is full. */
enum sf_err sf_clock_skew_find(const struct sf_span_tree *t, struct sf_arena *req,
                               const struct sf_clock_skew **out, uint32_t *out_n,
                               uint32_t *out_calls, struct sf_why *why);
