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
/* Loads tombstones at start: the catalogue's, and those that only erase.log has because a rebuild
 * of the catalogue was cut short. (Or because an end of an erasure was: then it ends once more.)
 * A damaged erase.log stops only the start that rebuilds. */
enum sf_err sf_erase_load(struct sf_local *l, bool is_rebuilt, struct sf_why *why);
/* One pass over unfinished erasures; the caller holds merge_lock. `out_n_left` of them remain. */
enum sf_err sf_erase_work(struct sf_local *l, uint64_t *out_n_left, struct sf_why *why);
