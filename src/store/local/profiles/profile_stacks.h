/* profile_stacks.h - the values of those stacks of a source that a filter means. */
#pragma once
#include "flame/stack_filter.h"
#include "store/local/profiles/profile_read.h"

/* By row, in the walk's scratch: the sum of the row's stacks that `filter` means. Rows of series
 * whose group is SF_NONE are left at 0. Of a slot of which only the sum is left, the first row has
 * it: all of its rows begin with the slot. */
enum sf_err sf_profile_stacks_sum(struct sf_profile_walk *w, struct sf_profile_read_source *s,
                                  const struct sf_stack_filter *filter, const uint32_t *groups,
                                  const int64_t **out_sums, struct sf_why *why);
