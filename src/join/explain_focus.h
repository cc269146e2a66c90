/* explain_focus.h - how much of a duration was spent in one function with everything it calls; or,
 * if no function has that name, in child spans of that name. */
#pragma once
#include "join/explain_times.h"
#include "join/set_breakdown.h"

/* By node of the stacks of `hot`: is the function on the stack? NULL: `req` is full. */
const bool *sf_explain_focus_nodes(const struct sf_hot_code *hot, sf_str name,
                                   struct sf_arena *req);
/* For a sum of breakdowns along the critical path of `span` (SF_NOBODY: of the trace); `path_ns` is
 * the time of each span on it. */
enum sf_err sf_explain_focus_path(const struct sf_times_sum *sum, const struct sf_explain_times *t,
                                  uint32_t span, const uint64_t *path_ns, sf_str name,
                                  struct sf_explain_focus *out, struct sf_why *why);
