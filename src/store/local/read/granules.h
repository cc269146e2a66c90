/* granules.h - a small LRU cache of decoded granules, for one cursor. */
#pragma once
#include "model/span_rows.h"
#include "store/local/engine.h"

enum { SF_GRANULES_MAX = 6 };

struct sf_granule {
    struct sf_run *run; /* in use while it is here; NULL: free slot */
    uint32_t granule, columns;
    uint32_t from, to; /* rows of it */
    uint64_t used_at;
    struct sf_arena arena;
    size_t counted_len; /* bytes used now */
    struct sf_span_rows rows;
};

struct sf_granules {
    struct sf_local *l;
    struct sf_query_ctx *q; /* deadline, cancel and counters */
    const struct sf_key *want_keys;
    size_t n_want;
    size_t cap_len;
    size_t held_len; /* bytes of all slots, as counted in the budget */
    uint64_t tick;
    struct sf_granule slots[SF_GRANULES_MAX];
};

void sf_granules_init(struct sf_granules *g, struct sf_local *l, struct sf_query_ctx *q,
                      const struct sf_key *want_keys, size_t n_want);
void sf_granules_done(struct sf_granules *g);
/* Returns rows with at least `columns`, borrowed until two further calls. A damaged block is
 * quarantined: CORRUPT, q->is_exact false. LIMIT: more than one granule is held and the memory for
 * queries is used up. */
enum sf_err sf_granules_get(struct sf_granules *g, struct sf_run *run, uint32_t granule,
                            uint32_t columns, const struct sf_span_rows **out, struct sf_why *why);

/* The same for rows [from, to) of the granule, which become rows 0 and on. */
enum sf_err sf_granules_part(struct sf_granules *g, struct sf_run *run, uint32_t granule,
                             uint32_t from, uint32_t to, uint32_t columns,
                             const struct sf_span_rows **out, struct sf_why *why);

/* Is the granule, or a part of it, decoded? */
bool sf_granules_has(const struct sf_granules *g, const struct sf_run *run, uint32_t granule);

/* Takes an arena for decoding granules, with the pages it had; false: no memory. The second
 * function gives it back to the pool. */
bool sf_granules_take_arena(struct sf_local *l, struct sf_arena *out);
void sf_granules_give_arena(struct sf_local *l, struct sf_arena *a);

/* Called first by every cursor: BUSY while the memory for queries is used up, otherwise zeroed
 * memory for the cursor (NOMEM). `is_fresh`: all data acknowledged so far will be in the next
 * snapshot. */
enum sf_err sf_granules_query_open(struct sf_local *l, struct sf_query_ctx *q, bool is_fresh,
                                   size_t len, void **out, struct sf_why *why);
/* DEADLINE or CANCELLED when the query must stop. */
enum sf_err sf_granules_query_check(const struct sf_query_ctx *q, struct sf_why *why);
/* Waits a short time for `s`, whose mutex is held; then does the same. */
enum sf_err sf_granules_query_wait(const struct sf_query_ctx *q, struct sf_condvar *s,
                                   struct sf_mutex *m, struct sf_why *why);
/* After a block could not be read: true when it is damaged and the query continues without it. */
bool sf_granules_query_skips(struct sf_query_ctx *q, struct sf_run *run, enum sf_err err,
                             const struct sf_why *why);
/* Notes that the query continues without the block, so that the answer reports it. */
void sf_granules_query_misses(struct sf_query_ctx *q, const struct sf_run *run);
bool sf_granules_query_has_tenant(const struct sf_query_ctx *q,
                                  uint32_t tenant); /* 0: any of them */
