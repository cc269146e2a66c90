/* member_costs.h - the cost of each span of a set, by function.
 *
 * A member's cost is the certain part of its own flame graph: its samples and those of all its
 * descendants in its process, without estimates. If members are nested, each has its own cost. */
#pragma once
#include "link/attribution.h"
#include "link/cohort.h"
#include "link/frame_functions.h"

struct sf_member_input {
    const struct sf_span_tree *spans;
    const struct sf_attribution *claims;
    const struct sf_link_sample *samples;
    const struct sf_tree *stacks;
    const struct sf_frame_functions *functions; /* of the stacks' frames */
    const uint32_t *members;                    /* indexes of spans; SF_NOBODY: not found */
    uint32_t n_members;
    bool is_self; /* without descendants */
};

struct sf_member_costs {
    const struct sf_cohort_cost *costs; /* by member; frame is the number of a function */
    uint32_t n_costs;
    const int64_t *totals;     /* by member, including stacks without frames */
    const uint64_t *n_samples; /* by member, including estimates */
    const uint64_t *n_known;   /* by member, without estimates: samples of its costs and total */
    const uint32_t *first;     /* member i's costs: [first[i], first[i + 1]) */
};

/* In `req`. LIMIT: it is full. */
enum sf_err sf_member_costs_make(const struct sf_member_input *in, struct sf_arena *req,
                                 struct sf_member_costs *out, struct sf_why *why);
