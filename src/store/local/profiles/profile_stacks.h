/* profile_stacks.h - sums over the stacks of a source that a filter selects. */
#pragma once
#include "flame/stack_filter.h"
#include "store/local/profiles/profile_read.h"

/* By row, in the walk's scratch: the sum of the row's stacks that `filter` selects; 0 for rows of
 * series whose group is SF_NONE. If only the sum of a slot is left, the first row gets it: all its
 * rows count at the start of the slot. */
enum sf_err sf_profile_stacks_sum(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                                  const struct sf_stack_filter *filter, const uint32_t *groups,
                                  const int64_t **out_sums, struct sf_why *why);
