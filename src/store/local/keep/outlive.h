/* outlive.h - spans and samples that are kept longer than others of their age: those of pinned
 * traces, and with retention.spans_by_outcome spans of traces that the verdict on their hour kept.
 *
 * A block past retention.spans is not deleted if it may contain such traces: it is rewritten with
 * only these, and deleted when there are none. A block of profiles past retention.profiles is
 * likewise rewritten with the samples of pinned traces, without totals. A size limit deletes these
 * blocks, too. */
#pragma once
#include "store/local/keep/keep_book.h"
#include "store/local/run.h"

/* May the block, which is past its age, contain spans that must be kept? */
bool sf_outlive_spares(struct sf_local *l, const struct sf_block_row *row,
                       const struct sf_retention *rule, int64_t now_ns);
/* Notes that the block made from `was` needs no further check until the pins change. `is_alone`: it
 * contains only data that is kept longer; false: this is true of its single samples only. */
void sf_outlive_mark(struct sf_local *l, const struct sf_block_row *was, uint64_t pins_version,
                     bool is_alone);
bool sf_outlive_is_marked(const struct sf_run *run, uint64_t pins_version, bool is_alone);
/* Reduces one block. The caller holds merge_lock. */
enum sf_err sf_outlive_work(struct sf_local *l, struct sf_why *why);
