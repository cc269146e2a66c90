/* compact.h - merges level-0 blocks into level-1 blocks of one tenant and hour.
 *
 * Hours with enough level-0 blocks, or that ended long enough ago, are merged; newest first while
 * there are too many blocks, otherwise oldest first. Level-1 blocks of a closed hour that fit into
 * one are merged once more. Level-1 blocks of profiles are merged into level-2 blocks two hours
 * after the end of their day. The compact thread also runs retention and erasure, and deletes dead
 * blocks. */
#pragma once
#include "store/local/engine.h"

/* Which traces of a span block are kept, and what else is deleted. */
struct sf_compact_only {
    bool (*keeps)(void *arg, uint32_t tenant, sf_trace_id id);
    void *arg;
    const sf_str *services; /* services to delete, of a block of one tenant */
    size_t n_services;
    bool is_pinned_alone; /* of a block of profiles: keep only samples of pinned traces, and no
                             totals */
};
/* Rewrites one block with some traces only. The caller holds merge_lock. */
enum sf_err sf_compact_reduce(struct sf_local *l, struct sf_run *run,
                              const struct sf_compact_only *only, struct sf_why *why);
/* Rewrites one block without the rows that tombstones hide. */
enum sf_err sf_compact_rewrite(struct sf_local *l, struct sf_run *run, struct sf_why *why);
/* Deletes the files of dead blocks that have no readers any more, then their catalogue rows. */
enum sf_err sf_compact_delete_dead(struct sf_local *l, struct sf_why *why);
/* Are all dead blocks to which the tombstone applies deleted? */
bool sf_compact_is_deleted(struct sf_local *l, const struct sf_tombstone *t);
/* Removes blocks: dead in the catalogue, and not in the snapshot any more. */
enum sf_err sf_compact_remove(struct sf_local *l, struct sf_run *const *runs, size_t n,
                              struct sf_why *why);
/* Runs everything that is due, like the thread; for tests and close. */
enum sf_err sf_compact_all(struct sf_local *l, struct sf_why *why);
void sf_compact_loop(void *local);
