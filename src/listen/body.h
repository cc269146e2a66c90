/* body.h - a request's body as it arrives, and the memory all bodies share.
 *
 * A body is in memory up to SF_LIMIT_BODY_MEMORY_LEN and in a nameless, enciphered file above. What
 * all bodies hold is counted; while that is over the budget, a body that grows moves to its file,
 * so a body that has begun can always be finished, and there is no circular wait.
 * Pushing back on those that have not begun is the connections' part. A body belongs to one thread
 * at a time; the budget is shared. */
#pragma once
#include <stdatomic.h>

#include "base/buf.h"
#include "listen/spool.h"

struct sf_body_budget {
    size_t max;
    const char *spool_path;
    atomic_size_t held;      /* bytes in memory */
    atomic_size_t spooled;   /* bytes in files */
    atomic_ullong n_spooled; /* files made since the start */
};

bool sf_body_budget_is_over(const struct sf_body_budget *b);

struct sf_body { /* zeroed but for `budget` and `len_max` is empty */
    struct sf_body_budget *budget;
    uint64_t len, len_max;
    struct sf_buf memory;
    struct sf_spool spool;
    size_t charged;
};

/* Would a body of this length be taken? LIMIT, with the sentence for the sender. */
enum sf_err sf_body_check_len(uint64_t len, uint64_t len_max, struct sf_why *why);

/* A body of `len` bytes is announced: takes the memory for it at once, unless too many did. */
void sf_body_expect(struct sf_body *b, uint64_t len);
/* Where up to `left` bytes that come next may be put, to be added from there without a copy; NULL:
 * nowhere. */
uint8_t *sf_body_room(struct sf_body *b, uint64_t left, size_t *out_len);
/* LIMIT: over len_max. FULL or IO: the spool file; NOMEM. The body is then only good for done. */
enum sf_err sf_body_add(struct sf_body *b, sf_bytes piece, struct sf_why *why);
bool sf_body_is_spooled(const struct sf_body *b);
enum sf_err sf_body_read(const struct sf_body *b, uint64_t off, void *p, size_t len,
                         size_t *out_len, struct sf_why *why);
/* The memory of a body that is all there, for the caller to keep; it counts until done all the
 * same. False: it is in a file. */
bool sf_body_take(struct sf_body *b, struct sf_buf *out);
void sf_body_done(struct sf_body *b); /* empties, returns what it held */

/* Counts other memory of a request (its head) into the same budget. */
void sf_body_budget_take(struct sf_body_budget *b, size_t len);
void sf_body_budget_give(struct sf_body_budget *b, size_t len);
