/* ruled_out.h - granules in which a search found nothing, cached for the next execution.
 *
 * Blocks never change: a granule without a match for a query has none the next time either. A
 * repeated search for something rare would otherwise read the filters of all blocks again, and the
 * granules of false positives (one filter in 256). One bitmap per query, tenant and block is kept
 * among the partial results (partials.h): bounded, and dropped with the block. Parts in memory and
 * blocks to which a tombstone applies are left out, and so are queries of several tenants.
 *
 * Belongs to one cursor. */
#pragma once
#include "base/arena.h"
#include "store/local/read/partials.h"
#include "store/local/snapshot.h"

struct sf_ruled_run { /* of one run of the snapshot */
    bool is_read, is_remembered, is_changed;
    /* Number of granules, and of those without a match; 0 and 0: not loaded yet. */
    uint32_t n, n_out;
    uint8_t *bits; /* 1: ruled out */
};

struct sf_ruled_out {
    struct sf_partials *partials; /* NULL: nothing is cached */
    const struct sf_snapshot *snapshot;
    uint32_t tenant;
    sf_bytes question;
    struct sf_arena *memory;
    struct sf_ruled_run *runs; /* by index of the run in the snapshot */
};

/* False: no memory. `memory`, question and snapshot must outlive it. */
bool sf_ruled_out_init(struct sf_ruled_out *r, struct sf_partials *partials,
                       const struct sf_snapshot *snapshot, uint32_t tenant, sf_bytes question,
                       struct sf_arena *memory);
/* The number of granules of the run if none of them has a match (then the block need not be
 * opened), otherwise 0. */
uint32_t sf_ruled_out_all(struct sf_ruled_out *r, size_t place);
bool sf_ruled_out_has(struct sf_ruled_out *r, size_t place, uint32_t granule);
/* Notes that nothing was found in the granule; the run has `n` granules. */
void sf_ruled_out_add(struct sf_ruled_out *r, size_t place, uint32_t granule, uint32_t n);
/* Stores what was added in the partial results. */
void sf_ruled_out_keep(struct sf_ruled_out *r);
