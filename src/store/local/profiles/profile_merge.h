/* profile_merge.h - merges blocks of profiles into fewer ones, for compaction and erasure.
 *
 * The same guarantees as in write/merge.h. One service of one output is processed at a time: memory
 * holds its tables, the samples of one slot and the details of one process. */
#pragma once
#include "store/local/write/merge.h"

/* How many inputs, from the first on, one merge may take so that it fits its line of the budget. At
 * least one, however large it is. */
size_t sf_profile_merge_size_take(struct sf_local *l, struct sf_run *const *inputs, size_t n,
                                  enum sf_merge_split split);
enum sf_err sf_profile_merge_run(struct sf_local *l, const struct sf_merge *merge,
                                 struct sf_merge_result *out, struct sf_why *why);
