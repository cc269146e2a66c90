/* duplicates.h - requests seen in the last ten minutes, so that a client's retry is stored once.
 *
 * A repeat is acknowledged when the first one is durable: `begin` says whether a request is new, a
 * repeat of a durable one, or of one whose sync still runs. Over its cap the oldest hashes go
 * first, counted. Any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sf_duplicates;
struct sf_dup_waiter { /* a repeat that waits for the first one; the caller's memory */
    struct sf_dup_waiter *next;
};

enum sf_dup_answer { SF_DUP_NEW, SF_DUP_DURABLE, SF_DUP_WAITS };

struct sf_duplicates *sf_duplicates_new(size_t cap_len); /* NULL: no memory */
void sf_duplicates_free(struct sf_duplicates *d);        /* NULL is fine */

/* NEW: the hash is known from here on; `end` must follow. WAITS: `waiter` was taken and comes back
 * from the first one's `end`. NOMEM leaves nothing behind. */
enum sf_err sf_duplicates_begin(struct sf_duplicates *d, uint64_t hash, int64_t now_ns,
                                struct sf_dup_waiter *waiter, enum sf_dup_answer *out);
/* The first one is durable, or failed (then it is forgotten). Returns all requests that waited for
 * it. */
struct sf_dup_waiter *sf_duplicates_end(struct sf_duplicates *d, uint64_t hash, bool is_durable);
/* Known from a block or the log: durable already. False: no memory. */
bool sf_duplicates_know(struct sf_duplicates *d, uint64_t hash, int64_t seen_ns, int64_t now_ns,
                        bool is_for_flush);

/* The hashes that came since the last call; the next block keeps them. The array is the caller's
 * (sf_heap_free). NOMEM: they stay. `give back` after a failed flush. */
void sf_duplicates_take(struct sf_duplicates *d, uint64_t **out, size_t *out_n);
void sf_duplicates_give_back(struct sf_duplicates *d, uint64_t *hashes, size_t n);

size_t sf_duplicates_len(struct sf_duplicates *d); /* bytes held */
uint64_t sf_duplicates_n_dropped(struct sf_duplicates *d);
