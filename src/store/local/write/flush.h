/* flush.h - the rows of a generation become level-0 blocks, and the log before them free.
 *
 * Switch the generation; write the memtables as a block, or, when some of it is in parts already,
 * seal the rest and merge; sync, rename; one catalogue transaction with the checkpoint (the commit
 * point); swap the snapshot; free the log. docs/format-store.md has
 * the whole protocol and what a crash leaves at each step. */
#pragma once
#include "store/local/engine.h"

/* Flushes everything appended before the call. Waits. */
enum sf_err sf_flush_run(struct sf_local *l, struct sf_why *why);
/* Same while replaying: all records up to `lsn` are in the parts. */
enum sf_err sf_flush_replayed(struct sf_local *l, uint64_t lsn, struct sf_why *why);
/* Have enough rows come together? */
bool sf_flush_rows_are_due(const struct sf_local *l);
/* Have enough profiles come together? */
bool sf_flush_profiles_are_due(struct sf_local *l);
/* The flush thread: seals by age while searches run, flushes when due, retries with delay
 * after a failure. */
void sf_flush_loop(void *local);
