/* erase.h - rows taken away permanently: hidden at once, then gone from every file.
 *
 * erase() flushes, writes a tombstone to the catalogue and to erase.log and puts it into the
 * snapshot: from then on no query shows the rows. The compact thread rewrites the blocks that hold
 * some, zeroes log slots that are free, waits for orphans to age out, and then removes the
 * tombstone and its selector. */
#pragma once
#include "store/local/engine.h"

enum sf_err sf_erase_rows(struct sf_store *s, uint32_t tenant, const struct sf_selector *which,
                          struct sf_why *why);
/* Loads tombstones at start: those of the catalogue, and those that are only in erase.log because a
 * rebuild of the catalogue was interrupted. (Or because the end of an erasure was: then it is
 * repeated.) A damaged erase.log fails the start only if the catalogue is rebuilt. */
enum sf_err sf_erase_load(struct sf_local *l, bool is_rebuilt, struct sf_why *why);
/* One pass over unfinished erasures; the caller holds merge_lock. `out_n_left`: how many remain. */
enum sf_err sf_erase_work(struct sf_local *l, uint64_t *out_n_left, struct sf_why *why);
