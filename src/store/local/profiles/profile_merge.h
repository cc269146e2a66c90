/* profile_merge.h - many blocks of profiles into few: what compaction and erasure have in common.
 *
 * The same promises as of the merge of spans. One service of one output is in hand at a time:
 * memory is for its tables, the samples of one slot and the details of one process. */
#pragma once
#include "store/local/write/merge.h"

enum sf_err sf_profile_merge_run(struct sf_local *l, const struct sf_merge *merge,
                                 struct sf_merged *out, struct sf_why *why);
