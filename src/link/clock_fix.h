/* clock_fix.h - puts the spans of a trace on one clock.
 *
 * Clocks of hosts differ, so that in an uncorrected trace responses may precede their requests. All
 * calls between two processes together determine how much one clock may be ahead of the other; if
 * that excludes 0, every span of the process is moved by the middle of the range, so that its spans
 * keep their distances. The clock of the first root is the reference.
 *
 * If no single difference fits all calls of two processes (a clock that was set meanwhile, two
 * hosts with one name), each call that does not fit is moved separately, together with its
 * descendants in that process, and the pair is called contradictory.
 *
 * Samples have the time of the host on which their span ran: joining them with spans uses times as
 * sent. Comparisons between hosts (critical path, remote children, drawings) use the corrected
 * times. */
#pragma once
#include "link/span_tree.h"

struct sf_clock_offset {    /* for two processes with a contradiction */
    uint32_t parent, child; /* spans of their first call */
    uint32_t n_calls;       /* number of calls between them that were moved */
    int64_t offset_ns; /* how much the child's clock is ahead of the parent's; of the first call if
                          contradictory */
    int64_t slack_ns;  /* uncertainty, plus or minus; or SF_SLACK_UNKNOWN */
    bool is_contradictory;
};

struct sf_clock_fix {
    const struct sf_clock_offset *offsets; /* by child */
    uint32_t n_offsets;
    uint32_t n_calls; /* number of calls between processes that were examined */
    uint32_t n_moved; /* spans */
};

/* Sets the tree's shifts. In `req`. LIMIT: it is full. */
enum sf_err sf_clock_fix_make(struct sf_span_tree *t, struct sf_arena *req,
                              struct sf_clock_fix *out, struct sf_why *why);
