/* outlive.h - spans and samples that stay when others of their age go: those of pinned traces, and
 * with retention.spans_by_outcome spans of traces that the verdict on their hour kept.
 *
 * A block past retention.spans is not deleted while any trace may outlive it: it is rewritten with
 * those alone, and deleted when there is none. So is a block of profiles past retention.profiles:
 * with the samples of pinned traces, and no totals. A limit of size takes it all the same. */
#pragma once
#include "store/local/keep/keep_book.h"
#include "store/local/run.h"

/* May the block, past its age, hold spans that stay? */
bool sf_outlive_spares(struct sf_local *l, const struct sf_block_row *row,
                       const struct sf_retention *rule, int64_t now_ns);
/* What was made of `was` needs no second check until the pins change. `is_alone`: it has what
 * outlives and nothing else; false: so do its single samples. */
void sf_outlive_mark(struct sf_local *l, const struct sf_block_row *was, uint64_t pins_version,
                     bool is_alone);
bool sf_outlive_is_marked(const struct sf_run *run, uint64_t pins_version, bool is_alone);
/* Reduces one block. The caller holds merge_lock. */
enum sf_err sf_outlive_work(struct sf_local *l, struct sf_why *why);
