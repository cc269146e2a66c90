/* flush.h - writes the rows of a generation to level-0 blocks and frees the log.
 *
 * Steps: switch the generation; write the memtables as a block, or, if some rows are already in
 * parts, seal the rest and merge; sync and rename; one catalogue transaction with the checkpoint
 * (the commit point); swap the snapshot; free the log. docs/format-store.md describes the protocol
 * and what a crash leaves at each step. */
#pragma once
#include "store/local/engine.h"

/* Flushes everything appended before the call. Blocks. */
enum sf_err sf_flush_run(struct sf_local *l, struct sf_why *why);
/* The same during replay: all records up to `lsn` are in parts. */
enum sf_err sf_flush_replayed(struct sf_local *l, uint64_t lsn, struct sf_why *why);
/* Are there enough rows for a flush? */
bool sf_flush_rows_are_due(const struct sf_local *l);
/* Are there enough profiles for a flush? */
bool sf_flush_profiles_are_due(struct sf_local *l);
/* The flush thread: seals by age while searches run, flushes when due, retries with delay
 * after a failure. */
void sf_flush_loop(void *local);
