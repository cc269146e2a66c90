/* partials.h - results of queries for single granules, cached for the next execution.
 *
 * Blocks never change, so neither does the result of a query for one granule: a dashboard refresh
 * reads only newer data. The key of a result is the query (bytes that the query provides and that
 * determine its result), the tenant, the block and the granule; the store does not interpret the
 * content. Rows of traces that are in several runs are left out of a result, and a hash of these
 * traces is part of the key. Nothing is cached for parts in memory and for blocks to which a
 * tombstone applies.
 *
 * Bounded by a line of the memory budget: the least recently used query is dropped first. Results
 * of a block are dropped with the block, those of a tenant when it erases. Thread-safe. */
#pragma once
#include "base/arena.h"
#include "os/thread.h"
#include "store/local/budget.h"

struct sf_question;

struct sf_partials {
    struct sf_budget *budget;
    struct sf_mutex lock; /* guards all below; a leaf lock */
    struct sf_question *list;
    uint32_t n;
    uint64_t tick;
    uint64_t n_hits, n_misses;
};

struct sf_partial_key {
    uint32_t tenant;
    uint64_t block;
    uint32_t granule;
    uint64_t variant; /* which rows are left out: a keyed hash; 0: none */
    sf_bytes question;
};

bool sf_partials_init(struct sf_partials *p, struct sf_budget *budget); /* false: no memory */
void sf_partials_done(struct sf_partials *p);                           /* a zeroed one is fine */
/* Copies the result to `to`. False: not cached, or no space. */
bool sf_partials_get(struct sf_partials *p, const struct sf_partial_key *key, struct sf_arena *to,
                     sf_bytes *out);
/* Stores a copy if there is space for it. */
void sf_partials_put(struct sf_partials *p, const struct sf_partial_key *key, sf_bytes result);
void sf_partials_drop_block(struct sf_partials *p, uint64_t block);
void sf_partials_drop_tenant(struct sf_partials *p, uint32_t tenant);
