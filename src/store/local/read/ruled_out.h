/* ruled_out.h - granules in which a search found nothing, remembered for the next execution.
 *
 * Blocks never change: a granule without a match for a query has none the next time either. A
 * repeated search for something rare would otherwise read the filters of all blocks again, and the
 * granules that one filter in 256 names in vain. One bitmap per query, tenant and block is kept
 * among the partial results (partials.h): bounded, and dropped with the block. Parts in memory and
 * blocks that a tombstone touches are left out, and so are queries of several tenants.
 *
 * Belongs to one cursor. */
#pragma once
#include "base/arena.h"
#include "store/local/read/partials.h"
#include "store/local/snapshot.h"

struct sf_ruled_run { /* of one run of the snapshot */
    bool is_read, is_remembered, is_changed;
    uint32_t n, n_out; /* granules, and those ruled out; 0 and 0: not known yet */
    uint8_t *bits;     /* 1: ruled out */
};

struct sf_ruled_out {
    struct sf_partials *partials; /* NULL: nothing is remembered */
    const struct sf_snapshot *snapshot;
    uint32_t tenant;
    sf_bytes question;
    struct sf_arena *memory;
    struct sf_ruled_run *runs; /* by place in the snapshot */
};

/* False: no memory. `memory`, question and snapshot outlive it. */
bool sf_ruled_out_init(struct sf_ruled_out *r, struct sf_partials *partials,
                       const struct sf_snapshot *snapshot, uint32_t tenant, sf_bytes question,
                       struct sf_arena *memory);
/* How many granules the run has if all of them are ruled out, else 0: then the block need not be
 * opened. */
uint32_t sf_ruled_out_all(struct sf_ruled_out *r, size_t place);
bool sf_ruled_out_has(struct sf_ruled_out *r, size_t place, uint32_t granule);
/* Nothing was found in the granule; the run has `n`. */
void sf_ruled_out_add(struct sf_ruled_out *r, size_t place, uint32_t granule, uint32_t n);
/* Hands what was added to the partial results. */
void sf_ruled_out_keep(struct sf_ruled_out *r);
