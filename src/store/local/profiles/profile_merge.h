/* profile_merge.h - many blocks of profiles into few: what compaction and erasure have in common.
 *
 * The same promises as of the merge of spans. One service of one output is in hand at a time:
 * memory is for its tables, the samples of one slot and the details of one process. */
#pragma once
#include "store/local/write/merge.h"

/* How many of the inputs, from the first on, a merge may take: what it holds of them fits its line
 * of the budget. At least one, however large it is. */
size_t sf_profile_merge_size_take(struct sf_local *l, struct sf_run *const *inputs, size_t n,
                                  enum sf_merge_split split);
enum sf_err sf_profile_merge_run(struct sf_local *l, const struct sf_merge *merge,
                                 struct sf_merge_result *out, struct sf_why *why);
