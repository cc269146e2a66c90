/* clock_skew.h - finds contradictions between the clocks of two hosts, from the spans of a trace.
 *
 * The server span of a call lies inside its client span. If it does not, although it is short
 * enough, the two clocks differ: by how much is known up to the time by which the client span is
 * longer. The middle of that range is the estimate, as in network time protocols. Spans that may
 * outlive their parent (messages, asynchronous work, servers whose client gave up) still do not
 * begin before it: for those only the smallest possible difference is known. */
#pragma once
#include "link/span_tree.h"

#define SF_SLACK_UNKNOWN (-1)

/* How much the child's clock may be ahead of the parent's, both ends included. */
struct sf_clock_range {
    int64_t low_ns, high_ns;
};
#define SF_CLOCK_FROM_ANY (INT64_MIN / 2) /* low_ns: nothing is known */

struct sf_clock_skew {
    uint32_t parent, child; /* spans of the call, in different processes */
    int64_t offset_ns;      /* how much the child's clock is ahead of the parent's */
    int64_t slack_ns;       /* uncertainty, plus or minus; or SF_SLACK_UNKNOWN */
};

/* For a span and its parent in another process. */
struct sf_clock_range sf_clock_skew_range_of(const struct sf_span_tree *t, uint32_t child);
/* The best guess in a range that is not empty. `slack_ns` as above. */
int64_t sf_clock_skew_range_guess(struct sf_clock_range r, int64_t *slack_ns);
static inline bool sf_clock_range_has(struct sf_clock_range r, int64_t offset_ns)
{
    return r.low_ns <= offset_ns && offset_ns <= r.high_ns;
}

/* Finds the contradictions among the spans, in their order. In `req`; `out_calls`: number of calls
 * between processes that were examined. LIMIT: it is full. */
enum sf_err sf_clock_skew_find(const struct sf_span_tree *t, struct sf_arena *req,
                               const struct sf_clock_skew **out, uint32_t *out_n,
                               uint32_t *out_calls, struct sf_why *why);
