/* duplicates.h - hashes of requests of the last ten minutes, so that a client's retry is stored
 * once.
 *
 * A repeat is acknowledged when the first request is durable: `begin` tells whether a request is
 * new, a repeat of a durable one, or of one whose sync is not done. If there are too many, the
 * oldest hashes are dropped and counted. Thread-safe. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct sf_duplicates;
struct sf_dup_waiter { /* a repeat that waits for the first request; memory of the caller */
    struct sf_dup_waiter *next;
};

enum sf_dup_answer { SF_DUP_NEW, SF_DUP_DURABLE, SF_DUP_WAITS };

struct sf_duplicates *sf_duplicates_new(size_t cap_len); /* NULL: no memory */
void sf_duplicates_free(struct sf_duplicates *d);        /* NULL is fine */

/* NEW: the hash is stored; `end` must follow. WAITS: `waiter` is kept and returned by `end` of the
 * first request. NOMEM changes nothing. */
enum sf_err sf_duplicates_begin(struct sf_duplicates *d, uint64_t hash, int64_t now_ns,
                                struct sf_dup_waiter *waiter, enum sf_dup_answer *out);
/* The first request is durable, or failed (then it is removed). Returns all requests that waited
 * for it. */
struct sf_dup_waiter *sf_duplicates_end(struct sf_duplicates *d, uint64_t hash, bool is_durable);
/* Adds a hash found in a block or the log: already durable. False: no memory. */
bool sf_duplicates_know(struct sf_duplicates *d, uint64_t hash, int64_t seen_ns, int64_t now_ns,
                        bool is_for_flush);

/* Returns the hashes added since the last call, for the next block. The caller frees the array with
 * sf_heap_free. `give_back` after a failed flush. */
void sf_duplicates_take(struct sf_duplicates *d, uint64_t **out, size_t *out_n);
void sf_duplicates_give_back(struct sf_duplicates *d, uint64_t *hashes, size_t n);

size_t sf_duplicates_len(struct sf_duplicates *d); /* bytes held */
uint64_t sf_duplicates_n_dropped(struct sf_duplicates *d);
