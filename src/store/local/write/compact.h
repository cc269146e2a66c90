/* compact.h - level-0 blocks become level-1 blocks of one tenant and hour.
 *
 * Hours with enough level-0 blocks, or closed long enough, are merged; newest first while there are
 * too many blocks, otherwise oldest first. Level-1 blocks of a closed hour that fit into one are
 * merged once more. Of profiles, the level-1 blocks of a day that ended two hours ago become
 * level-2 blocks. The compact thread also does retention and erasure, and deletes dead blocks.
 */
#pragma once
#include "store/local/engine.h"

/* Which traces of a block of spans stay, and what else of a block goes. */
struct sf_compact_only {
    bool (*keeps)(void *arg, uint32_t tenant, sf_trace_id id);
    void *arg;
    const sf_str *services; /* that go, of a block of one tenant */
    size_t n_services;
    bool is_pinned_alone; /* of a block of profiles: samples of pinned traces, and no totals */
};
/* Rewrites one block with some traces only. The caller holds merge_lock. */
enum sf_err sf_compact_reduce(struct sf_local *l, struct sf_run *run,
                              const struct sf_compact_only *only, struct sf_why *why);
/* Without what tombstones hide. */
enum sf_err sf_compact_rewrite(struct sf_local *l, struct sf_run *run, struct sf_why *why);
/* Deletes the files of dead blocks that have no readers any more, then their catalogue rows. */
enum sf_err sf_compact_delete_dead(struct sf_local *l, struct sf_why *why);
/* Are all dead blocks that the tombstone concerns deleted? */
bool sf_compact_is_deleted(struct sf_local *l, const struct sf_tombstone *t);
/* Takes blocks out: state dead in the catalogue, gone from the snapshot. Adds none. */
enum sf_err sf_compact_remove(struct sf_local *l, struct sf_run *const *runs, size_t n,
                              struct sf_why *why);
/* Everything that is due, until nothing is: what the thread does, for tests and close. */
enum sf_err sf_compact_all(struct sf_local *l, struct sf_why *why);
void sf_compact_loop(void *local);
