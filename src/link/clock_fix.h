/* clock_fix.h - the spans of a trace on one clock.
 *
 * Hosts' clocks differ, and a trace drawn with them as they are has answers before their queries.
 * All calls between two processes together say what one clock may be ahead of the other; where that
 * leaves no space for "nothing", every span of the process is moved by the middle of it, so that
 * its spans keep their distances. The first root's clock is the one that is right.
 *
 * Where no one difference fits all calls of two processes (a clock that was set meanwhile, two
 * hosts under one name), each call that does not fit is moved by itself, with what it did in that
 * process, and the pair is called contradictory.
 *
 * Samples are stamped by the host their span ran on: joining them with spans takes times as sent.
 * What compares times of several hosts (critical path, remote children, drawings) takes these. */
#pragma once
#include "link/span_tree.h"

struct sf_clock_offset {    /* of two processes with a contradiction */
    uint32_t parent, child; /* spans of their first call */
    uint32_t n_calls;       /* between them that were moved */
    int64_t offset_ns;      /* what the child's clock is ahead of the parent's; of its first call,
                               when contradictory */
    int64_t slack_ns;       /* right to within this, plus or minus; or SF_SLACK_UNKNOWN */
    bool is_contradictory;
};

struct sf_clock_fix {
    const struct sf_clock_offset *offsets; /* by child */
    uint32_t n_offsets;
    uint32_t n_calls; /* between processes that were examined */
    uint32_t n_moved; /* spans */
};

/* Sets the tree's shifts. In `req`. LIMIT: it is full. */
enum sf_err sf_clock_fix_make(struct sf_span_tree *t, struct sf_arena *req,
                              struct sf_clock_fix *out, struct sf_why *why);
