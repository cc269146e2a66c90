/* body.h - a request's body while it is received, and the memory budget of all bodies.
 *
 * A body is in memory up to SF_LIMIT_BODY_MEMORY_LEN and in an unnamed, encrypted file above. The
 * memory of all bodies is counted; while it is over the budget, growing bodies move to their files,
 * so that a body that has begun can always be completed and no deadlock is possible. Connections
 * delay bodies that have not begun. A body belongs to one thread at a time; the budget is
 * shared. */
#pragma once
#include <stdatomic.h>

#include "base/buf.h"
#include "listen/spool.h"

struct sf_body_budget {
    size_t max;
    const char *spool_path;
    atomic_size_t held;      /* bytes in memory */
    atomic_size_t spooled;   /* bytes in files */
    atomic_ullong n_spooled; /* files created since the start */
};

bool sf_body_budget_is_over(const struct sf_body_budget *b);

struct sf_body { /* zeroed except for `budget` and `len_max`: empty */
    struct sf_body_budget *budget;
    uint64_t len, len_max;
    struct sf_buf memory;
    struct sf_spool spool;
    size_t charged;
};

/* Whether a body of this length is accepted. LIMIT, with a message for the sender. */
enum sf_err sf_body_check_len(uint64_t len, uint64_t len_max, struct sf_why *why);

/* To be called when a body of `len` bytes is announced: reserves its memory at once, unless too
 * much is reserved. */
void sf_body_expect(struct sf_body *b, uint64_t len);
/* Memory for up to `left` further bytes, which can then be added without copying; NULL: none. */
uint8_t *sf_body_room(struct sf_body *b, uint64_t left, size_t *out_len);
/* LIMIT: over len_max. FULL or IO: the spool file; NOMEM. After an error only done may be
 * called. */
enum sf_err sf_body_add(struct sf_body *b, sf_bytes piece, struct sf_why *why);
bool sf_body_is_spooled(const struct sf_body *b);
enum sf_err sf_body_read(const struct sf_body *b, uint64_t off, void *p, size_t len,
                         size_t *out_len, struct sf_why *why);
/* Gives the memory of a complete body to the caller; it is counted in the budget until done. False:
 * it is in a file. */
bool sf_body_take(struct sf_body *b, struct sf_buf *out);
/* The reverse of take. False: the body is in a file, and `memory` stays the caller's. */
bool sf_body_give(struct sf_body *b, struct sf_buf *memory);
void sf_body_done(struct sf_body *b); /* empties it and releases its part of the budget */

/* Counts other memory of a request (its head) in the same budget. */
void sf_body_budget_take(struct sf_body_budget *b, size_t len);
void sf_body_budget_give(struct sf_body_budget *b, size_t len);
