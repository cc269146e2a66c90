/* outlive.h - spans that stay when others of their age go: those of pinned traces, and with
 * retention.spans_by_outcome those of traces that the verdict on their hour kept.
 *
 * A block past retention.spans is not deleted while any trace may outlive it: it is rewritten with
 * those alone, and deleted when there is none. A limit of size takes it all the same. */
#pragma once
#include "store/local/keep/keep_book.h"
#include "store/local/run.h"

/* May the block, past its age, hold spans that stay? */
bool sf_outlive_spares(struct sf_local *l, const struct sf_block_row *row,
                       const struct sf_retention *rule, int64_t now_ns);
/* Reduces one block. The caller holds merge_lock. */
enum sf_err sf_outlive_work(struct sf_local *l, struct sf_why *why);
