/* partials.h - results of queries for single granules, cached for the next execution.
 *
 * Blocks never change, so neither does the result of a query for one granule: a dashboard refresh
 * reads only newer data. A result is found by the query (bytes that the query chooses and that say
 * all it depends on), the tenant, the block and the granule; the store knows nothing of its
 * content. Rows of traces that lie in several places are left out of it, and which these are
 * belongs to the key. Nothing is kept of parts in memory and of blocks that a tombstone touches.
 *
 * Bounded by a line of the memory budget: the query unused for longest goes first. Results of a
 * block go with the block, those of a tenant when it erases. Any thread. */
#pragma once
#include "base/arena.h"
#include "os/thread.h"
#include "store/local/budget.h"

struct sf_question;

struct sf_partials {
    struct sf_budget *budget;
    struct sf_mutex lock; /* guards all below; takes nothing */
    struct sf_question *list;
    uint32_t n;
    uint64_t tick;
    uint64_t n_hits, n_misses;
};

struct sf_partial_key {
    uint32_t tenant;
    uint64_t block;
    uint32_t granule;
    uint64_t variant; /* which rows of it are left out: a keyed hash; 0: none */
    sf_bytes question;
};

bool sf_partials_init(struct sf_partials *p, struct sf_budget *budget); /* false: no memory */
void sf_partials_done(struct sf_partials *p);                           /* a zeroed one is fine */
/* A copy of the result in `to`. False: there is none, or no space. */
bool sf_partials_get(struct sf_partials *p, const struct sf_partial_key *key, struct sf_arena *to,
                     sf_bytes *out);
/* Keeps a copy, when there is space for it. */
void sf_partials_put(struct sf_partials *p, const struct sf_partial_key *key, sf_bytes result);
void sf_partials_drop_block(struct sf_partials *p, uint64_t block);
void sf_partials_drop_tenant(struct sf_partials *p, uint32_t tenant);
